package braid

import (
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/key"
)

// Layout of a state.
//
// spec: braid.md#state
const (
	stateVersion byte = 1

	stateHead   = 1 + 1 + 1 + 4*4 + 5*32                                             // 179
	waitingSize = 2 * 32                                                             // chains that wait
	pieceSize   = 2 + chunkSize                                                      // point 2 ‖ chunk 32
	keySize     = 4 + 4 + 8 + 32                                                     // epoch 4 ‖ number 4 ‖ time 8 ‖ key 32
	maxContents = 32 + headerSize + ct1Size + 2 + 2 + (ekSize/chunkSize-1)*pieceSize // 2,250, of ct1Sampled
	// MaxState is the most that a state takes.
	MaxState = stateHead + waitingSize + maxContents + 2 + MaxSkipped*keySize // 98,495
)

// Which chains wait.
const (
	waitNone byte = 0
	waitRecv byte = 1 // ours is in use, theirs not yet
	waitBoth byte = 2
)

// ErrState is returned for bytes that are not a state.
var ErrState = errors.New("braid state is malformed")

// Append appends the state, at most MaxState bytes: they are secrets. It panics
// if s was wiped.
func (s *State) Append(b []byte) []byte {
	if !s.chains.root.Valid() {
		panic("braid: writing a state that was wiped")
	}
	c := &s.chains
	wait := waitNone
	switch {
	case c.nextSend.Valid():
		wait = waitBoth
	case c.nextRecv.Valid():
		wait = waitRecv
	}
	b = append(b, stateVersion, byte(s.phase), wait)
	for _, n := range [...]uint32{s.epoch, c.sent, c.received, c.sentBefore} {
		b = binary.BigEndian.AppendUint32(b, n)
	}
	b = append(append(b, s.auth.root.Bytes()...), s.auth.mac.Bytes()...)
	for _, k := range [...]key.Chain{c.root, c.send, c.recv, c.nextRecv, c.nextSend} {
		b = append(b, k.Bytes()...)
	}
	b = append(append(b, s.seed.Bytes()...), s.m.Bytes()...)
	b = append(append(append(b, s.header...), s.ek...), s.ct1...)
	if s.out.data != nil {
		b = binary.BigEndian.AppendUint16(append(b, s.out.data...), s.out.next)
	}
	if s.in.size != 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(len(s.in.have)))
		for i := range s.in.have {
			b = binary.BigEndian.AppendUint16(b, s.in.have[i].x)
			b = append(b, s.in.have[i].c[:]...)
		}
	}
	b = binary.BigEndian.AppendUint16(b, uint16(s.skipped.len()))
	for i := range s.skipped.len() {
		k := s.skipped.at(i)
		b = binary.BigEndian.AppendUint32(b, k.epoch)
		b = binary.BigEndian.AppendUint32(b, k.n)
		b = binary.BigEndian.AppendUint64(b, k.at)
		b = append(b, k.k[:]...)
	}
	return b
}

// Parse reads a state. It fails with ErrState.
func Parse(b []byte) (*State, error) {
	if len(b) < stateHead+2 || len(b) > MaxState || b[0] != stateVersion || b[1] > byte(ct2Sampled) || b[2] > waitBoth {
		return nil, ErrState
	}
	s := &State{phase: phase(b[1]), skipped: newStore(nil)}
	wait := b[2]
	r := reader{b: b[3:]}
	c := &s.chains
	for _, n := range []*uint32{&s.epoch, &c.sent, &c.received, &c.sentBefore} {
		*n = r.uint32()
	}
	s.initiator = (s.phase < noHeaderReceived) == (s.epoch%2 == 1)
	s.auth = auth{take[key.AuthRole](&r, 32), take[key.AuthRole](&r, 32)}
	c.root, c.send, c.recv = take[key.ChainRole](&r, 32), take[key.ChainRole](&r, 32), take[key.ChainRole](&r, 32)
	if wait >= waitRecv {
		c.nextRecv = take[key.ChainRole](&r, 32)
	}
	if wait == waitBoth {
		c.nextSend = take[key.ChainRole](&r, 32)
	}
	s.parseContents(&r)
	s.skipped.parse(&r, s.receiving())
	if r.bad || len(r.b) != 0 || !s.sound(wait) {
		s.Wipe()
		return nil, ErrState
	}
	return s, nil
}

// parseContents reads what the phase has.
func (s *State) parseContents(r *reader) {
	has := &contents[s.phase]
	if has.seed {
		s.seed = take[key.KEMRole](r, 64)
	}
	if has.m {
		s.m = take[key.EncapsRole](r, 32)
	}
	if has.header {
		s.header = r.copy(headerSize)
	}
	if has.ek {
		s.ek = r.copy(ekSize)
	}
	if has.ct1 {
		s.ct1 = r.copy(ct1Size)
	}
	if has.out > 0 {
		s.out = encoder{data: r.copy(has.out), next: r.uint16()}
		r.bad = r.bad || s.out.next > maxPair
	}
	if has.in > 0 {
		s.in.size = has.in
		s.in.parse(r)
	}
}

// parse reads chunks: fewer than make a text, by rising points.
func (d *decoder) parse(r *reader) {
	n := int(r.uint16())
	if n*chunkSize >= d.size || n*pieceSize > len(r.b) {
		r.bad = true
		return
	}
	for i := range n {
		p := piece{r.uint16(), chunk(r.take(chunkSize))}
		if p.x > 2*maxPair+1 || i > 0 && p.x <= d.have[i-1].x {
			r.bad = true
		}
		d.have = append(d.have, p)
	}
}

// parse reads the skipped keys: bounded, in order, of chains that there were.
func (s *store) parse(r *reader, running uint32) {
	n := int(r.uint16())
	if n > MaxSkipped || n*keySize > len(r.b) {
		r.bad = true
		return
	}
	list := make([]skipped, 0, n)
	for i := range n {
		k := skipped{epoch: r.uint32(), n: r.uint32(), at: r.uint64(), k: [32]byte(r.take(32))}
		if i > 0 {
			before := &list[i-1]
			r.bad = r.bad || before.compare(k) >= 0 || k.at < before.at
		}
		r.bad = r.bad || k.epoch > running
		list = append(list, k)
	}
	*s.list = list
}

// sound refuses what no run of the braid leads to.
func (s *State) sound(wait byte) bool {
	if s.epoch == 0 || s.epoch > MaxEpoch || s.epoch == 1 && s.chains.sentBefore != 0 {
		return false
	}
	switch wait {
	case waitRecv: // completed by its key's end, which has heard nothing since
		if s.phase != noHeaderReceived || s.epoch < 2 || len(s.in.have) != 0 {
			return false
		}
	case waitBoth:
		if s.phase < ct1Sampled {
			return false
		}
	default:
		if s.phase >= ct1Sampled {
			return false
		}
	}
	last := s.skipped.len() - 1
	if last < 0 {
		return true
	}
	k := s.skipped.at(last)
	return k.epoch < s.receiving() || k.n < s.chains.received
}

// reader takes fields off the front of b. Past the end it gives zeros and says so.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if len(r.b) < n {
		r.bad = true
		return make([]byte, n)
	}
	v := r.b[:n:n]
	r.b = r.b[n:]
	return v
}

func (r *reader) copy(n int) []byte { return append(make([]byte, 0, n), r.take(n)...) }

func (r *reader) uint16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) uint32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

// take reads a secret of n bytes.
func take[R key.Role](r *reader, n int) key.Secret[R] { return cut[R](r.take(n)) }
