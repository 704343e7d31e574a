package redis

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/tacet-chat/tacet/relay/internal/gate"
)

const (
	again    = 120               // seconds for which a spent token is known with its request
	markLife = 45 * 24 * 60 * 60 // seconds after which marks go in any case: more than any is of use
)

// running is put before every script: run is the run of this server, a random
// name that it takes at every start.
const running = `local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if not run then return redis.error_reply('ERR no run_id') end
`

var (
	// scriptRoot returns the root of this run, if there is one. Given fresh
	// secrets it makes one where there is none.
	scriptRoot = redis.NewScript(running + `
if redis.call('HGET', KEYS[1], 'run') ~= run then
	if #ARGV == 0 then return false end
	redis.call('DEL', KEYS[1])
	redis.call('HSET', KEYS[1], 'run', run, 'seed', ARGV[1], 'key', ARGV[2], 'began', ARGV[3])
end
return redis.call('HMGET', KEYS[1], 'seed', 'key', 'began')`)

	// scriptSpend: root, days, spent, once; began, day, hash, request, again, life.
	scriptSpend = redis.NewScript(running + `
local root = redis.call('HMGET', KEYS[1], 'run', 'began')
if root[1] ~= run or root[2] ~= ARGV[1] then return 0 end
if redis.call('SADD', KEYS[3], ARGV[3]) == 1 then
	redis.call('SADD', KEYS[2], ARGV[2])
	redis.call('EXPIRE', KEYS[3], ARGV[6])
	redis.call('SET', KEYS[4], ARGV[4], 'EX', ARGV[5])
	return 1
end
if redis.call('GET', KEYS[4]) == ARGV[4] then return 2 end
return 3`)

	// scriptIssue: root, days, part; began, day, hash, request, life.
	scriptIssue = redis.NewScript(running + `
local root = redis.call('HMGET', KEYS[1], 'run', 'began')
if root[1] ~= run or root[2] ~= ARGV[1] then return 0 end
if redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4]) == 1 then
	redis.call('SADD', KEYS[2], ARGV[2])
	redis.call('EXPIRE', KEYS[3], ARGV[5])
	return 1
end
if redis.call('HGET', KEYS[3], ARGV[3]) == ARGV[4] then return 2 end
return 3`)

	// scriptSweep: days; day, prefixes of the keys that go.
	scriptSweep = redis.NewScript(`
for _, day in ipairs(redis.call('SMEMBERS', KEYS[1])) do
	if tonumber(day) <= tonumber(ARGV[1]) then
		for i = 2, #ARGV do redis.call('UNLINK', ARGV[i] .. day) end
		redis.call('SREM', KEYS[1], day)
	end
end
return 1`)
)

// Root returns the root of this run of the server, which is made where there is
// none.
func (s *Store) Root(ctx context.Context, began gate.Day) (gate.Root, error) {
	r, err := s.askRoot(ctx)
	if !errors.Is(err, redis.Nil) {
		return r, explain(err)
	}
	err = s.opt.Raise(ctx, began, func(day gate.Day) error {
		var fresh [64]byte // seed 32 ‖ key 32
		defer clear(fresh[:])
		if _, err := io.ReadFull(s.opt.Random, fresh[:]); err != nil {
			return err
		}
		r, err = s.askRoot(ctx, fresh[:32], fresh[32:], uint32(day))
		return explain(err)
	})
	return r, err
}

// askRoot runs scriptRoot.
func (s *Store) askRoot(ctx context.Context, fresh ...any) (r gate.Root, err error) {
	got, err := scriptRoot.Run(ctx, s.client, []string{keyRoot}, fresh...).StringSlice()
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
	day, hash, request := fields(m)
	return s.mark(ctx, m, scriptSpend, []string{keyRoot, keyDays, keyMark + day, keyOnce + day + ":" + hash}, day, hash, request, again, markLife)
}

// Issue keeps the mark of a part.
func (s *Store) Issue(ctx context.Context, m gate.Mark) (gate.Verdict, error) {
	day, hash, request := fields(m)
	return s.mark(ctx, m, scriptIssue, []string{keyRoot, keyDays, keyPart + day}, day, hash, request, markLife)
}

func fields(m gate.Mark) (day, hash, request string) {
	return strconv.FormatUint(uint64(m.Until), 10),
		string(binary.BigEndian.AppendUint64(nil, m.Hash)), string(binary.BigEndian.AppendUint64(nil, m.Request))
}

// mark runs a script that answers with a Verdict, or 0 where the root is another
// than the one that keyed the mark. Days of roots never come twice.
func (s *Store) mark(ctx context.Context, m gate.Mark, script *redis.Script, keys []string, args ...any) (gate.Verdict, error) {
	began := m.Root
	if last := s.root.Load(); last == nil {
		return 0, gate.ErrLost
	} else if began == 0 {
		began = *last
	}
	v, err := script.Run(ctx, s.client, keys, append([]any{uint32(began)}, args...)...).Int()
	if err != nil {
		return 0, explain(err)
	}
	if v == 0 {
		return 0, gate.ErrLost
	}
	return gate.Verdict(v), nil
}

// Sweep deletes the marks that are over.
func (s *Store) Sweep(ctx context.Context, today gate.Day) error {
	return explain(scriptSweep.Run(ctx, s.client, []string{keyDays}, uint32(today), keyMark, keyPart).Err())
}

var _ gate.Spent = (*Store)(nil)
