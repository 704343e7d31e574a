package stream

import (
	"bytes"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"testing"
	"testing/iotest"

	"golang.org/x/crypto/chacha20poly1305"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var show = flag.Bool("show", false, "print the examples of the page")

func secret(t testing.TB, b byte) key.Stream {
	t.Helper()
	k, err := key.New[key.StreamRole](bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// sealAll seals chunks, the last one as the last.
func sealAll(t testing.TB, k key.Stream, context string, chunks ...[]byte) (Header, [][]byte) {
	t.Helper()
	s, h, err := NewSealer(rand.Reader, k, []byte(context))
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for i, c := range chunks {
		sealed, err := s.Seal(nil, c, i == len(chunks)-1)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, sealed)
	}
	return h, out
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b)
	return b
}

func TestExampleOfThePage(t *testing.T) {
	s, h, err := NewSealer(bytes.NewReader(bytes.Repeat([]byte{0x22}, prefixSize)), secret(t, 0x11), []byte("example"))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := s.Seal(nil, []byte("the only chunk"), true)
	if err != nil {
		t.Fatal(err)
	}
	if *show {
		fmt.Printf("header %x\nchunk %x\n", h, sealed)
	}
	if want := vectortest.Example(t, "stream.md", "header"); !bytes.Equal(h[:], want) {
		t.Errorf("got header %x, want %x", h, want)
	}
	if want := vectortest.Example(t, "stream.md", "chunk"); !bytes.Equal(sealed, want) {
		t.Errorf("got chunk %x, want %x", sealed, want)
	}
	// By hand, with nothing of the package.
	var keys [64]byte
	key.KDF(keys[:], bytes.Repeat([]byte{0x11}, 32), "tacet/v1/stream/keys", append([]byte{1}, bytes.Repeat([]byte{0x22}, 19)...), []byte("example"))
	aead, _ := chacha20poly1305.NewX(keys[:32])
	nonce := append(bytes.Repeat([]byte{0x22}, 19), 0, 0, 0, 0, 1)
	if got, err := aead.Open(nil, nonce, sealed, nil); err != nil || string(got) != "the only chunk" {
		t.Errorf("by hand: got %q, %v", got, err)
	}
	if !bytes.Equal(h[20:], keys[32:]) {
		t.Errorf("by hand: got commitment %x, want %x", h[20:], keys[32:])
	}
}

func TestEveryLengthComesBack(t *testing.T) {
	for _, n := range []int{0, 1, ChunkSize - 1, ChunkSize, ChunkSize + 1, 2 * ChunkSize, 2*ChunkSize + 7} {
		plain := random(n)
		var sealed bytes.Buffer
		w, err := NewWriter(&sealed, rand.Reader, secret(t, 1), []byte("c"))
		if err != nil {
			t.Fatal(err)
		}
		for rest := plain; len(rest) > 0; { // in odd pieces
			m := min(len(rest), 9973)
			if got, err := w.Write(rest[:m]); got != m || err != nil {
				t.Fatalf("got %d, %v, want %d", got, err, m)
			}
			rest = rest[m:]
		}
		if err := errors.Join(w.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, ErrEnded) {
			t.Errorf("%d bytes: a write after the end got %v, want ErrEnded", n, err)
		}
		chunks := max(1, (n+ChunkSize-1)/ChunkSize)
		if got, want := sealed.Len(), HeaderSize+n+16*chunks; got != want {
			t.Errorf("%d bytes: got %d sealed, want %d", n, got, want)
		}
		for name, src := range map[string]io.Reader{"whole": bytes.NewReader(sealed.Bytes()), "halves": iotest.HalfReader(bytes.NewReader(sealed.Bytes()))} {
			r, err := NewReader(src, secret(t, 1), []byte("c"))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
				t.Errorf("%d bytes, %s: got %d bytes, %v", n, name, len(got), err)
			}
		}
	}
}

