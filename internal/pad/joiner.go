package pad

import (
	"bytes"

	"github.com/tacet-chat/tacet/internal/wire"
)

// MaxOpen is how many logical messages of several parts one Joiner has under way.
const MaxOpen = 8

// Joiner joins the parts of the messages of one sender device. The zero value
// is ready. It is for one goroutine at a time and keeps at most MaxOpen ×
// MaxLogical bytes. It has no clock: who gives up on a message calls Forget.
type Joiner struct {
	open map[wire.MessageID]*joining
}

type joining struct {
	parts [][]byte // by part; nil: not here yet
	have  int
}

// Add takes a block. When it was the last part missing, Add returns the whole
// content and true, and has then forgotten the message. A part that came before
// is no error. It fails with ErrBlock when parts contradict each other and with
// ErrFull; it keeps what it had.
func (j *Joiner) Add(b *Block) (content []byte, done bool, err error) {
	if err := b.check(); err != nil {
		return nil, false, err
	}
	m := j.open[b.Logical]
	if m == nil && b.Parts == 1 {
		return bytes.Clone(b.Content), true, nil
	}
	if m == nil {
		if len(j.open) >= MaxOpen {
			return nil, false, ErrFull
		}
		m = &joining{parts: make([][]byte, b.Parts)}
		if j.open == nil {
			j.open = make(map[wire.MessageID]*joining, 1)
		}
		j.open[b.Logical] = m
	}
	if len(m.parts) != int(b.Parts) {
		return nil, false, ErrBlock
	}
	if old := m.parts[b.Part]; old != nil {
		if !bytes.Equal(old, b.Content) {
			return nil, false, ErrBlock
		}
		return nil, false, nil
	}
	m.parts[b.Part] = bytes.Clone(b.Content)
	if m.have++; m.have < len(m.parts) {
		return nil, false, nil
	}
	delete(j.open, b.Logical)
	return bytes.Join(m.parts, nil), true, nil
}

// Forget gives up on a message and frees what arrived of it.
func (j *Joiner) Forget(id wire.MessageID) { delete(j.open, id) }
