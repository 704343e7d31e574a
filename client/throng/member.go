package throng

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/commits"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// echoEvery is how often a cell that shows nothing is echoed, as in a client.
const echoEvery = time.Minute

// member is one device.
type member struct {
	c      *Crowd
	device group.Device
	man    *manifest.Manifest
	relay  *relay.Relay
	whole  bool
	store  *commits.Memory
	engine *group.Engine

	owner []byte // of an ear: private half of its leaf's route
	leaf  uint32

	mu      sync.Mutex
	routes  []group.OwnRoute
	watches map[uint64]*watch
	head    uint64
	slots   map[wire.BlobID]bool
	echoed  time.Time
	next    time.Time // of a Tick that is planned
	told    bool      // of an ear: it entered the epoch after head

	got map[wire.MessageID]bool // guarded by the crowd's lock
}

func (m *member) root() key.SignPublic { return m.man.Root }

// at is the epoch that it is in.
func (m *member) at() uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head
}

// do is one transaction of a whole member, and what follows from it.
func (m *member) do(f func(group.Tx) (*group.Change, error)) error {
	var ch *group.Change
	entered := uint64(0)
	err := m.store.Update(func(tx group.Tx) (err error) {
		if ch, err = f(tx); err != nil {
			return err
		}
		if m.c.id == (group.ID{}) {
			return nil
		}
		r, err := tx.Group(m.c.id)
		if errors.Is(err, group.ErrUnknown) {
			return nil
		}
		if err != nil || r.Head == m.at() {
			return err
		}
		if r.State != group.Active {
			return errors.New("a member of the crowd is out of step")
		}
		entered = r.Head
		m.mu.Lock()
		m.head = r.Head
		m.mu.Unlock()
		m.c.mu.Lock()
		known := m.c.places[r.Head] != nil
		m.c.mu.Unlock()
		if known {
			return nil
		}
		return m.c.place(m, tx, r.Head)
	})
	if err != nil {
		return err
	}
	if entered != 0 {
		m.c.step(entered, true)
	}
	if ch != nil {
		m.act(ch)
	}
	return nil
}

// act does what a transaction wants done.
func (m *member) act(ch *group.Change) {
	if ch.Routes {
		var routes []group.OwnRoute
		err := m.store.Update(func(tx group.Tx) (err error) { routes, err = m.engine.Routes(tx); return err })
		if err == nil {
			err = m.moved(routes)
		}
		m.c.fail(err)
	}
	for _, k := range ch.Copies {
		if m.c.seeding(m, k) {
			continue
		}
		send := func() { m.carry(k) }
		if k.Urgent {
			m.c.work.Go(send)
		} else {
			m.c.later(send)
		}
	}
	for _, s := range ch.Slots {
		m.ask(s)
	}
	if len(ch.Words) > 0 {
		m.c.change(func() { m.c.sum.Dropped += len(ch.Words) })
	}
	if !ch.Next.IsZero() {
		m.plan(ch.Next)
	}
}

// plan has the engine asked at a time.
func (m *member) plan(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.next.IsZero() && !at.Before(m.next) || m.c.ctx.Err() != nil {
		return
	}
	m.next = at
	m.c.after(max(time.Until(at), 10*time.Millisecond), func() {
		m.mu.Lock()
		mine := m.next.Equal(at)
		if mine {
			m.next = time.Time{}
		}
		m.mu.Unlock()
		if mine {
			m.c.fail(m.do(func(tx group.Tx) (*group.Change, error) { return m.engine.Tick(tx, time.Now()) }))
		}
	})
}

// carry puts a copy.
func (m *member) carry(k *group.Copy) {
	var w *way
	err := m.store.Update(func(tx group.Tx) (err error) { w, err = m.c.way(m, tx, k.Epoch, k.Leaf); return err })
	if errors.Is(err, group.ErrUnknown) {
		return // the epoch is gone
	}
	if err != nil {
		m.c.fail(err)
		return
	}
	m.put(w, k.Message, k.Payload)
}