// TestNothingElseOpens: everything that can be done to a stream of three chunks
// without its key.
func TestNothingElseOpens(t *testing.T) {
	k := secret(t, 1)
	a, b, c := random(ChunkSize), random(ChunkSize), random(100)
	h, s := sealAll(t, k, "c", a, b, c)
	h2, s2 := sealAll(t, k, "c", a, b, c)
	_, short := sealAll(t, k, "c", a, b)
	join := func(h Header, chunks ...[]byte) []byte { return append(h[:], bytes.Join(chunks, nil)...) }
	flip := func(b []byte, at int) []byte { f := bytes.Clone(b); f[at] ^= 1; return f }
	whole := join(h, s...)
	cases := map[string][]byte{
		"nothing":              nil,
		"a header alone":       h[:],
		"half a header":        h[:HeaderSize/2],
		"without the last":     join(h, s[0], s[1]),
		"cut in a chunk":       whole[:len(whole)-1],
		"cut in the first":     whole[:HeaderSize+10],
		"without the first":    join(h, s[1], s[2]),
		"without the middle":   join(h, s[0], s[2]),
		"swapped":              join(h, s[1], s[0], s[2]),
		"repeated":             join(h, s[0], s[0], s[1], s[2]),
		"the last twice":       join(h, s[0], s[1], s[2], s[2]),
		"a byte more":          append(bytes.Clone(whole), 0),
		"a chunk of another":   join(h, s[0], s2[1], s[2]),
		"another header":       join(h2, s...),
		"the end of another":   join(h, s[0], short[1]),
		"a bit of the version": flip(whole, 0),
		"a bit of the prefix":  flip(whole, 5),
		"a bit of the binding": flip(whole, 25),
		"a bit of a chunk":     flip(whole, HeaderSize+7),
		"a bit of a tag":       flip(whole, HeaderSize+SealedSize-1),
		"a bit of the last":    flip(whole, len(whole)-1),
	}
	for name, in := range cases {
		r, err := NewReader(bytes.NewReader(in), k, []byte("c"))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %v, want ErrOpen", name, err)
		}
		if !bytes.HasPrefix(append(append(bytes.Clone(a), b...), c...), got) {
			t.Errorf("%s: got bytes that were never sealed in that place", name)
		}
	}
	for name, open := range map[string]func() (*Reader, error){
		"another key":     func() (*Reader, error) { return NewReader(bytes.NewReader(whole), secret(t, 2), []byte("c")) },
		"another context": func() (*Reader, error) { return NewReader(bytes.NewReader(whole), k, []byte("d")) },
		"no key":          func() (*Reader, error) { return NewReader(bytes.NewReader(whole), key.Stream{}, []byte("c")) },
	} {
		if _, err := open(); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: got %v, want ErrOpen", name, err)
		}
	}
	// The control: as it was sealed it opens.
	r, err := NewReader(bytes.NewReader(whole), k, []byte("c"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || len(got) != 2*ChunkSize+100 {
		t.Errorf("the control: got %d bytes, %v", len(got), err)
	}
}

func TestChunksHaveOneShape(t *testing.T) {
	k := secret(t, 1)
	s, _, _ := NewSealer(rand.Reader, k, nil)
	for name, f := range map[string]func() ([]byte, error){
		"half a chunk":         func() ([]byte, error) { return s.Seal(nil, make([]byte, 100), false) },
		"an empty one":         func() ([]byte, error) { return s.Seal(nil, nil, false) },
		"one too large":        func() ([]byte, error) { return s.Seal(nil, make([]byte, ChunkSize+1), false) },
		"a last one too large": func() ([]byte, error) { return s.Seal(nil, make([]byte, ChunkSize+1), true) },
	} {
		if out, err := f(); !errors.Is(err, ErrSize) || out != nil {
			t.Errorf("%s: got %d bytes, %v, want ErrSize", name, len(out), err)
		}
	}
	if s.Next() != 0 {
		t.Errorf("what was refused took number %d", s.Next())
	}
	s.Seal(nil, make([]byte, ChunkSize), false)
	if _, err := s.Seal(nil, nil, true); !errors.Is(err, ErrSize) {
		t.Errorf("an empty end after a full chunk: got %v, want ErrSize", err)
	}
	s.Seal(nil, []byte("x"), true)
	if _, err := s.Seal(nil, []byte("y"), true); !errors.Is(err, ErrEnded) || !s.Ended() {
		t.Errorf("after the end: got %v, want ErrEnded", err)
	}
	// The numbers end.
	_, h, _ := NewSealer(rand.Reader, k, nil)
	end, err := ResumeSealer(k, h, nil, 1<<32-1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := end.Seal(nil, make([]byte, ChunkSize), false); err != nil {
		t.Fatal(err)
	}
	if _, err := end.Seal(nil, []byte("x"), true); !errors.Is(err, ErrEnded) {
		t.Errorf("after the greatest number: got %v, want ErrEnded", err)
	}
}

func TestStreamGoesOnWhereItWas(t *testing.T) {
	k := secret(t, 1)
	a, b := random(ChunkSize), random(10)
	s, h, _ := NewSealer(rand.Reader, k, []byte("c"))
	first, _ := s.Seal(nil, a, false)
	again, err := ResumeSealer(k, h, []byte("c"), s.Next())
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Seal(nil, b, true)
	if err != nil {
		t.Fatal(err)
	}
	o, _ := NewOpener(k, h, []byte("c"))
	if _, err := o.Open(nil, second, true); !errors.Is(err, ErrOpen) || o.Next() != 0 {
		t.Errorf("the second chunk first: got %v at %d, want ErrOpen at 0", err, o.Next())
	}
	if got, err := o.Open(nil, first, false); err != nil || !bytes.Equal(got, a) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	o, err = ResumeOpener(k, h, []byte("c"), o.Next())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := o.Open([]byte("before"), second, true); err != nil || !bytes.Equal(got, append([]byte("before"), b...)) || !o.Ended() {
		t.Errorf("got %d bytes, %v, want what was sealed after what was there", len(got), err)
	}
	for name, f := range map[string]func() error{
		"sealer": func() error { _, err := ResumeSealer(secret(t, 2), h, []byte("c"), 1); return err },
		"opener": func() error { _, err := ResumeOpener(k, h, []byte("d"), 1); return err },
	} {
		if err := f(); !errors.Is(err, ErrOpen) {
			t.Errorf("%s with another key or context: got %v, want ErrOpen", name, err)
		}
	}
}

var errDisk = errors.New("disk")

type broken struct{ left int }

func (b *broken) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestErrorsBelowComeThrough(t *testing.T) {
	if _, err := NewWriter(&broken{10}, rand.Reader, secret(t, 1), nil); !errors.Is(err, errDisk) {
		t.Errorf("header: got %v, want the writer's error", err)
	}
	w, err := NewWriter(&broken{HeaderSize + 10}, rand.Reader, secret(t, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := w.Write(make([]byte, 2*ChunkSize)); !errors.Is(err, errDisk) || n > ChunkSize {
		t.Errorf("got %d, %v, want at most a chunk and the writer's error", n, err)
	}
	if err := w.Close(); !errors.Is(err, errDisk) {
		t.Errorf("Close: got %v, want the writer's error", err)
	}
	h, s := sealAll(t, secret(t, 1), "", random(ChunkSize), random(5))
	in := io.MultiReader(bytes.NewReader(h[:]), bytes.NewReader(s[0]), iotest.ErrReader(errDisk))
	r, err := NewReader(in, secret(t, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, errDisk) {
		t.Errorf("got %v, want the reader's error and not that the stream is bad", err)
	}
	if _, _, err := NewSealer(iotest.ErrReader(errDisk), secret(t, 1), nil); !errors.Is(err, errDisk) {
		t.Errorf("randomness: got %v, want its error", err)
	}
}

// FuzzReader: no bytes but those that were sealed come out, and what opens whole
// is the very stream that was sealed.
func FuzzReader(f *testing.F) {
	k, _ := key.New[key.StreamRole](bytes.Repeat([]byte{1}, 32))
	plain := bytes.Repeat([]byte("tacet"), 14000)
	var sealed bytes.Buffer
	w, err := NewWriter(&sealed, bytes.NewReader(make([]byte, prefixSize)), k, nil)
	if err != nil {
		f.Fatal(err)
	}
	w.Write(plain)
	w.Close()
	good := sealed.Bytes()
	f.Add(0, 0, byte(0), []byte{})
	f.Add(HeaderSize, 0, byte(1), []byte{})
	f.Add(HeaderSize+SealedSize, 50, byte(0), []byte("more"))
	f.Fuzz(func(t *testing.T, at, drop int, flip byte, add []byte) {
		if at < 0 || at >= len(good) || drop < 0 || at+drop > len(good) {
			return
		}
		in := append(bytes.Clone(good[:at]), add...)
		in = append(in, good[at+drop:]...)
		if at < len(in) {
			in[at] ^= flip
		}
		r, err := NewReader(bytes.NewReader(in), k, nil)
		if err != nil {
			return
		}
		got, err := io.ReadAll(r)
		if !bytes.HasPrefix(plain, got) {
			t.Fatal("bytes came out that were not sealed there")
		}
		if err == nil && !bytes.Equal(in, good) {
			t.Fatal("another stream opened to its end")
		}
	})
}

func BenchmarkSeal(b *testing.B) {
	s, _, _ := NewSealer(rand.Reader, secret(b, 1), nil)
	chunk, out := make([]byte, ChunkSize), make([]byte, 0, SealedSize)
	b.SetBytes(ChunkSize)
	b.ReportAllocs()
	for b.Loop() {
		s.Seal(out[:0], chunk, false)
	}
}
