package group

import (
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Times of rules 7 to 10, all by the own clock.
//
// spec: group.md#stopping
const (
	silence     = time.Hour          // online without answer, until a device stops
	oneTry      = 10 * time.Minute   // the most that one try without answer counts for: the device may have slept before
	bound       = time.Hour          // how long "stopped" binds who answered it
	askEach     = 10 * time.Minute   // the k-th senior admin asks after k times this
	askEvery    = 30 * time.Minute   // and then again
	byItself    = 7 * 24 * time.Hour // after which over half of the leaves suffice
	compareEach = 24 * time.Hour     // lists of receipts
	quiet       = time.Hour          // without any ack of what waits: lists are compared
	soleWait    = 24 * time.Hour     // a wish waits for the one committer
	letInEach   = 6 * time.Hour      // asks to be let into the successor
	askFollow   = time.Hour          // outside a successor, until the person is asked whether to wait
	letInWait   = 24 * time.Hour     // after which a device that was not let in goes on where it is
)

// Bounds of what is kept and sent because something went wrong.
const (
	keepGone    = 128 // removals that can be shown
	keepOrders  = 64
	keepRefused = 64
	compareWith = 4  // members, once a day
	evidenceTo  = 64 // members to whom evidence goes directly; in larger groups admins first, then chance
)

// StopReason says why a device commits nothing.
type StopReason byte

// Reasons to stop.
const (
	StopTwo    StopReason = 1 // two contents for one slot that is not settled
	StopBurnt  StopReason = 2 // what lies at the slot is no commit
	StopGone   StopReason = 3 // no answer for an hour
	StopAsked  StopReason = 4 // somebody asked, and was told so: for an hour
	StopSole   StopReason = 5 // the one committer does not commit
	StopRemade StopReason = 6 // a successor counts, and this device is not in it yet
)

// Rift is what a record keeps for rules 7 to 10.
type Rift struct {
	Why   StopReason `cbor:"1,keyasint,omitempty"` // 0: not stopped
	Since int64      `cbor:"2,keyasint,omitempty"` // unix seconds, as all times here, by the own clock
	Until int64      `cbor:"3,keyasint,omitempty"` // of StopAsked
	Epoch uint64     `cbor:"4,keyasint,omitempty"` // whose slot it is about
	Proof []byte     `cbor:"5,keyasint,omitempty"` // roster.Evidence

	Tried    int64 `cbor:"6,keyasint,omitempty"` // the last time the relay did not answer
	Silent   int64 `cbor:"7,keyasint,omitempty"` // seconds online without answer
	Answered int64 `cbor:"8,keyasint,omitempty"` // the last time it did

	Ask     [16]byte `cbor:"9,keyasint,omitempty"`
	AskedAt int64    `cbor:"10,keyasint,omitempty"`
	Replies []Reply  `cbor:"11,keyasint,omitempty"` // one a device
	Offered bool     `cbor:"12,keyasint,omitempty"` // the person was asked whether to make it again
	Proofs  [][]byte `cbor:"13,keyasint,omitempty"` // roster.Evidence that others sent and that could not be judged yet

	Gone       [][]byte  `cbor:"20,keyasint,omitempty"` // roster.Shown: removals accepted or shown
	Statements []Kept    `cbor:"21,keyasint,omitempty"` // known of this line, beside those that made groups
	Orders     []Ordered `cbor:"22,keyasint,omitempty"` // of admins, by the epoch from which each holds
	Toward     ID        `cbor:"23,keyasint,omitempty"` // the successor that counts, while this device is not in it
	LetIn      int64     `cbor:"24,keyasint,omitempty"` // it asked last to be let in
	Compared   int64     `cbor:"25,keyasint,omitempty"` // lists were compared last

	Home    roster.Home      `cbor:"30,keyasint"`
	Sole    *Device          `cbor:"31,keyasint,omitempty"`
	Hold    bool             `cbor:"32,keyasint,omitempty"` // nothing is written until the person has said yes
	Persons []key.SignPublic `cbor:"33,keyasint,omitempty"` // of Hold: the last roster that was accepted
	Allowed []key.SignPublic `cbor:"38,keyasint,omitempty"` // of Hold: about whom the person said yes
	Left    int64            `cbor:"36,keyasint,omitempty"` // when it was replaced
	Askers  []Asker          `cbor:"37,keyasint,omitempty"` // who asked, and is answered once the relay was tried
	Lost    bool             `cbor:"35,keyasint,omitempty"` // it was shown that its line of commits does not count
	Expect  []roster.Leaf    `cbor:"34,keyasint,omitempty"` // who is to be in a successor and is not yet: their messages wait

	Made    []byte           `cbor:"39,keyasint,omitempty"` // the statement by which this group was made, from its state
	Never   bool             `cbor:"40,keyasint,omitempty"` // it was replaced before this device ever was in it: nothing is heard there
	Bound   int64            `cbor:"41,keyasint,omitempty"` // until when this device promised to commit nothing
	Rest    int64            `cbor:"42,keyasint,omitempty"` // until when it promises that to nobody for their word alone
	Waited  ID               `cbor:"43,keyasint,omitempty"` // a successor that did not let this device in for a day
	Missing int64            `cbor:"45,keyasint,omitempty"` // since when the relay has a receipt for the head's slot and not its content
	Against []key.SignPublic `cbor:"46,keyasint,omitempty"` // who said that a slot from before this device came holds something else
	Refused []ID             `cbor:"44,keyasint,omitempty"` // successors to which its person does not go
}

// Reply is a member's newest answer.
type Reply struct {
	By   Device            `cbor:"1,keyasint"`
	Kind roster.AnswerKind `cbor:"2,keyasint"`
	Head uint64            `cbor:"3,keyasint"`
	At   int64             `cbor:"4,keyasint"` // when it was asked: it counts for an hour from then
}

// Asker is a member who asked whether the group can go on.
type Asker struct {
	Device Device         `cbor:"1,keyasint"`
	Root   key.SignPublic `cbor:"2,keyasint"`
	Ask    [16]byte       `cbor:"3,keyasint"`
	Head   uint64         `cbor:"4,keyasint"`
	At     int64          `cbor:"5,keyasint"`
}

// Ordered is the order of admins from an epoch on.
type Ordered struct {
	Epoch  uint64           `cbor:"1,keyasint"`
	Admins []key.SignPublic `cbor:"2,keyasint"`
}

// stopped reports whether the device commits nothing in the group.
func (r *Record) stopped() bool { return r.Rift.Why != 0 }

// mayCommit reports whether rules 7 to 10 let this device commit: it is not
// stopped, and is the one committer where there is one.
func (g *group) mayCommit() bool {
	return !g.r.stopped() && g.r.State == Active && (g.r.Rift.Sole == nil || *g.r.Rift.Sole == g.me())
}

// mayWrite fails with ErrAsk while the person has not said that the people of a
// successor may read what they write.
func (g *group) mayWrite() error {
	if g.r.Rift.Hold {
		return ErrAsk
	}
	return nil
}

// order returns who were the admins in an epoch, as far as this device knows: of a
// later epoch than it was in, those it knows last.
func (r *Record) order(epoch uint64) []key.SignPublic {
	var out []key.SignPublic
	for _, o := range r.Rift.Orders {
		if o.Epoch <= epoch || out == nil {
			out = o.Admins
		}
	}
	return out
}

// admins are the admins of the newest epoch.
func (r *Record) admins() []key.SignPublic { return r.order(^uint64(0)) }

// parted reports whether the relay is known to have signed two contents for a slot:
// then other members may have another history.
func (r *Record) parted() bool {
	return slices.ContainsFunc(r.Decided, func(d Decided) bool { return d.Second != nil })
}

func (r *Record) decidedSlot(id wire.BlobID) *Decided {
	for i := range r.Decided {
		if r.Decided[i].Slot == id {
			return &r.Decided[i]
		}
	}
	return nil
}

func (r *Record) unask(k QuestionKind) {
	r.Questions = slices.DeleteFunc(r.Questions, func(q Question) bool { return q.Kind == k })
}

func (g *group) notice(k EventKind, text string) {
	g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: k, Text: text})
}

