package roster

import (
	"bytes"
	"errors"
	"slices"
	"unicode"

	"github.com/tacet-chat/tacet/internal/key"
)

// Bounds of a wish, in bytes.
const (
	GroupIDSize = 16
	WishIDSize  = 16
	MaxPackage  = 8 << 10 // of a key package
	MaxProof    = 1 << 10 // of a manifest
	MaxWish     = 12 << 10
	MaxWishes   = 256 // in one commit
	MaxOf       = 16  // leaves of a person that a wish names
)

const labelWish = "tacet/v1/group/wish"

// ErrWish is returned for a wish that is not well-formed or not signed by the
// device that it names.
var ErrWish = errors.New("wish is malformed")

// GroupID names a group among its members: 16 random bytes. A group that was made
// again has another.
type GroupID [GroupIDSize]byte

// WishID names a wish among those of its device.
type WishID [WishIDSize]byte

// WishKey names a wish. Its id alone does not: another device can choose the same.
type WishKey struct {
	By key.SignPublic
	ID WishID
}

// WishKind says what is wished.
type WishKind byte

// Kinds of wishes. Who may wish what is Apply's to say.
const (
	Add        WishKind = 1 // a device, with a key package: by an admin, or by a member for an own device
	Remove     WishKind = 2 // a person, or one device of theirs: by an admin senior to them
	Revoked    WishKind = 3 // a device that its own person revoked: by anybody, with the manifest that shows it
	Leave      WishKind = 4 // oneself: a device, or all of one's devices
	ReAdd      WishKind = 5 // a device that lost its way, with a key package that it made for this: by an admin, or a member for an own device
	Promote    WishKind = 6 // a person becomes the most junior admin: by an admin
	Demote     WishKind = 7 // a person is an admin no more: by an admin senior to them, or by themselves
	Rename     WishKind = 8 // by an admin, as are those below
	SetPicture WishKind = 9
	SetTimer   WishKind = 10
	SetFanout  WishKind = 11
	OpenLink   WishKind = 12
	CloseLink  WishKind = 13
)

// Wish is a change that somebody wants. It is signed for the group and not for an
// epoch: it is proposed again until it is settled. It is about memberships that it
// names, and about the state as its wisher saw it: kept and carried again later it
// means nothing.
//
// spec: group.md#wishes
type Wish struct {
	Group   GroupID        `cbor:"0,keyasint"` // the group, or the first of those it was made again from
	ID      WishID         `cbor:"1,keyasint"` // random
	Kind    WishKind       `cbor:"2,keyasint"`
	By      key.SignPublic `cbor:"3,keyasint"`            // the device that wishes, a member
	Root    key.SignPublic `cbor:"4,keyasint"`            // about whom; zeros where it is about nobody
	Device  key.SignPublic `cbor:"5,keyasint"`            // about which device of theirs; zeros: all, or none
	Package []byte         `cbor:"6,keyasint,omitempty"`  // Add, ReAdd: an MLS key package whose credential names Root and Device
	Proof   []byte         `cbor:"7,keyasint,omitempty"`  // Revoked: the manifest
	Text    string         `cbor:"8,keyasint,omitempty"`  // Rename
	Bytes   []byte         `cbor:"9,keyasint,omitempty"`  // SetPicture
	Number  uint32         `cbor:"10,keyasint,omitempty"` // SetTimer: seconds; SetFanout: a Fanout
	Link    *Link          `cbor:"11,keyasint,omitempty"` // OpenLink; CloseLink: its ID alone counts
	Sig     key.Signature  `cbor:"12,keyasint"`           // by By over the wish with zeros here
	From    Entry          `cbor:"13,keyasint"`           // membership of By
	Of      []Entry        `cbor:"14,keyasint,omitempty"` // memberships of the devices that it is about, ascending; of a person all that By knows
	Turn    uint64         `cbor:"15,keyasint,omitempty"` // State.Turn when it was wished
}

// Key is the wish's name.
func (w *Wish) Key() WishKey { return WishKey{w.By, w.ID} }

