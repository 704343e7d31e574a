package invite

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

// Sizes of a bundle, in bytes.
const (
	BlobSize = 4096                         // as it lies on the relay: nonce 24 ‖ plain 4,056 ‖ tag 16
	MaxName  = 64                           // of the name its maker goes by
	maxBody  = headSize + MaxName + maxTail // 3,924

	// version 1 ‖ suite 1 ‖ salt 32 ‖ realm 32 ‖ expiry 8 ‖ uses 2 ‖ ask 1 ‖
	// device 1 ‖ seal 1,216 ‖ route 74 ‖ prekeys 1,441 ‖ name length 1
	headSize = 1 + 1 + 32 + 32 + 8 + 2 + 1 + 1 + key.XWingPublicSize + addr.OfferSize + pqxdh.PrekeysSize + 1
	maxTail  = 2 + manifest.MaxSize + maxExtras

	// flags 1 ‖ realm invite 32 ‖ epoch 4 ‖ count 1 ‖ 2 × token 48
	maxExtras = 1 + RealmInviteSize + 4 + 1 + MaxGuests*GuestSize

	RealmInviteSize = 32 // secret of an invite to the realm
	GuestSize       = 48 // of a guest token
	MaxGuests       = 2  // guest tokens in a bundle

	bundleVersion = 1

	flagMember = 1 << 0 // a realm invite follows
	flagGuests = 1 << 1 // guest tokens follow
)

// Errors of a bundle.
var (
	// ErrBundle: it does not open under this link, or is not well-formed.
	ErrBundle = errors.New("bundle is malformed")
	// ErrForged: it is not what the maker of the link signed.
	ErrForged = errors.New("bundle is forged")
	// ErrExpired: it was good, and its time has passed.
	ErrExpired = errors.New("invite has expired")
	// ErrSuite: it asks for a suite that is not known. There is no fallback.
	ErrSuite = errors.New("invite needs a suite that is not known")
	// ErrOlder: its maker's program knows only a suite in which nothing begins any more.
	ErrOlder = errors.New("invite is of an older suite")
)

// Bundle is what a link finds: all that is needed to write to its maker once.
// Route, Seal and Prekeys belong to this invite alone.
type Bundle struct {
	Root     key.SignPublic // the manifest's
	Salt     [32]byte
	Manifest *manifest.Manifest
	Device   byte // place in the manifest of the device that signs and answers
	Prekeys  *pqxdh.Prekeys
	Seal     key.XWingPublic // what the hello is sealed to
	Route    addr.Offer      // where the hello goes
	Realm    [32]byte        // SHA-256 of the relay's realm key
	Suite    byte            // pqxdh.Suite
	Expiry   uint64          // unix seconds; good until then, inclusive
	Uses     uint16          // how many people may use it; one-time prekeys go with exactly 1
	Ask      bool            // the maker is asked before the contact is accepted
	Name     string          // what the maker goes by, valid UTF-8, at most MaxName bytes; nobody vouches for it
	// Membership is the secret of a realm invite, with which whoever takes the
	// invite becomes a member of the relay's realm; nil: it carries none.
	Membership *[RealmInviteSize]byte
	// Guests are guest tokens of the relay's realm, for who lives on another one:
	// at most MaxGuests, all of GuestEpoch. Both are for invites of one use.
	Guests     [][GuestSize]byte
	GuestEpoch uint32
}

// check refuses what Append could not write in the one way there is.
func (b *Bundle) check() error {
	if b.Manifest == nil || b.Prekeys == nil {
		return ErrBundle
	}
	switch {
	case b.Root != b.Manifest.Root,
		b.Uses == 0,
		(b.Uses == 1) != b.Prekeys.HasOneTime,
		b.Uses > 1 && (b.Membership != nil || len(b.Guests) > 0),
		len(b.Guests) > MaxGuests, len(b.Guests) == 0 && b.GuestEpoch != 0,
		len(b.Name) > MaxName, !utf8.ValidString(b.Name):
		return ErrBundle
	case b.Suite != pqxdh.Suite:
		return suiteError(b.Suite)
	}
	return nil
}

func suiteError(suite byte) error {
	if 0 < suite && suite < pqxdh.Suite {
		return ErrOlder
	}
	return ErrSuite
}

