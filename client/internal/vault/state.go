package vault

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// sum adds up ledger entries modulo 2^128: a hash of the set of all rows and
// their versions that changes with one addition per changed row.
//
// spec: vault.md#ledger
type sum struct{ high, low uint64 }

func (s *sum) add(e [16]byte) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, binary.BigEndian.Uint64(e[8:]), 0)
	s.high, _ = bits.Add64(s.high, binary.BigEndian.Uint64(e[:]), carry)
}

func (s *sum) remove(e [16]byte) {
	var borrow uint64
	s.low, borrow = bits.Sub64(s.low, binary.BigEndian.Uint64(e[8:]), 0)
	s.high, _ = bits.Sub64(s.high, binary.BigEndian.Uint64(e[:]), borrow)
}

// state is the root of what the vault knows about itself. It is sealed into
// the one row of table state by every commit.
type state struct {
	generation uint64
	sum        sum
	next       [tableCount]int64 // next free id, by table
}

// stateSize: generation 8 ‖ sum 16 ‖ next id 8 for each table.
const stateSize = 8 + 16 + 8*tableCount

// Append appends the state's bytes.
func (s *state) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, s.generation)
	b = binary.BigEndian.AppendUint64(b, s.sum.high)
	b = binary.BigEndian.AppendUint64(b, s.sum.low)
	for _, n := range s.next {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return b
}

// parseState reads the state of a vault with the first n tables; those that it
// does not have yet begin with id 1. It fails with ErrDamaged.
func parseState(b []byte, n int) (s state, err error) {
	if len(b) != stateSize-8*(tableCount-n) {
		return s, ErrDamaged
	}
	s.generation = binary.BigEndian.Uint64(b)
	s.sum = sum{binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])}
	for i := range s.next {
		if i >= n {
			s.next[i] = 1
			continue
		}
		n := binary.BigEndian.Uint64(b[24+8*i:])
		if n < 1 || n > maxID+1 {
			return state{}, ErrDamaged
		}
		s.next[i] = int64(n)
	}
	return s, nil
}

func sealState(k *keys, s *state, rand io.Reader) ([]byte, error) {
	return seal(k.state, nil, s.Append(nil), nil, rand)
}

func openState(k *keys, sealed []byte, n int) (state, error) {
	plain, err := open(k.state, sealed, nil)
	if err != nil {
		return state{}, err
	}
	return parseState(plain, n)
}
