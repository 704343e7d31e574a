package relay

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// taking is one take: receive reads rows, send asks for them and acks, deliver
// calls Deliver.
type taking struct {
	transport.Take
	*socket
	proof wire.Proof // of this connection and day
	rows  chan row
	some  chan struct{} // holds a token while there may be something to ack

	mu      sync.Mutex                         // guards what follows, and never calls out
	seen    map[transport.Address][]wire.RowID // committed, and not acked yet
	owners  map[transport.Address]transport.Owned
	frames  []int // addresses of take frames that are not answered yet
	all     bool  // every frame was sent
	waiting []int // rows of ack frames that are not answered yet
	queued  int   // rows that wait to be delivered, or whose acks are not sent
	held    bool  // a row was left there
}

// row is one parked cell as it came; one without a cell ends what a take frame
// asked for.
type row struct {
	id      wire.RowID
	address transport.Address
	cell    *transport.Cell
}

// Take takes what is parked for addresses of one day and has the relay delete
// what was committed. It returns nil when the relay has said that it did, with
// transport.ErrHeld when something was left there, and with transport.ErrNothing
// where the relay does not park.
//
// spec: park.md#take
func (r *Relay) Take(ctx context.Context, tt transport.Take) (err error) {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.calls.Done()
	defer func() {
		if ctx.Err() == nil && err != transport.ErrHeld {
			r.doubtAfter(err)
		}
	}()
	if len(tt.Set) == 0 || len(tt.Set) > transport.MaxTaken || tt.Deliver == nil {
		return &fault{text: "taking nothing, or too much", kind: transport.ErrRefused}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	name := "take/" + tt.Isolate
	d, err := r.describe(ctx, name, descriptorAge)
	if err != nil {
		return plain(ctx, err)
	}
	if !d.Has(wire.RolePark) {
		return errNoPark
	}
	s, err := r.open(ctx, opening{path: "/v1/take", isolate: name, limit: wire.ParkedSize, purpose: transport.PayTake, told: tt.Time})
	if err != nil {
		return err
	}
	defer s.shut()
	stop := context.AfterFunc(ctx, func() { s.fail(ctx.Err()) })
	defer stop()
	t := &taking{
		Take: tt, socket: s, rows: make(chan row, maxWaiting), some: make(chan struct{}, 1),
		seen: map[transport.Address][]wire.RowID{}, owners: map[transport.Address]transport.Owned{},
	}
	if err := t.greet(); err != nil {
		return err
	}
	if err := s.run(t.receive, t.send, t.deliver); err != errTaken {
		return err
	}
	if t.held {
		return transport.ErrHeld
	}
	return nil
}

// errTaken ends a take that has done what it is for.
var errTaken = &fault{text: "everything was taken"}

// greet reads the first frame.
func (t *taking) greet() error {
	b, err := t.read()
	if err != nil {
		return err
	}
	if len(b) != wire.GreetingSize || wire.FrameKind(b[0]) != wire.FrameGreeting {
		return broken("no greeting")
	}
	g := parseGreeting(b)
	t.proof = wire.Proof{Realm: t.realm, Binding: t.binding, Nonce: g.nonce, Period: t.Day}
	return t.second(g.second[:])
}

// receive reads frames until the connection ends.
func (t *taking) receive() error {
	defer close(t.rows)
	for {
		b, err := t.read()
		if err != nil {
			return err
		}
		if err := t.frame(b); err != nil {
			return err
		}
	}
}

// frame takes one frame.
func (t *taking) frame(b []byte) error {
	kind := wire.FrameKind(0)
	if len(b) > 0 {
		kind = wire.FrameKind(b[0])
	}
	switch kind {
	case wire.FrameParked:
		if p, err := wire.ParseParked(b); err == nil {
			return t.arrived(row{id: p.ID, address: transport.Address(p.Address), cell: (*transport.Cell)(&p.Cell)})
		}
	case wire.FrameTaken:
		if n, err := wire.ParseTaken(b); err == nil {
			if err := t.answered(int(n)); err != nil {
				return err
			}
			return t.pass(row{}) // the end of a batch
		}
	case wire.FrameAcked:
		if n, err := wire.ParseAcked(b); err == nil {
			return t.gone(int(n))
		}
	case wire.FrameRefused:
		if len(b) == wire.RefusedSize {
			return parseRefused(b)
		}
	}
	return broken("a malformed frame")
}

// arrived hands a row on.
func (t *taking) arrived(r row) error {
	t.mu.Lock()
	_, ours := t.owners[r.address]
	ours = ours && len(t.frames) > 0
	t.queued++
	t.mu.Unlock()
	if !ours {
		return broken("a row that was not asked for")
	}
	return t.pass(r)
}

// pass gives a row, or the end of some, to deliver.
func (t *taking) pass(r row) error {
	t.behind.Store(true)
	defer t.behind.Store(false)
	select {
	case t.rows <- r:
		return nil
	case <-t.ctx.Done():
		return t.err()
	}
}

// answered takes the end of what the oldest take frame asked for.
func (t *taking) answered(addresses int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.frames) == 0 || t.frames[0] != addresses {
		return broken("an end of rows that was not asked for")
	}
	t.frames = t.frames[1:]
	return t.done()
}

