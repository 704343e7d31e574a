package group

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/whisper"
)

// Bounds of what is not whole.
const (
	maxPiecesOf = 2 * MaxPieces // pieces of objects, of one device
	partsOf     = 2 * maxWordParts
	wholeWithin = 2 * 24 * time.Hour // what is not whole by then never will be
	sweepEvery  = 24 * time.Hour
)

// Take takes a cell that came by the route of an own leaf, or of all leaves, in an
// epoch. What it shows is in the change's events. A message that was opened before is
// acked again: its ack may have been lost.
//
// It fails with ErrUnknown for an epoch that is not here, with ErrBusy, and with what
// is wrong with the message; then nothing changed, and Taken is Rejected.
//
// spec: group.md#messages
func (e *Engine) Take(tx Tx, now time.Time, a Arrival) (Taken, *Change, error) {
	g, err := e.work(tx, now).load(a.Group)
	if err != nil {
		return Rejected, nil, err
	}
	if g.r.State == Out && g.r.Put == 0 || g.r.Rift.Never {
		return Rejected, nil, ErrLeft
	}
	o, err := g.epoch(a.Epoch)
	if err != nil {
		return Rejected, nil, err
	}
	if len(a.Payload) != SealedSize {
		return Rejected, nil, ErrSaid
	}
	shown, err := g.take(o, a.Payload)
	if err != nil {
		return Rejected, nil, err
	}
	if g.r.State != Out && g.r.State != Replaced {
		if err := g.due(false); err != nil {
			return Rejected, nil, err
		}
	}
	if err := g.save(); err != nil {
		return Rejected, nil, err
	}
	if shown {
		return Shown, g.ch, nil
	}
	return Nothing, g.ch, nil
}

func (g *group) take(o *opened, payload []byte) (shown bool, err error) {
	if _, ok := whisper.Sender(payload); ok {
		return false, g.takeWhisper(o, payload)
	}
	h := sha256.Sum256(payload)
	name := openedNotes(g.r.ID, o.Number) + hex.EncodeToString(h[:16])
	got, err := g.process(o, payload)
	if errors.Is(err, ErrUsed) {
		return false, g.ackAgain(o, name)
	}
	if err != nil {
		return false, err
	}
	if got.Staged != nil {
		return false, ErrForeign // commits lie at slots
	}
	from, err := g.speaker(o, got.From)
	if err != nil {
		return false, err
	}
	o.dirty = true
	s, err := ParseSaid(got.Plain)
	if err != nil {
		return false, err
	}
	if g.r.State == Out { // it reads what was meant for it, and says nothing more
		if s.Kind != SaidBlock {
			return false, nil
		}
		shown, _, err = g.hearBlock(o, from, s.Body)
		return shown, err
	}
	g.ch.Heard = append(g.ch.Heard, from.Device)
	if _, err := g.hearHead(from, s); err != nil {
		return false, err
	}
	if s.Kind != SaidBlock {
		return false, nil // of a newer version
	}
	shown, ack, err := g.hearBlock(o, from, s.Body)
	if err != nil {
		return false, err
	}
	// A copy of it may come again, when the key is gone: whose it is, is noted.
	note := AppendAcks(binary.BigEndian.AppendUint32(nil, from.Index), []Ack{ack})
	if err := g.tx.PutNote(name, note); err != nil {
		return false, err
	}
	// It is acked in the epoch that it came in: its author may not be in a newer one yet.
	return shown, g.owe(o, from, ack)
}

// process opens a message of MLS.
func (g *group) process(o *opened, payload []byte) (*Opened, error) {
	if o.Left == 0 {
		t, err := g.treeOf(o)
		if err != nil {
			return nil, err
		}
		return t.Process(g.env(), payload)
	}
	p, err := g.pastOf(o)
	if err != nil {
		return nil, err
	}
	return p.Process(g.env(), payload)
}

// speaker is the leaf that said something in an epoch, if it may.
func (g *group) speaker(o *opened, leaf uint32) (roster.Leaf, error) {
	from, ok := leafAt(o.Roster, leaf)
	if !ok || slices.Contains(g.r.Revoked, from.Device) {
		return from, ErrSender
	}
	if g.goneFrom(o, from.Device) {
		return from, ErrSender
	}
	return from, nil
}

// takeWhisper takes what a member said to this leaf alone. Nothing is used up by it,
// and the same may come again: what it does then is nothing. It is never a text: that
// is for all, and signed.
//
// spec: group.md#whispers
func (g *group) takeWhisper(o *opened, payload []byte) error {
	leaf, _ := whisper.Sender(payload)
	from, err := g.speaker(o, leaf)
	if err != nil {
		return err
	}
	w, err := g.whispers(o, leaf, o.Self)
	if err != nil {
		return err
	}
	plain, err := w.Open(payload)
	if err != nil {
		return err
	}
	s, err := ParseSaid(plain)
	if err != nil {
		return err
	}
	g.ch.Heard = append(g.ch.Heard, from.Device)
	news, err := g.hearHead(from, s)
	if err != nil {
		return err
	}
	switch s.Kind {
	case SaidAck:
		err = g.hearAcks(o, from, s.Body)
	case SaidPiece:
		err = g.hearPiece(o, from, s.Body)
	}
	// A kind of a newer version says nothing here.
	if err != nil {
		return err
	}
	if s.Flags&asks != 0 && news && g.r.State != Out && g.r.State != Behind {
		return g.answerHead(o, from, s)
	}
	return nil
}

