package convo

import (
	"encoding/binary"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
)

// What another device of ours tells may come before what it is about. It is kept
// aside then, in entries without a count, which are for this device alone.
//
// spec: content.md#between-own-devices

// Bounds of what is kept aside.
const (
	asideMost = 10_000 // entries
	asideDays = 90
)

// Kinds of what is kept aside: the first byte of its key. The text's name follows.
const (
	keyEarlyRead = 'R' // it was read
	keyEarlyEnd  = 'E' // what became of it
	keyEarlyCopy = 'K' // the text itself, of a person that is not known yet
)

// putAside keeps something for a text: day 4 ‖ value. It reports whether it was not
// there. It fails with ErrBusy where too much is kept.
func putAside(tx Tx, now time.Time, kind byte, name content.Name, value []byte) (fresh bool, err error) {
	k := append([]byte{kind}, name[:]...)
	was, err := tx.Shared(k)
	if err != nil || was != nil {
		return false, err
	}
	if _, alone, err := tx.SharedRows(); err != nil {
		return false, err
	} else if alone >= asideMost {
		return false, ErrBusy
	}
	v := binary.BigEndian.AppendUint32(nil, uint32(now.Unix()/daySeconds))
	return true, tx.PutShared(&content.Entry{Key: k, Value: append(v, value...)})
}

// takeAside takes out what was kept for a text, nil if nothing was.
func takeAside(tx Tx, kind byte, name content.Name) (value []byte, err error) {
	k := append([]byte{kind}, name[:]...)
	was, err := tx.Shared(k)
	if err != nil || was == nil {
		return nil, err
	}
	return asideValue(was), tx.DeleteShared(k)
}

func asideValue(e *content.Entry) []byte {
	if len(e.Value) < 4 {
		return nil
	}
	return e.Value[4:]
}

// copyAside keeps a text of somebody whom this device does not know yet: their card is
// on its way.
func (e *Engine) copyAside(tx Tx, now time.Time, c *content.Copy) (fresh bool, err error) {
	raw, err := (&content.Content{Sync: &content.Sync{Copy: c}}).Append(nil)
	if err != nil {
		return false, err
	}
	return putAside(tx, now, keyEarlyCopy, TextName(c.Author, c.ID), raw)
}

// recallCopies takes the texts that were kept aside for a person who is known now.
func (e *Engine) recallCopies(tx Tx, now time.Time, root key.SignPublic, ch *Change) error {
	return tx.EachAlone(func(entry *content.Entry) error {
		if len(entry.Key) != 1+content.NameSize || entry.Key[0] != keyEarlyCopy {
			return nil
		}
		c, err := content.Parse(asideValue(entry))
		if err != nil || c.Sync == nil || c.Sync.Copy == nil || key.SignPublic(c.Sync.Copy.Person) != root {
			return nil
		}
		if err := tx.DeleteShared(entry.Key); err != nil {
			return err
		}
		_, err = e.takeCopy(tx, now, c.Sync.Copy, ch)
		return err
	})
}

// forgetAside forgets what waited for something that never came.
func forgetAside(tx Tx, now time.Time) error {
	before := now.Unix()/daySeconds - asideDays
	return tx.EachAlone(func(entry *content.Entry) error {
		if len(entry.Value) < 4 || int64(binary.BigEndian.Uint32(entry.Value)) < before {
			return tx.DeleteShared(entry.Key)
		}
		return nil
	})
}

// ErrBusy is returned for a message that cannot be taken yet: too much is open, or
// something that it builds on is still on its way. Nothing was changed, and it is
// offered again.
var ErrBusy = errors.New("a message cannot be taken yet")
