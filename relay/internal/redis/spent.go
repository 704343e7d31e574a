package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

const (
	again    = 120               // seconds for which a spent token is known with its request
	markLife = 45 * 24 * 60 * 60 // seconds after which marks go in any case: more than any is of use
)

// serverClock is the Lua expression for the server's own Unix time in seconds.
const serverClock = `tonumber(redis.call('TIME')[1])`

// scripts are what the server runs. Beside the clock of the node that asks they
// know the server's own: one clock alone that is wrong, whichever it is, takes no
// mark and no root from anybody.
//
// spec: gate.md#clocks
type scripts struct{ root, spend, issue, sweep *redis.Script }

func newScripts(clock string) *scripts {
	// run is the run of this server, a random name that it takes at every start.
	// ahead is gate.Ahead, by the later of two clocks.
	all := `local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if not run then return redis.error_reply('ERR no run_id') end
local function here() return math.floor(` + clock + ` / 86400) end
local function ahead(swept, today) return swept > math.max(tonumber(today), here()) + 1 end
`
	// KEYS: root, days, …; ARGV: began, day, hash, request, today, life, …
	mark := all + `
local root = redis.call('HMGET', KEYS[1], 'run', 'began', 'swept')
if root[1] ~= run or root[2] ~= ARGV[1] then return 0 end
local swept = tonumber(root[3] or 0)
if tonumber(ARGV[2]) <= swept then
	if ahead(swept, ARGV[5]) then return 0 end
	return 3
end
`
	return &scripts{
		// root: today; and fresh secrets with the day they begin, or nothing. It
		// returns the root of this run, if there is one that can stay. Given secrets
		// it makes one where there is none.
		root: redis.NewScript(all + `
local root = redis.call('HMGET', KEYS[1], 'run', 'swept')
if root[1] ~= run or ahead(tonumber(root[2] or 0), ARGV[1]) then
	if #ARGV == 1 then return false end
	redis.call('DEL', KEYS[1])
	redis.call('HSET', KEYS[1], 'run', run, 'seed', ARGV[2], 'key', ARGV[3], 'began', ARGV[4])
end
return redis.call('HMGET', KEYS[1], 'seed', 'key', 'began')`),

		// spend: …, spent, once; …, again.
		spend: redis.NewScript(mark + `
if redis.call('SADD', KEYS[3], ARGV[3]) == 1 then
	redis.call('SADD', KEYS[2], ARGV[2])
	redis.call('EXPIRE', KEYS[3], ARGV[6])
	redis.call('SET', KEYS[4], ARGV[4], 'EX', ARGV[7])
	return 1
end
if redis.call('GET', KEYS[4]) == ARGV[4] then return 2 end
return 3`),

		// issue: …, part.
		issue: redis.NewScript(mark + `
if redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4]) == 1 then
	redis.call('SADD', KEYS[2], ARGV[2])
	redis.call('EXPIRE', KEYS[3], ARGV[6])
	return 1
end
if redis.call('HGET', KEYS[3], ARGV[3]) == ARGV[4] then return 2 end
return 3`),

		// sweep: root, days; today, prefixes of the keys that go. The day is noted
		// before anything goes. A full server takes that from a script which has
		// written already, if only to delete nothing.
		sweep: redis.NewScript(all + `
local day = math.min(tonumber(ARGV[1]), here())
local root = redis.call('HMGET', KEYS[1], 'run', 'swept')
if root[1] == run and day > tonumber(root[2] or 0) then
	redis.call('SREM', KEYS[2], '')
	redis.call('HSET', KEYS[1], 'swept', day)
end
for _, each in ipairs(redis.call('SMEMBERS', KEYS[2])) do
	if tonumber(each) <= day then
		for i = 2, #ARGV do redis.call('UNLINK', ARGV[i] .. each) end
		redis.call('SREM', KEYS[2], each)
	end
end
return 1`),
	}
}

// anyDay is a today by which no root was swept before it was time.
const anyDay = gate.Day(math.MaxUint32)

// Root returns the root of this run of the server, which is made where there is
// none, and where marks were swept by clocks that were ahead.
func (s *Store) Root(ctx context.Context, began, today gate.Day) (gate.Root, error) {
	r, err := s.askRoot(ctx, today)
	if !errors.Is(err, redis.Nil) {
		return r, explain(err)
	}
	err = s.opt.Raise(ctx, began, func(day gate.Day) error {
		var fresh [64]byte // seed 32 ‖ key 32
		defer clear(fresh[:])
		if _, err := io.ReadFull(s.opt.Random, fresh[:]); err != nil {
			return err
		}
		r, err = s.askRoot(ctx, today, fresh[:32], fresh[32:], uint32(day))
		return explain(err)
	})
	return r, err
}

// askRoot runs the script of that name.
func (s *Store) askRoot(ctx context.Context, today gate.Day, fresh ...any) (r gate.Root, err error) {
	got, err := s.scripts.root.Run(ctx, s.client, []string{keyRoot}, append([]any{uint32(today)}, fresh...)...).StringSlice()
	if err != nil {
		return r, err
	}
	if len(got) != 3 || len(got[0]) != len(r.Seed) || len(got[1]) != len(r.Key) {
		return r, fmt.Errorf("%w: the root is none", ErrRefused)
	}
	began, err := strconv.ParseUint(got[2], 10, 32)
	if err != nil {
		return r, fmt.Errorf("%w: the root is none", ErrRefused)
	}
	copy(r.Seed[:], got[0])
	copy(r.Key[:], got[1])
	r.Began = gate.Day(began)
	s.root.Store(&r.Began)
	return r, nil
}

// Spend keeps the mark of a token.
func (s *Store) Spend(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	day, hash, _ := fields(m)
	return s.mark(ctx, m, s.scripts.spend, []string{keyRoot, keyDays, keyMark + day, keyOnce + day + ":" + hash}, again)
}

// Issue keeps the mark of a part.
func (s *Store) Issue(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	day, _, _ := fields(m)
	return s.mark(ctx, m, s.scripts.issue, []string{keyRoot, keyDays, keyPart + day})
}

func fields(m gate.Mark) (day, hash, request string) {
	return strconv.FormatUint(uint64(m.Until), 10),
		string(binary.BigEndian.AppendUint64(nil, m.Hash)), string(binary.BigEndian.AppendUint64(nil, m.Request))
}

// mark runs a script that answers with a Verdict, or 0 where the root is another
// than the one that keyed the mark, or has to be. Days of roots never come twice.
func (s *Store) mark(ctx context.Context, m gate.Mark, script *redis.Script, keys []string, more ...any) (gate.Verdict, error) {
	began := m.Root
	if last := s.root.Load(); last == nil {
		return 0, gate.ErrLost
	} else if began == 0 {
		began = *last
	}
	day, hash, request := fields(m)
	v, err := script.Run(ctx, s.client, keys, append([]any{uint32(began), day, hash, request, uint32(m.Today), markLife}, more...)...).Int()
	if err != nil {
		return 0, explain(err)
	}
	if v == 0 {
		return 0, gate.ErrLost
	}
	return gate.Verdict(v), nil
}

// Sweep deletes the marks that are over by this clock and by the server's.
func (s *Store) Sweep(ctx context.Context, today gate.Day) error {
	return explain(s.scripts.sweep.Run(ctx, s.client, []string{keyRoot, keyDays}, uint32(today), keyMark, keyPart).Err())
}

var _ gate.Spent = (*Store)(nil)
