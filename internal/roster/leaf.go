package roster

import (
	"encoding/binary"
	"errors"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Extension types of ours in MLS objects, from the range for private use (RFC
// 9420, Section 17.3).
const (
	ExtState uint16 = 0xf7a0 // group context: State
	ExtRoute uint16 = 0xf7a1 // leaf node: Route
)

const labelLeaf = "tacet/v1/group/leaf"

// Errors of a leaf.
var (
	// ErrCredential: a credential is not well-formed, or not signed by the device
	// that it names, or that device is not active in the manifest.
	ErrCredential = errors.New("credential of a group member is not true")
	// ErrRoute: what a leaf says of its route is not well-formed.
	ErrRoute = errors.New("route of a group member is malformed")
)

// Entry names a membership of a device: 16 random bytes, fresh in each key package
// but one for being added again. It stays as long as the leaf does.
type Entry [16]byte

// Credential says whose leaf it is: the identity of an MLS basic credential. The
// manifest stands in it, so that who does not know the person can check the
// device all the same. Whether the root is who it should be is told by the
// contact, or by the safety number.
//
//	device 32 ‖ entry 16 ‖ times 4 ‖ group 16 ‖ signature 64 ‖ manifest 173 … 914
//
// spec: group.md#credential
type Credential struct {
	Device key.SignPublic // signs; active in Manifest
	Membership
	Sig      key.Signature // by Device over the leaf's signature key and Membership
	Manifest *manifest.Manifest
}

// Membership says of a leaf for what it was made.
type Membership struct {
	Entry Entry
	Times uint32  // of a request to be added again: higher than of those before
	For   GroupID // of such a request: the group; zeros: it is none
}

// NewCredential makes the credential of a leaf whose MLS signature key is leafKey.
func NewCredential(device key.Sign, m *manifest.Manifest, leafKey []byte, in Membership) *Credential {
	c := &Credential{Device: key.SignPublicOf(device), Membership: in, Manifest: m}
	c.Sig = key.SignMessage(device, labelLeaf, c.signed(leafKey)...)
	return c
}

func (c *Credential) signed(leafKey []byte) [][]byte {
	return [][]byte{leafKey, c.Entry[:], binary.BigEndian.AppendUint32(nil, c.Times), c.For[:]}
}

// Append appends the credential.
func (c *Credential) Append(b []byte) []byte {
	b = append(b, c.Device[:]...)
	b = append(b, c.Entry[:]...)
	b = binary.BigEndian.AppendUint32(b, c.Times)
	b = append(b, c.For[:]...)
	b = append(b, c.Sig[:]...)
	return c.Manifest.Append(b)
}

// ParseCredential reads a credential that fills b. It fails with ErrCredential.
// It checks the form only: see Check.
func ParseCredential(b []byte) (*Credential, error) {
	const (
		entry = key.SignPublicSize
		times = entry + len(Entry{})
		group = times + 4
		sig   = group + GroupIDSize
		head  = sig + key.SignatureSize
	)
	if len(b) < head+manifest.MinSize {
		return nil, ErrCredential
	}
	m, err := manifest.Parse(b[head:])
	if err != nil {
		return nil, ErrCredential
	}
	return &Credential{Device: key.SignPublic(b), Membership: Membership{Entry(b[entry:]), binary.BigEndian.Uint32(b[times:]), GroupID(b[group:])}, Sig: key.Signature(b[sig:]), Manifest: m}, nil
}

// Root is the person whose leaf it is.
func (c *Credential) Root() key.SignPublic { return c.Manifest.Root }

// Check checks that the person's root signed the manifest, that the device is
// active in it and that the device signed the leaf's key. The age of the manifest
// is not checked: all members have to come to the same answer at any time. It
// fails with ErrCredential.
func (c *Credential) Check(leafKey []byte) error {
	if !c.Manifest.Signed() {
		return ErrCredential
	}
	i, ok := c.Manifest.Find(c.Device)
	if !ok {
		return ErrCredential
	}
	if _, ok := c.Manifest.Active(i); !ok || !key.VerifyAgain(c.Device, c.Sig, labelLeaf, c.signed(leafKey)...) {
		return ErrCredential
	}
	return nil
}

// Follows reports whether a leaf may go from credential c to next: the same
// person and device in the same membership, under the same manifest or one that was
// signed later.
func (c *Credential) Follows(next *Credential) bool {
	return c.Root() == next.Root() && c.Device == next.Device && c.Entry == next.Entry && next.Times >= c.Times &&
		(next.Manifest.Sequence > c.Manifest.Sequence || next.Manifest.Hash() == c.Manifest.Hash())
}

// Renews reports whether next is a request of the device at leaf c to be added again in
// this group: later than the one that c came by. A device that knows its membership asks
// for that one; who was added and never came in does not know it.
//
// spec: group.md#credential
func (c *Credential) Renews(next *Credential, in GroupID) bool {
	return c.Root() == next.Root() && c.Device == next.Device && next.For == in && next.Times > c.Times
}

// Route is where a leaf is reached: an extension of its leaf node. The secret half
// of what others need is derived from each epoch.
//
//	public 32 ‖ realm key 32 ‖ live period in seconds 2 ‖ length 1 ‖ relay name
//
// spec: group.md#routes
type Route struct {
	Public [32]byte // P of a route: fresh for each leaf
	Pin    [32]byte // SHA-256 of the realm key
	Period uint16   // seconds of a live period
	Relay  string   // host[:port], at most MaxRelay bytes
}

// MaxRelay is the longest relay name, in bytes.
const MaxRelay = 65

const routeHead = 32 + 32 + 2 + 1

// Append appends the route. Of one that is not well-formed it appends what
// ParseRoute refuses.
func (r *Route) Append(b []byte) []byte {
	b = append(b, r.Public[:]...)
	b = append(b, r.Pin[:]...)
	b = binary.BigEndian.AppendUint16(b, r.Period)
	b = append(b, byte(min(len(r.Relay), 255)))
	return append(b, r.Relay...)
}

// ParseRoute reads a route that fills b. It fails with ErrRoute.
func ParseRoute(b []byte) (*Route, error) {
	if len(b) <= routeHead || len(b) > routeHead+MaxRelay || len(b) != routeHead+int(b[routeHead-1]) || !utf8.Valid(b[routeHead:]) {
		return nil, ErrRoute
	}
	r := &Route{Public: [32]byte(b), Pin: [32]byte(b[32:]), Period: binary.BigEndian.Uint16(b[64:]), Relay: string(b[routeHead:])}
	if r.Period == 0 {
		return nil, ErrRoute
	}
	return r, nil
}
