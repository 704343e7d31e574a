// Package pqxdh is the asynchronous handshake between two devices: Signal's
// PQXDH (three or four X25519 agreements and one ML-KEM-768 encapsulation) with
// the whole transcript bound into the key derivation and the associated data.
//
// Where it departs from Signal's paper it is stricter: signatures are plain
// Ed25519 by a device's signing key, every prekey is signed, the used KEM public
// key and everything else both sides know is in the transcript (so neither
// re-encapsulation nor a mixed-up key goes unseen), and there is no classical
// fallback: an unknown suite is an error.
//
// It does not keep track of which prekeys were used, does not check manifests
// and does not store anything: that is the caller's part.
//
// Spec: docs/spec/session.md.
package pqxdh

import (
	"errors"
	"fmt"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// Suite is the only suite in which sessions begin: X25519, ML-KEM-768, Ed25519,
// SHA-256, HKDF-SHA256 and AES-256-GCM, the ratchet with encrypted headers, and
// the braid. Suite 1 was the same without the braid.
const Suite byte = 2

// Labels of this package.
//
// spec: session.md#keys-and-labels
const (
	labelSigned     = "tacet/v1/pqxdh/signed"     // signature over a signed prekey
	labelOneTime    = "tacet/v1/pqxdh/one-time"   // signature over a one-time prekey
	labelKEM        = "tacet/v1/pqxdh/kem"        // signature over a KEM prekey
	labelID         = "tacet/v1/pqxdh/id"         // id of a prekey
	labelTranscript = "tacet/v1/pqxdh/transcript" // hash of everything both sides know
	labelSecret     = "tacet/v1/pqxdh/secret"     // derivation of SK
)

var (
	// ErrSuite is returned for a suite this program does not know. There is
	// nothing to fall back to.
	ErrSuite = errors.New("suite is not known")
	// ErrSignature is returned when a prekey is not signed by its device.
	ErrSignature = errors.New("prekey is not signed by its device")
	// ErrPrekey is returned when the private prekeys are not the ones that the
	// initiator used, or were used up and wiped.
	ErrPrekey = errors.New("prekeys do not fit")
	// ErrParty is returned when a party is not who it should be: the private key
	// is another device's, or both ends are one device.
	ErrParty = errors.New("device does not fit")
)

// Party is the public identity of one device.
type Party struct {
	Root     key.SignPublic // the person's root
	Sign     key.SignPublic // the device's signing key
	DH       key.DHPublic   // the device's agreement key
	Manifest [32]byte       // hash of the manifest that names the device
}

// Result is what both ends have after the handshake.
type Result struct {
	Secret key.Shared // SK: known to the two devices alone
	AD     [32]byte   // hash of the whole transcript, bound into every message
}

// Wipe overwrites the secret.
func (r *Result) Wipe() { r.Secret.Wipe() }

// Initiate starts a handshake of the device self, whose agreement key is dh,
// with peer, on the prekeys pre that stood in the bundle of that hash.
//
// It fails with ErrSignature if a prekey is not signed by the peer's device,
// with key.ErrPublic if a public key is not canonical, of low order or not an
// ML-KEM key, with ErrParty if dh is not self's or the peer is self, and with
// the error of rand. The KEM's own randomness is the standard library's.
//
// spec: session.md#handshake
func Initiate(rand io.Reader, self Party, dh key.DH, peer Party, pre *Prekeys, bundle [32]byte) (*Initial, *Result, error) {
	if err := checkParties(self, dh, peer); err != nil {
		return nil, nil, err
	}
	if err := pre.Verify(peer.Sign); err != nil {
		return nil, nil, err
	}
	ephemeral, err := key.Generate[key.DHRole](rand)
	if err != nil {
		return nil, nil, fmt.Errorf("making an ephemeral key: %w", err)
	}
	defer ephemeral.Wipe()
	ss, ct, err := key.Encapsulate(pre.KEM)
	if err != nil {
		return nil, nil, err
	}
	defer ss.Wipe()
	x := exchange{a: self, b: peer, pre: pre, bundle: bundle}
	return x.initiate(dh, ephemeral, ss, ct)
}

// initiate is Initiate with all randomness drawn.
func (x *exchange) initiate(dh, ephemeral key.DH, ss key.Shared, ct [key.KEMCiphertextSize]byte) (*Initial, *Result, error) {
	x.in = &Initial{Suite: Suite, Ephemeral: key.DHPublicOf(ephemeral), OneTime: x.pre.HasOneTime, KEM: ct}
	pairs := []pair{
		{dh, x.pre.Signed},        // DH1 = DH(IK_A, SPK_B)
		{ephemeral, x.b.DH},       // DH2 = DH(EK_A, IK_B)
		{ephemeral, x.pre.Signed}, // DH3 = DH(EK_A, SPK_B)
	}
	if x.pre.HasOneTime {
		pairs = append(pairs, pair{ephemeral, x.pre.OneTime}) // DH4 = DH(EK_A, OPK_B)
	}
	r, err := x.finish(ss, pairs)
	if err != nil {
		return nil, nil, err
	}
	return x.in, r, nil
}

// Respond completes on the device self the handshake that peer began with in.
// priv and pre are the two halves of the prekeys it was begun on, bundle the
// hash of the bundle they stood in. It is deterministic and changes nothing:
// the caller wipes one-time keys when it has committed the outcome.
//
// It fails with ErrSuite, with ErrPrekey if priv was wiped, does not belong to
// pre, or was not used as pre offers it (one-time keys cannot be left out), with
// ErrParty and key.ErrPublic as Initiate does. A wrong KEM ciphertext is not
// seen here: it gives a secret that nobody else has.
//
// spec: session.md#handshake
func Respond(self Party, dh key.DH, priv *Private, pre *Prekeys, bundle [32]byte, peer Party, in *Initial) (*Result, error) {
	if in.Suite != Suite {
		return nil, ErrSuite
	}
	if err := checkParties(self, dh, peer); err != nil {
		return nil, err
	}
	if in.OneTime != pre.HasOneTime || !priv.fits(pre) {
		return nil, ErrPrekey
	}
	ss, err := key.Decapsulate(priv.KEM, in.KEM)
	if err != nil {
		return nil, err
	}
	defer ss.Wipe()
	pairs := []pair{
		{priv.Signed, peer.DH},      // DH1
		{dh, in.Ephemeral},          // DH2
		{priv.Signed, in.Ephemeral}, // DH3
	}
	if pre.HasOneTime {
		pairs = append(pairs, pair{priv.OneTime, in.Ephemeral}) // DH4
	}
	x := exchange{a: peer, b: self, pre: pre, bundle: bundle, in: in}
	return x.finish(ss, pairs)
}

// checkParties refuses a private key that is not the device's, and a handshake
// of a device with itself, where initiator and responder could be swapped.
func checkParties(self Party, dh key.DH, peer Party) error {
	if !dh.Valid() || key.DHPublicOf(dh) != self.DH || self.DH == peer.DH || self.Sign == peer.Sign {
		return ErrParty
	}
	return nil
}
