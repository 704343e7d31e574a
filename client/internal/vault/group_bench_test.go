package vault

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// crowd is a group of many leaves of which two are played: Ann, who made it, and Ben.
// The others are key packages whose secrets nobody has.
type crowd struct {
	b    *testing.B
	rand *rand.ChaCha8
	now  time.Time
	home roster.Home
	sign key.Sign // of receipts
	slot map[wire.BlobID][]byte
	id   group.ID

	ann, ben *member
}

type member struct {
	c     *crowd
	v     *Vault
	eng   *group.Engine
	words []*group.Word
	cells []*group.Copy
	calls []*group.SlotCall
}

func newCrowd(b *testing.B, n int) *crowd {
	c := &crowd{b: b, rand: rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}), now: time.Unix(1_800_000_000, 0), slot: map[wire.BlobID][]byte{}}
	c.sign = c.key()
	c.home = roster.Home{Name: "relay.example", Pin: [32]byte{1}, Receipt: key.SignPublicOf(c.sign)}
	c.ann, c.ben = c.member(), c.member()
	c.ann.do(func(tx group.Tx) (ch *group.Change, err error) {
		c.id, ch, err = c.ann.eng.Create(tx, c.now, group.Founding{Name: "crowd", Class: -1, Size: n})
		return ch, err
	})
	add := func(m *member) {
		device := key.SignPublicOf(m.eng.Self.Sign)
		m.do(func(tx group.Tx) (*group.Change, error) {
			p, err := m.eng.Packages(tx, c.now, key.SignPublicOf(c.ann.eng.Self.Sign), 1)
			m.words = append(m.words, &group.Word{Payload: p})
			return nil, err
		})
		w := m.words[len(m.words)-1]
		c.ann.do(func(tx group.Tx) (*group.Change, error) {
			return c.ann.eng.Hear(tx, c.now, device, m.eng.Self.Manifest.Root, w.Payload)
		})
		c.ann.do(func(tx group.Tx) (*group.Change, error) {
			return c.ann.eng.Want(tx, c.now, c.id, roster.Wish{Kind: roster.Add, Root: m.eng.Self.Manifest.Root, Device: device})
		})
	}
	extra := c.member()
	for i := range n - 2 {
		extra.eng.Self.Sign = c.key()
		extra.eng.Self.Manifest = c.manifest(extra.eng.Self.Sign)
		add(extra)
		if i%100 == 99 {
			c.turn()
		}
	}
	c.turn()
	c.ann.words = nil
	c.ben.words = nil
	add(c.ben)
	c.turn()
	for _, w := range c.ann.words {
		if w.To == key.SignPublicOf(c.ben.eng.Self.Sign) {
			c.ben.do(func(tx group.Tx) (*group.Change, error) {
				return c.ben.eng.Hear(tx, c.now, key.SignPublicOf(c.ann.eng.Self.Sign), c.ann.eng.Self.Manifest.Root, w.Payload)
			})
		}
	}
	c.heard(c.ben)
	for _, m := range []*member{c.ann, c.ben} {
		m.do(func(tx group.Tx) (*group.Change, error) {
			r, err := tx.Group(c.id)
			if err != nil {
				return nil, err
			}
			e, err := tx.Epoch(c.id, r.Head)
			if err == nil && len(e.Roster) != n {
				err = fmt.Errorf("got %d leaves, want %d", len(e.Roster), n)
			}
			return nil, err
		})
	}
	return c
}

func (c *crowd) key() key.Sign {
	k, err := key.Generate[key.SignRole](c.rand)
	if err != nil {
		c.b.Fatal(err)
	}
	return k
}

func (c *crowd) manifest(sign key.Sign) *manifest.Manifest {
	dh, err := key.Generate[key.DHRole](c.rand)
	if err != nil {
		c.b.Fatal(err)
	}
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(c.now),
		Devices: []manifest.Device{{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh), XWing: [32]byte{1}}}}
	if err := manifest.Sign(c.key(), m); err != nil {
		c.b.Fatal(err)
	}
	return m
}

func (c *crowd) member() *member {
	sign := c.key()
	m := &member{c: c, eng: &group.Engine{Self: group.Self{Sign: sign, Manifest: c.manifest(sign), Home: c.home}, Rand: c.rand, Crypto: group.MLS{}, Live: 1800}}
	m.v, _ = newVault(c.b)
	return m
}

func (m *member) do(f func(tx group.Tx) (*group.Change, error)) {
	m.c.b.Helper()
	var ch *group.Change
	err := m.v.Update(m.c.b.Context(), func(tx *Tx) (err error) {
		ch, err = f(Store{tx})
		return err
	})
	if err != nil {
		m.c.b.Fatal(err)
	}
	if ch == nil {
		return
	}
	m.words, m.cells, m.calls = append(m.words, ch.Words...), append(m.cells, ch.Copies...), append(m.calls, ch.Slots...)
}

