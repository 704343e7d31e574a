package content

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tacet-chat/tacet/internal/wire"
)

const endSize = NameSize + 1

func (s *Sync) check() error {
	if s.Copy == nil && len(s.Entries) == 0 && len(s.Read) == 0 && len(s.Ends) == 0 ||
		len(s.Entries) > MaxEntries || len(s.Read) > MaxNames || len(s.Ends) > MaxNames {
		return ErrContent
	}
	if c := s.Copy; c != nil && (c.Sent > MaxSent || len(c.Body) > MaxText || !utf8.ValidString(c.Body)) {
		return ErrContent
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		if len(e.Key) == 0 || len(e.Key) > MaxKey || len(e.Value) > MaxValue || e.Count == 0 {
			return ErrContent
		}
	}
	for _, end := range s.Ends {
		if end == 0 {
			return ErrContent
		}
	}
	return nil
}

func (s *Sync) form() *formSync {
	f := &formSync{}
	if c := s.Copy; c != nil {
		f.Copy = &formCopy{Person: c.Person[:], Author: c.Author[:], ID: c.ID[:], Sent: c.Sent, Body: c.Body, Out: c.Out, Timer: c.Timer}
	}
	for _, e := range s.Entries {
		value := e.Value
		if value == nil {
			value = []byte{}
		}
		f.Entries = append(f.Entries, formEntry{Key: e.Key, Value: value, Count: e.Count, Device: e.Device[:]})
	}
	for _, n := range s.Read {
		f.Read = append(f.Read, n[:]...)
	}
	for _, n := range slices.SortedFunc(maps.Keys(s.Ends), func(a, b Name) int { return bytes.Compare(a[:], b[:]) }) {
		f.Ends = append(append(f.Ends, n[:]...), s.Ends[n])
	}
	return f
}

// sync reads what form wrote.
func (f *formSync) sync() (*Sync, error) {
	s := &Sync{}
	if c := f.Copy; c != nil {
		if len(c.Person) != 32 || len(c.Author) != 32 || len(c.ID) != wire.MessageIDSize {
			return nil, ErrContent
		}
		s.Copy = &Copy{Person: [32]byte(c.Person), Author: [32]byte(c.Author), ID: wire.MessageID(c.ID), Sent: c.Sent, Body: c.Body, Out: c.Out, Timer: c.Timer}
	}
	for _, e := range f.Entries {
		if len(e.Device) != 32 {
			return nil, ErrContent
		}
		s.Entries = append(s.Entries, Entry{Key: e.Key, Value: e.Value, Count: e.Count, Device: [32]byte(e.Device)})
	}
	if len(f.Read)%NameSize != 0 || len(f.Ends)%endSize != 0 {
		return nil, ErrContent
	}
	for b := f.Read; len(b) > 0; b = b[NameSize:] {
		s.Read = append(s.Read, Name(b))
	}
	for b := f.Ends; len(b) > 0; b = b[endSize:] {
		if s.Ends == nil {
			s.Ends = map[Name]byte{}
		}
		s.Ends[Name(b)] = b[NameSize]
	}
	return s, nil
}
