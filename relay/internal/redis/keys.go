package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/tacet-chat/tacet/relay/internal/park"
)

var (
	// scriptKeys: park; pairs of epoch and a fresh key, or nothing.
	scriptKeys = redis.NewScript(`
local all = {redis.call('HGET', KEYS[1], 'ids')}
if not all[1] then return false end
for i = 1, #ARGV, 2 do
	if ARGV[i + 1] ~= '' then redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1]) end
	all[#all + 1] = redis.call('HGET', KEYS[1], ARGV[i]) or ''
end
return all`)

	// scriptDrop: park; first and last epoch that stay.
	scriptDrop = redis.NewScript(`
for _, epoch in ipairs(redis.call('HKEYS', KEYS[1])) do
	local n = tonumber(epoch)
	if n and (n < tonumber(ARGV[1]) or n > tonumber(ARGV[2])) then redis.call('HDEL', KEYS[1], epoch) end
end
return 1`)
)

// ParkKeys returns the key of row ids and those of epochs. With make those that
// are not there are made, else they are nil. It fails with park.ErrNoKeys. They are
// asked for at every call: a node that kept one would keep it alive.
func (s *Store) ParkKeys(ctx context.Context, epochs []park.Epoch, make bool) (ids *park.Key, keys []*park.Key, err error) {
	var args []any
	for _, e := range epochs {
		fresh := ""
		if make {
			k, err := park.NewKey(s.opt.Random)
			if err != nil {
				return nil, nil, err
			}
			fresh = string(k[:])
		}
		args = append(args, strconv.FormatInt(int64(e), 10), fresh)
	}
	got, err := scriptKeys.Run(ctx, s.client, []string{keyPark}, args...).StringSlice()
	if errors.Is(err, redis.Nil) {
		return nil, nil, park.ErrNoKeys
	} else if err != nil {
		return nil, nil, explain(err)
	}
	all := []*park.Key{}
	for _, text := range got {
		switch len(text) {
		case park.KeySize:
			k := park.Key([]byte(text))
			all = append(all, &k)
		case 0:
			all = append(all, nil)
		default:
			return nil, nil, fmt.Errorf("%w: a key is none", ErrRefused)
		}
	}
	if len(all) != len(epochs)+1 || all[0] == nil {
		return nil, nil, fmt.Errorf("%w: a key is none", ErrRefused)
	}
	return all[0], all[1:], nil
}

// BeginParkKeys makes a key of row ids where there is none.
func (s *Store) BeginParkKeys(ctx context.Context) error {
	k, err := park.NewKey(s.opt.Random)
	if err != nil {
		return err
	}
	defer k.Wipe()
	return explain(s.client.HSetNX(ctx, keyPark, "ids", k[:]).Err())
}

// DropParkKeys destroys the keys of epochs before first and after last.
func (s *Store) DropParkKeys(ctx context.Context, first, last park.Epoch) error {
	return explain(scriptDrop.Run(ctx, s.client, []string{keyPark}, int64(first), int64(last)).Err())
}
