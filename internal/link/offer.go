package link

import (
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"time"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// Bounds of an offer.
const (
	Life         = 10 * time.Minute // how long an offer is good
	Skew         = 24 * time.Hour   // by how much the new device's clock may be off: the old one alone decides
	MaxName      = 64               // bytes
	MaxAddresses = 8

	offerVersion = 1
	suite        = 1 // X-Wing by HPKE, HKDF-SHA256, XChaCha20-Poly1305, Ed25519
	addressSize  = 18
	nonceSize    = 32
	entrySize    = 32
	// version 1 ‖ suite 1 ‖ salt 32 ‖ realm 32 ‖ expiry 8 ‖ device 1 ‖ ephemeral 1,216 ‖ commitment 32 ‖ entry 1 + 32 ‖ count 1
	offerHead = 1 + 1 + 32 + 32 + 8 + 1 + key.XWingPublicSize + 32 + 1 + entrySize + 1
)

// Errors of what is read.
var (
	// ErrMessage: what lies there is not well-formed, or not for this link.
	ErrMessage = errors.New("linking message is malformed")
	// ErrForged: the offer is not by the root that the code commits to.
	ErrForged = errors.New("offer was not made by the device that showed the code")
	// ErrExpired: the offer's time is over.
	ErrExpired = errors.New("linking code has expired")
)

// Offer is what the old device says to whoever has the code.
type Offer struct {
	Salt      [32]byte
	Realm     [32]byte // fingerprint of the relay's realm key
	Expiry    uint64   // unix seconds
	Device    byte     // place in the manifest of the device that offers
	Ephemeral key.XWingPublic
	Commit    [32]byte         // to the nonce that is revealed after the answer
	Entry     *[32]byte        // secret of a realm invite, nil: none
	Addresses []netip.AddrPort // where the old device listens on its own network
	Name      string           // of the person, by their own word
	Manifest  *manifest.Manifest

	sig key.Signature
}

func (o *Offer) check() error {
	if len(o.Addresses) > MaxAddresses || len(o.Name) > MaxName || !utf8.ValidString(o.Name) || o.Manifest == nil {
		return ErrMessage
	}
	if _, ok := o.Manifest.Active(int(o.Device)); !ok {
		return ErrMessage
	}
	for _, a := range o.Addresses {
		if !a.IsValid() || a.Port() == 0 || a.Addr().Zone() != "" || a.Addr() != a.Addr().Unmap() {
			return ErrMessage
		}
	}
	return nil
}

// body appends what is signed.
//
// spec: link.md#offer
func (o *Offer) body(b []byte) []byte {
	b = append(b, offerVersion, suite)
	b = append(b, o.Salt[:]...)
	b = append(b, o.Realm[:]...)
	b = binary.BigEndian.AppendUint64(b, o.Expiry)
	b = append(b, o.Device)
	b = append(b, o.Ephemeral[:]...)
	b = append(b, o.Commit[:]...)
	if o.Entry != nil {
		b = append(append(b, 1), o.Entry[:]...)
	} else {
		b = append(b, make([]byte, 1+entrySize)...)
	}
	b = append(b, byte(len(o.Addresses)))
	for _, a := range o.Addresses {
		ip := a.Addr().As16()
		b = binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
	}
	b = append(append(b, byte(len(o.Name))), o.Name...)
	m := o.Manifest.Append(nil)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(m))), m...)
}

// Hash names the offer.
func (o *Offer) Hash() [32]byte { return key.Hash(labelOffer, o.body(nil)) }

// Seal signs the offer with the device's key and encrypts it for the code. It
// fails with ErrMessage if offer, key and code do not fit together.
func (o *Offer) Seal(rand io.Reader, c Code, sign key.Sign) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	d, _ := o.Manifest.Active(int(o.Device))
	if d.Sign != key.SignPublicOf(sign) || SecretOf(o.Manifest.Root, o.Salt) != c.Secret {
		return nil, ErrMessage
	}
	at, body := c.at("offer"), o.body(nil)
	o.sig = key.SignMessage(sign, labelSign, body, at.id[:])
	return at.seal(rand, append(body, o.sig[:]...))
}

// OpenOffer reads the offer that a code leads to and checks that it is by the
// root that the code commits to. It fails with ErrMessage, ErrVersion, ErrForged
// or ErrExpired. Whether the relay has the key that the offer names is the
// caller's to compare.
//
// spec: link.md#offer
func OpenOffer(c Code, blob []byte, now time.Time) (*Offer, error) {
	at := c.at("offer")
	plain, err := at.open(blob)
	if err != nil {
		return nil, err
	}
	o, err := parseOffer(plain)
	if err != nil {
		return nil, err
	}
	expired := o.Manifest.Verify(o.Manifest.Root, now)
	if SecretOf(o.Manifest.Root, o.Salt) != c.Secret || expired != nil && !errors.Is(expired, manifest.ErrExpired) {
		return nil, ErrForged
	}
	d, _ := o.Manifest.Active(int(o.Device))
	if !key.Verify(d.Sign, o.sig, labelSign, o.body(nil), at.id[:]) {
		return nil, ErrForged
	}
	if expired != nil || now.Add(-Skew).Unix() > int64(min(o.Expiry, 1<<62)) {
		return nil, ErrExpired
	}
	return o, nil
}

// parseOffer reads body and signature. Everything behind them is zero.
func parseOffer(b []byte) (*Offer, error) {
	if len(b) < offerHead || len(b) > plainSize {
		return nil, ErrMessage
	}
	if b[0] != offerVersion || b[1] != suite {
		return nil, ErrVersion
	}
	o := &Offer{Salt: [32]byte(b[2:]), Realm: [32]byte(b[34:]), Expiry: binary.BigEndian.Uint64(b[66:]), Device: b[74], Ephemeral: key.XWingPublic(b[75:])}
	b = b[75+key.XWingPublicSize:]
	o.Commit = [32]byte(b)
	switch b = b[32:]; {
	case b[0] == 1:
		o.Entry = new([32]byte(b[1:]))
	case b[0] != 0 || !zero(b[1:1+entrySize]):
		return nil, ErrMessage
	}
	n := int(b[1+entrySize])
	b = b[1+entrySize+1:]
	if n > MaxAddresses || len(b) < n*addressSize+1 {
		return nil, ErrMessage
	}
	for range n {
		o.Addresses = append(o.Addresses, netip.AddrPortFrom(netip.AddrFrom16([16]byte(b)).Unmap(), binary.BigEndian.Uint16(b[16:])))
		b = b[addressSize:]
	}
	n = int(b[0])
	if b = b[1:]; n > MaxName || len(b) < n+2 {
		return nil, ErrMessage
	}
	o.Name, b = string(b[:n]), b[n:]
	n = int(binary.BigEndian.Uint16(b))
	if b = b[2:]; len(b) < n+key.SignatureSize {
		return nil, ErrMessage
	}
	var err error
	if o.Manifest, err = manifest.Parse(b[:n]); err != nil {
		return nil, ErrMessage
	}
	o.sig = key.Signature(b[n:])
	if !zero(b[n+key.SignatureSize:]) {
		return nil, ErrMessage
	}
	return o, o.check()
}
