// Package device is who this device is: the person's root, the device's own
// keys, and the manifest in which the root vouches for them. It also turns the
// root into 24 recovery words and back (BIP-39, as a checksum and a word list,
// not as a wallet).
//
// A person has up to eight devices. One of them, or a paper, has the root and
// signs who joins and who is revoked; the others only have their own keys and the
// newest manifest that they were shown.
//
// It belongs to the sealing half of the client: it never sees the network and
// never a disk.
//
// Spec: docs/spec/manifest.md.
package device

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/tyler-smith/go-bip39"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// labelRecovered stands where the hash of the manifest before would stand, in
// the first manifest after a recovery: the past is lost, and says so.
const labelRecovered = "tacet/v1/manifest/recovered"

// RenewBefore is how long before its end a manifest is signed again.
const RenewBefore = 90 * 24 * time.Hour

// WordCount is how many recovery words there are.
const WordCount = 24

// Errors of this package.
var (
	// ErrWords: not 24 words of the list, or a word is wrong (the checksum tells).
	ErrWords = errors.New("these are not 24 valid recovery words")
	// ErrNoRoot: the root is on another device of the person, or on paper.
	ErrNoRoot = errors.New("the root is not on this device")
	// ErrFull: eight devices are active.
	ErrFull = errors.New("there is no room for another device")
	// ErrPlace: no such device, it is revoked, or it is this one.
	ErrPlace = errors.New("there is no such device to revoke")
	// ErrNotOurs: a manifest of somebody else, or in which this device is not.
	ErrNotOurs = errors.New("manifest does not list this device")
	// ErrState: the stored identity is not well-formed.
	ErrState = errors.New("stored identity is malformed")
)

// Identity is one device's keys, and the person's root if this is where it is.
type Identity struct {
	Root     key.Sign           // signs manifests only; not valid on a device that was linked
	Sign     key.Sign           // signs bundles and prekeys
	DH       key.DH             // the device's part in handshakes
	XWing    key.XWing          // what others seal to the device
	Manifest *manifest.Manifest // nil until Adopt on a device that is being linked
	// Past are the manifests before, newest first, at most MaxPast: who begins a
	// session with this device may know an older one.
	Past []*manifest.Manifest
}

// MaxPast bounds Identity.Past.
const MaxPast = 8

// New makes a person: a new root, a new device, the first manifest.
func New(rand io.Reader, now time.Time) (*Identity, error) {
	root, err := key.Generate[key.SignRole](rand)
	if err != nil {
		return nil, err
	}
	return withRoot(rand, now, root, 1)
}

// Recover makes a new device of a person whose root is known from the words.
// What the old manifests said is lost, so the sequence is the minute number:
// above every number an earlier device counted to, and above every earlier
// recovery. Contacts see a gap, not a rollback.
func Recover(rand io.Reader, now time.Time, words []string) (*Identity, error) {
	root, err := RootOf(words)
	if err != nil {
		return nil, err
	}
	return withRoot(rand, now, root, uint32(now.Unix()/60))
}

func withRoot(rand io.Reader, now time.Time, root key.Sign, sequence uint32) (*Identity, error) {
	id, err := NewDevice(rand)
	if err != nil {
		return nil, err
	}
	id.Root = root
	id.Manifest = &manifest.Manifest{
		Sequence: sequence,
		NotAfter: manifest.NotAfter(now),
		Devices:  []manifest.Device{id.Public()},
	}
	if sequence > 1 {
		public := key.SignPublicOf(root)
		id.Manifest.Previous = key.Hash(labelRecovered, public[:])
	}
	if err := manifest.Sign(root, id.Manifest); err != nil {
		return nil, fmt.Errorf("signing manifest: %w", err)
	}
	return id, nil
}

// Public is how a manifest lists this device.
func (id *Identity) Public() manifest.Device {
	xwing := key.XWingPublicOf(id.XWing)
	return manifest.Device{Sign: key.SignPublicOf(id.Sign), DH: key.DHPublicOf(id.DH), XWing: manifest.XWingHash(xwing)}
}

