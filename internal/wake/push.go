package wake

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// Sizes of a pushed body, in bytes: salt 16 ‖ record size 4 ‖ key id length 1 ‖
// the sender's point 65 ‖ one record.
const (
	saltSize   = 16
	codingHead = saltSize + 4 + 1
	tagSize    = 16
	recordSize = 4096
	// PushSize is the size of every body that a gateway pushes.
	PushSize = codingHead + PointSize + messageSize + 1 + tagSize // 167
	// MaxPush is the largest body that is read: RFC 8030 lets a push service
	// refuse more.
	MaxPush = 4096
)

// ErrPush is returned for a pushed body that does not open.
var ErrPush = errors.New("pushed message does not open")

// labelPush derives the keys of one ticket from a device's secret.
const labelPush = "tacet/v1/wake/push"

// PushKeys derives the keys of one subscription from a device's secret and the
// id of the ticket, so that a device keeps no keys per ticket: two tickets have
// nothing in common, and what is pushed tells the device, and nobody else, which
// of them was used.
//
// spec: wake.md#keys-of-a-ticket
func PushKeys(secret key.Wake, id [IDSize]byte) (private *ecdh.PrivateKey, auth [AuthSize]byte) {
	key.KDF(auth[:], secret.Bytes(), labelPush, []byte("auth"), id[:])
	return scalar(secret, labelPush, id[:]), auth
}

// scalar derives a private key of P-256. One in 2^32 tries gives a number that is
// no scalar; then the next one is taken.
func scalar(secret key.Wake, label string, id []byte) *ecdh.PrivateKey {
	var b [32]byte
	defer clear(b[:])
	for n := byte(0); ; n++ {
		key.KDF(b[:], secret.Bytes(), label, []byte("point"), id, []byte{n})
		if k, err := ecdh.P256().NewPrivateKey(b[:]); err == nil {
			return k
		}
	}
}

// NewSubscription fills in the public half of keys.
func NewSubscription(endpoint string, private *ecdh.PrivateKey, auth [AuthSize]byte) Subscription {
	return Subscription{Endpoint: endpoint, Point: [PointSize]byte(private.PublicKey().Bytes()), Auth: auth}
}

// onCurve reports whether a point is one.
func onCurve(p *[PointSize]byte) bool {
	_, err := ecdh.P256().NewPublicKey(p[:])
	return err == nil
}

// Encrypt seals a message for a subscription: PushSize bytes. The key pair comes
// from the standard library's randomness, the salt from rand.
//
// spec: wake.md#push
func Encrypt(s *Subscription, m Message, rand io.Reader) ([]byte, error) {
	own, err := ecdh.P256().GenerateKey(rand)
	if err != nil {
		return nil, err
	}
	var salt [saltSize]byte
	if _, err := io.ReadFull(rand, salt[:]); err != nil {
		return nil, err
	}
	return encrypt(s, own, salt, m.append(nil))
}

// RFC 8291, Section 3.4 and RFC 8188, Section 2.
func encrypt(s *Subscription, own *ecdh.PrivateKey, salt [saltSize]byte, plain []byte) ([]byte, error) {
	theirs, err := ecdh.P256().NewPublicKey(s.Point[:])
	if err != nil {
		return nil, ErrPush
	}
	if len(plain)+1+tagSize > recordSize {
		return nil, ErrPush
	}
	point := own.PublicKey().Bytes()
	ikm, err := keyMaterial(own, theirs, s.Auth, s.Point[:], point)
	if err != nil {
		return nil, ErrPush
	}
	defer clear(ikm)
	aead, nonce := recordKeys(ikm, salt[:])
	out := append(make([]byte, 0, codingHead+len(point)+len(plain)+1+tagSize), salt[:]...)
	out = binary.BigEndian.AppendUint32(out, recordSize)
	out = append(append(out, byte(len(point))), point...)
	return aead.Seal(out, nonce[:], append(plain[:len(plain):len(plain)], 2), nil), nil
}

