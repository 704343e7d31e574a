package load

import (
	"bufio"
	"crypto/ed25519"
	"fmt"
	"slices"
	"sync/atomic"
)

// earsOrder tells a process of receivers, which can be frozen, whom to hear.
type earsOrder struct {
	Variant string                   `json:"variant"`
	Addr    string                   `json:"addr"`
	Seeds   [][ed25519.SeedSize]byte `json:"seeds"` // of mailboxes, one watch connection each

	Again bool `json:"again"` // open anew what has ended
}

// earsWord is what it answers to every line.
type earsWord struct {
	Heard   int64  `json:"heard"`   // cells
	Doubled int64  `json:"doubled"` // of them, seen again or out of order
	Ended   int    `json:"ended"`   // connections that the server ended, so far
	Err     string `json:"err,omitempty"`
}

// ears are the receivers of such a process. They are for one goroutine.
type ears struct {
	s     *server
	echo  bool
	boxes []*mailbox
	heard atomic.Int64
	of    []*ear // by mailbox; nil before the first
	past  earsWord
}

func playEars(in *bufio.Reader) error {
	var o earsOrder
	if err := hear(in, &o); err != nil {
		return err
	}
	all := variants()
	i := slices.IndexFunc(all, func(v *variant) bool { return v.name == o.Variant })
	if i < 0 {
		return fmt.Errorf("there is no variant %q", o.Variant)
	}
	e := &ears{s: &server{addr: o.Addr, tls: all[i].tls}, echo: all[i].echo, of: make([]*ear, len(o.Seeds))}
	var err error
	if e.s.dialect, err = all[i].speak(e.s); err != nil {
		return err
	}
	for _, seed := range o.Seeds {
		e.boxes = append(e.boxes, mailboxOf(seed))
	}
	for again := true; ; again = o.Again {
		if again {
			if err := e.open(); err != nil {
				e.past.Err = err.Error()
			}
		}
		if err := say(e.count()); err != nil {
			return err
		}
		o.Again = false
		if hear(in, &o) != nil {
			return nil
		}
	}
}

// open opens connections where there is none that lives.
func (e *ears) open() error {
	var in span
	for i, box := range e.boxes {
		next := &ear{sum: &e.heard}
		if before := e.of[i]; before != nil {
			if !ended(before.over) {
				continue
			}
			e.past.Ended++
			e.past.Doubled += before.doubled
			next.last = before.last
		}
		var err error
		if next.line, err = e.s.join([]*mailbox{box}, e.echo); err != nil {
			return err
		}
		e.of[i] = next
		next.hear(&in, 4<<10, func() {})
	}
	return nil
}

func (e *ears) count() earsWord {
	w := e.past
	w.Heard = e.heard.Load()
	for _, one := range e.of {
		if one != nil && ended(one.over) {
			w.Ended++
			w.Doubled += one.doubled
		}
	}
	return w
}

func ended(over <-chan struct{}) bool {
	select {
	case <-over:
		return true
	default:
		return false
	}
}
