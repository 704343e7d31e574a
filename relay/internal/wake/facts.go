package wake

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/audit"
)

// sweepGrace is how long a used ticket may stay past its day: two sweeps.
const sweepGrace = 2 * sweepEvery

// Kept reports whether anything is kept on disk.
func (g *Gateway) Kept() bool { return g.spent.path != "" }

// Facts says what the file of used tickets has, as it is on disk.
func (g *Gateway) Facts(_ context.Context, now time.Time) (audit.Facts, error) {
	return g.spent.facts(now)
}

func (s *spent) facts(now time.Time) (audit.Facts, error) {
	const table = "ticket"
	f := audit.Facts{Store: "wake", Place: SpentFile, Rows: map[string]int64{table: 0}, Columns: []audit.Place{{Table: table, Column: "day"}, {Table: table, Column: "hash"}}}
	late := audit.Promise{Says: "a used ticket is forgotten when the day on which it expires has ended", Grace: sweepGrace}
	s.mu.Lock()
	b, err := os.ReadFile(s.path)
	s.mu.Unlock()
	if err != nil {
		return f, fmt.Errorf("reading spent wake tickets: %w", err)
	}
	for ; len(b) >= entrySize; b = b[entrySize:] {
		f.Rows[table]++
		d := binary.BigEndian.Uint32(b)
		if d < day(now) {
			late.Rows++
			late.Late = max(late.Late, now.Sub(time.Unix((int64(d)+1)*daySeconds, 0)))
		}
	}
	f.Promises = []audit.Promise{late}
	return f, nil
}