// keyMaterial combines the agreement with the authentication secret.
//
// RFC 8291, Section 3.3.
func keyMaterial(own *ecdh.PrivateKey, theirs *ecdh.PublicKey, auth [AuthSize]byte, receiver, sender []byte) ([]byte, error) {
	z, err := own.ECDH(theirs)
	if err != nil {
		return nil, ErrPush
	}
	defer clear(z)
	return hkdf.Key(sha256.New, z, auth[:], "WebPush: info\x00"+string(receiver)+string(sender), 32)
}

// recordKeys derives the key and the first nonce of records.
//
// RFC 8188, Section 2.2 and 2.3.
func recordKeys(ikm, salt []byte) (aead cipher.AEAD, nonce [12]byte) {
	cek, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	if err != nil {
		panic("wake: " + err.Error()) // the length is fixed
	}
	defer clear(cek)
	n, err := hkdf.Key(sha256.New, ikm, salt, "Content-Encoding: nonce\x00", len(nonce))
	if err != nil {
		panic("wake: " + err.Error())
	}
	block, err := aes.NewCipher(cek)
	if err != nil {
		panic("wake: " + err.Error())
	}
	if aead, err = cipher.NewGCM(block); err != nil {
		panic("wake: " + err.Error())
	}
	return aead, [12]byte(n)
}

// Decrypt opens a pushed body with the keys of a subscription. Every failure is
// ErrPush. Who pushed it is not proven: anybody who knows the public half can.
func Decrypt(private *ecdh.PrivateKey, auth [AuthSize]byte, body []byte) (Message, error) {
	plain, err := decrypt(private, auth, body)
	if err != nil {
		return Message{}, err
	}
	return parseMessage(plain)
}

func decrypt(private *ecdh.PrivateKey, auth [AuthSize]byte, body []byte) ([]byte, error) {
	head, err := parseCoding(body)
	if err != nil {
		return nil, err
	}
	sender, err := ecdh.P256().NewPublicKey(head.keyID)
	if err != nil || len(head.records) > head.size { // RFC 8291, Section 4: one record
		return nil, ErrPush
	}
	ikm, err := keyMaterial(private, sender, auth, private.PublicKey().Bytes(), head.keyID)
	if err != nil {
		return nil, ErrPush
	}
	defer clear(ikm)
	return head.open(ikm)
}

// coding is a body of RFC 8188, Section 2.1.
type coding struct {
	salt, keyID, records []byte
	size                 int // of one record
}

func parseCoding(b []byte) (c coding, err error) {
	if len(b) < codingHead || len(b) > MaxPush {
		return c, ErrPush
	}
	size, n := binary.BigEndian.Uint32(b[saltSize:]), int(b[codingHead-1])
	if size < tagSize+2 || size > MaxPush || len(b) < codingHead+n {
		return c, ErrPush
	}
	return coding{salt: b[:saltSize], keyID: b[codingHead : codingHead+n], records: b[codingHead+n:], size: int(size)}, nil
}

// open opens all records. Each ends in a delimiter, 1 or in the last one 2, and
// zeros after it.
//
// RFC 8188, Section 2.
func (c *coding) open(ikm []byte) (plain []byte, err error) {
	aead, first := recordKeys(ikm, c.salt)
	rest := c.records
	for seq := uint64(0); ; seq++ {
		record := rest[:min(c.size, len(rest))]
		rest = rest[len(record):]
		nonce := first
		binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^seq)
		text, err := aead.Open(nil, nonce[:], record, nil)
		if err != nil {
			return nil, ErrPush
		}
		end := len(text) - 1
		for end >= 0 && text[end] == 0 {
			end--
		}
		last := len(rest) == 0
		if end < 0 || text[end] != 1 && text[end] != 2 || (text[end] == 2) != last {
			return nil, ErrPush
		}
		plain = append(plain, text[:end]...)
		if last {
			return plain, nil
		}
	}
}