// halt makes the device commit nothing, tells its person, and passes the evidence
// on. Another reason replaces one that ends by itself, and no other.
//
// spec: group.md#stopping
func (g *group) halt(why StopReason, ev *roster.Evidence) error {
	f := &g.r.Rift
	soft := f.Why == StopAsked || f.Why == StopGone || f.Why == StopSole
	hard := why == StopTwo || why == StopBurnt || why == StopRemade
	if f.Why != 0 && !(soft && hard) && !(f.Why == StopAsked && why == StopGone) {
		return nil
	}
	quietly := f.Why != 0 && f.Why != StopAsked || why == StopAsked // people read one notice, not three
	if f.Why == 0 || f.Why == StopAsked {
		f.Since = g.unix()
	}
	f.Why, f.Until, f.Proof = why, 0, nil
	if g.r.State == Active {
		g.r.State, g.r.Try = Stopped, 0
	}
	if ev != nil {
		f.Epoch, ev.Group = ev.Epoch, g.r.ID
		ev.Sign(g.Self.Sign)
		var err error
		if f.Proof, err = ev.Append(nil); err != nil {
			return err
		}
		if err := g.tellAll(encode(WordEvidence, &Evident{Group: g.r.ID, Proof: f.Proof, List: g.list()})); err != nil {
			return err
		}
	}
	if !quietly {
		g.trouble(troubleText(why, f.Home.Name))
	}
	return nil
}

