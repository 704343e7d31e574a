package commits

import (
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/slot"
	"github.com/tacet-chat/tacet/internal/wire"
)

// sort says how a relay treats slots.
type conduct byte

const (
	honest  conduct = iota
	forgets         // loses slots, and signs what is put there next
	lies            // shows one half of the devices another store
)

// realm is a relay as far as slots go.
type realm struct {
	name    string
	conduct conduct
	sign    key.Sign
	home    roster.Home
	slots   [2]map[wire.BlobID][]byte
	hashes  [2]map[wire.BlobID][32]byte // outlive the content
	away    func(now time.Duration) bool
}

func newRealm(name string, d draw) *realm {
	r := &realm{name: name, sign: makeKey[key.SignRole](d), away: func(time.Duration) bool { return false }}
	for i := range r.slots {
		r.slots[i], r.hashes[i] = map[wire.BlobID][]byte{}, map[wire.BlobID][32]byte{}
	}
	r.home = roster.Home{Name: name, Pin: hash("pin", []byte(name)), Receipt: key.SignPublicOf(r.sign)}
	return r
}

func makeKey[R key.Role](d draw) key.Secret[R] {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(d.Uint32())
	}
	s, err := key.New[R](seed[:])
	if err != nil {
		panic("commits: " + err.Error())
	}
	return s
}

// side is the store that a device is shown.
func (r *realm) side(device int) int {
	if r.conduct == lies {
		return device & 1
	}
	return 0
}

func (r *realm) receipt(id wire.BlobID, h [32]byte) *wire.Receipt {
	return &wire.Receipt{ID: id, Hash: h, Sig: key.SignMessage(r.sign, wire.LabelReceipt, id[:], h[:])}
}

// put puts a blob where nothing lies, and answers with the receipt of what does.
func (r *realm) put(device int, id wire.BlobID, blob []byte) (rc *wire.Receipt, mine bool) {
	s := r.side(device)
	h, there := r.hashes[s][id]
	if !there {
		h = slot.Hash(blob)
		r.slots[s][id], r.hashes[s][id] = blob, h
	}
	return r.receipt(id, h), h == slot.Hash(blob)
}

// read answers with what lies there; blob is nil if the content is gone by age.
func (r *realm) read(device int, id wire.BlobID) (blob []byte, rc *wire.Receipt) {
	s := r.side(device)
	h, there := r.hashes[s][id]
	if !there {
		return nil, nil
	}
	return r.slots[s][id], r.receipt(id, h)
}

// ids are the slots in order, so that a run can be drawn again.
func (r *realm) ids(side int) []wire.BlobID {
	var l []wire.BlobID
	for id := range r.hashes[side] {
		l = append(l, id)
	}
	slices.SortFunc(l, func(a, b wire.BlobID) int { return slices.Compare(a[:], b[:]) })
	return l
}

// forget loses a slot: whatever is put there next gets a good receipt, too.
func (r *realm) forget(id wire.BlobID) {
	for s := range r.slots {
		delete(r.slots[s], id)
		delete(r.hashes[s], id)
	}
}

// expire drops the content of a slot and keeps its hash, as an honest relay does.
func (r *realm) expire(id wire.BlobID) {
	for s := range r.slots {
		delete(r.slots[s], id)
	}
}
