package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/outbox"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Times of the runner of groups.
const (
	groupRetry = time.Minute     // until something is tried again that failed here
	groupLook  = time.Hour       // all that is wanted is looked for so often, whatever was lost on the way
	groupApart = 2 * time.Second // over which copies of one message are spread, above two leaves
	groupPuts  = 16              // puts of copies that are no rows, at a time
	groupCalls = 4               // calls about slots at a time
)

// groupEngine is group.Engine, or what stands in for it in tests.
type groupEngine interface {
	Create(tx group.Tx, now time.Time, f group.Founding) (group.ID, *group.Change, error)
	Want(tx group.Tx, now time.Time, id group.ID, w roster.Wish) (*group.Change, error)
	Send(tx group.Tx, now time.Time, id group.ID, content []byte) (wire.MessageID, *group.Change, error)
	Take(tx group.Tx, now time.Time, a group.Arrival) (group.Taken, *group.Change, error)
	Hear(tx group.Tx, now time.Time, from group.Device, root key.SignPublic, payload []byte) (*group.Change, error)
	Answer(tx group.Tx, now time.Time, a group.SlotAnswer) (*group.Change, error)
	Tick(tx group.Tx, now time.Time) (*group.Change, error)
	Due(tx group.Tx, now time.Time) (*group.Change, error)
	Decide(tx group.Tx, now time.Time, id group.ID, q group.Question, yes bool) (*group.Change, error)
	Manifest(tx group.Tx, now time.Time, m *manifest.Manifest) (*group.Change, error)
	Routes(tx group.Tx) ([]group.OwnRoute, error)
	LeafRouteOf(tx group.Tx, id group.ID, epoch uint64, leaf uint32) (*group.LeafRoute, error)
	SetPicture(tx group.Tx, now time.Time, id group.ID, picture []byte) (*group.Change, error)
	Picture(tx group.Tx, id group.ID) ([]byte, error)
	Current(tx group.Tx, origin group.ID) (group.ID, error)
	Invitations(tx group.Tx) ([]*group.Invited, error)
	Packages(tx group.Tx, now time.Time, to group.Device, n int) ([]byte, error)
	Handover(tx group.Tx, now time.Time, id group.ID) (*group.Record, error)
	Supply(tx group.Tx, now time.Time, to []group.Unmet, most int) (*group.Change, bool, error)
	Unmet(tx group.Tx, met func(root key.SignPublic, d group.Device) (bool, error)) ([]group.Unmet, error)
	Shown(tx group.Tx, root key.SignPublic, d group.Device) (*manifest.Manifest, int, error)
	Introduce(tx group.Tx, now time.Time, id group.ID, to group.Device, introduction []byte) (*group.Change, error)
}

// groups runs the groups of a profile: it turns what the engine wants into rows,
// puts, words in pair sessions and calls about slots, once that is committed, and
// brings back what came of it. What it has in memory is derived anew after a
// crash.
type groups struct {
	c      *Client
	engine groupEngine
	real   *group.Engine // the same, unless a test has put another in its place
	crypto group.Crypto

	work *groupWork // of the transaction under way, which has the vault's turn

	kick  chan struct{} // capacity 1
	mu    sync.Mutex    // guards the rest
	next  time.Time     // when the engine wants to be asked; zero: not known
	stock time.Time     // when stocks are looked at next
	intro time.Time     // when members are introduced next
	once  []onceCopy
	call  map[slotKey]*group.SlotCall     // that wait
	busy  map[slotKey]bool                // those under way
	peer  map[group.Device]map[int64]bool // what stands for a device in the outbox, by group
	seen  map[group.Device]time.Time      // when it was last heard of

	failing map[group.ID]string // groups in which something failed since the last round, and why; zeros: words
}

// onceCopy is a copy that is no row, and when it goes.
type onceCopy struct {
	*group.Copy
	at time.Time
}

// groupWork is what one transaction wants done once it has committed.
type groupWork struct {
	changes []*group.Change // noted and not settled
	added   []*vault.Copy
	removed []int64
	once    []*group.Copy
	slots   []*group.SlotCall
	heard   []group.Device
	routes  bool
	next    time.Time
	any     bool
	meet    bool // there may be members to be introduced to
	late    bool // it came of what was said while this device was away
}