// turn lets Ann commit what she wants to.
func (c *crowd) turn() {
	for range 200 {
		c.now = c.now.Add(10 * time.Second)
		c.ann.do(func(tx group.Tx) (*group.Change, error) { return c.ann.eng.Tick(tx, c.now) })
		calls := c.ann.calls
		c.ann.calls = nil
		for _, s := range calls {
			a := group.SlotAnswer{Group: s.Group, Epoch: s.Epoch, Trouble: group.Empty}
			if s.Put != nil && c.slot[s.Slot] == nil {
				c.slot[s.Slot] = s.Put
			}
			if b := c.slot[s.Slot]; b != nil {
				h := slot.Hash(b)
				a.Trouble, a.Receipt = 0, &wire.Receipt{ID: s.Slot, Hash: h, Sig: key.SignMessage(c.sign, wire.LabelReceipt, s.Slot[:], h[:])}
				if s.Put == nil {
					a.Blob = b
				}
			}
			c.ann.do(func(tx group.Tx) (*group.Change, error) { return c.ann.eng.Answer(tx, c.now, a) })
		}
		open := 0
		c.ann.do(func(tx group.Tx) (*group.Change, error) {
			r, err := tx.Group(c.id)
			if err != nil {
				return nil, err
			}
			for _, w := range r.Wishes {
				if w.Applied == 0 {
					open++
				}
			}
			return nil, err
		})
		if open == 0 {
			c.heard(c.ann)
			return
		}
	}
	c.b.Fatal("wishes are not done")
}

// heard has all others say to a member that they are where it is: it lets go of what
// was before.
func (c *crowd) heard(m *member) {
	m.do(func(tx group.Tx) (*group.Change, error) {
		r, err := tx.Group(c.id)
		if err != nil {
			return nil, err
		}
		e, err := tx.Epoch(c.id, r.Head)
		if err != nil {
			return nil, err
		}
		r.Acks = nil
		for _, l := range e.Roster {
			if l.Index != e.Self {
				r.Acks = append(r.Acks, group.Acked{Device: l.Device, Head: r.Head, Low: ^uint64(0), At: c.now.Unix()})
			}
		}
		return nil, tx.PutGroup(r)
	})
	for range 3 {
		c.now = c.now.Add(10 * time.Minute)
		m.do(func(tx group.Tx) (*group.Change, error) { return m.eng.Tick(tx, c.now) })
		m.calls = nil
	}
}

func (m *member) send() (id wire.MessageID, cell *group.Copy) {
	m.cells = nil
	m.do(func(tx group.Tx) (ch *group.Change, err error) {
		id, ch, err = m.eng.Send(tx, m.c.now, m.c.id, []byte("hello"))
		return ch, err
	})
	return id, m.cells[0]
}

func (m *member) take(cell *group.Copy) {
	m.cells = nil
	m.do(func(tx group.Tx) (*group.Change, error) {
		_, ch, err := m.eng.Take(tx, m.c.now, group.Arrival{Group: cell.Group, Epoch: cell.Epoch, Payload: cell.Payload})
		return ch, err
	})
}

func (m *member) acked(id wire.MessageID) {
	m.do(func(tx group.Tx) (*group.Change, error) { return nil, tx.DeleteMessage(m.c.id, id) })
}

// BenchmarkGroup is what one text costs of a group in a vault: to send it, to take it,
// and to take an ack of it. Members have one epoch.
func BenchmarkGroup(b *testing.B) {
	for _, n := range []int{8, 50, 250, 1000} {
		var c *crowd
		b.Run(fmt.Sprintf("leaves=%d", n), func(b *testing.B) {
			start := time.Now()
			c = newCrowd(b, n)
			b.Logf("%d leaves: made in %s", n, time.Since(start))
			b.Run("send", func(b *testing.B) {
				for b.Loop() {
					id, _ := c.ann.send()
					b.StopTimer()
					c.ann.acked(id)
					b.StartTimer()
				}
			})
			b.Run("take", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					id, cell := c.ann.send()
					c.ann.acked(id)
					b.StartTimer()
					c.ben.take(cell)
				}
			})
			b.Run("ack", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					id, cell := c.ann.send()
					c.ben.take(cell)
					ack := c.ben.cells[0]
					b.StartTimer()
					c.ann.take(ack)
					b.StopTimer()
					c.ann.acked(id)
					b.StartTimer()
				}
			})
		})
	}
}
