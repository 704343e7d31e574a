package mls

import "math"

// senderData is SenderData (RFC 9420, Section 6.3.2).
type senderData struct {
	Leaf       LeafIndex
	Generation uint32
	ReuseGuard [4]byte
}

const senderDataSize = 12

func (s senderData) append(b []byte) []byte {
	return append(appendU32(appendU32(b, uint32(s.Leaf)), s.Generation), s.ReuseGuard[:]...)
}

func readSenderData(r *reader) senderData {
	s := senderData{Leaf: LeafIndex(r.u32()), Generation: r.u32()}
	copy(s.ReuseGuard[:], r.take(len(s.ReuseGuard)))
	return s
}

// senderDataKey is the key and nonce of the sender data that go with a ciphertext
// (RFC 9420, Section 6.3.2): its first KDF.Nh bytes, or all of it, are the sample.
func (p *suiteParams) senderDataKey(secret Secret, ciphertext []byte) messageKey {
	sample := ciphertext[:min(len(ciphertext), p.nh)]
	k := messageKey{key: p.expandWithLabel(secret.Bytes(), "key", sample, p.nk)}
	nonce := p.expandWithLabel(secret.Bytes(), "nonce", sample, nn)
	copy(k.nonce[:], nonce.Bytes())
	return k
}

// senderAAD is SenderDataAAD: group_id, epoch, content_type.
func (m *privateMessage) senderAAD() []byte {
	b := make([]byte, 0, len(m.GroupID)+16)
	return append(appendU64(appendVec(b, m.GroupID), m.Epoch), byte(m.Type))
}

// sealSender encrypts the sender data of a message whose ciphertext is there.
func (m *privateMessage) sealSender(p *suiteParams, secret Secret, s senderData) {
	k := p.senderDataKey(secret, m.Ciphertext)
	defer k.wipe()
	m.EncryptedSenderData = p.seal(k.key, k.nonce[:], m.senderAAD(), s.append(make([]byte, 0, senderDataSize)))
}

// openSender decrypts the sender data. It fails with ErrDecrypt.
func (m *privateMessage) openSender(p *suiteParams, secret Secret) (senderData, error) {
	k := p.senderDataKey(secret, m.Ciphertext)
	defer k.wipe()
	b, err := p.open(k.key, k.nonce[:], m.senderAAD(), m.EncryptedSenderData)
	if err != nil {
		return senderData{}, err
	}
	r := reader{b: b}
	s := readSenderData(&r)
	if r.err("") != nil || s.Generation == math.MaxUint32 {
		return senderData{}, invalid("6.3.2", "sender data")
	}
	return s, nil
}

// guard puts the reuse guard into a nonce: should a generation ever be spoken twice,
// the nonces still differ (RFC 9420, Section 6.3.1).
func (k *messageKey) guard(g [4]byte) {
	for i, b := range g {
		k.nonce[i] ^= b
	}
}