// put puts a cell. One that does not leave is owed again, as with a client.
func (m *member) put(w *way, id wire.MessageID, payload []byte) {
	p, err := w.now()
	if err != nil {
		m.c.fail(err)
		return
	}
	body := wire.Body{Kind: wire.KindGroup, ID: id, Count: 1, Payload: payload}
	cell, err := sealed.SealCell(p.Seal, p.Address, &body, random)
	if err != nil {
		m.c.fail(err)
		return
	}
	put := transport.Put{Address: transport.Address(p.Address), Cell: (*transport.Cell)(cell)}
	copy(put.ID[:], cell[:len(put.ID)])
	_, err = m.relay.Put(m.c.ctx, put)
	m.c.change(func() {
		m.c.sum.Puts++
		if err != nil {
			m.c.sum.Failed++
		}
	})
}

// ask reads or puts a slot, unless that is under way.
func (m *member) ask(s *group.SlotCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.slots[s.Slot] {
		return
	}
	if m.slots == nil {
		m.slots = map[wire.BlobID]bool{}
	}
	m.slots[s.Slot] = true
	m.c.after(max(0, time.Until(s.After)), func() {
		a := m.c.answer(m.relay, s)
		m.mu.Lock()
		delete(m.slots, s.Slot)
		m.mu.Unlock()
		m.c.fail(m.do(func(tx group.Tx) (*group.Change, error) { return m.engine.Answer(tx, time.Now(), a) }))
	})
}

// answer asks the relay about a slot.
func (c *Crowd) answer(r *relay.Relay, s *group.SlotCall) group.SlotAnswer {
	c.change(func() { c.sum.Reads++ })
	a := group.SlotAnswer{Group: s.Group, Epoch: s.Epoch}
	if s.Put != nil {
		got, err := r.PutBlob(c.ctx, &wire.BlobPut{Kind: wire.BlobSlot, ID: s.Slot, Content: s.Put})
		if got.ID != s.Slot {
			c.fail(err)
			a.Trouble = group.Away
			return a
		}
		a.Receipt = &got
		return a
	}
	blob, got, err := r.GetSlot(c.ctx, s.Slot)
	switch {
	case got != nil && blob != nil:
		a.Blob, a.Receipt = blob, got
	case errors.Is(err, transport.ErrNothing):
		a.Trouble = group.Empty
	default:
		a.Trouble = group.Away
	}
	return a
}

// deliver takes the cells of a watch.
func (m *member) deliver(w *watch) func(transport.Delivery) {
	return func(d transport.Delivery) {
		door := m.door(w, d.Address)
		if door == nil {
			return // a decoy
		}
		body, err := sealed.OpenCell(door.seal, wire.Address(d.Address), (*wire.Cell)(d.Cell))
		if err != nil || body.Kind != wire.KindGroup {
			return
		}
		at := time.Now()
		_, whispered := whisper.Sender(body.Payload)
		m.c.change(func() { m.c.sum.Cells++ })
		text, fresh := !whispered, false
		if text {
			fresh = m.c.came(m, body.ID, at)
		}
		switch {
		case m.whole:
			m.take(door, &body)
		case text:
			m.hear(door, &body)
		default:
			m.listen(door, &body)
		}
		if text && fresh || m.mayEcho(at) {
			d.Seen()
		}
	}
}

func (m *member) mayEcho(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.echoed) < echoEvery {
		return false
	}
	m.echoed = now
	return true
}

// take gives a cell to the engine.
func (m *member) take(d *door, b *wire.Body) {
	payload := slices.Clone(b.Payload)
	taken := group.Rejected
	err := m.do(func(tx group.Tx) (ch *group.Change, err error) {
		taken, ch, err = m.engine.Take(tx, time.Now(), group.Arrival{Group: m.c.id, Epoch: d.epoch, Payload: payload})
		return ch, err
	})
	if err != nil && !errors.Is(err, group.ErrUnknown) && !errors.Is(err, group.ErrBusy) {
		m.c.fail(err)
	}
	if taken == group.Shown {
		m.c.showed(b.ID)
	}
}
