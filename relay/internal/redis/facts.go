package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// sweepGrace is how long after its end a key may still be there: sweeps come
// every five minutes.
const sweepGrace = 10 * time.Minute

// Facts says what the server keeps of ours, for an audit. What is a table
// elsewhere is a sort of key here; a key of ours that is none of these is a
// column that is in no inventory.
func (s *Store) Facts(ctx context.Context, now time.Time) (audit.Facts, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f := audit.Facts{Store: "Redis", Place: "Redis, in its memory", Rows: map[string]int64{}}
	p := audit.Promise{Says: "what was spent or issued goes at the start of its day", Grace: sweepGrace}
	once := audit.Promise{Says: "what answers a request again goes after two minutes", Grace: sweepGrace}
	f.Columns = []audit.Place{
		{Table: "root", Column: "seed"}, {Table: "root", Column: "key"}, {Table: "root", Column: "began"}, {Table: "root", Column: "run"}, {Table: "root", Column: "swept"},
		{Table: "days", Column: "day"}, {Table: "spent", Column: "day"}, {Table: "spent", Column: "hash"},
		{Table: "part", Column: "day"}, {Table: "part", Column: "hash"}, {Table: "part", Column: "request"},
		{Table: "once", Column: "day"}, {Table: "once", Column: "hash"}, {Table: "once", Column: "request"},
		{Table: "park", Column: "epoch"}, {Table: "park", Column: "secret"},
	}
	unlisted := map[string]bool{}
	all := s.client.Scan(ctx, 0, "{tacet}:*", 1000).Iterator()
	for all.Next(ctx) {
		name, rest, _ := strings.Cut(strings.TrimPrefix(all.Val(), "{tacet}:"), ":")
		size := s.client.HLen
		switch name {
		case "root", "part", "park":
		case "days", "spent":
			size = s.client.SCard
		case "once":
			if left, err := s.client.TTL(ctx, all.Val()).Result(); err != nil {
				return f, explain(err)
			} else if left < 0 && left != -2 { // -2: it has gone meanwhile
				once.Rows, once.Late = once.Rows+1, 2*sweepGrace
			}
			f.Rows[name]++
			continue
		default:
			if !unlisted[name] {
				unlisted[name] = true
				f.Columns = append(f.Columns, audit.Place{Table: name, Column: "key"})
			}
			continue
		}
		n, err := size(ctx, all.Val()).Result()
		if err != nil {
			return f, explain(err)
		}
		f.Rows[name] += n
		if name != "spent" && name != "part" {
			continue
		}
		day, err := strconv.ParseInt(rest, 10, 64)
		if err != nil {
			f.Columns = append(f.Columns, audit.Place{Table: name, Column: "of no day"})
		} else if end := time.Unix(day*86_400, 0); !now.Before(end) {
			p.Rows, p.Late = p.Rows+n, max(p.Late, now.Sub(end))
		}
	}
	f.Promises = []audit.Promise{p, once}
	return f, explain(all.Err())
}
