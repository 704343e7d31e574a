package wake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	tickets "github.com/tacet-chat/tacet/internal/wake"
)

// SpentFile is the name of the file of spent tickets in a data directory.
const SpentFile = "wake.spent"

const (
	entrySize  = 4 + 8 // UTC day on which the ticket expires 4 ‖ keyed hash of its id 8
	maxSpent   = 1 << 20
	labelSpent = "tacet/v1/relay/wake/spent"
	daySeconds = 86400
	lastDay    = tickets.MaxLife/daySeconds + 1 // days from now on which a ticket may end, at most
)

// spent knows the tickets that were used, by keyed hashes of their ids, until
// the end of the day on which they expire. It is a file that only grows, and the
// first sweep of a day writes it anew without what is over, in no order: a table
// would keep no more, and cost a store.
//
// A ticket that it forgets may wake its device once more, within the limits. So
// a lost file, and what a power cut took, harm nobody, and nothing waits for the
// disk.
type spent struct {
	secret []byte

	mu    sync.Mutex // guards the rest
	days  map[uint32]map[uint64]bool
	n     int
	path  string
	file  *os.File // nil: memory only
	lines int      // in the file
}

// openSpent reads what is known. dir may be empty: memory only.
func openSpent(dir string, secret key.Wake, now time.Time) (*spent, error) {
	s := &spent{days: map[uint32]map[uint64]bool{}, secret: slices.Clone(secret.Bytes())}
	if dir == "" {
		return s, nil
	}
	s.path = filepath.Join(dir, SpentFile)
	b, err := os.ReadFile(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading spent wake tickets: %w", err)
	}
	last := day(now) + lastDay
	for ; len(b) >= entrySize; b = b[entrySize:] {
		if d := binary.BigEndian.Uint32(b); d <= last { // else no ticket has it: a write was cut short
			s.add(d, binary.BigEndian.Uint64(b[4:]))
		}
	}
	s.forget(day(now))
	return s, s.rewrite()
}

func day(t time.Time) uint32 { return uint32(max(t.Unix(), 0) / daySeconds) }

// spend notes an id and reports whether it is new. A file that cannot be written
// is no reason to wake nobody: failed is told.
func (s *spent) spend(id [tickets.IDSize]byte, expires uint64, failed func(error)) bool {
	sum := key.Hash(labelSpent, s.secret, id[:])
	h, d := binary.BigEndian.Uint64(sum[:]), uint32(expires/daySeconds)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.days[d][h] {
		return false
	}
	s.add(d, h)
	if s.file != nil {
		var b [entrySize]byte
		binary.BigEndian.PutUint32(b[:], d)
		binary.BigEndian.PutUint64(b[4:], h)
		if _, err := s.file.Write(b[:]); err != nil {
			failed(err)
		} else {
			s.lines++
		}
	}
	return true
}

// add takes one in, and forgets those that expire first where there are too many.
func (s *spent) add(d uint32, h uint64) {
	if s.days[d] == nil {
		s.days[d] = map[uint64]bool{}
	}
	if !s.days[d][h] {
		s.days[d][h] = true
		s.n++
	}
	for s.n > maxSpent {
		first := d
		for other := range s.days {
			first = min(first, other)
		}
		s.n -= len(s.days[first])
		delete(s.days, first)
	}
}

// forget drops what expired before a day.
func (s *spent) forget(today uint32) {
	for d, all := range s.days {
		if d < today {
			s.n -= len(all)
			delete(s.days, d)
		}
	}
}

// sweep forgets what is over, in the file too. A file that lacks something, since
// it could not be written, is made whole.
func (s *spent) sweep(now time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(day(now))
	if s.file != nil && s.lines == s.n {
		return nil
	}
	return s.rewrite()
}

// rewrite writes the file anew and opens it for more.
func (s *spent) rewrite() error {
	if s.path == "" {
		return nil
	}
	b := make([]byte, 0, s.n*entrySize)
	for d, all := range s.days {
		for h := range all {
			b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(b, d), h)
		}
	}
	if err := s.replace(b); err != nil {
		return fmt.Errorf("writing spent wake tickets: %w", err)
	}
	s.lines = s.n
	return nil
}

func (s *spent) replace(b []byte) error {
	next := s.path + ".new"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if s.file != nil {
		s.file.Close() // Windows renames over nothing that is open
		s.file = nil
	}
	if err := os.Rename(next, s.path); err != nil {
		return err
	}
	s.file, err = os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND, 0o600)
	return err
}

func (s *spent) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.secret)
	if s.file == nil {
		return nil
	}
	f := s.file
	s.file = nil
	return f.Close()
}
