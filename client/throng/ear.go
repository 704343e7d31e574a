package throng

import (
	"crypto/rand"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/whisper"
	"github.com/tacet-chat/tacet/internal/wire"
)

// asks is the flag of who wants to hear what the others' heads are.
//
// spec: group.md#messages
const asks = 1

// nothing is the oldest epoch in which messages of an ear wait: none.
const nothing = ^uint64(0)

// Times of telling the own head again, as of an engine.
const (
	tellFirst = time.Minute
	tellMost  = 6 * time.Hour
)

// settleAt gives an ear its place in an epoch.
func (m *member) settleAt(p *place) error {
	var routes []group.OwnRoute
	for i, l := range p.e.Roster {
		if l.Device != m.device {
			continue
		}
		r, err := roster.ParseRoute(p.e.Routes[i])
		if err != nil {
			return err
		}
		m.leaf = l.Index
		var to *group.LeafRoute
		if err := p.from.store.Update(func(tx group.Tx) (err error) {
			to, err = p.from.engine.LeafRouteOf(tx, m.c.id, p.epoch, l.Index)
			return err
		}); err != nil {
			return err
		}
		routes = append(routes, group.OwnRoute{Group: m.c.id, Epoch: p.epoch, Leaf: l.Index, Owner: m.owner, Secret: to.Secret, Birth: to.Birth, Period: r.Period})
	}
	if p.shared != nil {
		routes = append(routes, *p.shared)
	}
	m.mu.Lock()
	m.head, m.told = p.epoch, false
	m.mu.Unlock()
	return m.moved(routes)
}

// line is what an ear and the measured profile whisper to each other in an epoch.
func (m *member) line(p *place, mine bool) (*whisper.Line, error) {
	l := &whisper.Line{Group: m.c.id, Epoch: p.epoch, Secret: p.e.Whisper, Owner: m.owner, To: p.boss}
	for i, x := range p.e.Roster {
		if x.Device == m.device {
			r, err := roster.ParseRoute(p.e.Routes[i])
			if err != nil {
				return nil, err
			}
			l.From = whisper.End{Leaf: x.Index, Device: x.Device, Route: r.Public}
		}
	}
	if !mine {
		l.From, l.To = l.To, l.From
	}
	return l, nil
}

// say whispers something to the measured profile in an epoch.
func (m *member) say(p *place, s *group.Said) {
	head := m.at()
	at, err := m.c.at(m.c.ctx, head)
	if err != nil {
		return
	}
	s.Kind, s.Head, s.Low, s.Mark = group.SaidAck, head, nothing, at.e.Mark
	plain, err := s.Append(nil)
	if err != nil {
		m.c.fail(err)
		return
	}
	l, err := m.line(p, true)
	if err != nil {
		m.c.fail(err)
		return
	}
	b, err := l.Seal(rand.Reader, plain)
	if err != nil {
		m.c.fail(err)
		return
	}
	var id wire.MessageID
	rand.Read(id[:])
	m.put(p.toBoss, id, b)
}

// hear takes a text, which is acked.
func (m *member) hear(d *door, b *wire.Body) {
	p, err := m.c.at(m.c.ctx, d.epoch)
	if err != nil {
		return
	}
	id := b.ID
	m.c.later(func() { m.say(p, &group.Said{Body: group.AppendAcks(nil, []group.Ack{{ID: id, Parts: 1}})}) })
}

// listen takes a whisper: the first that says that a commit lies at a slot has it read.
func (m *member) listen(d *door, b *wire.Body) {
	p, err := m.c.at(m.c.ctx, d.epoch)
	if err != nil {
		return
	}
	if from, _ := whisper.Sender(b.Payload); from != p.boss.Leaf {
		return // another member's: what it says is known
	}
	l, err := m.line(p, false)
	if err != nil {
		m.c.fail(err)
		return
	}
	plain, err := l.Open(b.Payload)
	if err != nil {
		m.c.fail(err)
		return
	}
	s, err := group.ParseSaid(plain)
	if err != nil {
		m.c.fail(err)
		return
	}
	if s.Kind != group.SaidPiece {
		return
	}
	piece, err := group.ParsePiece(s.Body)
	if err != nil || piece.Place != 0 || group.ObjectKind(piece.Bytes[0]) != group.ObjectNews {
		return
	}
	var n group.News
	if err := cbor.Unmarshal(piece.Bytes[1:], &n); err != nil {
		m.c.fail(err)
		return
	}
	m.mu.Lock()
	fresh := n.Epoch == m.head && !m.told
	m.told = m.told || fresh
	m.mu.Unlock()
	if fresh {
		m.c.work.Go(func() { m.follow(p) })
	}
}

// follow reads the slot of an epoch and goes on to the next.
func (m *member) follow(p *place) {
	for {
		a := m.c.answer(m.relay, &group.SlotCall{Group: m.c.id, Epoch: p.epoch, Slot: p.slot})
		if a.Blob != nil {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-m.c.ctx.Done():
			return
		}
	}
	m.c.step(p.epoch+1, false)
	next, err := m.c.at(m.c.ctx, p.epoch+1)
	if err != nil {
		return
	}
	if err := m.settleAt(next); err != nil {
		m.c.fail(err)
		return
	}
	m.tell(next, tellFirst)
}

// tell tells the own head, and again after twice as long each time.
func (m *member) tell(p *place, again time.Duration) {
	m.say(p, &group.Said{Flags: asks})
	m.c.after(again, func() {
		if m.at() == p.epoch {
			m.tell(p, min(2*again, tellMost))
		}
	})
}
