package transporttest

import (
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

func cellArrivesAndIsCounted(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	c, r := p.put(p.join(), me.Address)
	p.want(r, 1)
	w.expect(me.Address, c)
}

func unseenCellIsNotCounted(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(transport.Delivery) {}})
	c, r := p.put(p.join(), me.Address)
	p.want(r, 0)
	w.expect(me.Address, c)
}

func nobodyIsCounted(p *party) {
	p.watch(p.join(), transport.Watch{Set: p.owns(1)})
	_, r := p.put(p.join(), p.own().Address)
	p.want(r, 0)
}

func twoDevicesAreCounted(p *party) {
	me := p.own()
	one := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	two := p.watch(p.join(), transport.Watch{Set: []transport.Owned{p.own(), me}})
	c, r := p.put(p.join(), me.Address)
	p.want(r, 2)
	one.expect(me.Address, c)
	two.expect(me.Address, c)
}

func seenTwiceCountsOnce(p *party) {
	me := p.own()
	p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(d transport.Delivery) {
		done := make(chan struct{})
		go func() { d.Seen(); close(done) }()
		d.Seen()
		<-done
	}})
	_, r := p.put(p.join(), me.Address)
	p.want(r, 1)
}

func seenAfterTheEnd(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(transport.Delivery) {}})
	p.put(p.join(), me.Address)
	d := w.next()
	w.stop()
	w.end()
	d.Seen()
}

// answerIsConstant checks the half that no busy machine can spoil: an answer
// never comes early, neither to a cell that was seen nor to one for nobody.
func answerIsConstant(p *party) {
	if p.suite.Answer == 0 {
		p.Skip("answers take no constant time here")
	}
	me := p.own()
	p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	you := p.join()
	for _, a := range []transport.Address{me.Address, p.own().Address} {
		start := time.Now()
		p.put(you, a)
		if d := time.Since(start); d < p.suite.Answer {
			p.Errorf("got an answer after %v, want none before %v", d, p.suite.Answer)
		}
	}
}

func manyPutsAtOnce(p *party) {
	const n = 200
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	you := p.join()
	type outcome struct {
		r   transport.Receipt
		err error
	}
	outcomes := make(chan outcome, n)
	missing := map[transport.Cell]bool{}
	for range n {
		c := p.cell()
		missing[*c] = true
		go func() {
			r, err := you.Put(p.Context(), transport.Put{Address: me.Address, ID: p.id(), Cell: c})
			outcomes <- outcome{r, err}
		}()
	}
	for range n {
		o := wait(p, outcomes, "an answer")
		if o.err != nil {
			p.Fatalf("got put error %v, want a receipt", o.err)
		}
		p.want(o.r, 1)
	}
	for len(missing) > 0 {
		delete(missing, *w.next().Cell)
	}
}

func samePutAtOnce(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	you := p.join()
	put := transport.Put{Address: me.Address, ID: p.id(), Cell: p.cell()}
	receipts := make(chan transport.Receipt, 3)
	for range cap(receipts) {
		go func() {
			r, err := you.Put(p.Context(), put)
			if err != nil {
				p.Errorf("got put error %v, want a receipt", err)
			}
			receipts <- r
		}()
	}
	for range cap(receipts) {
		p.want(wait(p, receipts, "an answer"), 1)
	}
	w.expect(me.Address, put.Cell)
}

func samePutLater(p *party) {
	me := p.own()
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	you := p.join()
	put := transport.Put{Address: me.Address, ID: p.id(), Cell: p.cell()}
	for range 2 {
		r, err := you.Put(p.Context(), put)
		if err != nil || r.Delivered > 1 {
			p.Errorf("got receipt %+v and error %v, want at most 1 delivered", r, err)
		}
	}
	w.expect(me.Address, put.Cell)
}

func cellBelongsToTheCallee(p *party) {
	me, you := p.own(), p.join()
	scribble := func(d transport.Delivery) { d.Seen(); clear(d.Cell[:]) }
	p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: scribble})
	other := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}})
	c, _ := p.put(you, me.Address)
	sent := *c
	clear(c[:]) // the putter's to use again once Put has returned
	other.expect(me.Address, &sent)
	if p.suite.Window > 0 {
		me.Replay = true
		p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}}).expect(me.Address, &sent)
	}
}

func deliverIsNeverConcurrent(p *party) {
	const n = 50
	me := p.own()
	var inside, worst atomic.Int32
	w := p.watch(p.join(), transport.Watch{Set: []transport.Owned{me}, Deliver: func(d transport.Delivery) {
		if k := inside.Add(1); k > worst.Load() {
			worst.Store(k)
		}
		d.Seen()
		inside.Add(-1)
	}})
	you := p.join()
	for range n {
		go you.Put(p.Context(), transport.Put{Address: me.Address, ID: p.id(), Cell: p.cell()})
	}
	for range n {
		w.next()
	}
	if got := worst.Load(); got != 1 {
		p.Errorf("got %d deliveries at once, want 1", got)
	}
}

func timeIsTold(p *party) {
	times := make(chan int64, 16)
	p.watch(p.join(), transport.Watch{Set: p.owns(1), Time: func(unix int64) { times <- unix }})
	got := wait(p, times, "a signed time")
	if d := time.Since(time.Unix(got, 0)); d < -patience || d > patience {
		p.Errorf("got a time that is %v away, want the running one", d)
	}
}

func ackOfNothing(p *party) {
	tr := p.join()
	if tr.Caps().Acks {
		p.Skip("acks are for stored deliveries, and this transport stores")
	}
	if err := tr.Ack(p.Context(), make([]transport.DeliveryID, 3)); err != nil {
		p.Errorf("got error %v, want none", err)
	}
}
