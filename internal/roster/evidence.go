package roster

import (
	"crypto/sha256"
	"errors"
	"slices"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of evidence and lists.
const (
	MaxBlobProof = 16 << 10 // bytes of a blob in evidence; what is larger is read at its slot
	MaxListed    = MaxPast  // receipts in a list
	MaxEvidence  = 58 << 10 // bytes of evidence
	MaxAnswer    = 1 << 10  // bytes of an answer
	MaxShown     = 4096     // bytes of a removal that is shown
)

const (
	labelEvidence = "tacet/v1/group/evidence"
	labelAnswer   = "tacet/v1/group/answer"
)

// ErrProof is returned for evidence, answers and shown removals that are not
// well-formed or do not show what they say.
var ErrProof = errors.New("evidence of a group is malformed")

// Listed is one receipt that a member holds.
type Listed struct {
	Epoch   uint64 `cbor:"0,keyasint"`
	Receipt []byte `cbor:"1,keyasint"`           // wire.Receipt
	Settled bool   `cbor:"2,keyasint,omitempty"` // all members have acked past it
}

// Read reads the receipt and checks it under the receipt key of the group's relay.
// It fails with ErrProof.
func (l *Listed) Read(relay key.SignPublic) (wire.Receipt, error) {
	r, err := wire.ParseReceipt(l.Receipt)
	if err != nil || !key.VerifyAgain(relay, r.Sig, wire.LabelReceipt, r.ID[:], r.Hash[:]) {
		return wire.Receipt{}, ErrProof
	}
	return r, nil
}

// EvidenceKind says what evidence shows.
type EvidenceKind byte

// Kinds of evidence.
const (
	TwoHashes EvidenceKind = 1 // two receipts for one slot
	NoCommit  EvidenceKind = 2 // a blob with its receipt, that its signer finds to be no commit
	NoAnswer  EvidenceKind = 3 // an hour without answer: its signer's word alone
)

// Evidence is why a member commits nothing more. It is signed: of a commit that is
// good for some and not for others, both names are known, who made it and who
// complains.
//
// spec: group.md#evidence
type Evidence struct {
	Group  GroupID        `cbor:"0,keyasint"`
	Epoch  uint64         `cbor:"1,keyasint"`
	Kind   EvidenceKind   `cbor:"2,keyasint"`
	First  []byte         `cbor:"3,keyasint,omitempty"` // wire.Receipt; of TwoHashes, NoCommit
	Second []byte         `cbor:"4,keyasint,omitempty"` // wire.Receipt; of TwoHashes
	Blob   []byte         `cbor:"5,keyasint,omitempty"` // of NoCommit; absent where it is too large: it lies at the slot
	By     key.SignPublic `cbor:"6,keyasint"`
	Sig    key.Signature  `cbor:"7,keyasint"`
}

// Sign sets By and Sig.
func (e *Evidence) Sign(device key.Sign) {
	e.By = key.SignPublicOf(device)
	e.Sig = key.SignMessage(device, labelEvidence, e.signed())
}

func (e *Evidence) signed() []byte {
	c := *e
	c.Sig = key.Signature{}
	return must(enc.Marshal(&c))
}

// Append appends the evidence, at most MaxEvidence bytes. It fails with ErrProof.
func (e *Evidence) Append(b []byte) ([]byte, error) {
	out, err := enc.Marshal(e)
	if err != nil || len(out) > MaxEvidence || !e.good() {
		return b, ErrProof
	}
	return append(b, out...), nil
}

// ParseEvidence reads evidence that fills b and checks its signature. It fails
// with ErrProof. What a relay signed is checked by Check.
func ParseEvidence(b []byte) (*Evidence, error) {
	e := new(Evidence)
	if !parse(b, MaxEvidence, e) || !e.good() || !key.VerifyAgain(e.By, e.Sig, labelEvidence, e.signed()) {
		return nil, ErrProof
	}
	return e, nil
}

func (e *Evidence) good() bool {
	want := func(first, second int) bool { return len(e.First) == first && len(e.Second) == second }
	switch e.Kind {
	case TwoHashes:
		return want(wire.ReceiptSize, wire.ReceiptSize) && e.Blob == nil
	case NoCommit:
		return want(wire.ReceiptSize, 0) && len(e.Blob) <= MaxBlobProof
	case NoAnswer:
		return want(0, 0) && e.Blob == nil
	}
	return false
}

// Check checks that the relay did sign what the evidence says it signed, and
// returns the one or two receipts. It fails with ErrProof. Whether the slot is the
// group's, and whether a blob is a commit, is for who has the epoch.
func (e *Evidence) Check(relay key.SignPublic) (first, second wire.Receipt, err error) {
	read := func(b []byte) (wire.Receipt, error) { return (&Listed{Receipt: b}).Read(relay) }
	if e.Kind == NoAnswer {
		return first, second, nil
	}
	if first, err = read(e.First); err != nil {
		return first, second, err
	}
	if e.Kind == TwoHashes {
		if second, err = read(e.Second); err != nil {
			return first, second, err
		}
		if first.ID != second.ID || first.Hash == second.Hash {
			return first, second, ErrProof
		}
	}
	if e.Blob != nil && sha256.Sum256(e.Blob) != first.Hash {
		return first, second, ErrProof
	}
	return first, second, nil
}

// AnswerKind is what a member answers to one who asks whether the group can go on.
type AnswerKind byte

// Kinds of answers.
const (
	IStop    AnswerKind = 1 // it commits nothing for an hour
	WorksFor AnswerKind = 2 // its relay answers it, and it has seen nothing wrong
	Succeeds AnswerKind = 3 // it knows a successor: the statements come with the answer
)

// Answer answers a question. It has no time: it binds who gives it for an hour from
// then, and counts for who asked until an hour after asking.
//
// spec: group.md#asking
type Answer struct {
	Group GroupID        `cbor:"0,keyasint"`
	Ask   [16]byte       `cbor:"1,keyasint"` // of the question
	Kind  AnswerKind     `cbor:"2,keyasint"`
	Head  uint64         `cbor:"3,keyasint"` // newest epoch of who answers
	By    key.SignPublic `cbor:"4,keyasint"`
	Sig   key.Signature  `cbor:"5,keyasint"`
}

// Sign sets By and Sig.
func (a *Answer) Sign(device key.Sign) {
	a.By = key.SignPublicOf(device)
	a.Sig = key.SignMessage(device, labelAnswer, a.signed())
}

func (a *Answer) signed() []byte {
	c := *a
	c.Sig = key.Signature{}
	return must(enc.Marshal(&c))
}

// Append appends the answer. It fails with ErrProof.
func (a *Answer) Append(b []byte) ([]byte, error) {
	if a.Kind < IStop || a.Kind > Succeeds {
		return b, ErrProof
	}
	return append(b, must(enc.Marshal(a))...), nil
}

// ParseAnswer reads an answer that fills b and checks its signature. It fails with
// ErrProof.
func ParseAnswer(b []byte) (*Answer, error) {
	a := new(Answer)
	if !parse(b, MaxAnswer, a) || a.Kind < IStop || a.Kind > Succeeds || !key.VerifyAgain(a.By, a.Sig, labelAnswer, a.signed()) {
		return nil, ErrProof
	}
	return a, nil
}

// Shown is a removal that can be shown to whoever did not see the commit that did
// it: the wish, signed by a device of somebody senior, and the manifest that names
// that device. It proves that they wanted it; who shows it says that it was done.
//
// spec: group.md#shown-removals
type Shown struct {
	Group    GroupID `cbor:"0,keyasint"` // in which it was done
	Epoch    uint64  `cbor:"1,keyasint"` // to which it led
	Wish     []byte  `cbor:"2,keyasint"` // Remove, Leave, Revoked or Demote
	Manifest []byte  `cbor:"3,keyasint"` // of who wished it
}

// Append appends the removal. It fails with ErrProof.
func (s *Shown) Append(b []byte) ([]byte, error) {
	out, err := enc.Marshal(s)
	if _, _, bad := s.Read(); err != nil || len(out) > MaxShown || bad != nil {
		return b, ErrProof
	}
	return append(b, out...), nil
}

// ParseShown reads a removal that fills b. It fails with ErrProof.
func ParseShown(b []byte) (*Shown, error) {
	s := new(Shown)
	if !parse(b, MaxShown, s) {
		return nil, ErrProof
	}
	if _, _, err := s.Read(); err != nil {
		return nil, err
	}
	return s, nil
}

// Read returns the wish and the person who wished it, after checking that their
// device signed it. It fails with ErrProof. Whether they had the right to is said
// by Against, from an order of admins.
func (s *Shown) Read() (*Wish, key.SignPublic, error) {
	var none key.SignPublic
	w, err := ParseWish(s.Wish)
	if err != nil {
		return nil, none, ErrProof
	}
	m, err := manifest.Parse(s.Manifest)
	if err != nil || !speaks(m, w.By) {
		return nil, none, ErrProof
	}
	switch w.Kind {
	case Remove, Demote:
	case Leave:
		if w.Root != m.Root {
			return nil, none, ErrProof
		}
	case Revoked:
		p, err := manifest.Parse(w.Proof)
		if err != nil || p.Root != w.Root || !p.Signed() {
			return nil, none, ErrProof
		}
		if i, ok := p.Find(w.Device); !ok {
			return nil, none, ErrProof
		} else if _, active := p.Active(i); active {
			return nil, none, ErrProof
		}
	default:
		return nil, none, ErrProof
	}
	return w, m.Root, nil
}

// Against reports whether the removal takes from a device of a person what it had:
// its place, or being an admin. order is that of the admins, in which the wisher
// must stand before the person if it was not their own wish.
func (s *Shown) Against(origin GroupID, order []key.SignPublic, root, device key.SignPublic) bool {
	w, by, err := s.Read()
	var all key.SignPublic
	if err != nil || w.Group != origin || w.Root != root || w.Device != all && w.Device != device {
		return false
	}
	if w.Kind == Leave || w.Kind == Revoked {
		return true
	}
	if by == root {
		return w.Kind == Demote
	}
	return (&State{Admins: order}).Senior(by, root)
}

// Of reports whether the removal is of a membership of one of these leaves, by the
// wisher's membership of now if they are among them. A revocation is of every one.
func (s *Shown) Of(leaves []Leaf) bool {
	w, _, err := s.Read()
	if err != nil {
		return false
	}
	if by, ok := leafOf(leaves, w.By); ok && by.Entry != w.From {
		return false
	}
	var all key.SignPublic
	return slices.ContainsFunc(leaves, func(l Leaf) bool {
		return l.Root == w.Root && (w.Device == all || l.Device == w.Device) && (w.Kind == Revoked || slices.Contains(w.Of, l.Entry))
	})
}
