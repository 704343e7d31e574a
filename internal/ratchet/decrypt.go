package ratchet

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
)

// Decrypt opens a message of the other side and returns its block. It works on
// a copy: the state changes only if the message opened, and the new state must be
// on disk before the message is acked. now is the time for skipped keys.
//
// Every message that does not open fails with ErrDecrypt. The only other error is
// that of rand, from which a new ratchet key may be made: then nothing is wrong
// with the message.
//
// spec: session.md#receiving
func (s *State) Decrypt(rand io.Reader, now time.Time, ad, msg []byte) ([]byte, error) {
	if len(msg) != Size {
		return nil, ErrDecrypt
	}
	d := draft{core: s.core.clone(), was: s, at: now, now: unix(now)}
	block, err := d.open(rand, ad, msg)
	if err != nil {
		d.wipe()
		return nil, err
	}
	d.commit()
	return block, nil
}

// unix is the time in seconds since 1970, never negative.
func unix(t time.Time) uint64 { return uint64(max(t.Unix(), 0)) }

// draft is what a state becomes if a message opens.
type draft struct {
	core
	was   *State       // not changed before commit
	braid *braid.State // nil until a header opened, and in suite 1
	at    time.Time
	now   uint64  // at, in unix seconds
	used  *place  // the skipped key that the message needed
	fresh []chain // keys skipped on the way
}

// open follows RatchetDecryptHE of the specification. It tries the keys of the
// running chain first and those of old chains last; the specification begins with
// the old ones. Since no two chains share a header key the outcome is the same.
func (d *draft) open(rand io.Reader, ad, msg []byte) ([]byte, error) {
	if h, ok := openHeader(d.headRecv, msg); ok {
		return d.openRunning(h, ad, msg)
	}
	if h, ok := openHeader(d.nextRecv, msg); ok {
		if err := d.turn(rand, h); err != nil {
			return nil, err
		}
		return d.openNext(h, ad, msg)
	}
	for i := len(d.was.skipped.chains) - 1; i >= 0; i-- {
		c := &d.was.skipped.chains[i]
		if c.head.Equal(d.headRecv) {
			continue // tried
		}
		if h, ok := openHeader(c.head, msg); ok {
			return d.openSkipped(c.head, h, ad, msg)
		}
	}
	return nil, ErrDecrypt
}

// openRunning opens a message of the running chain.
func (d *draft) openRunning(h header, ad, msg []byte) ([]byte, error) {
	switch {
	case h.dh != d.peer:
		// The other side restored an old state and began this chain once more,
		// with another key: it is not the chain that we have.
		return nil, ErrDecrypt
	case h.n < d.nr:
		return d.openSkipped(d.headRecv, h, ad, msg)
	}
	return d.openNext(h, ad, msg)
}

// openNext opens a message at or after the end of the running chain.
func (d *draft) openNext(h header, ad, msg []byte) ([]byte, error) {
	d.skip(h.n)
	next, ec := stepChain(d.recv)
	defer ec.Wipe()
	d.recv.Wipe()
	d.recv = next
	d.nr++
	return d.openBlock(ec, h, ad, msg)
}

// openSkipped opens a message whose key was set aside.
func (d *draft) openSkipped(head key.Header, h header, ad, msg []byte) ([]byte, error) {
	at, ok := d.was.skipped.find(head, h.n, d.now)
	if !ok {
		return nil, ErrDecrypt
	}
	d.used = &at
	return d.openBlock(d.was.skipped.at(at).ec, h, ad, msg)
}

// openBlock joins the EC key of a message with its braid key and opens the block.
// The braid finds its key by its own field, in its own store.
func (d *draft) openBlock(ec key.Message, h header, ad, msg []byte) ([]byte, error) {
	var bk key.Braid
	if d.was.braid != nil {
		d.braid = d.was.braid.Clone()
		var err error
		if bk, err = d.braid.Receive(d.at, h.braid[:]); err != nil {
			return nil, ErrDecrypt
		}
		defer bk.Wipe()
	} else if h.braid != [braid.Size]byte{} {
		return nil, ErrDecrypt // of a suite that this one is not
	}
	mk := messageKey(ec, bk)
	defer mk.Wipe()
	return openBlock(mk, ad, msg)
}

// turn is DHRatchetHE: the other side has begun a new chain, so we end the
// running one and begin our own new one.
func (d *draft) turn(rand io.Reader, h header) error {
	z, err := key.Agree(d.own, h.dh)
	if err != nil {
		return ErrDecrypt // its key is not canonical or of low order
	}
	defer z.Wipe()
	ended := uint64(d.recvBefore) + uint64(max(h.pn, d.nr))
	if ended > math.MaxUint32-MaxChain {
		return ErrDecrypt
	}
	if d.recv.Valid() {
		d.skip(h.pn)
	}
	d.pn, d.sentBefore, d.ns = d.ns, d.sentBefore+d.ns, 0
	d.recvBefore, d.nr = uint32(ended), 0
	d.headSend.Wipe()
	d.headSend, d.nextSend = d.nextSend, key.Header{}
	d.headRecv.Wipe()
	d.headRecv, d.nextRecv = d.nextRecv, key.Header{}
	d.peer = h.dh
	d.recv.Wipe()
	d.recv, d.nextRecv = d.stepRoot(z)

	own, public, z2, err := key.NewDH(rand, h.dh)
	if err != nil {
		return fmt.Errorf("making a ratchet key: %w", err) // of rand: h.dh was agreed with
	}
	d.own.Wipe()
	d.own, d.ownPublic = own, public
	d.send.Wipe()
	d.send, d.nextSend = d.stepRoot(z2)
	return nil
}

// skip sets aside the keys of the running chain below until: the last
// MaxSkippedChain of them, older ones are lost. A header's numbers are at most
// MaxChain, which bounds the work.
func (d *draft) skip(until uint32) {
	if d.nr >= until {
		return
	}
	c := chain{head: d.headRecv.Clone()}
	for d.nr < until {
		next, ec := stepChain(d.recv)
		d.recv.Wipe()
		d.recv = next
		if until-d.nr <= MaxSkippedChain {
			c.keys = append(c.keys, skipped{n: d.nr, at: d.now, ec: ec})
		} else {
			ec.Wipe()
		}
		d.nr++
	}
	d.fresh = append(d.fresh, c)
}

// commit makes the draft the state.
func (d *draft) commit() {
	s := d.was
	if d.used != nil {
		s.skipped.remove(*d.used)
	}
	s.skipped.age(d.now)
	for _, c := range d.fresh {
		s.skipped.add(c)
	}
	s.core.wipe()
	s.core = d.core
	if d.braid != nil {
		s.braid.Wipe()
		s.braid = d.braid
	}
}

// wipe overwrites the draft.
func (d *draft) wipe() {
	d.core.wipe()
	if d.braid != nil {
		d.braid.Wipe()
	}
	for i := range d.fresh {
		d.fresh[i].wipe()
	}
}
