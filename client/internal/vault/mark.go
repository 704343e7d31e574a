package vault

import (
	"encoding/binary"
	"io"
	"os"
)

// Layout of the mark: two slots of one disk sector each, so that a power cut
// while one is written leaves the other.
//
// spec: vault.md#mark
const (
	markSector = 512
	markSize   = 2 * markSector
	// markSlot: nonce 24 ‖ sealed generation 8 ‖ tag 16, then zeros.
	markSlot = nonceSize + 8 + tagSize
)

// mark is a generation that was committed for certain, kept outside the
// database. It is written after each commit and not waited for: after a kill
// it is exact, after a power cut it may be older, and it is never ahead of
// what is on the disk. A log that lost its end, or a database that was put
// back without it, is then older than the mark.
type mark struct {
	f    *os.File
	keys *keys
	rand io.Reader
	slot int // the slot to write next: the one that holds the older value
}

// createMark writes a new mark, both slots alike.
func createMark(path string, k *keys, generation uint64, rand io.Reader) error {
	b := make([]byte, markSize)
	for i := range 2 {
		s, err := sealMark(k, generation, rand)
		if err != nil {
			return err
		}
		copy(b[i*markSector:], s)
	}
	return writeNew(path, b)
}

// openMark returns the mark and its generation. One slot that does not open is
// passed over; ErrDamaged when neither does.
func openMark(path string, k *keys, rand io.Reader) (*mark, uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, 0, damagedIfMissing(err)
	}
	m := &mark{f: f, keys: k, rand: rand}
	var at [2]uint64
	good := 0
	for i := range at {
		b := make([]byte, markSlot)
		if _, err := f.ReadAt(b, int64(i)*markSector); err != nil {
			continue // short: that slot is lost
		}
		plain, err := open(k.mark, b, nil)
		if err != nil || len(plain) != 8 {
			continue
		}
		at[i] = binary.BigEndian.Uint64(plain)
		good++
	}
	if good == 0 {
		f.Close()
		return nil, 0, ErrDamaged
	}
	if at[0] > at[1] {
		m.slot = 1
	}
	return m, max(at[0], at[1]), nil
}

func sealMark(k *keys, generation uint64, rand io.Reader) ([]byte, error) {
	return seal(k.mark, nil, binary.BigEndian.AppendUint64(nil, generation), nil, rand)
}

// set notes that generation is committed. It does not wait for the disk.
func (m *mark) set(generation uint64) error {
	b, err := sealMark(m.keys, generation, m.rand)
	if err != nil {
		return err
	}
	if _, err := m.f.WriteAt(b, int64(m.slot)*markSector); err != nil {
		return fileError(err)
	}
	m.slot ^= 1
	return nil
}

func (m *mark) sync() error { return fileError(m.f.Sync()) }

func (m *mark) close() error { return fileError(m.f.Close()) }
