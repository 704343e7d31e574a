package link

import (
	"bytes"
	"crypto/hpke"
	"crypto/subtle"
	"encoding/binary"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Digits is how many digits are compared.
const Digits = 6

const (
	answerVersion = 1
	revealVersion = 1
	answerHead    = 1 + key.XWingEncSize                               // version 1 ‖ enc 1,120, then the inner part
	innerSize     = plainSize - answerHead - chacha20poly1305.Overhead // 2,919
	innerHead     = 32 + 32 + 32 + key.XWingPublicSize + 1             // sign ‖ DH ‖ H(X-Wing) ‖ ephemeral ‖ length of the name
	revealSize    = 1 + nonceSize + key.XWingEncSize                   // version 1 ‖ nonce 32 ‖ enc 1,120
)

// Device is the new device as it shows itself.
type Device struct {
	manifest.Device
	Name string // that its person gave it, at most MaxName bytes
}

// Offering is what the old device keeps of an offer until it has an answer.
type Offering struct {
	Ephemeral key.XWing
	Nonce     [nonceSize]byte
}

// NewOffering makes the secrets of an offer and sets Ephemeral and Commit in o.
func NewOffering(rand io.Reader, o *Offer) (*Offering, error) {
	p := &Offering{}
	var err error
	if p.Ephemeral, err = key.Generate[key.XWingRole](rand); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(rand, p.Nonce[:]); err != nil {
		return nil, fmt.Errorf("reading randomness: %w", err)
	}
	o.Ephemeral, o.Commit = key.XWingPublicOf(p.Ephemeral), key.Hash(labelCommit, p.Nonce[:])
	return p, nil
}

// Answering is what the new device keeps of its answer until the reveal.
type Answering struct {
	Ephemeral key.XWing
	First     key.Link // from the agreement that the answer began
	Hash      [32]byte // names the answer
}

// Answer answers an offer: the blob is to be put at c.Answer().
//
// spec: link.md#answer
func Answer(rand io.Reader, c Code, o *Offer, sign key.Sign, d Device) (*Answering, []byte, error) {
	if key.SignPublicOf(sign) != d.Sign || len(d.Name) > MaxName || !utf8.ValidString(d.Name) || d.DH.Check() != nil {
		return nil, nil, ErrMessage
	}
	offer := o.Hash()
	enc, z, err := encapsulate(o.Ephemeral, offer)
	if err != nil {
		return nil, nil, ErrMessage
	}
	defer clear(z)
	a := &Answering{}
	if a.Ephemeral, err = key.Generate[key.XWingRole](rand); err != nil {
		return nil, nil, err
	}
	public := key.XWingPublicOf(a.Ephemeral)
	body := make([]byte, 0, innerSize)
	body = append(append(append(body, d.Sign[:]...), d.DH[:]...), d.XWing[:]...)
	body = append(body, public[:]...)
	body = append(append(body, byte(len(d.Name))), d.Name...)
	sig := key.SignMessage(sign, labelProof, offer[:], enc, body)
	body = append(body, sig[:]...)
	plain := append(append(make([]byte, 0, plainSize), answerVersion), enc...)
	plain = inner(z, offer).Seal(plain, make([]byte, chacha20poly1305.NonceSizeX), append(body, make([]byte, innerSize-len(body))...), nil)
	a.Hash = key.Hash(labelAnswer, offer[:], plain)
	a.First = key.Derive[key.LinkRole](z, labelRelaying, a.Hash[:])
	blob, err := c.at("answer").seal(rand, plain)
	return a, blob, err
}

// inner is the cipher of the part of an answer that only the maker of the offer
// reads. Its key is used once.
func inner(z []byte, offer [32]byte) interface {
	Seal(dst, nonce, plain, ad []byte) []byte
	Open(dst, nonce, sealed, ad []byte) ([]byte, error)
} {
	k := key.Derive[key.LinkRole](z, labelKey, []byte("inner"), offer[:])
	defer k.Wipe()
	aead, err := chacha20poly1305.NewX(k.Bytes())
	if err != nil {
		panic("link: " + err.Error()) // the size is the role's
	}
	return aead
}

// Accept takes the answer that was put first. The reveal is to be put at
// s.Reveal(), after s, d and the reveal were committed: the digits are for one
// answer alone. It fails with ErrMessage or ErrVersion.
//
// spec: link.md#reveal
func (p *Offering) Accept(rand io.Reader, c Code, o *Offer, blob []byte) (s *Session, d Device, reveal []byte, err error) {
	plain, err := c.at("answer").open(blob)
	if err != nil {
		return nil, d, nil, err
	}
	if plain[0] != answerVersion {
		return nil, d, nil, ErrVersion
	}
	offer, enc := o.Hash(), plain[1:answerHead]
	z1, err := decapsulate(p.Ephemeral, enc, offer)
	if err != nil {
		return nil, d, nil, ErrMessage
	}
	defer clear(z1)
	body, err := inner(z1, offer).Open(nil, make([]byte, chacha20poly1305.NonceSizeX), plain[answerHead:], nil)
	if err != nil {
		return nil, d, nil, ErrMessage
	}
	d, ephemeral, err := parseInner(body, offer, enc)
	if err != nil {
		return nil, d, nil, err
	}
	answer := key.Hash(labelAnswer, offer[:], plain)
	enc2, z2, err := encapsulate(ephemeral, answer)
	if err != nil {
		return nil, d, nil, ErrMessage
	}
	defer clear(z2)
	open := append(append(append(make([]byte, 0, revealSize), revealVersion), p.Nonce[:]...), enc2...)
	s = newSession(z1, z2, answer, open, p.Nonce)
	reveal, err = revealAt(s.First).seal(rand, open)
	return s, d, reveal, err
}

func parseInner(b []byte, offer [32]byte, enc []byte) (d Device, ephemeral key.XWingPublic, err error) {
	d.Sign, d.DH, d.XWing, ephemeral = key.SignPublic(b), key.DHPublic(b[32:]), [32]byte(b[64:]), key.XWingPublic(b[96:])
	n := innerHead + int(b[innerHead-1])
	if n-innerHead > MaxName || d.DH.Check() != nil {
		return d, ephemeral, ErrMessage
	}
	d.Name = string(b[innerHead:n])
	sig := key.Signature(b[n:])
	if !utf8.ValidString(d.Name) || !zero(b[n+key.SignatureSize:]) || !key.Verify(d.Sign, sig, labelProof, offer[:], enc, b[:n]) {
		return d, ephemeral, ErrMessage
	}
	return d, ephemeral, nil
}

// Reveal returns where the reveal will lie.
func (a *Answering) Reveal() wire.BlobID { return revealAt(a.First).id }

func revealAt(first key.Link) place { return placeOf(first.Bytes(), []byte("reveal")) }

// Finish reads the reveal. It fails with ErrMessage, also for a nonce to which
// the offer did not commit.
func (a *Answering) Finish(o *Offer, blob []byte) (*Session, error) {
	plain, err := revealAt(a.First).open(blob)
	if err != nil {
		return nil, err
	}
	if plain[0] != revealVersion {
		return nil, ErrVersion
	}
	open := plain[:revealSize]
	nonce := [nonceSize]byte(open[1:])
	commit := key.Hash(labelCommit, nonce[:])
	if !zero(plain[revealSize:]) || subtle.ConstantTimeCompare(commit[:], o.Commit[:]) != 1 {
		return nil, ErrMessage
	}
	z2, err := decapsulate(a.Ephemeral, open[1+nonceSize:], a.Hash)
	if err != nil {
		return nil, ErrMessage
	}
	defer clear(z2)
	return newSessionOf(a.First, z2, a.Hash, open, nonce), nil
}

// newSession is the session of who has the first agreement itself.
func newSession(z1, z2 []byte, answer [32]byte, reveal []byte, nonce [nonceSize]byte) *Session {
	return newSessionOf(key.Derive[key.LinkRole](z1, labelRelaying, answer[:]), z2, answer, reveal, nonce)
}

func newSessionOf(first key.Link, z2 []byte, answer [32]byte, reveal []byte, nonce [nonceSize]byte) *Session {
	both := append(bytes.Clone(first.Bytes()), z2...)
	defer clear(both)
	h := key.Hash(labelReveal, reveal)
	var n [8]byte
	key.KDF(n[:], nonce[:], labelDigits, answer[:])
	return &Session{First: first.Clone(), Root: key.Derive[key.LinkRole](both, labelSession, answer[:], h[:]),
		Digits: fmt.Sprintf("%06d", binary.BigEndian.Uint64(n[:])%1_000_000)}
}

// encapsulate agrees with the holder of an X-Wing key, bound to what came before.
func encapsulate(p key.XWingPublic, before [32]byte) (enc, z []byte, err error) {
	pub, err := hpke.MLKEM768X25519().NewPublicKey(p[:])
	if err != nil {
		return nil, nil, err
	}
	enc, s, err := hpke.NewSender(pub, hpke.HKDFSHA256(), hpke.ExportOnly(), key.Info(nil, labelKEM, before[:]))
	if err != nil {
		return nil, nil, err
	}
	z, err = s.Export(labelExport, 32)
	return enc, z, err
}

func decapsulate(k key.XWing, enc []byte, before [32]byte) ([]byte, error) {
	private, err := hpke.MLKEM768X25519().NewPrivateKey(k.Bytes())
	if err != nil {
		return nil, err
	}
	r, err := hpke.NewRecipient(enc, private, hpke.HKDFSHA256(), hpke.ExportOnly(), key.Info(nil, labelKEM, before[:]))
	if err != nil {
		return nil, err
	}
	return r.Export(labelExport, 32)
}
