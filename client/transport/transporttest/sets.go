package transporttest

import (
	"errors"

	"github.com/tacet-chat/tacet/client/transport"
)

func wrongProofIsRefused(p *party) {
	me := p.own()
	me.Sign = p.own().Sign
	p.start(p.join(), transport.Watch{Set: []transport.Owned{p.own(), me}}).refused()
}

func signingError(p *party) {
	gone := errors.New("the key is gone")
	me := p.own()
	me.Sign = func([]byte) ([]byte, error) { return nil, gone }
	if err := p.start(p.join(), transport.Watch{Set: []transport.Owned{me}}).end(); !errors.Is(err, gone) {
		p.Errorf("got error %v, want the signer's", err)
	}
	me.Sign = func([]byte) ([]byte, error) { return []byte("short"), nil }
	if err := p.start(p.join(), transport.Watch{Set: []transport.Owned{me}}).end(); err == nil {
		p.Error("got no error, want one for a signature of the wrong size")
	}
}

func wrongPeriodIsRefused(p *party) {
	for _, t := range []uint64{p.period() + 3, p.period() - 3} {
		p.start(p.join(), transport.Watch{Set: p.owns(1), Period: t}).refused()
	}
}

func neighbouringPeriods(p *party) {
	you := p.join()
	for _, t := range []uint64{p.period() + 1, p.period() - 1} {
		me := p.own()
		w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Period: t})
		c, r := p.put(you, me.Address)
		p.want(r, 1)
		w.expect(me.Address, c)
	}
}

func emptySetIsRefused(p *party) {
	p.start(p.join(), transport.Watch{}).refused()
}

func tooManyAddresses(p *party) {
	p.start(p.join(), transport.Watch{Set: p.owns(transport.MaxWatched + 1)}).refused()
}

// bigSetIsWatched takes the largest set there is, and puts to its edges and to
// where a transport might cut it.
func bigSetIsWatched(p *party) {
	set := p.owns(transport.MaxWatched)
	for i := range set {
		set[i].Replay = i%3 == 0
	}
	w := p.watch(p.join(), transport.Watch{Set: set})
	you := p.join()
	receipts := make(chan transport.Receipt)
	at := []int{0, 1, 511, 512, 2047, 2048, 4094, 4095}
	for _, i := range at {
		go func() {
			r, err := you.Put(p.Context(), transport.Put{Address: set[i].Address, ID: p.id(), Cell: p.cell()})
			if err != nil {
				p.Errorf("got put error %v, want a receipt", err)
			}
			receipts <- r
		}()
	}
	for range at {
		p.want(wait(p, receipts, "an answer"), 1)
	}
	missing := map[transport.Address]bool{}
	for _, i := range at {
		missing[set[i].Address] = true
	}
	for len(missing) > 0 {
		delete(missing, w.next().Address)
	}
}

// untilDelivered puts until somebody watches: nothing says when More arrived.
func (p *party) untilDelivered(you transport.Transport, a transport.Address) {
	p.Helper()
	for range 10 {
		if _, r := p.put(you, a); r.Delivered > 0 {
			p.want(r, 1)
			return
		}
	}
	p.Error("got nobody there after ten puts, want the address watched")
}

func moreIsWatched(p *party) {
	more := make(chan []transport.Owned)
	first, late := p.own(), p.owns(600)
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{first}, More: more})
	you := p.join()
	for _, set := range [][]transport.Owned{late[:1], late[1:]} {
		more <- set
		p.untilDelivered(you, set[len(set)-1].Address)
	}
	p.untilDelivered(you, first.Address)
	for range 3 {
		w.next()
	}
	select {
	case <-w.ready:
		p.Error("got ready twice, want it once")
	default:
	}
}

func closedMore(p *party) {
	more := make(chan []transport.Owned)
	close(more)
	me := p.own()
	p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, More: more})
	_, r := p.put(p.join(), me.Address)
	p.want(r, 1)
}

func moreWithWrongProof(p *party) {
	more := make(chan []transport.Owned)
	w := p.watch(p.join(), transport.Watch{Set: p.owns(1), More: more})
	me := p.own()
	me.Sign = p.own().Sign
	more <- []transport.Owned{me}
	w.refused()
}

func moreBeyondTheBound(p *party) {
	more := make(chan []transport.Owned)
	w := p.watch(p.join(), transport.Watch{Set: p.owns(2), More: more})
	more <- p.owns(transport.MaxWatched - 1)
	w.refused()
}

func replayBringsWhatWasMissed(p *party) {
	if p.suite.Window == 0 {
		p.Skip("nothing is replayed here")
	}
	me, other := p.own(), p.own()
	you := p.join()
	c, r := p.put(you, me.Address)
	p.want(r, 0)
	p.put(you, other.Address)
	me.Replay = true
	w := p.start(p.join(), transport.Watch{Set: []transport.Owned{me, other}})
	if since := w.since(); since <= 0 || since > p.suite.Window {
		p.Errorf("got a replay of %v, want more than 0 and at most %v", since, p.suite.Window)
	}
	w.expect(me.Address, c)
	fence, _ := p.put(you, me.Address)
	w.expect(me.Address, fence)
}

func noReplayUnasked(p *party) {
	me, you := p.own(), p.join()
	p.put(you, me.Address)
	w := p.start(p.join(), transport.Watch{Set: []transport.Owned{me}})
	if since := w.since(); since != 0 {
		p.Errorf("got a replay of %v, want none", since)
	}
	fence, _ := p.put(you, me.Address)
	w.expect(me.Address, fence)
}
