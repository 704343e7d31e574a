// Package hunt looks for byte strings that must not be there, in whatever
// somebody kept: as they are, as hex, as base64 at every alignment and by their
// halves. It can prove of itself that it would find them, by planting every
// form in a copy of what it searched.
//
// It has no opinion on what must not be found, and reads no disk by itself:
// files come as an fs.FS. Text that was compressed or encrypted it does not find.
package hunt

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// Needle is one thing that must not be found.
type Needle struct {
	What  string // for the report
	Bytes []byte
}

// Hit is one place where something was found that must not be there.
type Hit struct {
	What, Form, Place string
	Offset            int
}

func (h Hit) String() string {
	return fmt.Sprintf("%s, as %s, in %s at byte %d", h.What, h.Form, h.Place, h.Offset)
}

// Hunt looks for needles in what somebody kept: as they are, as hex and as
// base64 of both alphabets at all three alignments, and by their halves, as the
// pages of a database may have cut them.
type Hunt struct {
	Files int   // that were searched so far
	Bytes int64 // in them
	Hits  []Hit // at most maxHits

	needles int
	forms   []form
	first   *[1 << 16]bool   // the first two bytes of any form
	by      map[uint32][]int // forms by their first four bytes
	longest int              // bytes of the longest form, less one
	most    int              // hits
}

// form is one way in which a needle may have been written down.
type form struct {
	what string // the needle's
	name string
	b    []byte
}

const (
	shortest  = 4  // bytes of a form: shorter ones turn up by chance
	halved    = 16 // bytes of a needle that is looked for by its halves as well
	alignment = 3  // bytes of a group of base64
	maxHits   = 100
)

// ErrNeedle is returned for a needle that would turn up by chance.
var ErrNeedle = errors.New("needle is too short to mean anything")

// New prepares a hunt. Needles that are equal count once.
func New(needles []Needle) (*Hunt, error) {
	h := &Hunt{first: new([1 << 16]bool), by: map[uint32][]int{}, most: maxHits}
	seen := map[string]bool{}
	for _, n := range needles {
		if len(n.Bytes) < shortest {
			return nil, fmt.Errorf("%s: %w", n.What, ErrNeedle)
		}
		if seen[string(n.Bytes)] {
			continue
		}
		seen[string(n.Bytes)] = true
		for _, f := range forms(n.Bytes) {
			f.what = n.What
			h.first[binary.BigEndian.Uint16(f.b)] = true
			k := binary.BigEndian.Uint32(f.b)
			h.by[k] = append(h.by[k], len(h.forms))
			h.forms = append(h.forms, f)
			h.longest = max(h.longest, len(f.b)-1)
		}
		h.needles++
	}
	return h, nil
}

// forms returns every way in which bytes may have been written down.
func forms(b []byte) (all []form) {
	seen := map[string]bool{}
	add := func(name string, f []byte) {
		if len(f) >= shortest && !seen[string(f)] {
			seen[string(f)] = true
			all = append(all, form{name: name, b: f})
		}
	}
	add("it is", b)
	x := hex.EncodeToString(b)
	add("hex", []byte(x))
	add("HEX", []byte(strings.ToUpper(x)))
	for _, e := range []struct {
		name string
		enc  *base64.Encoding
	}{{"base64", base64.RawStdEncoding}, {"base64url", base64.RawURLEncoding}} {
		for shift := range alignment {
			s := e.enc.EncodeToString(append(make([]byte, shift), b...))
			// Without the characters that depend on what stands beside.
			add(fmt.Sprintf("%s+%d", e.name, shift), []byte(s[(shift*8+5)/6:(shift+len(b))*8/6]))
		}
	}
	if len(b) >= halved {
		add("its first half", b[:len(b)/2])
		add("its second half", b[len(b)/2:])
	}
	return all
}

// Needles and Forms say how much is looked for.
func (h *Hunt) Needles() int { return h.needles }

// Forms is the number of byte strings that are looked for.
func (h *Hunt) Forms() int { return len(h.forms) }

// Search looks through the bytes of one file, or of whatever else was kept.
func (h *Hunt) Search(place string, b []byte) {
	h.Files++
	h.Bytes += int64(len(b))
	h.search(place, 0, b, 0)
}

