package wire

import (
	"encoding/binary"
	"errors"
)

// ErrPark is returned for a body of POST /v1/park, or an answer to one, that is
// not well-formed.
var ErrPark = errors.New("parking is malformed")

// Sizes of what parks, takes and acks cells, in bytes, and how many go together.
const (
	RowIDSize    = 16
	ParkItemSize = 2 + AddressSize + CellSize // life in hours 2 ‖ address 32 ‖ cell 1,280
	MaxParkItems = 16                         // items in one request
	MaxParkSize  = ContextSize + MaxParkItems*ParkItemSize

	TakeHeader    = 1 + 8                                  // kind 1 ‖ day 8
	MaxTake       = 512                                    // proofs in one take frame
	MaxTaken      = 4096                                   // addresses on one connection
	ParkedSize    = 1 + RowIDSize + AddressSize + CellSize // kind 1 ‖ row id 16 ‖ address 32 ‖ cell 1,280
	TakenSize     = 1 + 2                                  // kind 1 ‖ addresses 2
	ParkAckHeader = 1 + AddressSize + 64                   // kind 1 ‖ address 32 ‖ signature 64
	MaxAckRows    = 64                                     // row ids in one ack frame
	AckedSize     = 1 + 2                                  // kind 1 ‖ row ids 2
)

// Lives and bounds of parked cells, as every relay keeps them.
const (
	MinParkHours    = 1                   // a shorter life is taken for this one
	MaxParkRows     = 1000                // that wait at one address
	MaxContextRows  = 64                  // parked through one put context in a live period
	ParkDaysBack    = MaxParkHours/24 + 1 // days before today whose addresses are still given
	ParkDaysForward = 1                   // and after
)

// Frames of /v1/take from the relay, beside FrameGreeting and FrameRefused.
const (
	FrameParked FrameKind = 0x05 // a row
	FrameTaken  FrameKind = 0x06 // all rows of one take frame were sent
	FrameAcked  FrameKind = 0x07 // the rows of one ack frame are gone
)

// Frames of /v1/take from the client.
const (
	FrameTake    FrameKind = 0x13 // kind 1 ‖ day 8 ‖ k × (address 32 ‖ signature 64)
	FrameParkAck FrameKind = 0x14 // kind 1 ‖ address 32 ‖ signature 64 ‖ k × row id 16
)

// RowID names a parked cell to whoever may take it. It tells nothing of when
// the cell came, or beside what.
type RowID [RowIDSize]byte

// ParkVerdict is what a relay says of one item.
type ParkVerdict byte

// Verdicts.
const (
	ParkKept   ParkVerdict = 0 // it waits now, or did already
	ParkFull   ParkVerdict = 1 // MaxParkRows wait at this address
	ParkNoRoom ParkVerdict = 2 // the relay has no room, or none for this network
)

// ParkItem is a cell that is to wait.
type ParkItem struct {
	Hours   uint16 // life; a relay takes what is too long or too short for the nearest it allows
	Address Address
	Cell    Cell
}

// AppendPark appends the body of POST /v1/park. It fails with ErrPark unless
// there are 1 to MaxParkItems items.
func AppendPark(b []byte, context [ContextSize]byte, items []ParkItem) ([]byte, error) {
	if len(items) == 0 || len(items) > MaxParkItems {
		return b, ErrPark
	}
	b = append(b, context[:]...)
	for i := range items {
		b = binary.BigEndian.AppendUint16(b, items[i].Hours)
		b = append(b, items[i].Address[:]...)
		b = append(b, items[i].Cell[:]...)
	}
	return b, nil
}

// ParkItems returns how many items a body of n bytes has; 0 if none has that size.
func ParkItems(n int64) int {
	n -= ContextSize
	if n <= 0 || n > MaxParkItems*ParkItemSize || n%ParkItemSize != 0 {
		return 0
	}
	return int(n / ParkItemSize)
}

// ParsePark reads the body of POST /v1/park. It fails with ErrPark.
func ParsePark(b []byte) (context [ContextSize]byte, items []ParkItem, err error) {
	k := ParkItems(int64(len(b)))
	if k == 0 {
		return context, nil, ErrPark
	}
	context, b = [ContextSize]byte(b), b[ContextSize:]
	items = make([]ParkItem, k)
	for i := range items {
		items[i] = ParkItem{binary.BigEndian.Uint16(b), Address(b[2:]), Cell(b[2+AddressSize:])}
		b = b[ParkItemSize:]
	}
	return context, items, nil
}

// ParseParkAnswer reads the answer to k items, one byte each. It fails with
// ErrPark.
func ParseParkAnswer(b []byte, k int) ([]ParkVerdict, error) {
	if len(b) != k || k == 0 {
		return nil, ErrPark
	}
	v := make([]ParkVerdict, k)
	for i := range b {
		if v[i] = ParkVerdict(b[i]); v[i] > ParkNoRoom {
			return nil, ErrPark
		}
	}
	return v, nil
}

