package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"regexp"
	"strings"

	"github.com/tacet-chat/tacet/internal/hunt"
)

// Hunted says how much was searched, and for what.
type Hunted struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Memory  int64 `json:"memory"`  // bytes of the relay's process; 0: it was not searched
	Needles int   `json:"needles"` // known things that must not be there
	Forms   int   `json:"forms"`   // ways in which they may have been written
	Planted int   `json:"planted"` // in a copy, to prove the search
	Found   int   `json:"found"`   // of those
}

// Sort says what a place may hold.
type Sort byte

// Sorts of places.
const (
	Stored Sort = iota // a database: its own schema and sealed bytes
	Said               // a log or metrics: words of ours that name nobody
	Kept               // keys and certificates: needles alone are looked for
)

const (
	// longText is how many printable characters in a row are no chance: in a
	// gigabyte of random bytes there are 40 with a probability of 1 in 100 million.
	longText = 40
	// piece is how much of a file is in memory at a time, in bytes.
	piece = 4 << 20
	// maxFindings bounds what one place can add to a report.
	maxFindings = 20
)

// said is what names somebody or something, wherever a relay writes words. A
// version such as 1.2.3 is none of them, and neither is a day.
var said = []struct {
	what, sample string
	expr         *regexp.Regexp
}{
	{"a network address", "203.0.113.77", regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)},
	{"a network address", "2001:db8:77::5", regexp.MustCompile(`\b(?:[0-9a-fA-F]{1,4}:){2,7}(?::|[0-9a-fA-F]{1,4})`)},
	{"a key, an address or an id", "5a1fd3c77be6480c92ab5533ef019d7c", regexp.MustCompile(`\b[0-9a-fA-F]{32,}\b`)},
	{"a key, an address or an id", "mZ3xQh8vT0uYk5RrW1sBn7pLd2eCfAgJ", regexp.MustCompile(`\b[A-Za-z0-9_-]*(?:[a-z][0-9A-Z]|[0-9A-Z][a-z])[A-Za-z0-9_-]{24,}\b`)},
	{"a time of day", "23:59:58", regexp.MustCompile(`\b[0-2]?\d:[0-5]\d:[0-5]\d\b`)},
	{"an e-mail address", "ada@mail.example", regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+\.[A-Za-z]{2,}`)},
	{"a link with a secret", "tacet://relay.example/i#AeG1ZM", regexp.MustCompile(`tacet://\S+#\S+`)},
}

// canary is a text that somebody might have written.
const canary = "Meet me at the old bridge at nine, and tell nobody about it."

// canaryFound is what a search says of it.
var canaryFound = fmt.Sprintf("a text of %d characters", len(canary))

// Search is one hunt. It notes what it finds in a report.
type Search struct {
	report *Report
	known  *hunt.Hunt // nil without needles
	noted  int        // hits of known that are in the report
	own    []byte     // texts that stores have by right: their schemas
}

// NewSearch prepares a hunt. Needles that are too short to mean anything are an
// error. own are texts that a store has by right, such as its schema.
func (r *Report) NewSearch(needles []hunt.Needle, own ...string) (*Search, error) {
	s := &Search{report: r, own: []byte(strings.Join(own, "\n"))}
	if len(needles) > 0 {
		known, err := hunt.New(needles)
		if err != nil {
			return nil, err
		}
		s.known = known
		r.Hunted.Needles, r.Hunted.Forms = max(r.Hunted.Needles, known.Needles()), max(r.Hunted.Forms, known.Forms())
	}
	return s, nil
}

