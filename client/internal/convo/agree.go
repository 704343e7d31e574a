package convo

import (
	"errors"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pad"
)

// Kinds of entries that our devices share: the first byte of their keys. For those
// about a person the root follows. Small letters are this package's.
//
// spec: content.md#between-own-devices
const (
	keyCard     = 'c' // root, device: how to reach a device of theirs
	keyName     = 'n' // what we call them
	keyVerified = 'v' // 1 if the safety number was compared, else 0
	keyStanding = 's' // contact.State
	keyTrusted  = 't' // reference of a manifest that a person said is all right
	keyMute     = 'm' // decimal unix seconds
	keyDraft    = 'd' // text
	keyMine     = 'p' // the name that contacts see as ours
	keyDevice   = 'g' // device: what we call a device of ours
	keyList     = 'l' // root: their newest manifest
)

// sharedMost bounds the map that our devices share, in entries: what one of them sets
// above it the others do not keep.
const sharedMost = 20_000

// fits refuses an entry of a kind that this package knows whose key or value is none
// of that kind, and what is never told. Others are of a newer version.
func fits(entry *content.Entry) bool {
	const root = len(key.SignPublic{})
	k, v := len(entry.Key)-1, len(entry.Value)
	switch entry.Key[0] {
	case keyCard:
		return k == 2*root
	case keyName:
		return k == root && v <= contact.MaxName
	case keyVerified, keyStanding:
		return k == root && v == 1
	case keyTrusted:
		return k == root && v == refSize
	case keyList:
		return k == root && v <= content.MaxManifest
	case keyMute:
		return k == root && v <= 20
	case keyDraft:
		return k == root
	case keyMine:
		return k == 0 && v <= content.MaxName
	case keyDevice:
		return k == root && v <= contact.MaxName
	case keyEarlyRead, keyEarlyEnd, keyEarlyCopy:
		return false
	}
	return true
}

func contactKey(kind byte, root key.SignPublic) []byte { return append([]byte{kind}, root[:]...) }

// Agree sets an entry that our devices share and tells the others. An empty value
// stands for none.
func (e *Engine) Agree(tx Tx, now time.Time, k, value []byte) (*Change, error) {
	ch := &Change{}
	return ch, e.agree(tx, now, k, value, ch)
}

func (e *Engine) agree(tx Tx, now time.Time, k, value []byte, ch *Change) error {
	n, err := e.nextCount(tx)
	if err != nil {
		return err
	}
	entry := content.Entry{Key: k, Value: value, Count: n, Device: e.Self.Name()}
	if err := tx.PutShared(&entry); err != nil {
		return err
	}
	return e.tell(tx, now, &content.Sync{Entries: []content.Entry{entry}}, ch)
}

// nextCount is the count of an entry that is set now. Its upper half is the sequence
// of our manifest, so that no device can count so far that what is set after it was
// revoked is not newer. Within one manifest it stops at the greatest there is.
//
// spec: content.md#counts
func (e *Engine) nextCount(tx Tx) (uint64, error) {
	n, err := tx.SharedCount()
	if err != nil {
		return 0, err
	}
	if n = max(n, uint64(e.Self.Manifest.Sequence)<<32); uint32(n) != 1<<32-1 {
		n++
	}
	return n, nil
}

// AgreedOn returns the value of an entry, nil if there is none.
func (e *Engine) AgreedOn(tx Tx, k []byte) ([]byte, error) {
	entry, err := tx.Shared(k)
	if err != nil || entry == nil || entry.Count == 0 {
		return nil, err
	}
	return entry.Value, nil
}

// TakeEntry takes an entry that another device of ours has set: the newer of two
// stays, whichever comes first. It fails with ErrBusy for one that was set under a
// manifest of ours that this device was not shown yet.
func (e *Engine) TakeEntry(tx Tx, now time.Time, entry *content.Entry) (*Change, error) {
	ch := &Change{}
	_, err := e.takeEntry(tx, now, entry, ch)
	return ch, err
}