// resume ends a stop.
func (g *group) resume() {
	f := &g.r.Rift
	if f.Why == 0 {
		return
	}
	why := f.Why
	f.Why, f.Since, f.Until, f.Proof, f.Epoch, f.Replies, f.Offered, f.Silent, f.Tried = 0, 0, 0, nil, 0, nil, false, 0, 0
	f.Toward = ID{}
	g.r.unask(AskRemake)
	g.r.unask(AskFollow)
	if g.r.State == Stopped {
		g.r.State = Active
	}
	if why != StopAsked && g.r.State == Active && g.unix() < f.Bound { // it has promised to wait
		f.Why, f.Since, f.Until = StopAsked, g.unix(), f.Bound
		g.r.State, g.r.Try = Stopped, 0
		g.at(f.Until)
		return
	}
	if g.r.State == Active { // also where the promise outlasted what it was told for
		g.trouble("")
	}
}

// realmAnswered notes that the relay of the group answered: with a receipt, or that
// nothing lies at the slot. It ends a silence.
func (g *group) realmAnswered() {
	f := &g.r.Rift
	f.Answered, f.Tried, f.Silent = g.unix(), 0, 0
	if f.Why == StopGone {
		g.resume()
	}
}

// holdsBack reports whether this device has promised to commit nothing, or waits for a
// successor: not even a commit that is made already leaves then.
//
// spec: group.md#asking
func (g *group) holdsBack() bool {
	f := &g.r.Rift
	return f.Why == StopAsked || f.Why == StopRemade || f.Why != 0 && g.unix() < f.Bound
}

// realmSilent notes a try without answer, or a receipt whose blob the relay does not
// give. After an hour online without one the device stops.
func (g *group) realmSilent() error {
	f := &g.r.Rift
	if f.Tried != 0 {
		f.Silent += min(max(g.unix()-f.Tried, 0), seconds(oneTry))
	}
	f.Tried = g.unix()
	if f.Silent < seconds(silence) || f.Sole != nil {
		return nil
	}
	return g.halt(StopGone, nil)
}

// contradicts notes a second content for a slot. Of a settled slot it is only shown;
// else the device stops.
func (g *group) contradicts(d *Decided, second *wire.Receipt) error {
	if d.Receipt.Hash == second.Hash || d.Second != nil {
		return nil
	}
	other := *second
	d.Second = &other
	if d.Settled {
		g.notice(EventTrouble, liedText(g.r.Rift.Home.Name))
		return nil
	}
	return g.halt(StopTwo, &roster.Evidence{
		Epoch: d.Epoch, Kind: roster.TwoHashes, First: d.Receipt.Append(nil), Second: second.Append(nil),
	})
}

// burnt stops a device that has the blob of its newest epoch's slot, with the
// receipt, and finds it to be no commit.
func (g *group) burnt(h *opened, blob []byte, receipt *wire.Receipt) error {
	ev := &roster.Evidence{Epoch: h.Number, Kind: roster.NoCommit, First: receipt.Append(nil)}
	if len(blob) <= roster.MaxBlobProof {
		ev.Blob = blob
	}
	return g.halt(StopBurnt, ev)
}

// stopEnds ends what ends by itself.
func (g *group) stopEnds() {
	f := &g.r.Rift
	switch f.Why {
	case StopAsked:
		if g.unix() >= f.Until {
			g.resume()
		}
	case StopTwo:
		if !slices.ContainsFunc(g.r.Decided, func(d Decided) bool { return d.Second != nil && !d.Settled }) {
			g.resume()
		}
	case StopSole:
		if !g.soleIsLate() {
			g.resume()
		}
	case StopRemade:
		if g.unix() < f.Since+seconds(letInWait) {
			g.at(f.Since + seconds(letInWait))
			return
		}
		// It asks on to be let in, and goes there if it is.
		to := f.Toward
		g.resume()
		f.Toward, f.Waited = to, to
		g.notice(EventTrouble, waitedText)
	}
}

// soleIsLate reports whether a wish has waited for the one committer for a day.
func (g *group) soleIsLate() bool {
	if g.r.Rift.Sole == nil || *g.r.Rift.Sole == g.me() {
		return false
	}
	return slices.ContainsFunc(g.r.Wishes, func(o Wanted) bool {
		if o.Applied != 0 || g.unix()-o.Since < seconds(soleWait) {
			return false
		}
		w, err := roster.ParseWish(o.Wish)
		return o.Own || err == nil && g.goes(w)
	})
}
