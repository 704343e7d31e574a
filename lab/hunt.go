package lab

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// errNeedle is returned for a needle that would turn up by chance.
var errNeedle = errors.New("needle is too short to mean anything")

// NewHunt prepares a hunt. Needles that are equal count once.
func NewHunt(needles []Needle) (*Hunt, error) {
	h := &Hunt{first: new([1 << 16]bool), by: map[uint32][]int{}, most: maxHits}
	seen := map[string]bool{}
	for _, n := range needles {
		if len(n.Bytes) < shortest {
			return nil, fmt.Errorf("%s: %w", n.What, errNeedle)
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
	h.search(place, b)
}

func (h *Hunt) search(place string, b []byte) {
	for i := 0; i+shortest <= len(b); i++ {
		if !h.first[binary.BigEndian.Uint16(b[i:])] {
			continue
		}
		for _, n := range h.by[binary.BigEndian.Uint32(b[i:])] {
			f := h.forms[n]
			if len(b)-i < len(f.b) || string(b[i:i+len(f.b)]) != string(f.b) {
				continue
			}
			if len(h.Hits) < h.most {
				h.Hits = append(h.Hits, Hit{f.what, f.name, place, i})
			}
		}
	}
}

// Tree looks through every regular file below a directory, and its name.
func (h *Hunt) Tree(dir string) error {
	names, err := regular(dir)
	if err != nil {
		return fmt.Errorf("hunting: %w", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return fmt.Errorf("hunting: %w", err)
		}
		h.Search(name, b)
		h.search("the name of "+name, []byte(name))
	}
	return nil
}

// Control proves that the hunt finds what is there: it plants every form of
// every needle at a random place of a copy of what is below dir, in a directory
// that is thrown away, and hunts there. It returns how many were planted, and
// how many of them were found where they were.
func (h *Hunt) Control(dir string, dice *rand.Rand) (planted, found int, err error) {
	scratch, err := os.MkdirTemp("", "tacet-hunt-")
	if err != nil {
		return 0, 0, fmt.Errorf("planting: %w", err)
	}
	defer os.RemoveAll(scratch)
	files, err := regular(dir)
	if err != nil || len(files) == 0 {
		return 0, 0, fmt.Errorf("planting in %d files: %w", len(files), err)
	}
	shares := make([][]form, len(files))
	for _, f := range h.forms {
		i := dice.IntN(len(files))
		shares[i] = append(shares[i], f)
	}
	want := map[Hit]bool{}
	for i, name := range files {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return 0, 0, fmt.Errorf("planting: %w", err)
		}
		copied := filepath.Join(scratch, fmt.Sprint(i))
		if err := os.WriteFile(copied, plant(b, shares[i], fmt.Sprint(i), want, dice), 0o600); err != nil {
			return 0, 0, fmt.Errorf("planting: %w", err)
		}
	}
	again := &Hunt{forms: h.forms, first: h.first, by: h.by, most: math.MaxInt}
	if err := again.Tree(scratch); err != nil {
		return 0, 0, fmt.Errorf("hunting what was planted: %w", err)
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

// plant puts forms into a copy of b, and what a hunt must find into want.
func plant(b []byte, forms []form, place string, want map[Hit]bool, dice *rand.Rand) (out []byte) {
	at := make([]int, len(forms))
	for i := range at {
		at[i] = dice.IntN(len(b) + 1)
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

// regular returns the names of the regular files below a directory.
func regular(dir string) (names []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		names = append(names, name)
		return err
	})
	return names, err
}
