package inbox

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// source is randomness for several goroutines: decoys draw from it when they sign.
type source struct {
	mu sync.Mutex // guards r
	r  io.Reader
}

// Read implements io.Reader.
func (s *source) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(b)
}

func (s *source) uint64() (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(s, b[:]); err != nil {
		return 0, fmt.Errorf("reading randomness: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}

// between returns a uniform time from a to b; a if b is before it.
func (s *source) between(a, b time.Time) (time.Time, error) {
	d, err := s.upTo(b.Sub(a))
	return a.Add(d), err
}

// upTo returns U(0, d).
func (s *source) upTo(d time.Duration) (time.Duration, error) {
	u, err := s.uint64()
	if err != nil || d <= 0 {
		return 0, err
	}
	return time.Duration(float64(u>>11) / (1 << 53) * float64(d)), nil
}

// shuffle puts a set into random order. 2^64 is so far above 4,096 that the
// remainder is as good as uniform.
func (s *source) shuffle(set []transport.Owned) error {
	for i := len(set) - 1; i > 0; i-- {
		u, err := s.uint64()
		if err != nil {
			return err
		}
		j := int(u % uint64(i+1))
		set[i], set[j] = set[j], set[i]
	}
	return nil
}

// name returns a name that no other connection has.
func (s *source) name() (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(s, b[:]); err != nil {
		return "", fmt.Errorf("reading randomness: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}