func newGroups(c *Client) *groups {
	e := &group.Engine{Rand: c.opt.rand(), Crypto: group.MLS{}, Spread: c.opt.Spread, Fatal: ofStore, AckMean: c.opt.AckMean, Unwanted: unwanted, Accepted: accepted}
	return &groups{c: c, engine: e, real: e, crypto: e.Crypto, kick: make(chan struct{}, 1), call: map[slotKey]*group.SlotCall{}, busy: map[slotKey]bool{}, peer: map[group.Device]map[int64]bool{}, seen: map[group.Device]time.Time{}, failing: map[group.ID]string{}}
}

// unwanted reports whether somebody is blocked here.
func unwanted(tx group.Tx, root key.SignPublic) (bool, error) {
	s, ok := tx.(vault.Store)
	if !ok {
		return false, vault.ErrTx
	}
	r, err := s.ContactOf(root)
	if errors.Is(err, contact.ErrUnknown) {
		return false, nil // a member that is known from the group alone
	}
	return err == nil && r.State == contact.Blocked, err
}

// accepted reports whether somebody is a contact whom this person accepted.
func accepted(tx group.Tx, root key.SignPublic) (bool, error) {
	s, ok := tx.(vault.Store)
	if !ok {
		return false, vault.ErrTx
	}
	r, err := s.ContactOf(root)
	if errors.Is(err, contact.ErrUnknown) {
		return false, nil
	}
	return err == nil && r.State == contact.Accepted, err
}

// begin starts to collect what a transaction wants. It is called with the vault's turn.
func (g *groups) begin() *groupWork {
	g.work = &groupWork{}
	if e := g.real; e != nil { // our manifest may have changed, or our realm
		self := g.c.engine.Self
		if e.Self.Device == (group.Device{}) {
			e.Self.Device = key.SignPublicOf(self.Sign)
		}
		e.Self.Sign, e.Self.Manifest, e.Live = self.Sign, self.Manifest, g.c.engine.Home.Live
		if h := g.c.engine.Home.Realm; e.Self.Home.Name != h.Name || e.Self.Home.Pin != h.Pin { // it was found only now
			e.Self.Home = roster.Home{Name: h.Name, Pin: h.Pin}
		}
	}
	return g.work
}

// catchUp notes that the transaction under way is about what this device missed.
func (g *groups) catchUp() {
	if g.work != nil {
		g.work.late = true
	}
}

// note takes in what the engine changed in the transaction under way.
func (g *groups) note(ch *group.Change) {
	if ch != nil && g.work != nil {
		g.work.changes = append(g.work.changes, ch)
	}
}

// settle writes what a transaction's changes want kept: events, rows, and words in
// pair sessions, which may want more. What it adds to ch is the pair sessions'.
func (g *groups) settle(tx vault.Store, now time.Time, ch *convo.Change) (*convo.Change, error) {
	w := g.work
	for len(w.changes) > 0 {
		gch := w.changes[0]
		w.changes = w.changes[1:]
		for _, f := range gch.Failed {
			g.failedIn(f.Group, f.Err)
		}
		w.any = true
		if ch == nil {
			ch = &convo.Change{}
		}
		for i := range gch.Events {
			if err := g.tell(tx, now, &gch.Events[i], ch); err != nil {
				return ch, err
			}
			w.meet = w.meet || changesMembers(&gch.Events[i])
		}
		if err := g.meets(tx, now, gch.Meets, ch); err != nil {
			return ch, err
		}
		if err := g.rows(tx, now, gch, w); err != nil {
			return ch, err
		}
		for _, word := range gch.Words {
			if err := g.say(tx, now, word, ch); err != nil {
				return ch, err
			}
		}
		w.slots = append(w.slots, gch.Slots...)
		w.heard = append(w.heard, gch.Heard...)
		w.routes = w.routes || gch.Routes
		if !gch.Next.IsZero() && (w.next.IsZero() || gch.Next.Before(w.next)) {
			w.next = gch.Next
		}
	}
	return ch, nil
}