func (e *Engine) takeEntry(tx Tx, now time.Time, entry *content.Entry, ch *Change) (fresh bool, err error) {
	if !fits(entry) {
		return false, nil
	}
	if entry.Count>>32 > uint64(e.Self.Manifest.Sequence) {
		return false, ErrBusy
	}
	was, err := tx.Shared(entry.Key)
	if err != nil {
		return false, err
	}
	if was != nil && !entry.Newer(was) {
		return false, nil
	}
	if was == nil {
		if n, _, err := tx.SharedRows(); err != nil || n >= sharedMost {
			return false, err
		}
	}
	if err := tx.PutShared(entry); err != nil {
		return false, err
	}
	return true, e.act(tx, now, entry.Key, entry.Value, ch)
}

// act does what an entry says. One about somebody who is not known yet is done when
// their card comes.
func (e *Engine) act(tx Tx, now time.Time, k, value []byte, ch *Change) error {
	kind, rest := k[0], k[1:]
	switch kind {
	case keyCard:
		return e.takeCard(tx, now, value, ch)
	case keyName, keyVerified, keyStanding, keyTrusted, keyList:
		p, err := tx.ContactOf(key.SignPublic(rest))
		if errors.Is(err, contact.ErrUnknown) {
			return nil
		}
		if err != nil {
			return err
		}
		return e.actOn(tx, now, p, kind, value, ch)
	}
	if e.Agreed != nil {
		return e.Agreed(tx, now, k, value, ch)
	}
	return nil
}

func (e *Engine) actOn(tx Tx, now time.Time, p *contact.Record, kind byte, value []byte, ch *Change) error {
	switch kind {
	case keyName:
		return e.called(tx, now, p, string(value))
	case keyVerified:
		p.Verified = len(value) == 1 && value[0] == 1
		return tx.PutContact(p)
	case keyStanding:
		if len(value) != 1 {
			return nil
		}
		switch s := contact.State(value[0]); {
		case s == contact.Blocked && p.State != contact.Blocked:
			if err := e.drop(tx, p, ch); err != nil {
				return err
			}
			p.State = contact.Blocked
			p.Empty()
			ch.Routes = true
			return tx.PutContact(p)
		}
	case keyList:
		m, err := manifest.Parse(value)
		if err != nil || m.Root != p.Root || !p.MayReceive() {
			return nil
		}
		return e.theirManifest(tx, now, p, m, ch)
	case keyTrusted:
		ref, ok := parseRef(value)
		if !ok {
			return nil
		}
		p.Trusted = ref
		if p.Stop && p.Doubt == ref {
			p.Stop, p.Warning = false, ""
			return e.free(tx, p, ch)
		}
		return tx.PutContact(p)
	}
	return nil
}

// called gives a person the name that another device of ours gave them. Where two
// people came to have one name on two devices, the one with the smaller root keeps
// it on all.
func (e *Engine) called(tx Tx, now time.Time, p *contact.Record, name string) error {
	err := contact.Rename(tx, p, name)
	if !errors.Is(err, contact.ErrName) {
		return err
	}
	all, err := tx.Contacts()
	if err != nil {
		return err
	}
	for _, o := range all {
		if o.ID == p.ID || !contact.SameName(o.Name, name) {
			continue
		}
		if !p.Root.Less(o.Root) {
			return contact.RenameFree(tx, p, name)
		}
		if err := contact.RenameFree(tx, o, name+" 2"); err != nil {
			return err
		}
		return ignoreName(contact.Rename(tx, p, name))
	}
	return nil
}

func ignoreName(err error) error {
	if errors.Is(err, contact.ErrName) {
		return nil
	}
	return err
}

