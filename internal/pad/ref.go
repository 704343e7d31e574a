package pad

import "encoding/binary"

// RefSize is the size of a Ref: sequence 4 ‖ hash 8.
const RefSize = 4 + 8

// Ref names one manifest of a person: its place in the chain and the first
// bytes of its hash. The zero Ref names none: chains start at 1.
type Ref struct {
	Sequence uint32
	Hash     [8]byte
}

func (r Ref) append(b []byte) []byte {
	return append(binary.BigEndian.AppendUint32(b, r.Sequence), r.Hash[:]...)
}

func parseRef(p []byte) Ref {
	return Ref{Sequence: binary.BigEndian.Uint32(p), Hash: [8]byte(p[4:])}
}