// rows keeps what is to be kept of copies, and sets the others aside. They are
// shuffled: the order of leaves is nobody's business.
func (g *groups) rows(tx vault.Store, now time.Time, gch *group.Change, w *groupWork) error {
	for _, k := range gch.Removed {
		ids, err := tx.CopiesOf(k)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if err := tx.DeleteCopy(id); err != nil {
				return err
			}
		}
		w.removed = append(w.removed, ids...)
	}
	shuffle(g.c, gch.Copies)
	for _, k := range gch.Copies {
		if !k.Keep {
			w.once = append(w.once, k)
			continue
		}
		c, added, err := tx.AddCopy(k, now.Unix())
		if err != nil {
			return err
		}
		if added {
			w.added = append(w.added, c)
		}
	}
	return nil
}

func shuffle[T any](c *Client, all []T) {
	for i := len(all) - 1; i > 0; i-- {
		j := int(c.uniform() * float64(i+1))
		all[i], all[j] = all[j], all[i]
	}
}

// say queues a word in the pair session with a device. One for a device that there
// is no session with waits there.
func (g *groups) say(tx vault.Store, now time.Time, w *group.Word, ch *convo.Change) error {
	r, err := g.expect(tx, now, w)
	if err != nil || r == nil {
		return err
	}
	tell := g.c.engine.Tell
	if group.Lasting(w.Payload) {
		tell = g.c.engine.TellOnce
	}
	more, err := tell(tx, now, r.ID, w.Payload)
	if errors.Is(err, convo.ErrStopped) || errors.Is(err, convo.ErrBlocked) {
		return nil
	}
	if err != nil {
		return err
	}
	merge(ch, more)
	return nil
}

// act does what a committed transaction wanted.
func (g *groups) act(w *groupWork) {
	if w == nil || !w.any {
		return
	}
	g.c.opt.at(BoundaryGroupCommitted)
	out, in := g.c.moving()
	if out != nil {
		for _, id := range w.removed {
			out.Remove(-id)
		}
		g.offer(out, w.added)
		g.flush(out, w.heard)
	}
	if w.routes && in != nil {
		in.Refresh()
	}
	if w.routes && w.late { // others may have parked something in an epoch that this device enters only now
		g.c.taking().kick()
	}
	g.mu.Lock()
	now := time.Now()
	for _, k := range w.once {
		g.once = append(g.once, onceCopy{k, now.Add(g.apart(len(w.once)))})
	}
	for _, s := range w.slots {
		g.call[slotKeyOf(s)] = s
	}
	if !w.next.IsZero() && (g.next.IsZero() || w.next.Before(g.next)) {
		g.next = w.next
	}
	if w.meet {
		g.intro = time.Time{}
	}
	g.mu.Unlock()
	g.wake()
}

// apart is how long one of n copies of a message waits, so that they do not leave
// together.
func (g *groups) apart(n int) time.Duration {
	if n < 2 {
		return 0
	}
	return time.Duration(g.c.uniform() * float64(groupApart))
}

// offer hands rows to the outbox, each at a time of its own.
func (g *groups) offer(out *outbox.Outbox, rows []*vault.Copy) {
	for _, r := range rows {
		it := copyItem(r)
		g.meet(r)
		if d := g.apart(len(rows)); d > 0 {
			time.AfterFunc(d, func() {
				if now, _ := g.c.moving(); now == out && g.waits(r.ID) {
					out.Add(it)
				}
			})
			continue
		}
		out.Add(it)
	}
}

// waits reports whether a row is still there: it may have been acked before it went.
func (g *groups) waits(id int64) bool {
	err := g.c.vault.View(context.Background(), func(tx *vault.Tx) error {
		_, _, err := (vault.Store{Tx: tx}).Copy(id)
		return err
	})
	return err == nil
}

// meet notes which device a row is for.
func (g *groups) meet(r *vault.Copy) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.peer[r.To] == nil {
		g.peer[r.To] = map[int64]bool{}
	}
	g.peer[r.To][-r.Peer] = true
}

// flush lets everything go that waits for devices that are there.
func (g *groups) flush(out *outbox.Outbox, heard []group.Device) {
	for _, d := range heard {
		g.mu.Lock()
		var peers []int64
		g.seen[d] = time.Now()
		for p := range g.peer[d] {
			peers = append(peers, p)
		}
		g.mu.Unlock()
		for _, p := range peers {
			out.Heard(p)
		}
	}
}

func (g *groups) wake() {
	select {
	case g.kick <- struct{}{}:
	default:
	}
}