// Owned is an address with the signature of its owner over a Proof.
type Owned struct {
	Address Address
	Sig     [64]byte
}

// AppendTake appends a take frame. It fails with ErrFrame unless there are 1 to
// MaxTake addresses.
func AppendTake(b []byte, day uint64, owned []Owned) ([]byte, error) {
	if len(owned) == 0 || len(owned) > MaxTake {
		return b, ErrFrame
	}
	b = binary.BigEndian.AppendUint64(append(b, byte(FrameTake)), day)
	for i := range owned {
		b = append(append(b, owned[i].Address[:]...), owned[i].Sig[:]...)
	}
	return b, nil
}

// ParseTake reads a take frame. The proofs, k × (address 32 ‖ signature 64),
// alias b. It fails with ErrFrame.
func ParseTake(b []byte) (day uint64, proofs []byte, err error) {
	n := len(b) - TakeHeader
	if n <= 0 || n%ProofSize != 0 || n > MaxTake*ProofSize || FrameKind(b[0]) != FrameTake {
		return 0, nil, ErrFrame
	}
	return binary.BigEndian.Uint64(b[1:]), b[TakeHeader:], nil
}

// Parked is a cell that waited.
type Parked struct {
	ID      RowID
	Address Address
	Cell    Cell
}

// Append appends the frame, ParkedSize bytes.
func (p *Parked) Append(b []byte) []byte {
	b = append(append(b, byte(FrameParked)), p.ID[:]...)
	return append(append(b, p.Address[:]...), p.Cell[:]...)
}

// ParseParked reads a frame of exactly ParkedSize bytes. It fails with ErrFrame.
func ParseParked(b []byte) (Parked, error) {
	if len(b) != ParkedSize || FrameKind(b[0]) != FrameParked {
		return Parked{}, ErrFrame
	}
	return Parked{RowID(b[1:]), Address(b[1+RowIDSize:]), Cell(b[1+RowIDSize+AddressSize:])}, nil
}

// AppendTaken appends the frame that ends the rows of one take frame, with the
// number of its addresses.
func AppendTaken(b []byte, addresses uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, byte(FrameTaken)), addresses)
}

// ParseTaken reads a frame of exactly TakenSize bytes. It fails with ErrFrame.
func ParseTaken(b []byte) (addresses uint16, err error) { return parseCount(b, FrameTaken, MaxTake) }

// AppendAcked appends the frame that says that the rows of one ack frame are
// gone, with the number of its row ids.
func AppendAcked(b []byte, rows uint16) []byte {
	return binary.BigEndian.AppendUint16(append(b, byte(FrameAcked)), rows)
}

// ParseAcked reads a frame of exactly AckedSize bytes. It fails with ErrFrame.
func ParseAcked(b []byte) (rows uint16, err error) { return parseCount(b, FrameAcked, MaxAckRows) }

// parseCount reads kind 1 ‖ count 2, where the count is from 1 to most.
func parseCount(b []byte, kind FrameKind, most uint16) (uint16, error) {
	if len(b) != 3 || FrameKind(b[0]) != kind {
		return 0, ErrFrame
	}
	n := binary.BigEndian.Uint16(b[1:])
	if n == 0 || n > most {
		return 0, ErrFrame
	}
	return n, nil
}

// ParkAck asks that rows of one address be deleted.
type ParkAck struct {
	Owned // the signature is over Proof.AppendAck
	Rows  []RowID
}

// Append appends the frame. It fails with ErrFrame unless there are 1 to
// MaxAckRows rows.
func (a *ParkAck) Append(b []byte) ([]byte, error) {
	if len(a.Rows) == 0 || len(a.Rows) > MaxAckRows {
		return b, ErrFrame
	}
	b = append(append(b, byte(FrameParkAck)), a.Address[:]...)
	b = append(b, a.Sig[:]...)
	return appendRows(b, a.Rows), nil
}

// ParseParkAck reads an ack frame. It fails with ErrFrame.
func ParseParkAck(b []byte) (ParkAck, error) {
	n := len(b) - ParkAckHeader
	if n <= 0 || n%RowIDSize != 0 || n > MaxAckRows*RowIDSize || FrameKind(b[0]) != FrameParkAck {
		return ParkAck{}, ErrFrame
	}
	a := ParkAck{Owned: Owned{Address(b[1:]), [64]byte(b[1+AddressSize:])}, Rows: make([]RowID, 0, n/RowIDSize)}
	for b = b[ParkAckHeader:]; len(b) > 0; b = b[RowIDSize:] {
		a.Rows = append(a.Rows, RowID(b))
	}
	return a, nil
}

// AppendAck appends what an owner signs to have rows deleted: the proof, whose
// verb is VerbAck, and the row ids in the order of the frame.
func (p *Proof) AppendAck(b []byte, rows []RowID) []byte { return appendRows(p.Append(b), rows) }

func appendRows(b []byte, rows []RowID) []byte {
	for i := range rows {
		b = append(b, rows[i][:]...)
	}
	return b
}
