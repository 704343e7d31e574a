package group

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Invited is a group into which somebody wants this device and of which its person was
// asked: nothing of the group is begun, nothing is read and nothing said before a yes.
type Invited struct {
	Group   ID             `cbor:"1,keyasint"`
	Origin  ID             `cbor:"2,keyasint"` // as the Welcome says
	From    Device         `cbor:"3,keyasint"` // who brought it
	Root    key.SignPublic `cbor:"4,keyasint"` // their person
	By      key.SignPublic `cbor:"5,keyasint"` // who adds this device
	Epoch   uint64         `cbor:"6,keyasint"`
	Name    string         `cbor:"7,keyasint"`
	Relay   string         `cbor:"8,keyasint"`  // where its slots lie
	Persons int            `cbor:"9,keyasint"`  // this one included
	Back    bool           `cbor:"10,keyasint"` // this person left it before
	Since   int64          `cbor:"11,keyasint"` // unix seconds
	Package [32]byte       `cbor:"12,keyasint"` // it is for
	Own     []byte         `cbor:"13,keyasint"` // OwnPackage: nobody else's Welcome uses it up meanwhile
	Size    int            `cbor:"14,keyasint"` // of the Welcome, in bytes
	No      bool           `cbor:"15,keyasint"` // the person said no: it is not asked again
}

// Bounds of invitations that wait for a person. A no counts among them until it is
// forgotten, so that nobody asks without end.
const (
	maxInvited   = 16
	maxInvitedBy = 3       // of one person
	maxInvitedIn = 8 << 20 // bytes, of all
	invitedPart  = 1 << 19 // of one note
	invitedLife  = 14 * 24 * time.Hour
	// maxGroups is how many groups a device enters unasked.
	maxGroups = 256
)

const invitedNotes = "invited/"

func invitedIn(id ID) string { return invitedNotes + hex.EncodeToString(id[:]) + "/" }

// notes begins the names of what is kept of an invitation: "head", and parts of the
// Welcome.
func (v *Invited) notes() string { return fmt.Sprintf("%s%x/", invitedIn(v.Group), v.By[:8]) }

// Question is what the person is asked. Two people who add to one group are two.
func (v *Invited) Question() Question {
	h := key.Hash("tacet/v1/group/question", []byte{byte(AskJoin)}, v.Group[:], v.By[:])
	return Question{ID: [8]byte(h[:]), Kind: AskJoin, About: []key.SignPublic{v.By}, Group: v.Group, Text: joinText(v)}
}

// joinText says what is asked, after the name of who adds this device.
func joinText(v *Invited) string {
	what := "adds you to the group"
	if v.Back {
		what = "adds you again to the group that you left,"
	}
	people := fmt.Sprintf("%d people", v.Persons)
	if v.Persons == 2 {
		people = "you two alone"
	}
	where := "no relay"
	if v.Relay != "" {
		where = "the relay " + v.Relay
	}
	return fmt.Sprintf("%s %q with %s, whose changes lie at %s; nothing leaves this device for it before you say yes", what, v.Name, people, where)
}

// Invitations are the groups into which this device was invited and of which its person
// has not decided.
func (e *Engine) Invitations(tx Tx) ([]*Invited, error) {
	all, err := invitations(tx)
	return slices.DeleteFunc(all, func(v *Invited) bool { return v.No }), err
}

func invitations(tx Tx) ([]*Invited, error) {
	names, err := tx.Notes(invitedNotes)
	if err != nil {
		return nil, err
	}
	var out []*Invited
	for _, n := range names {
		if n[len(n)-5:] != "/head" {
			continue
		}
		b, err := tx.Note(n)
		if err != nil {
			return nil, err
		}
		v := &Invited{}
		if err := dec.Unmarshal(b, v); err != nil {
			return nil, fmt.Errorf("reading invitation: %w", err)
		}
		out = append(out, v)
	}
	return out, nil
}

func (w *work) putInvited(v *Invited) error {
	b, err := enc.Marshal(v)
	if err != nil {
		return err
	}
	return w.tx.PutNote(v.notes()+"head", b)
}

// asksFirst reports whether the person must be asked before this device enters a group
// by a Welcome, and who adds it. It enters unasked where it is in the line already, and
// at the will of a contact whom its person accepted: one to whom it gave the key package.
// Who brings the Welcome says nothing, as every member passes it on. Who left is asked in
// any case.
//
// spec: group.md#invitations
func (w *work) asksFirst(r *Record, by key.SignPublic, p *OwnPackage, t Tree) (key.SignPublic, bool, error) {
	given := false
	for _, m := range t.Members() {
		if p.For != (Device{}) && m.Device == p.For {
			by, given = m.Root, true
		}
	}
	if w.Accepted == nil || r.State != 0 && r.State != Out {
		return by, false, nil
	}
	all, err := w.tx.Groups()
	if err != nil {
		return by, false, err
	}
	in := 0
	for _, o := range all {
		if o.State != Out && o.Origin == r.Origin {
			return by, false, nil
		}
		if o.State != Out && o.State != Replaced {
			in++
		}
	}
	if quit(all, r.Origin) || in >= maxGroups || !given {
		return by, true, nil
	}
	if by == w.Self.Manifest.Root {
		return by, false, nil
	}
	ok, err := w.Accepted(w.tx, by)
	return by, !ok, err
}