// run keeps the groups going until ctx ends. It returns when all that it started has.
func (g *groups) run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	puts, calls := make(chan struct{}, groupPuts), make(chan struct{}, groupCalls)
	g.mu.Lock()
	g.next, g.intro, g.once, g.busy = time.Time{}, time.Time{}, nil, map[slotKey]bool{}
	clear(g.call)
	g.stock = time.Now().Add(g.stockAfter())
	g.mu.Unlock()
	var looked time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		now := time.Now()
		look := looked.IsZero() || now.Sub(looked) >= groupLook
		if g.ticks(now) || look {
			switch err := g.ask(ctx, look); {
			case ctx.Err() != nil:
				return nil
			case fatal(err):
				return err
			case err != nil:
				g.c.note(err)
				g.again(now.Add(groupRetry))
			}
			looked = now // a look that failed comes again with the next tick
		}
		for _, f := range []func(context.Context) error{g.introductions, g.supply} {
			if err := f(ctx); fatal(err) {
				return err
			} else if err != nil && ctx.Err() == nil {
				g.c.note(err)
			}
		}
		g.put(ctx, &all, puts)
		g.decide(ctx, &all, calls)
		timer.Reset(g.wait(time.Now(), looked))
		select {
		case <-ctx.Done():
			return nil
		case <-g.kick:
		case <-timer.C:
		}
	}
}

// introductions gives members introductions when it is time.
func (g *groups) introductions(ctx context.Context) error {
	now := time.Now()
	after := now.Add(groupRetry) // unless it goes well, or somebody comes in meanwhile
	g.mu.Lock()
	due := !g.intro.After(now)
	if due {
		g.intro = after
	}
	g.mu.Unlock()
	if !due {
		return nil
	}
	var next time.Time
	err := g.c.update(ctx, func(tx vault.Store, now time.Time) (ch *convo.Change, err error) {
		ch, next, err = g.introduce(tx, now)
		return ch, err
	})
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil && g.intro.Equal(after) {
		g.intro = next
	}
	return err
}

// ticks reports whether the engine wants to be asked now, and takes that as done.
func (g *groups) ticks(now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next.IsZero() || g.next.After(now) {
		return false
	}
	g.next = time.Time{}
	return true
}

// again asks the engine at a time at the latest.
func (g *groups) again(at time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next.IsZero() || at.Before(g.next) {
		g.next = at
	}
}

// ask has the engine do what its time has come for; with all, also what may have
// been lost on the way.
func (g *groups) ask(ctx context.Context, all bool) error {
	return g.c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		ch, err := g.engine.Tick(tx, now)
		if err != nil {
			return nil, err
		}
		g.note(ch)
		g.tended(ch.Failed)
		if all {
			if err := tx.ForgetSeen(now.Unix()/86400 - convo.SeenDays); err != nil {
				return nil, err
			}
			if ch, err = g.engine.Due(tx, now); err != nil {
				return nil, err
			}
			g.note(ch)
		}
		return nil, nil
	})
}

// wait is how long nothing has to be done.
func (g *groups) wait(now, looked time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	next := looked.Add(groupLook)
	if !g.next.IsZero() && g.next.Before(next) {
		next = g.next
	}
	if g.intro.Before(next) {
		next = g.intro
	}
	if g.c.opt.Stock != 0 && g.stock.Before(next) {
		next = g.stock
	}
	for _, k := range g.once {
		if k.at.Before(next) {
			next = k.at
		}
	}
	for k, s := range g.call {
		if !g.busy[k] && s.After.Before(next) {
			next = s.After
		}
	}
	return max(next.Sub(now), time.Millisecond)
}

// fatal reports whether an error is the vault's: Run ends with it.
func fatal(err error) bool {
	for _, e := range []error{ErrFull, ErrDamaged, vault.ErrStorage, vault.ErrClosed, ErrClosed} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// merge adds what one part of a transaction changed to what another did.
func merge(ch, more *convo.Change) {
	if more == nil {
		return
	}
	ch.Events = append(ch.Events, more.Events...)
	ch.Added = append(ch.Added, more.Added...)
	ch.Removed = append(ch.Removed, more.Removed...)
	ch.Owes = append(ch.Owes, more.Owes...)
	ch.Freed = append(ch.Freed, more.Freed...)
	ch.Routes, ch.Invites, ch.Wakes, ch.Meets = ch.Routes || more.Routes, ch.Invites || more.Invites, ch.Wakes || more.Wakes, ch.Meets || more.Meets
}