// Renew signs the next manifest if the current one ends within RenewBefore, and
// reports whether it did. A device without the root never does.
func (id *Identity) Renew(now time.Time) (bool, error) {
	if !id.HasRoot() {
		return false, nil
	}
	if now.Add(RenewBefore).Before(time.Unix(int64(id.Manifest.NotAfter), 0)) {
		return false, nil
	}
	next, err := id.sign(now, id.Manifest.Devices)
	if err != nil {
		return false, err
	}
	id.next(next)
	return true, nil
}

// Words returns the root as recovery words. They are the person's: whoever has
// them can speak as the person from a new device. It fails with ErrNoRoot on a
// device that does not have the root.
func (id *Identity) Words() ([]string, error) {
	if !id.HasRoot() {
		return nil, ErrNoRoot
	}
	m, err := bip39.NewMnemonic(id.Root.Bytes())
	if err != nil {
		return nil, fmt.Errorf("writing recovery words: %w", err)
	}
	return splitWords(m), nil
}

// RootOf reads the words back. It fails with ErrWords.
func RootOf(words []string) (key.Sign, error) {
	if len(words) != WordCount {
		return key.Sign{}, ErrWords
	}
	b, err := bip39.EntropyFromMnemonic(joinWords(words))
	if err != nil {
		return key.Sign{}, ErrWords
	}
	defer clear(b)
	root, err := key.New[key.SignRole](b)
	if err != nil {
		return key.Sign{}, ErrWords
	}
	return root, nil
}

// stored is the identity in the vault.
type stored struct {
	Version  int    `cbor:"1,keyasint"`
	Root     []byte `cbor:"2,keyasint"` // empty where the root is elsewhere
	Sign     []byte `cbor:"3,keyasint"`
	DH       []byte `cbor:"4,keyasint"`
	XWing    []byte `cbor:"5,keyasint"`
	Manifest []byte `cbor:"6,keyasint"`

	Past [][]byte `cbor:"7,keyasint,omitempty"`
}

// Append appends the identity as the vault keeps it.
func (id *Identity) Append(b []byte) ([]byte, error) {
	if id.Manifest == nil {
		return b, ErrState // nobody has vouched for this device yet
	}
	var past [][]byte
	for _, m := range id.Past {
		past = append(past, m.Append(nil))
	}
	v, err := cbor.Marshal(stored{1, id.Root.Bytes(), id.Sign.Bytes(), id.DH.Bytes(), id.XWing.Bytes(), id.Manifest.Append(nil), past})
	if err != nil {
		return b, fmt.Errorf("writing identity: %w", err)
	}
	return append(b, v...), nil
}

// Parse reads what Append wrote. It fails with ErrState.
func Parse(b []byte) (*Identity, error) {
	var s stored
	if err := cbor.Unmarshal(b, &s); err != nil || s.Version != 1 {
		return nil, ErrState
	}
	var id Identity
	var errs [5]error
	if len(s.Root) > 0 {
		id.Root, errs[0] = key.New[key.SignRole](s.Root)
	}
	id.Sign, errs[1] = key.New[key.SignRole](s.Sign)
	id.DH, errs[2] = key.New[key.DHRole](s.DH)
	id.XWing, errs[3] = key.New[key.XWingRole](s.XWing)
	id.Manifest, errs[4] = manifest.Parse(s.Manifest)
	if errors.Join(errs[:]...) != nil {
		return nil, ErrState
	}
	for _, raw := range s.Past {
		m, err := manifest.Parse(raw)
		if err != nil {
			return nil, ErrState
		}
		id.Past = append(id.Past, m)
	}
	if id.HasRoot() && key.SignPublicOf(id.Root) != id.Manifest.Root {
		return nil, ErrState
	}
	return &id, nil
}

// Wipe forgets the secrets.
func (id *Identity) Wipe() {
	id.Root.Wipe()
	id.Sign.Wipe()
	id.DH.Wipe()
	id.XWing.Wipe()
}
