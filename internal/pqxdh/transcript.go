package pqxdh

import "github.com/tacet-chat/tacet/internal/key"

// Kinds of public keys. Every key that is hashed or signed here has its kind
// before it, so the encodings of two kinds never meet.
const (
	kindSign byte = 1 // Ed25519, 32 bytes
	kindDH   byte = 2 // X25519, 32 bytes
	kindKEM  byte = 3 // ML-KEM-768, 1,184 bytes
)

func encodeSign(p key.SignPublic) []byte { return append([]byte{kindSign}, p[:]...) }
func encodeDH(p key.DHPublic) []byte     { return append([]byte{kindDH}, p[:]...) }
func encodeKEM(p key.KEMPublic) []byte   { return append([]byte{kindKEM}, p[:]...) }

// idSize is the size of a prekey's id, in bytes.
const idSize = 8

// named is id 8 ‖ encoded key: how a prekey stands in the transcript.
func named(encoded []byte) []byte {
	id := key.Hash(labelID, encoded)
	return append(id[:idSize:idSize], encoded...)
}

// exchange is one handshake: a initiates, b responds.
type exchange struct {
	a, b   Party
	pre    *Prekeys // b's
	bundle [32]byte
	in     *Initial
}

// transcript is the hash of everything that both ends know: a difference in any
// of it gives them different secrets and different associated data.
//
// spec: session.md#transcript
func (x *exchange) transcript() [32]byte {
	var oneTime []byte // absent: a part of no bytes, which no key is
	if x.pre.HasOneTime {
		oneTime = named(encodeDH(x.pre.OneTime))
	}
	return key.Hash(labelTranscript,
		[]byte{x.in.Suite},
		encodeSign(x.a.Root), encodeSign(x.a.Sign), encodeDH(x.a.DH), x.a.Manifest[:],
		encodeSign(x.b.Root), encodeSign(x.b.Sign), encodeDH(x.b.DH), x.b.Manifest[:],
		x.bundle[:],
		named(encodeDH(x.pre.Signed)), oneTime, named(encodeKEM(x.pre.KEM)),
		encodeDH(x.in.Ephemeral), x.in.KEM[:])
}

// pair is one X25519 agreement.
type pair struct {
	own   key.DH
	their key.DHPublic
}

// finish derives SK from 0xFF×32 ‖ DH1 ‖ DH2 ‖ DH3 [‖ DH4] ‖ SS.
func (x *exchange) finish(ss key.Shared, pairs []pair) (*Result, error) {
	var space [6 * 32]byte // the longest: prefix, four agreements, SS
	defer clear(space[:])
	km := space[:0]
	for range 32 {
		km = append(km, 0xff) // PQXDH, Section 2.2: no X25519 key or outcome starts so
	}
	for _, p := range pairs {
		z, err := key.Agree(p.own, p.their)
		if err != nil {
			return nil, err
		}
		km = append(km, z.Bytes()...)
		z.Wipe()
	}
	km = append(km, ss.Bytes()...)
	ad := x.transcript()
	return &Result{
		Secret: key.Derive[key.SharedRole](km, labelSecret, []byte{x.in.Suite}, ad[:]),
		AD:     ad,
	}, nil
}