// Files searches every regular file. sort says what each may hold.
func (s *Search) Files(files fs.FS, sort func(name string) Sort) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // it went away
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		s.needles("the name of "+name, []byte(name))
		err = s.file(files, name, sort(name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// file searches one file, piece by piece. Pieces overlap by as much as the
// longest thing that is looked for.
func (s *Search) file(files fs.FS, name string, sort Sort) error {
	f, err := files.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	s.report.Hunted.Files++
	const overlap = 4096
	b := make([]byte, piece)
	kept := 0
	for {
		n, err := io.ReadFull(f, b[kept:])
		s.report.Hunted.Bytes += int64(n)
		s.search(name, b[:kept+n], sort)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil
		} else if err != nil {
			return err
		}
		kept = copy(b, b[len(b)-overlap:])
	}
}

// Memory searches a piece of the memory of the relay's process for needles.
func (s *Search) Memory(b []byte) {
	s.report.Hunted.Memory += int64(len(b))
	s.needles("memory", b)
}

// Text searches words that a relay says.
func (s *Search) Text(place string, b []byte) {
	s.report.Hunted.Files++
	s.report.Hunted.Bytes += int64(len(b))
	s.search(place, b, Said)
}

func (s *Search) search(place string, b []byte, sort Sort) {
	s.report.Facts++
	s.needles(place, b)
	for _, found := range looks(b, sort, s.own) {
		if s.count(place) < maxFindings {
			s.report.find("hunt", place, found, "nothing of this sort may be kept or said: tell those who make Tacet, and stop the relay if it goes on")
		}
	}
}

func (s *Search) count(place string) (n int) {
	for _, f := range s.report.Findings {
		if f.Where == place {
			n++
		}
	}
	return n
}

// needles looks for what is known.
func (s *Search) needles(place string, b []byte) {
	if s.known == nil {
		return
	}
	s.known.Search(place, b)
	for _, hit := range s.known.Hits[s.noted:] {
		if s.count(place) < maxFindings {
			s.report.find("hunt", place, fmt.Sprintf("%s, as %s, at byte %d", hit.What, hit.Form, hit.Offset), "this was planted, or is known to be secret: the relay kept what it must not")
		}
	}
	s.noted = len(s.known.Hits)
}

// looks says what in b looks as if it must not be there.
func looks(b []byte, sort Sort, own []byte) (all []string) {
	switch sort {
	case Said:
		for _, l := range said {
			for range l.expr.FindAll(b, -1) {
				all = append(all, "something that looks like "+l.what)
			}
		}
	case Stored:
		for _, run := range runs(b) {
			if n := foreign(run, own); n >= longText {
				all = append(all, fmt.Sprintf("a text of %d characters", n))
			}
		}
	}
	return all
}

// ownText is how many characters in a row must be ours to be taken for ours.
const ownText = 12

// foreign returns how many characters of a run are not part of own texts, which
// may have random characters beside them.
func foreign(run, own []byte) (n int) {
	covered := 0 // up to here
	for i := range run {
		if end := i + ownText; end <= len(run) && bytes.Contains(own, run[i:end]) {
			covered = end
		}
		if i >= covered {
			n++
		}
	}
	return n
}

// runs returns the runs of longText and more printable characters.
func runs(b []byte) (all [][]byte) {
	from := 0
	for i := 0; i <= len(b); i++ {
		if i < len(b) && b[i] >= ' ' && b[i] <= '~' {
			continue
		}
		if i-from >= longText {
			all = append(all, b[from:i])
		}
		from = i + 1
	}
	return all
}

// Control proves the search: it plants all needles in all forms, texts and one
// sample of all that names somebody in copies, in memory, of what was searched,
// and searches them the same way.
func (s *Search) Control(files fs.FS, sort func(name string) Sort, dice *rand.Rand) error {
	h := &s.report.Hunted
	if s.known != nil {
		planted, found, err := s.known.Control(files, dice.IntN)
		if err != nil {
			return err
		}
		h.Planted, h.Found = h.Planted+planted, h.Found+found
	}
	for _, l := range said {
		h.Planted++
		h.Found += min(1, len(looks([]byte("level=INFO msg=ready from="+l.sample+" tls=on\n"), Said, nil)))
	}
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || sort(name) != Stored {
			return skipGone(err)
		}
		b, err := head(files, name)
		if err != nil {
			return skipGone(err)
		}
		before := count(looks(b, Stored, s.own), canaryFound)
		at := dice.IntN(len(b) + 1)
		b = bytes.Join([][]byte{b[:at], []byte(canary), b[at:]}, []byte{0})
		h.Planted++
		if count(looks(b, Stored, s.own), canaryFound) > before {
			h.Found++
		}
		return nil
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

func skipGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
