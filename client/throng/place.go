package throng

import (
	"context"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// place is what all members have of an epoch, as a whole one derived it.
type place struct {
	epoch  uint64
	from   *member
	e      *group.Epoch
	slot   wire.BlobID
	boss   whisper.End
	toBoss *way
	shared *group.OwnRoute // nil: there is no shared address
}

// place notes an epoch that a whole member has just entered.
func (c *Crowd) place(m *member, tx group.Tx, n uint64) error {
	e, err := tx.Epoch(c.id, n)
	if err != nil {
		return err
	}
	p := &place{epoch: n, from: m, e: e}
	s, err := slot.Derive(e.Slot)
	if err != nil {
		return err
	}
	p.slot = s.ID
	s.Wipe()
	for i, l := range e.Roster {
		if l.Device != c.boss {
			continue
		}
		r, err := roster.ParseRoute(e.Routes[i])
		if err != nil {
			return err
		}
		p.boss = whisper.End{Leaf: l.Index, Device: l.Device, Route: r.Public}
		if p.toBoss, err = c.way(m, tx, n, l.Index); err != nil {
			return err
		}
	}
	routes, err := m.engine.Routes(tx)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if r.Epoch == n && r.Leaf == group.All {
			p.shared = &r
		}
	}
	c.change(func() { c.places[n] = p })
	return nil
}

// at is an epoch once a whole member is in it.
func (c *Crowd) at(ctx context.Context, n uint64) (p *place, err error) {
	err = c.await(ctx, func() bool { p = c.places[n]; return p != nil })
	return p, err
}

// way is where cells for a leaf go. Its keys are derived once a period.
type way struct {
	public [32]byte
	secret []byte
	birth  uint64
	length uint16

	mu sync.Mutex
	p  *addr.Period
}

func (c *Crowd) way(m *member, tx group.Tx, epoch uint64, leaf uint32) (*way, error) {
	r, err := m.engine.LeafRouteOf(tx, c.id, epoch, leaf)
	if err != nil {
		return nil, err
	}
	return &way{public: r.Public, secret: r.Secret, birth: r.Birth, length: r.Period}, nil
}

func (w *way) now() (*addr.Period, error) {
	t := addr.PeriodAt(time.Now().Unix(), w.length)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.p != nil && w.p.T == t {
		return w.p, nil
	}
	p, err := periodOf(w.public, w.secret, w.birth, w.length, t)
	w.p = p
	return p, err
}

// periodOf is the keys of a leaf's route in a period.
func periodOf(public [32]byte, secret []byte, birth uint64, length uint16, t uint64) (*addr.Period, error) {
	from, begin := group.RouteAt(secret, birth, t)
	s, err := key.New[key.RouteRole](from)
	if err != nil {
		return nil, err
	}
	chain := addr.NewChain(&addr.Offer{Public: public, Secret: s, Birth: begin, Period: length}, addr.Live)
	defer chain.Wipe()
	return chain.At(t)
}

// door is an address that a member watches.
type door struct {
	epoch uint64
	seal  key.Seal
	addr  wire.Address
	owned transport.Owned
}

// doorOf is the address of an own route in a period.
func (c *Crowd) doorOf(r *group.OwnRoute, t uint64) (*door, error) {
	owner, err := key.New[key.OwnerRole](r.Owner)
	if err != nil {
		return nil, err
	}
	public, err := addr.PublicOf(owner)
	if err != nil {
		return nil, err
	}
	p, err := periodOf(public, r.Secret, r.Birth, r.Period, t)
	if err != nil {
		return nil, err
	}
	sign := func(m []byte) ([]byte, error) {
		sig, err := p.Sign(owner, random, m)
		return sig[:], err
	}
	return &door{epoch: r.Epoch, seal: p.Seal, addr: p.Address, owned: transport.Owned{Address: transport.Address(p.Address), Sign: sign, Replay: true}}, nil
}
