package hub

import (
	"slices"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/window"
)

// TestFoundWatchersDoNotChange: what find returns is read without a lock, so
// joining, leaving and renewing must leave it alone.
func TestFoundWatchersDoNotChange(t *testing.T) {
	table, a := newTable(), &wire.Address{1}
	var all []*watcher
	for range 6 {
		w := new(watcher)
		table.add(a, w)
		all = append(all, w)
	}
	_, found := table.find(a)
	was := slices.Clone(found)
	table.remove(a, all[1])
	table.add(a, new(watcher))
	table.renew()
	table.remove(a, all[4])
	if !slices.Equal(found, was) {
		t.Error("got a found list changed")
	}
	if _, now := table.find(a); len(now) != 5 || slices.Contains(now, all[1]) || slices.Contains(now, all[4]) {
		t.Errorf("got %d watchers, want the 5 that are left", len(now))
	}
}

func TestWatchersOfOneAddressAreBounded(t *testing.T) {
	table, a := newTable(), &wire.Address{1}
	first := new(watcher)
	for i := range maxWatchers {
		w := new(watcher)
		if i == 0 {
			w = first
		}
		if got := table.add(a, w); got != added {
			t.Fatalf("got outcome %d for watcher %d", got, i)
		}
	}
	if got := table.add(a, new(watcher)); got != crowded {
		t.Errorf("got outcome %d for one too many, want %d", got, crowded)
	}
	if got := table.add(a, first); got != already {
		t.Errorf("got outcome %d for one who is there, want %d", got, already)
	}
}

func TestRenewedTableHoldsTheSame(t *testing.T) {
	table, w, v := newTable(), new(watcher), new(watcher)
	for i := range 500 {
		a := &wire.Address{byte(i), byte(i >> 8)}
		if table.add(a, w); i%7 == 0 {
			table.add(a, v)
		}
	}
	table.renew()
	for i := range 500 {
		a := &wire.Address{byte(i), byte(i >> 8)}
		if one, many := table.find(a); i%7 == 0 && len(many) != 2 || i%7 != 0 && one != w {
			t.Fatalf("address %d: got another watcher after renewing", i)
		}
		table.remove(a, w)
		table.remove(a, v)
	}
	for i := range table.shards {
		if s := &table.shards[i]; len(s.one)+len(s.many) != 0 {
			t.Fatal("got an address left behind")
		}
	}
}

// TestQueueIsBounded: what waits for one who does not read has a bound, and is
// let go with the connection.
func TestQueueIsBounded(t *testing.T) {
	h := New(Config{Time: seed(t)})
	w := new(watcher)
	w.init(h, sink{}, 0, w)
	var e window.Entry
	n, most := 0, 0
	for w.state == open {
		w.deliver(nil, &e, 1)
		most = max(most, w.queued)
		n++
	}
	if most > queueLimit || most < queueLimit-2000 {
		t.Errorf("got %d bytes waiting at most, want just under %d", most, queueLimit)
	}
	if w.queue != nil || w.deliver(nil, &e, 1) {
		t.Error("got a queue after the end")
	}
	if want := queueLimit/(4+wire.DeliverSize) + 1; n != want {
		t.Errorf("got the end after %d cells, want %d", n, want)
	}
}