// appendBody appends what the device signs. The root is the manifest's and not
// written again.
//
// spec: invite.md#bundle
func (b *Bundle) appendBody(p []byte) []byte {
	p = append(p, bundleVersion, b.Suite)
	p = append(p, b.Salt[:]...)
	p = append(p, b.Realm[:]...)
	p = binary.BigEndian.AppendUint64(p, b.Expiry)
	p = binary.BigEndian.AppendUint16(p, b.Uses)
	if b.Ask {
		p = append(p, 1)
	} else {
		p = append(p, 0)
	}
	p = append(p, b.Device)
	p = append(p, b.Seal[:]...)
	p = b.Route.Append(p)
	p = b.Prekeys.Append(p)
	p = append(p, byte(len(b.Name)))
	p = append(p, b.Name...)
	m := b.Manifest.Append(nil)
	p = binary.BigEndian.AppendUint16(p, uint16(len(m)))
	return b.appendExtras(append(p, m...))
}

// appendExtras appends what an invite brings beside keys.
//
// spec: invite.md#what-else-it-brings
func (b *Bundle) appendExtras(p []byte) []byte {
	at := len(p)
	p = append(p, 0)
	if b.Membership != nil {
		p[at] |= flagMember
		p = append(p, b.Membership[:]...)
	}
	if len(b.Guests) > 0 {
		p[at] |= flagGuests
		p = append(binary.BigEndian.AppendUint32(p, b.GuestEpoch), byte(len(b.Guests)))
		for _, g := range b.Guests {
			p = append(p, g[:]...)
		}
	}
	return p
}

// parseExtras reads what appendExtras wrote, and reports whether it is well-formed.
func (b *Bundle) parseExtras(r *reader) bool {
	flags := r.take(1)[0]
	if flags&^(flagMember|flagGuests) != 0 {
		return false
	}
	if flags&flagMember != 0 {
		b.Membership = (*[RealmInviteSize]byte)(r.take(RealmInviteSize))
	}
	if flags&flagGuests != 0 {
		b.GuestEpoch = binary.BigEndian.Uint32(r.take(4))
		n := int(r.take(1)[0])
		if n < 1 || n > MaxGuests {
			return false
		}
		for range n {
			b.Guests = append(b.Guests, [GuestSize]byte(r.take(GuestSize)))
		}
	}
	return r.ok
}

// Hash names the bundle by what its device signed: the handshake binds it.
func (b *Bundle) Hash() [32]byte { return key.Hash(labelHash, b.appendBody(nil)) }

// reader takes fields off the front of a body. After a field that is not there
// it gives zeros, and ok is false.
type reader struct {
	b  []byte
	ok bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.ok = nil, false
		return make([]byte, n)
	}
	f := r.b[:n:n]
	r.b = r.b[n:]
	return f
}

// parseBody reads a body from the front of p, and returns what comes after it.
// It fails with ErrVersion, ErrSuite, ErrOlder or ErrBundle.
func parseBody(p []byte) (b *Bundle, rest []byte, err error) {
	r := &reader{p, true}
	if r.take(1)[0] != bundleVersion {
		return nil, nil, ErrVersion
	}
	b = &Bundle{
		Suite:  r.take(1)[0],
		Salt:   [32]byte(r.take(32)),
		Realm:  [32]byte(r.take(32)),
		Expiry: binary.BigEndian.Uint64(r.take(8)),
		Uses:   binary.BigEndian.Uint16(r.take(2)),
	}
	if b.Suite != pqxdh.Suite {
		return nil, nil, suiteError(b.Suite) // what follows may be of other sizes
	}
	ask := r.take(1)[0]
	b.Ask = ask == 1
	b.Device = r.take(1)[0]
	b.Seal = key.XWingPublic(r.take(key.XWingPublicSize))
	route := r.take(addr.OfferSize)
	prekeys := r.take(pqxdh.PrekeysSize)
	b.Name = string(r.take(int(r.take(1)[0])))
	m := r.take(int(binary.BigEndian.Uint16(r.take(2))))
	if !b.parseExtras(r) || ask > 1 {
		return nil, nil, ErrBundle
	}
	if b.Route, err = addr.ParseOffer(route); err != nil {
		return nil, nil, ErrBundle
	}
	if b.Prekeys, err = pqxdh.ParsePrekeys(prekeys); err != nil {
		return nil, nil, ErrBundle
	}
	if b.Manifest, err = manifest.Parse(m); err != nil {
		return nil, nil, ErrBundle
	}
	b.Root = b.Manifest.Root
	return b, r.b, b.check()
}
