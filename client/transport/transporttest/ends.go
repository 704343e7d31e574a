package transporttest

import (
	"context"
	"errors"
	"sync"

	"github.com/tacet-chat/tacet/client/transport"
)

func cancelEndsPut(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	you := p.join()
	ctx, cancel := context.WithCancel(p.Context())
	ended := make(chan error)
	go func() {
		_, err := you.Put(ctx, transport.Put{Address: me.Address, ID: p.id(), Cell: p.cell()})
		ended <- err
	}()
	w.next() // the cell is there, the answer is not
	cancel()
	if err := wait(p, ended, "the end of the put"); !errors.Is(err, context.Canceled) {
		p.Errorf("got error %v, want the context's", err)
	}
	_, r := p.put(you, me.Address) // and the connection still works
	p.want(r, 1)

	if _, err := you.Put(ctx, transport.Put{Address: me.Address, ID: p.id(), Cell: p.cell()}); !errors.Is(err, context.Canceled) {
		p.Errorf("got error %v, want the context's", err)
	}
}

func cancelEndsWatch(p *party) {
	me, tr := p.own(), p.join()
	w := p.watch(tr, transport.Watch{Set: []transport.Owned{me}})
	w.stop()
	if err := w.end(); !errors.Is(err, context.Canceled) {
		p.Errorf("got error %v, want the context's", err)
	}
	again := p.watch(tr, transport.Watch{Set: []transport.Owned{me}})
	_, r := p.put(p.join(), me.Address)
	p.want(r, 1) // the one that ended does not count
	again.next()
}

// inFlight starts a put and returns once its cell has arrived at w.
func (p *party) inFlight(you transport.Transport, w *watching, a transport.Address) <-chan error {
	ended := make(chan error, 1)
	go func() {
		r, err := you.Put(p.Context(), transport.Put{Address: a, ID: p.id(), Cell: p.cell()})
		if err != nil && r != (transport.Receipt{}) {
			p.Errorf("got receipt %+v beside an error, want none", r)
		}
		ended <- err
	}()
	w.next()
	return ended
}

func closeEndsEverything(p *party) {
	me, you := p.own(), p.join()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	mine := p.watch(you, transport.Watch{Set: p.owns(1)})
	put := p.inFlight(you, w, me.Address)
	if err := you.Close(); err != nil {
		p.Errorf("got error %v, want none", err)
	}
	if err := wait(p, put, "the end of the put"); !errors.Is(err, transport.ErrClosed) {
		p.Errorf("got put error %v, want ErrClosed", err)
	}
	if err := mine.end(); !errors.Is(err, transport.ErrClosed) {
		p.Errorf("got watch error %v, want ErrClosed", err)
	}
}

func closedStaysClosed(p *party) {
	tr := p.join()
	for range 2 {
		if err := tr.Close(); err != nil {
			p.Errorf("got error %v, want none", err)
		}
	}
	_, err := tr.Put(p.Context(), transport.Put{Address: p.own().Address, ID: p.id(), Cell: p.cell()})
	if !errors.Is(err, transport.ErrClosed) {
		p.Errorf("got put error %v, want ErrClosed", err)
	}
	if err := p.start(tr, transport.Watch{Set: p.owns(1)}).end(); !errors.Is(err, transport.ErrClosed) {
		p.Errorf("got watch error %v, want ErrClosed", err)
	}
}

// brokenPut cuts the putter off between cell and answer: the cell arrived and
// was seen, but a receipt that nobody gave must not be made up.
func brokenPut(p *party) {
	me, you := p.own(), p.join()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	put := p.inFlight(you, w, me.Address)
	p.world.Break(you)
	p.temporary(wait(p, put, "the end of the put"))
	before := 0
	if p.world.PutLinks != nil {
		before = p.world.PutLinks(you)
	}
	_, r := p.put(you, me.Address)
	p.want(r, 1)
	if p.world.PutLinks != nil && p.world.PutLinks(you) == before {
		p.Error("got no new connection after the old one broke, want one")
	}
}

func brokenWatch(p *party) {
	me, tr := p.own(), p.join()
	w := p.watch(tr, transport.Watch{Set: []transport.Owned{me}})
	p.world.Break(tr)
	p.temporary(w.end())
	p.watch(tr, transport.Watch{Set: []transport.Owned{me}})
	_, r := p.put(p.join(), me.Address)
	p.want(r, 1)
}

func putsShareByName(p *party) {
	if p.world.PutLinks == nil {
		p.Skip("connections cannot be counted here")
	}
	you := p.join()
	links := func(names ...string) int {
		before := p.world.PutLinks(you)
		var all sync.WaitGroup
		for _, name := range names {
			all.Go(func() {
				put := transport.Put{Address: p.own().Address, ID: p.id(), Cell: p.cell(), Isolate: name}
				if _, err := you.Put(p.Context(), put); err != nil {
					p.Errorf("got put error %v, want a receipt", err)
				}
			})
		}
		all.Wait()
		return p.world.PutLinks(you) - before
	}
	links("first") // with what else a transport needs once
	if got := links("a", "b", "a", "", "first"); got != 3 {
		p.Errorf("got %d new connections for three new names, want 3", got)
	}
	if got := links("a", "b", "a", "", "first"); got != 0 {
		p.Errorf("got %d new connections for the same names, want 0", got)
	}
}
