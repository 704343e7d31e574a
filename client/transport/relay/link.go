package relay

import (
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// run serves the puts of a link until there are none.
func (l *link) run() {
	for {
		err := l.serve()
		if err != errIdle && err != errFull {
			l.relay.doubtAfter(err)
		}
		if l.over(err) {
			return
		}
	}
}

// serve opens a connection, if anybody still waits when one may be opened, and
// puts until it ends. It returns nil if there was nothing more to put.
func (l *link) serve() error {
	l.relay.mu.Lock()
	wait := time.Until(l.until)
	l.relay.mu.Unlock()
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-l.relay.ctx.Done():
			return transport.ErrClosed
		}
	}
	if l.idle() {
		return nil
	}
	name := "put/" + l.name
	s, err := l.relay.open(l.relay.ctx, opening{path: "/v1/put", isolate: name, limit: wire.MaxFrame, purpose: transport.PayPut})
	if err != nil {
		return err
	}
	defer l.relay.keep(name, s.voucher)
	defer s.shut()
	l.relay.mu.Lock()
	l.paid = s.voucher
	l.relay.mu.Unlock()
	return s.run(
		func() error { return l.receive(s) },
		func() error { return l.send(s) },
	)
}

// errIdle ends a connection that nobody puts to.
var errIdle = &fault{text: "nothing more to put"}

// errFull ends a connection whose put context has all the cells that it may have.
var errFull = &fault{text: "the put context is full"}

// over ends what the connection left behind and reports whether the link rests.
func (l *link) over(err error) bool {
	r := l.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == errIdle || err == errFull {
		err = nil
	}
	if err == nil {
		l.failed = 0
	} else {
		for id, f := range l.sent { // nobody knows what became of these cells
			delete(l.sent, id)
			l.land(f, transport.Receipt{}, err)
		}
		for _, f := range l.waiting {
			l.land(f, transport.Receipt{}, err)
		}
		l.waiting = nil
		l.failed++
		if l.proved {
			l.failed = 0
		}
		l.until = time.Now().Add(pause(l.failed))
	}
	l.proved = false
	if len(l.waiting) > 0 {
		return false
	}
	l.running = false
	if l.failed == 0 {
		delete(r.links, l.name)
	}
	return true
}

// idle reports whether there is nothing to put and nothing to wait for.
func (l *link) idle() bool {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	return len(l.waiting)+len(l.sent) == 0
}

// send writes what waits until the connection ends or has nothing to do.
func (l *link) send(s *socket) error {
	var next uint64
	b := make([]byte, 0, wire.PutSize)
	rest := time.NewTimer(idleAfter)
	defer rest.Stop()
	for {
		b = l.take(b[:0], &next, func() { s.fail(errSlow) })
		if len(b) > 0 {
			if err := s.write(b); err != nil {
				return err
			}
			rest.Reset(idleAfter)
			continue
		}
		if l.done() {
			return errFull
		}
		select {
		case <-s.ctx.Done():
			return s.err()
		case <-l.some:
		case <-rest.C:
			if l.idle() {
				return errIdle
			}
			rest.Reset(idleAfter)
		}
	}
}

// done reports whether the put context is full and everything in it is answered.
func (l *link) done() bool {
	l.relay.mu.Lock()
	defer l.relay.mu.Unlock()
	return l.paid.full() && len(l.sent) == 0
}

// receive reads answers until the connection ends.
func (l *link) receive(s *socket) error {
	for {
		b, err := s.read()
		if err != nil {
			return err
		}
		answers, err := parseAnswers(b)
		if err != nil {
			return err
		}
		for _, a := range answers {
			if err := l.answer(a); err != nil {
				return err
			}
		}
	}
}
