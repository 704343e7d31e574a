package braid

import (
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// Receive takes in the field of a message and returns the message's braid key.
// It is done on a copy, which replaces the state once the message opened with
// that key; after an error the copy is of no use. now is the time for skipped keys.
//
// Every field that does not fit fails with ErrField: malformed, of an epoch or a
// number that cannot be, of a message that was received before, or of one whose
// key is gone.
//
// spec: braid.md#receiving
func (s *State) Receive(now time.Time, field []byte) (k key.Braid, err error) {
	m, ok := parseField(field)
	if !ok {
		return k, ErrField
	}
	// Roles swap with each epoch, so the epoch says which kinds the other side has.
	epoch := m.epoch + 1
	if theirs := s.initiator != (epoch%2 == 1); m.kind.ofKey() != theirs {
		return k, ErrField
	}
	begins := epoch == s.epoch+1 && s.phase == ct2Sampled
	if epoch > s.epoch && !begins {
		return k, ErrField
	}
	at := uint64(max(now.Unix(), 0))
	if k, ok = s.keyOf(&m, at); !ok {
		return key.Braid{}, ErrField
	}
	if begins {
		s.advance()
	}
	for i := range m.chunks {
		if epoch == s.epoch { // which the first chunk may have completed
			s.collect(m.kind, 2*m.pair+uint16(i), m.chunks[i])
		}
	}
	s.skipped.age(at)
	return k, nil
}

// keyOf returns the key of a message and takes it out of the state. Keys of
// messages before it that did not come are set aside.
func (s *State) keyOf(m *message, at uint64) (k key.Braid, ok bool) {
	c := &s.chains
	running := s.receiving()
	switch {
	case m.epoch < running, m.epoch == running && m.number < c.received:
		return s.skipped.take(m.epoch, m.number, at)
	case m.epoch == running:
		if m.number-c.received > MaxJump {
			return k, false
		}
	default: // the chain that waits
		if !c.nextRecv.Valid() || m.epoch != running+1 || m.previous < c.received ||
			uint64(m.previous-c.received)+uint64(m.number) > MaxJump {
			return k, false
		}
		s.skip(running, m.previous, at)
		c.turnRecv()
	}
	s.skip(m.epoch, m.number, at)
	return c.stepRecv(), true
}

// receiving returns the epoch of the running receiving chain. It is that of the
// sending chain, or the one before while the other side has not turned yet.
func (s *State) receiving() uint32 {
	if s.lags() {
		return s.epoch - 2
	}
	return s.epoch - 1
}

// lags reports whether an epoch that is complete for us has brought us no
// message of its chain yet.
func (s *State) lags() bool { return s.chains.nextRecv.Valid() && !s.chains.nextSend.Valid() }

// skip sets aside the keys of the running receiving chain, which is that of the
// epoch, below until: the last MaxSkipped of them, older ones are lost.
func (s *State) skip(epoch, until uint32, at uint64) {
	c := &s.chains
	if until <= c.received {
		return
	}
	fresh := make([]skipped, 0, min(until-c.received, MaxSkipped))
	for c.received < until {
		n := c.received
		k := c.stepRecv()
		if until-n <= MaxSkipped {
			fresh = append(fresh, skipped{epoch: epoch, n: n, at: at, k: [32]byte(k.Bytes())})
		}
		k.Wipe()
	}
	s.skipped.add(fresh)
}