// quit reports whether this person left a line.
func quit(all []*Record, origin ID) bool {
	return slices.ContainsFunc(all, func(o *Record) bool { return o.Origin == origin && o.State == Out && o.Quit })
}

// invited keeps a Welcome until the person has decided, and asks. What there is no room
// for is dropped: who adds passes it on again.
//
// spec: group.md#invitations
func (w *work) invited(from Device, root, by key.SignPublic, p *OwnPackage, t Tree, j *Joining, welcome []byte) error {
	s, err := roster.ParseState(t.State())
	if err != nil {
		return errors.Join(ErrWelcome, err)
	}
	all, err := w.tx.Groups()
	if err != nil {
		return err
	}
	v := &Invited{Group: j.Group, Origin: j.Origin, From: from, Root: root, By: by, Epoch: j.Epoch, Name: s.Name, Relay: s.Home.Name,
		Back: quit(all, j.Origin), Since: w.unix(), Package: p.Hash, Size: len(welcome)}
	var persons []key.SignPublic
	for _, m := range t.Members() {
		if !slices.Contains(persons, m.Root) {
			persons = append(persons, m.Root)
		}
	}
	if v.Persons = len(persons); s.Sole != nil {
		v.Relay = ""
	}
	waiting, err := invitations(w.tx)
	if err != nil {
		return err
	}
	of, bytes, known := 0, v.Size, false
	for _, o := range waiting {
		switch {
		case o.notes() == v.notes():
			if o.No || o.Epoch >= v.Epoch {
				return nil
			}
			v.Since, known = o.Since, true
			continue
		case o.By == v.By:
			of++
		}
		bytes += o.Size
	}
	if !known && (of >= maxInvitedBy || len(waiting) >= maxInvited) || bytes > maxInvitedIn {
		return nil
	}
	if v.Own, err = enc.Marshal(p); err != nil {
		return err
	}
	if err := errors.Join(w.tx.DeleteNotes(v.notes()), w.tx.DeleteOwnPackage(p.Hash), w.putInvited(v)); err != nil {
		return err
	}
	for i, b := range slices.Collect(slices.Chunk(welcome, invitedPart)) {
		if err := w.tx.PutNote(fmt.Sprintf("%spart/%02d", v.notes(), i), b); err != nil {
			return err
		}
	}
	w.at(v.Since + seconds(invitedLife))
	q := v.Question()
	w.event(Event{Group: v.Group, Origin: v.Origin, Kind: EventQuestion, Asks: AskJoin, Name: v.Name, By: p.For, ByRoot: v.By, Text: q.Text})
	return nil
}

// waits reports whether an invitation is kept, or was refused, that came with a key
// package.
func (w *work) waits(id ID, hash []byte) (bool, error) {
	names, err := w.tx.Notes(invitedIn(id))
	if err != nil || len(names) == 0 {
		return false, err
	}
	all, err := invitations(w.tx)
	return slices.ContainsFunc(all, func(v *Invited) bool { return v.Group == id && string(v.Package[:]) == string(hash) }), err
}

// decideJoin is a person's answer to an invitation: at a yes this device enters by the
// Welcome that waited, at a no nothing is said and nobody learns of it.
//
// spec: group.md#invitations
func (w *work) decideJoin(q Question, yes bool) error {
	all, err := w.Invitations(w.tx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(v *Invited) bool { return v.Question().ID == q.ID && v.Group == q.Group })
	if i < 0 {
		return ErrUnknown
	}
	v := all[i]
	if !yes {
		return w.refuse(v)
	}
	names, err := w.tx.Notes(v.notes() + "part/")
	if err != nil {
		return err
	}
	var welcome []byte
	for _, n := range names {
		b, err := w.tx.Note(n)
		if err != nil {
			return err
		}
		welcome = append(welcome, b...)
	}
	var p OwnPackage
	if err := dec.Unmarshal(v.Own, &p); err != nil {
		return fmt.Errorf("reading invitation: %w", err)
	}
	p.Hash = v.Package
	if err := errors.Join(w.tx.PutOwnPackage(&p), w.tx.DeleteNotes(v.notes())); err != nil {
		return err
	}
	return w.enterBy(v.From, v.Root, welcome, true)
}

// refuse forgets an invitation but for that it was there.
func (w *work) refuse(v *Invited) error {
	if err := w.tx.DeleteNotes(v.notes()); err != nil {
		return err
	}
	v.No, v.Own, v.Size = true, nil, 0
	return w.putInvited(v)
}

// tendInvited forgets invitations that nobody answered, and that somebody was refused.
func (w *work) tendInvited() error {
	all, err := invitations(w.tx)
	if err != nil {
		return err
	}
	for _, v := range all {
		switch end := v.Since + seconds(invitedLife); {
		case w.unix() < end:
			w.at(end)
		case v.No || w.unix() >= end+seconds(invitedLife):
			err = w.tx.DeleteNotes(v.notes())
		default:
			// As if the person had said no: a Welcome that is passed on does not ask again.
			v.Since = end
			err = w.refuse(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
