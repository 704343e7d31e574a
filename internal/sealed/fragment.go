package sealed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of fragments.
const (
	MaxFragments = 255                             // fragments of one whole
	MaxWhole     = MaxFragments * wire.PayloadSize // 313,395 bytes
	MaxOpen      = 8                               // wholes that one Joiner has begun
	MaxJoining   = MaxOpen * MaxWhole              // the most bytes of fragments that one Joiner keeps: 2,507,160
	JoinFor      = 24 * time.Hour                  // how long a whole may take to arrive
)

// Errors of fragments.
var (
	// ErrFragment: a fragment is not one, contradicts another, or the whole is
	// not what its id says. What was collected under the id may be gone.
	ErrFragment = errors.New("fragment is not acceptable")
	// ErrFull: MaxOpen wholes are under way. Not refused for good: a sender
	// tries again until it is acked.
	ErrFull = errors.New("too many messages are arriving in fragments")
)

// Fragments cuts whole into bodies of the kind, KindHello or KindGroup, whose
// payloads together are whole, filled up with zeros to the end of the last
// payload. Payloads may alias whole. A hello is wire.HelloSize bytes, a group
// object 1 to MaxWhole; it fails with ErrSize otherwise.
//
// spec: cell.md#fragments
func Fragments(kind wire.Kind, whole []byte) (wire.MessageID, []wire.Body, error) {
	switch {
	case kind == wire.KindHello && len(whole) == wire.HelloSize:
	case kind == wire.KindGroup && len(whole) > 0 && len(whole) <= MaxWhole:
	default:
		return wire.MessageID{}, nil, ErrSize
	}
	count := (len(whole) + wire.PayloadSize - 1) / wire.PayloadSize
	if rest := count*wire.PayloadSize - len(whole); rest > 0 {
		whole = append(whole[:len(whole):len(whole)], make([]byte, rest)...)
	}
	id := fragmentID(whole)
	bodies := make([]wire.Body, count)
	for i := range bodies {
		bodies[i] = wire.Body{
			Kind: kind, ID: id, Index: byte(i), Count: byte(count),
			Payload: whole[i*wire.PayloadSize:][:wire.PayloadSize:wire.PayloadSize],
		}
	}
	return id, bodies, nil
}

// fragmentID is the first 8 bytes of SHA-256 of the whole, filling included.
func fragmentID(whole []byte) wire.MessageID {
	h := sha256.Sum256(whole)
	return wire.MessageID(h[:])
}

// evictAfter is how long a whole under way is safe from others when MaxOpen are.
const evictAfter = time.Minute

// Joiner joins the fragments that arrive on one route. The zero value is ready.
// It is for one goroutine at a time. It keeps at most MaxJoining bytes, and only
// what has in fact arrived: a count of 255 alone costs the sender a cell and us
// the same.
type Joiner struct {
	open []*joining // in order of arrival, at most MaxOpen
}

// joining is one whole under way.
type joining struct {
	id    wire.MessageID
	kind  wire.Kind
	since time.Time
	parts [][]byte // by index; nil: not here yet
	have  int
}

// Add takes a fragment. When it was the last one missing, Add returns the whole
// and true; it has then forgotten the whole. A fragment that came before is no
// error. It fails with ErrFragment and ErrFull, keeping what it had, except that
// a complete set with another hash than its id is thrown away.
//
// A route that several people know, an invite's for one, can be filled by one of
// them: the oldest whole gives way after evictAfter, and its sender offers again.
func (j *Joiner) Add(now time.Time, b *wire.Body) (whole []byte, done bool, err error) {
	j.Expire(now)
	if (b.Kind != wire.KindHello && b.Kind != wire.KindGroup) || len(b.Payload) != wire.PayloadSize || b.Index >= b.Count {
		return nil, false, ErrFragment
	}
	m := j.find(b.ID)
	if m == nil {
		if len(j.open) == MaxOpen {
			if now.Sub(j.open[0].since) < evictAfter {
				return nil, false, ErrFull
			}
			oldest := j.open[0]
			j.drop(func(o *joining) bool { return o == oldest })
		}
		m = &joining{id: b.ID, kind: b.Kind, since: now, parts: make([][]byte, b.Count)}
		j.open = append(j.open, m)
	}
	if m.kind != b.Kind || len(m.parts) != int(b.Count) {
		return nil, false, ErrFragment
	}
	if old := m.parts[b.Index]; old != nil {
		if !bytes.Equal(old, b.Payload) {
			return nil, false, ErrFragment
		}
		return nil, false, nil
	}
	m.parts[b.Index] = bytes.Clone(b.Payload)
	m.have++
	if m.have < len(m.parts) {
		return nil, false, nil
	}
	j.drop(func(o *joining) bool { return o == m })
	whole = bytes.Join(m.parts, nil)
	if fragmentID(whole) != m.id {
		return nil, false, ErrFragment
	}
	return whole, true, nil
}

// Expire drops what has been under way for JoinFor. Add does it too.
func (j *Joiner) Expire(now time.Time) {
	j.drop(func(m *joining) bool {
		if now.Before(m.since) {
			m.since = now // a clock that went back must not make anything last longer
		}
		return now.Sub(m.since) >= JoinFor
	})
}

func (j *Joiner) find(id wire.MessageID) *joining {
	for _, m := range j.open {
		if m.id == id {
			return m
		}
	}
	return nil
}

// drop removes what gone reports, and the references to it.
func (j *Joiner) drop(gone func(*joining) bool) {
	kept := j.open[:0]
	for _, m := range j.open {
		if !gone(m) {
			kept = append(kept, m)
		}
	}
	clear(j.open[len(kept):])
	j.open = kept
}