// ErrSender: a message of a group is by a device that may not say anything there.
var ErrSender = errors.New("sender is no member of the group")

// ackAgain acks a message that was opened before.
func (g *group) ackAgain(o *opened, name string) error {
	if g.r.State == Out {
		return nil
	}
	b, err := g.tx.Note(name)
	if errors.Is(err, ErrUnknown) {
		return nil // it wanted no ack
	}
	if err != nil {
		return err
	}
	if len(b) != 4+ackSize {
		return ErrSaid
	}
	acks, err := ParseAcks(b[4:])
	if err != nil {
		return err
	}
	from, ok := leafAt(o.Roster, binary.BigEndian.Uint32(b))
	if !ok || g.goneFrom(o, from.Device) {
		return nil
	}
	return g.owe(o, from, acks...)
}

// answerHead tells a member the own head, who asked for it and is known to be
// somewhere new: with what else is owed to it, and seldom, so that nobody learns by
// asking when this device is there.
func (g *group) answerHead(o *opened, to roster.Leaf, s *Said) error {
	a := g.acked(to.Device)
	if a == nil || g.unix()-a.Told < seconds(greetEach) && g.unix() >= a.Told {
		return nil
	}
	n := min(s.Head, g.r.Head)
	at, err := g.epoch(n)
	if errors.Is(err, ErrUnknown) {
		at, err = o, nil
	}
	if err != nil {
		return err
	}
	l, ok := leafOf(at.Roster, to.Device)
	if !ok {
		return nil
	}
	a.Told = g.unix()
	return g.owe(at, l)
}

// hearPiece keeps a piece of an object, and takes the object once it is whole.
func (g *group) hearPiece(o *opened, from roster.Leaf, body []byte) error {
	p, err := ParsePiece(body)
	if err != nil {
		return err
	}
	object := p.Bytes
	if p.Of > 1 {
		all := pieceNotes(g.r.ID, from.Device, nil)
		mine := pieceNotes(g.r.ID, from.Device, p.Object[:])
		object, err = g.collect(all, mine, int(p.Place), int(p.Of), p.Bytes, maxPiecesOf)
		if err != nil || object == nil {
			return err
		}
	}
	return g.hearObject(o, from, object)
}

// collect keeps one of the pieces of something, and returns the whole when it was the
// last; the pieces are deleted then. It fails with ErrBusy when too much is not whole.
func (w *work) collect(all, mine string, place, of int, b []byte, most int) ([]byte, error) {
	names, err := w.tx.Notes(all)
	if err != nil {
		return nil, err
	}
	mine = fmt.Sprintf("%s/%03d/", mine, of)
	name := fmt.Sprintf("%s%03d", mine, place)
	have := 0
	for _, n := range names {
		if n == name {
			return nil, nil
		}
		if strings.HasPrefix(n, mine) {
			have++
		}
	}
	if have+1 < of {
		if len(names) >= most {
			return nil, ErrBusy
		}
		return nil, w.tx.PutNote(name, append(binary.BigEndian.AppendUint64(nil, uint64(w.unix())), b...))
	}
	var whole []byte
	for i := range of {
		if i == place {
			whole = append(whole, b...)
			continue
		}
		v, err := w.tx.Note(fmt.Sprintf("%s%03d", mine, i))
		if err != nil {
			return nil, err
		}
		if len(v) < 8 {
			return nil, ErrSaid
		}
		whole = append(whole, v[8:]...)
	}
	return whole, w.tx.DeleteNotes(mine)
}

// hearObject takes what a member said in pieces.
func (g *group) hearObject(o *opened, from roster.Leaf, object []byte) error {
	if len(object) == 0 {
		return ErrSaid
	}
	kind, b := ObjectKind(object[0]), object[1:]
	switch kind {
	case ObjectWishes:
		return g.hearWishes(from, b)
	case ObjectNews, ObjectBlob:
		return g.hearNews(o, b)
	case ObjectNeed:
		return g.hearNeed(o, from, b)
	case ObjectRoll:
		return g.hearRoll(from, b)
	case ObjectMeet:
		if len(b) > MaxMeeting {
			return ErrSaid
		}
		g.ch.Meets = append(g.ch.Meets, Meeting{Device: from.Device, Root: from.Root, Introduction: b})
	case ObjectLook:
		return g.hearLook(from, b)
	case ObjectPicture:
		return g.hearPicture(b)
	}
	return nil // of a newer version
}

// sweep drops what never became whole. ObjectBlob and long words come again anyway.
func (g *group) sweep() error {
	if g.unix()-g.r.Swept < seconds(sweepEvery) && g.unix() >= g.r.Swept {
		return nil
	}
	first := g.r.Swept == 0
	g.r.Swept = g.unix()
	if first {
		return nil
	}
	return g.work.sweep(groupNotes(g.r.ID) + "piece/")
}

func (w *work) sweep(prefix string) error {
	names, err := w.tx.Notes(prefix)
	if err != nil {
		return err
	}
	for _, n := range names {
		v, err := w.tx.Note(n)
		if err != nil {
			return err
		}
		if len(v) >= 8 && w.unix()-int64(binary.BigEndian.Uint64(v)) > seconds(wholeWithin) {
			if err := w.tx.DeleteNotes(n); err != nil {
				return err
			}
		}
	}
	return nil
}