// recall does to a person whose card has just come what was agreed on them before.
func (e *Engine) recall(tx Tx, now time.Time, root key.SignPublic, ch *Change) error {
	for _, kind := range []byte{keyList, keyName, keyVerified, keyTrusted, keyStanding} {
		entry, err := tx.Shared(contactKey(kind, root))
		if err != nil {
			return err
		}
		if entry == nil || entry.Count == 0 {
			continue
		}
		if err := e.act(tx, now, entry.Key, entry.Value, ch); err != nil {
			return err
		}
	}
	return e.recallCopies(tx, now, root, ch)
}

// Trust lifts the stop of a contact after a person looked, on all our devices.
func (e *Engine) Trust(tx Tx, now time.Time, p *contact.Record) (*Change, error) {
	ch := &Change{}
	p.Stop, p.Warning, p.Trusted = false, "", p.Doubt
	if err := e.free(tx, p, ch); err != nil {
		return nil, err
	}
	return ch, e.agree(tx, now, contactKey(keyTrusted, p.Root), appendRef(nil, p.Trusted), ch)
}

// free lets sending to a person go on.
func (e *Engine) free(tx Tx, p *contact.Record, ch *Change) error {
	if err := tx.PutContact(p); err != nil {
		return err
	}
	devices, err := tx.DevicesOf(p.ID)
	for _, d := range devices {
		ch.Freed = append(ch.Freed, d.ID)
	}
	return err
}

// Rename gives a contact another name, on all our devices.
func (e *Engine) Rename(tx Tx, now time.Time, p *contact.Record, name string) (*Change, error) {
	if err := contact.Rename(tx, p, name); err != nil {
		return nil, err
	}
	return e.Agree(tx, now, contactKey(keyName, p.Root), []byte(p.Name))
}

// Verify notes on all our devices whether the safety numbers were compared.
func (e *Engine) Verify(tx Tx, now time.Time, p *contact.Record, verified bool) (*Change, error) {
	p.Verified = verified
	if err := tx.PutContact(p); err != nil {
		return nil, err
	}
	value := []byte{0}
	if verified {
		value[0] = 1
	}
	return e.Agree(tx, now, contactKey(keyVerified, p.Root), value)
}

// refSize is that of a reference, in bytes.
const refSize = 12

func appendRef(b []byte, r pad.Ref) []byte {
	b = append(b, byte(r.Sequence>>24), byte(r.Sequence>>16), byte(r.Sequence>>8), byte(r.Sequence))
	return append(b, r.Hash[:]...)
}

func parseRef(b []byte) (r pad.Ref, ok bool) {
	if len(b) != refSize {
		return r, false
	}
	r.Sequence = uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	copy(r.Hash[:], b[4:])
	return r, true
}

// Mute says on all our devices until when nobody is to be told that somebody wrote.
func (e *Engine) Mute(tx Tx, now time.Time, p *contact.Record, until time.Time) (*Change, error) {
	var value []byte
	if until.Unix() > 0 {
		value = strconv.AppendInt(nil, until.Unix(), 10)
	}
	return e.Agree(tx, now, contactKey(keyMute, p.Root), value)
}

// Draft keeps what is written to somebody and not sent yet, on all our devices. It
// fails with ErrLong for more than content.MaxValue bytes.
func (e *Engine) Draft(tx Tx, now time.Time, p *contact.Record, text string) (*Change, error) {
	if len(text) > content.MaxValue {
		return nil, ErrLong
	}
	return e.Agree(tx, now, contactKey(keyDraft, p.Root), []byte(text))
}

// Kept returns what is agreed on a person: until when they are muted, and the draft.
func Kept(tx SharedMap, root key.SignPublic) (muted time.Time, draft string, err error) {
	mute, err := tx.Shared(contactKey(keyMute, root))
	if err != nil {
		return muted, "", err
	}
	if mute != nil {
		if n, err := strconv.ParseInt(string(mute.Value), 10, 64); err == nil && n > 0 {
			muted = time.Unix(n, 0)
		}
	}
	text, err := tx.Shared(contactKey(keyDraft, root))
	if err == nil && text != nil && utf8.Valid(text.Value) {
		draft = string(text.Value)
	}
	return muted, draft, err
}
