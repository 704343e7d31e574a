package stream

import (
	"bytes"
	"errors"
	"io"

	"github.com/tacet-chat/tacet/internal/key"
)

// Writer seals what is written to it: header, then chunks. It keeps one chunk.
type Writer struct {
	w    io.Writer
	s    *Sealer
	buf  []byte // not sealed yet: at most ChunkSize, as only Close knows the last
	out  []byte
	fail error
}

// NewWriter writes the header of a new stream to w. Close ends the stream and
// must be called; it does not close w.
func NewWriter(w io.Writer, rand io.Reader, k key.Stream, context []byte) (*Writer, error) {
	s, h, err := NewSealer(rand, k, context)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(h[:]); err != nil {
		return nil, err
	}
	return &Writer{w: w, s: s, buf: make([]byte, 0, ChunkSize)}, nil
}

// Write implements io.Writer. After an error of the writer below nothing more
// is written.
func (w *Writer) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if w.fail != nil {
			return n, w.fail
		}
		if w.s.Ended() {
			return n, ErrEnded
		}
		if len(w.buf) == ChunkSize { // more follows, so this is not the last
			if w.fail = w.flush(false); w.fail != nil {
				return n, w.fail
			}
		}
		m := min(len(p), ChunkSize-len(w.buf))
		w.buf = append(w.buf, p[:m]...)
		p, n = p[m:], n+m
	}
	return n, w.fail
}

func (w *Writer) flush(last bool) (err error) {
	if w.out, err = w.s.Seal(w.out[:0], w.buf, last); err != nil {
		return err
	}
	clear(w.buf)
	w.buf = w.buf[:0]
	_, err = w.w.Write(w.out)
	return err
}

// Close seals the last chunk. A second call does nothing.
func (w *Writer) Close() error {
	if w.fail != nil || w.s.Ended() {
		return w.fail
	}
	w.fail = w.flush(true)
	return w.fail
}

// Reader opens what a Writer wrote. It returns no byte that did not open, and
// io.EOF only after the last chunk: a caller that must have all or nothing
// reads to there before it acts on any of it.
type Reader struct {
	r    io.Reader
	o    *Opener
	in   []byte // sealed: one chunk, and one byte more if there is one
	out  []byte // opened, not read yet
	fail error
}

// NewReader reads the header of a stream. It fails with ErrOpen where there is
// none of this key and context.
func NewReader(r io.Reader, k key.Stream, context []byte) (*Reader, error) {
	var h Header
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return nil, cut(err)
	}
	o, err := NewOpener(k, h, context)
	if err != nil {
		return nil, err
	}
	return &Reader{r: r, o: o}, nil
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.out) == 0 {
		if r.fail == nil {
			r.fail = r.chunk()
		}
		if r.fail != nil {
			return 0, r.fail
		}
	}
	n := copy(p, r.out)
	clear(r.out[:n])
	r.out = r.out[n:]
	return n, nil
}

// chunk opens the next chunk. One byte is read beyond it, which tells whether
// it is the last.
func (r *Reader) chunk() error {
	if r.o.Ended() {
		return io.EOF
	}
	if r.in == nil {
		r.in = make([]byte, 0, SealedSize+1)
	}
	have := len(r.in)
	n, err := io.ReadFull(r.r, r.in[have:cap(r.in)])
	if err != nil && cut(err) != ErrOpen {
		return err
	}
	r.in = r.in[:have+n]
	sealed, last := r.in, len(r.in) <= SealedSize
	if !last {
		sealed = r.in[:SealedSize]
	}
	if r.out, err = r.o.Open(nil, sealed, last); err != nil {
		return err
	}
	rest := bytes.Clone(r.in[len(sealed):])
	r.in = append(r.in[:0], rest...)
	return nil
}

// cut makes ErrOpen of an end that came too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrOpen
	}
	return err
}
