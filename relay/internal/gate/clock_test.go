package gate_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// marks is a store of the gate that can be begun again, as at a start of the relay.
type marks interface {
	gate.Members
	gate.Spent
}

// filed opens a gate's store. stop ends it.
func filed(t *testing.T, path string, now gate.Day) (store marks, stop func()) {
	t.Helper()
	g, err := sqlite.OpenGate(path, now, now, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- g.Run(ctx) }()
	return g, func() {
		cancel()
		if err := errors.Join(<-done, g.Close()); err != nil {
			t.Error(err)
		}
	}
}

// A relay's clock jumps three days ahead, its sweeps go by that, and it is put right
// again: no token of before is honoured twice, and people get new ones at once.
//
// spec: gate.md#clocks
func TestAClockThatWasAheadHasNoTokenHonouredTwice(t *testing.T) {
	for _, c := range []struct {
		name          string
		disk, restart bool
		buysFirst     bool // the first call once the clock is right buys tokens, and spends none
	}{
		{"memory", false, false, false}, {"disk", true, false, true}, {"disk, with a start when it is right again", true, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { clockWasAhead(t, c.disk, c.restart, c.buysFirst) })
		})
	}
}

func clockWasAhead(t *testing.T, disk, restart, buysFirst bool) {
	var store marks = memory.NewGate(1<<20, rand.Reader)
	stop := func() {}
	path := filepath.Join(t.TempDir(), "gate.db")
	if disk {
		store, stop = filed(t, path, today)
	}
	defer func() { stop() }()
	begin := func() *realm {
		return open(t, func(c *gate.KeeperConfig) { c.Members, c.Spent = store, store })
	}
	r := begin()
	// run has the keeper do what it does every five minutes.
	run := func() {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; err != nil || r.failed.Load() != 0 {
			t.Errorf("sweeping: %v, and %d failures", err, r.failed.Load())
		}
	}
	uses := map[string]int{} // of each token, for other things
	admit := func(name string, raw *token.Raw, epoch gate.Day, n uint64, status int) {
		t.Helper()
		got := r.Admit(bearing(raw, token.Member, uint32(epoch), token.Watch, id16(n)), token.Watch, nil)
		want(t, fmt.Sprintf("%s, use %d", name, n), got, status)
		if got == 0 {
			if uses[name]++; uses[name] > 1 {
				t.Errorf("%s was honoured for %d things", name, uses[name])
			}
		}
	}
	right := r.joined(t)
	list := r.buy(t, right, token.Member, uint32(today))
	admit("spent", &list[0], today, 1, 0)
	run()
	_, began, _ := r.Announced()

	r.unix.Add(3 * 86_400)
	run()
	early := r.buy(t, right, token.Member, uint32(today+3)) // nobody knows yet
	admit("early", &early[0], today+3, 1, 0)
	admit("spent", &list[0], today, 2, 401)
	r.unix.Store(noon)
	if restart {
		stop()
		store, stop = filed(t, path, today)
		r = begin()
	}
	if buysFirst {
		status, _ := r.post("/v1/token", someone, ask(wire.ByCredential, token.Member, uint32(today), 0, right[:], make([]byte, wire.TokenBlindedSize)))
		want(t, "buying under the seed of before", status, http.StatusServiceUnavailable)
	}
	old := func() {
		for n := range uint64(3) {
			admit("spent", &list[0], today, 10+n, 401)
			admit("not spent", &list[1], today, 10+n, 401)
			admit("early", &early[0], today+3, 10+n, 401)
			admit("early, not spent", &early[1], today+3, 10+n, 401)
		}
	}
	old()
	if _, now, err := r.Announced(); err != nil || now <= began {
		t.Errorf("got a seed of day %d, %v, after one of %d", now, err, began)
	}
	for _, day := range []gate.Day{today, today + 3} {
		r.unix.Store(int64(day)*86_400 + 43_200)
		run()
		fresh := r.buy(t, right, token.Member, uint32(day))
		name := fmt.Sprintf("bought on day %d", day-today)
		admit(name, &fresh[0], day, 1, 0)
		admit(name, &fresh[0], day, 2, 401)
		old()
		r.unix.Add(86_400)
		run()
		admit(name, &fresh[0], day, 3, 401)
		admit(name+", spent the day after", &fresh[1], day, 1, 0)
		admit(name+", spent the day after", &fresh[1], day, 2, 401)
	}
}