// gone takes the answer to the oldest ack frame.
func (t *taking) gone(rows int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.waiting) == 0 || t.waiting[0] != rows {
		return broken("it deleted another number of rows")
	}
	t.waiting = t.waiting[1:]
	return t.done()
}

// done returns errTaken when there is nothing left to do. The caller holds the lock.
func (t *taking) done() error {
	if t.all && len(t.frames) == 0 && t.queued == 0 && len(t.waiting) == 0 {
		return errTaken
	}
	return nil
}

// deliver calls Deliver with rows, as many as there are up to the end of a take
// frame, and collects what was seen: acks of one address go together. It never
// waits for them to be sent, or a relay that reads nothing while it sends would
// never be read again.
func (t *taking) deliver() error {
	var batch []row
	for r := range t.rows {
		if r.cell != nil {
			batch = append(batch, r)
		}
		if r.cell != nil && len(batch) < transport.MaxBatch || len(batch) == 0 || t.ctx.Err() != nil {
			continue
		}
		if err := t.hand(batch); err != nil {
			return err
		}
		batch = nil
	}
	return nil // what was not handed on lies where it was
}

// hand delivers a batch.
func (t *taking) hand(batch []row) error {
	seen := make([]atomic.Bool, len(batch))
	out := make([]transport.Delivery, 0, len(batch))
	for i, r := range batch {
		out = append(out, transport.Delivery{Address: r.address, Cell: r.cell, ID: transport.DeliveryID(r.id), Seen: func() { seen[i].Store(true) }})
	}
	t.Deliver(out)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, r := range batch {
		if seen[i].Load() {
			t.seen[r.address] = append(t.seen[r.address], r.id)
		} else {
			t.queued--
			t.held = true
		}
	}
	t.nudge()
	return t.done()
}

// nudge tells send that there is something to ack.
func (t *taking) nudge() {
	select {
	case t.some <- struct{}{}:
	default:
	}
}

// send writes take frames and acks until the connection ends.
func (t *taking) send() error {
	for set := t.Set; len(set) > 0; {
		k := min(len(set), wire.MaxTake)
		if err := t.ask(set[:k], k == len(set)); err != nil {
			return err
		}
		set = set[k:]
	}
	for {
		select {
		case <-t.ctx.Done():
			return t.err()
		case <-t.some:
		}
		for a, owner := t.batch(); len(a.Rows) > 0; a, owner = t.batch() {
			if err := t.ack(a, owner); err != nil {
				return err
			}
		}
	}
}

// batch takes what one ack frame names, of any address.
func (t *taking) batch() (a wire.ParkAck, owner transport.Owned) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for address, ids := range t.seen {
		n := min(len(ids), wire.MaxAckRows)
		a.Address, a.Rows, owner = wire.Address(address), ids[:n:n], t.owners[address]
		if t.seen[address] = ids[n:]; n == len(ids) {
			delete(t.seen, address)
		}
		return a, owner
	}
	return a, owner
}

// ask sends one take frame.
func (t *taking) ask(set []transport.Owned, last bool) error {
	owned := make([]wire.Owned, 0, len(set))
	for _, o := range set {
		p := t.proof
		p.Verb, p.Address = wire.VerbTake, wire.Address(o.Address)
		w, err := signed(o, p.Append(nil))
		if err != nil {
			return err
		}
		owned = append(owned, w)
	}
	b, err := wire.AppendTake(nil, t.Day, owned)
	if err != nil {
		return fmt.Errorf("taking: %w", err)
	}
	t.mu.Lock()
	for _, o := range set {
		t.owners[o.Address] = o
	}
	t.frames, t.all = append(t.frames, len(set)), last // before the answer can come
	t.mu.Unlock()
	return t.write(b)
}

// signed is an address with its owner's signature.
func signed(o transport.Owned, message []byte) (wire.Owned, error) {
	signature, err := o.Sign(message)
	if err != nil {
		return wire.Owned{}, fmt.Errorf("signing proof: %w", err)
	}
	if len(signature) != wire.ProofSize-wire.AddressSize {
		return wire.Owned{}, fmt.Errorf("signing proof: signature has %d bytes", len(signature))
	}
	return wire.Owned{Address: wire.Address(o.Address), Sig: [64]byte(signature)}, nil
}

// ack sends one ack frame.
func (t *taking) ack(a wire.ParkAck, owner transport.Owned) error {
	p := t.proof
	p.Verb, p.Address = wire.VerbAck, a.Address
	w, err := signed(owner, p.AppendAck(nil, a.Rows))
	if err != nil {
		return err
	}
	a.Owned = w
	b, err := a.Append(nil)
	if err != nil {
		return fmt.Errorf("acking: %w", err)
	}
	t.mu.Lock()
	t.waiting = append(t.waiting, len(a.Rows))
	t.queued -= len(a.Rows)
	t.mu.Unlock()
	return t.write(b)
}