// search looks for forms that begin before the last tail bytes of b. What is
// found is said to be at its place in b plus from.
func (h *Hunt) search(place string, from int, b []byte, tail int) {
	for i := 0; i+shortest <= len(b) && i < len(b)-tail; i++ {
		if !h.first[binary.BigEndian.Uint16(b[i:])] {
			continue
		}
		for _, n := range h.by[binary.BigEndian.Uint32(b[i:])] {
			f := h.forms[n]
			if len(b)-i < len(f.b) || string(b[i:i+len(f.b)]) != string(f.b) {
				continue
			}
			if len(h.Hits) < h.most {
				h.Hits = append(h.Hits, Hit{f.what, f.name, place, from + i})
			}
		}
	}
}

// piece is how much of a file is in memory at a time, in bytes.
const piece = 8 << 20

// Tree looks through every regular file of a file system, and its name. A file
// that went away in the meantime is passed over.
func (h *Hunt) Tree(files fs.FS) error {
	names, err := regular(files)
	if err != nil {
		return fmt.Errorf("hunting: %w", err)
	}
	for _, name := range names {
		if err := h.file(files, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("hunting: %w", err)
		}
		h.search("the name of "+name, 0, []byte(name), 0)
	}
	return nil
}

// file looks through one file, piece by piece; pieces overlap by what the longest
// form may lack.
func (h *Hunt) file(files fs.FS, name string) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	h.Files++
	b := make([]byte, piece+h.longest)
	kept, at := 0, 0 // bytes of the piece before; where b begins
	for {
		n, err := io.ReadFull(f, b[kept:])
		h.Bytes += int64(n)
		last := err != nil
		if last && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		tail := h.longest
		if last {
			tail = 0
		}
		end := kept + n
		h.search(name, at, b[:end], tail)
		if last {
			return nil
		}
		copy(b, b[end-tail:end])
		kept, at = tail, at+end-tail
	}
}

// Control proves that the hunt finds what is there: it plants every form of
// every needle at a random place of a copy of files, in memory, and hunts there.
// dice returns a number in [0, n). It returns how many were planted, and how many
// of them were found where they were.
func (h *Hunt) Control(files fs.FS, dice func(n int) int) (planted, found int, err error) {
	names, err := regular(files)
	if err != nil || len(names) == 0 {
		return 0, 0, fmt.Errorf("planting in %d files: %w", len(names), err)
	}
	shares := make([][]form, len(names))
	for _, f := range h.forms {
		i := dice(len(names))
		shares[i] = append(shares[i], f)
	}
	again := &Hunt{forms: h.forms, first: h.first, by: h.by, longest: h.longest, most: h.most + len(h.forms)*4}
	want := map[Hit]bool{}
	for i, name := range names {
		b, err := head(files, name)
		if errors.Is(err, fs.ErrNotExist) {
			b, err = nil, nil // it went away: as good as an empty one
		}
		if err != nil {
			return 0, 0, fmt.Errorf("planting: %w", err)
		}
		again.Search(name, plant(b, shares[i], name, want, dice))
	}
	planted = len(want)
	for _, hit := range again.Hits {
		if want[hit] {
			found++
			delete(want, hit)
		}
	}
	return planted, found, nil
}

// head reads at most a piece of a file.
func head(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, piece))
}

// plant puts forms into a copy of b, and what a hunt must find into want.
func plant(b []byte, forms []form, place string, want map[Hit]bool, dice func(n int) int) (out []byte) {
	at := make([]int, len(forms))
	for i := range at {
		at[i] = dice(len(b) + 1)
	}
	slices.Sort(at)
	done := 0
	for i, f := range forms {
		out = append(out, b[done:at[i]]...)
		done = at[i]
		want[Hit{f.what, f.name, place, len(out)}] = true
		out = append(out, f.b...)
	}
	return append(out, b[done:]...)
}

// regular returns the names of the regular files of a file system.
func regular(files fs.FS) (names []string, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away
		}
		if err == nil && d.Type().IsRegular() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}
