package group

import (
	"encoding/hex"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// Hear takes a word that a device said in its pair session: from is the device that
// the session is with, root its person. A word of a kind that is not known is dropped.
//
// It fails with ErrSaid for what is not well-formed, with ErrWelcome for an invitation
// that does not fit, and with ErrBusy; then nothing changed.
//
// spec: group.md#words
func (e *Engine) Hear(tx Tx, now time.Time, from Device, root key.SignPublic, payload []byte) (*Change, error) {
	w := e.work(tx, now)
	if err := w.hear(from, root, payload, false); err != nil {
		return nil, err
	}
	w.ch.Heard = append(w.ch.Heard, from)
	return w.ch, nil
}

func (w *work) hear(from Device, root key.SignPublic, payload []byte, whole bool) error {
	if len(payload) == 0 {
		return ErrSaid
	}
	if w.revoked(root, from) {
		return nil
	}
	kind, b := WordKind(payload[0]), payload[1:]
	switch kind {
	case WordWelcome:
		return w.hearWelcome(from, root, b)
	case WordPackages:
		return w.hearPackages(from, b)
	case WordAsk:
		return w.hearAsk(from, root, b)
	case WordAgain:
		return w.hearAgain(from, root, b)
	case WordRemoved:
		return w.hearRemoved(from, b)
	case WordEnter:
		return w.hearEnter(from, root, b)
	case WordPart:
		if whole {
			return ErrSaid
		}
		return w.hearPart(from, root, b)
	}
	if kind >= WordEvidence {
		return w.hearRift(from, root, kind, b)
	}
	return nil
}

// hearAsk gives a device key packages, at most every few minutes.
func (w *work) hearAsk(from Device, root key.SignPublic, b []byte) error {
	if len(b) != 0 {
		return ErrSaid
	}
	g := &group{work: w, r: &Record{}}
	if ok, err := g.every("asked/"+hex.EncodeToString(from[:16]), 2*time.Minute); err != nil || !ok {
		return err
	}
	p, err := w.packages(from, StockSize, SuiteHybrid, SuiteClassic)
	if err != nil {
		return err
	}
	w.word(from, root, p)
	return nil
}

// hearPart keeps a part of a long word, and takes the word once it is whole.
func (w *work) hearPart(from Device, root key.SignPublic, b []byte) error {
	var p Part
	if err := decode(b, &p); err != nil {
		return err
	}
	if p.Place >= p.Of || p.Of < 2 || p.Of > maxWordParts || len(p.Bytes) == 0 || len(p.Bytes) > partRoom {
		return ErrSaid
	}
	all := partNotes(from)
	if err := w.sweep(all); err != nil {
		return err
	}
	word, err := w.collect(all, all+hex.EncodeToString(p.Word[:]), int(p.Place), int(p.Of), p.Bytes, partsOf)
	if err != nil || word == nil {
		return err
	}
	return w.hear(from, root, word, true)
}