// Bind sets From, Of and Turn to what they are in an epoch with this state and these
// leaves, for By. It fails with ErrPast if By is none of them, and with ErrNobody or
// ErrDone if who it is about is not there.
//
// spec: group.md#wishes
func (w *Wish) Bind(s *State, leaves []Leaf) error {
	by, ok := leafOf(leaves, w.By)
	if !ok {
		return ErrPast
	}
	w.From, w.Of, w.Turn = by.Entry, nil, s.Turn
	switch w.Kind {
	case Remove, Leave, ReAdd, Promote, Demote:
	default:
		return nil
	}
	var none key.SignPublic
	for _, l := range leaves {
		if l.Root == w.Root && (w.Device == none || l.Device == w.Device) && len(w.Of) < MaxOf {
			w.Of = append(w.Of, l.Entry)
		}
	}
	slices.SortFunc(w.Of, func(a, b Entry) int { return bytes.Compare(a[:], b[:]) })
	w.Of = slices.Compact(w.Of)
	if len(w.Of) > 0 || w.Kind == Demote || w.Root == none {
		return nil // an admin may be still to come into a group that was made again
	}
	if w.Kind == Remove || w.Kind == Leave {
		return ErrDone
	}
	return ErrNobody
}

// Sign sets By and Sig.
func (w *Wish) Sign(device key.Sign) {
	w.By = key.SignPublicOf(device)
	w.Sig = key.SignMessage(device, labelWish, w.signed())
}

// signed is what the signature covers.
func (w *Wish) signed() []byte {
	c := *w
	c.Sig = key.Signature{}
	b, err := enc.Marshal(&c)
	if err != nil {
		panic("roster: " + err.Error()) // fixed types: it cannot fail
	}
	return b
}

// genuine reports whether the device that the wish names signed it.
func (w *Wish) genuine() bool { return key.VerifyAgain(w.By, w.Sig, labelWish, w.signed()) }

// Append appends the wish as deterministic CBOR, at most MaxWish bytes. It fails
// with ErrWish.
func (w *Wish) Append(b []byte) ([]byte, error) {
	if !w.good() {
		return b, ErrWish
	}
	out, err := enc.Marshal(w)
	if err != nil || len(out) > MaxWish {
		return b, ErrWish
	}
	return append(b, out...), nil
}

// ParseWish reads a wish that fills b and checks its signature. It fails with
// ErrWish.
func ParseWish(b []byte) (*Wish, error) {
	w := new(Wish)
	if !parse(b, MaxWish, w) || !w.good() || !w.genuine() {
		return nil, ErrWish
	}
	return w, nil
}

// good reports whether the wish has what its kind needs and nothing else.
func (w *Wish) good() bool {
	var none key.SignPublic
	var wants Wish // what may be set
	person, device := w.Root != none, w.Device != none
	of := 0 // memberships that are named at least
	switch w.Kind {
	case Remove, Leave, ReAdd, Promote:
		of = 1
	}
	most := MaxOf
	switch {
	case of == 0 && w.Kind != Demote:
		most = 0
	case device:
		most = 1
	}
	if len(w.Of) < of || len(w.Of) > most {
		return false
	}
	for i := range w.Of {
		if i > 0 && bytes.Compare(w.Of[i-1][:], w.Of[i][:]) >= 0 {
			return false
		}
	}
	switch w.Kind {
	case Add, ReAdd:
		if !person || !device || len(w.Package) == 0 || len(w.Package) > MaxPackage {
			return false
		}
		wants.Package = w.Package
	case Remove, Leave:
		if !person {
			return false
		}
	case Revoked:
		if !person || !device || len(w.Proof) == 0 || len(w.Proof) > MaxProof {
			return false
		}
		wants.Proof = w.Proof
	case Promote, Demote:
		if !person || device {
			return false
		}
	case Rename:
		if !goodName(w.Text) {
			return false
		}
		wants.Text = w.Text
	case SetPicture:
		if len(w.Bytes) > MaxPicture {
			return false
		}
		wants.Bytes = w.Bytes
	case SetTimer:
		wants.Number = w.Number
	case SetFanout:
		if w.Number > uint32(OneCopy) {
			return false
		}
		wants.Number = w.Number
	case OpenLink, CloseLink:
		if w.Link == nil {
			return false
		}
		wants.Link = w.Link
	default:
		return false
	}
	if w.Kind >= Rename && (person || device) {
		return false
	}
	return len(w.Package) == len(wants.Package) && len(w.Proof) == len(wants.Proof) && w.Text == wants.Text &&
		len(w.Bytes) == len(wants.Bytes) && w.Number == wants.Number && w.Link == wants.Link
}

func printable(r rune) bool { return unicode.IsPrint(r) || r == '\u200d' || r == '\ufe0f' } // joiners of emoji
