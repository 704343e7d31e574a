package pad

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

// blocks cuts content into the blocks of the message id.
func blocks(t testing.TB, id byte, content []byte) (list []*Block) {
	t.Helper()
	parts, err := Split(content)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range parts {
		b := sample()
		b.Logical, b.Part, b.Parts, b.Content = wire.MessageID{id}, byte(i), byte(len(parts)), p
		list = append(list, b)
	}
	return list
}

func held(j *Joiner) (n int) {
	for _, m := range j.open {
		for _, p := range m.parts {
			n += len(p)
		}
	}
	return n
}

func TestJoinerTakesAnyOrderAndRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, MaxContent, MaxContent + 1, 10_000, MaxLogical} {
		content := text(n)
		list := blocks(t, 1, content)
		queue := append(append([]*Block{}, list...), list[:len(list)-1]...)
		r.Shuffle(len(queue), func(i, k int) { queue[i], queue[k] = queue[k], queue[i] })
		var j Joiner
		done := 0
		for _, b := range queue {
			got, ok, err := j.Add(b)
			if err != nil {
				t.Fatalf("%d bytes: %v", n, err)
			}
			if ok {
				done++
				if !bytes.Equal(got, content) {
					t.Errorf("%d bytes: got %d others", n, len(got))
				}
			}
		}
		// The last part is there once, so the message completes once.
		if done != 1 {
			t.Errorf("%d bytes: completed %d times, want once", n, done)
		}
	}
}

func TestJoinerKeepsItsOwnCopy(t *testing.T) {
	content := text(1500)
	list := blocks(t, 1, bytes.Clone(content))
	var j Joiner
	if _, _, err := j.Add(list[0]); err != nil {
		t.Fatal(err)
	}
	clear(list[0].Content)
	if got, ok, err := j.Add(list[1]); err != nil || !ok || !bytes.Equal(got, content) {
		t.Errorf("got %v, %v, want the content as it was", ok, err)
	}
	single := blocks(t, 2, []byte("abc"))[0]
	got, _, err := j.Add(single)
	if err != nil {
		t.Fatal(err)
	}
	single.Content[0] = 'x'
	if string(got) != "abc" {
		t.Errorf("got %q, want abc", got)
	}
}

func TestNinthMessageIsRefusedAndTheEightStay(t *testing.T) {
	var j Joiner
	content := text(2000)
	for id := range byte(8) {
		if _, _, err := j.Add(blocks(t, id, content)[0]); err != nil {
			t.Fatal(err)
		}
	}
	ninth := blocks(t, 8, content)
	if _, _, err := j.Add(ninth[0]); !errors.Is(err, ErrFull) {
		t.Errorf("ninth: got %v, want %v", err, ErrFull)
	}
	if _, ok, err := j.Add(blocks(t, 9, []byte("short"))[0]); err != nil || !ok {
		t.Errorf("a message of one part: got %v, %v, want it through", ok, err)
	}
	j.Forget(wire.MessageID{3})
	if _, _, err := j.Add(ninth[0]); err != nil {
		t.Errorf("after Forget: got %v", err)
	}
	for _, id := range []byte{0, 1, 2, 4, 5, 6, 7, 8} {
		list := blocks(t, id, content)
		var done bool
		for _, b := range list {
			_, ok, err := j.Add(b)
			if err != nil {
				t.Fatal(err)
			}
			done = done || ok
		}
		if !done {
			t.Errorf("message %d does not complete", id)
		}
	}
	if len(j.open) != 0 {
		t.Errorf("got %d open at the end, want none", len(j.open))
	}
}

func TestContradictionsAreRefusedAndChangeNothing(t *testing.T) {
	content := text(2 * MaxContent)
	list := blocks(t, 1, content)
	var j Joiner
	if _, _, err := j.Add(list[0]); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b *Block){
		"another content": func(b *Block) { b.Content = make([]byte, MaxContent) },
		"more parts":      func(b *Block) { b.Parts = 3 },
		"one part":        func(b *Block) { b.Parts = 1 },
		"no parts":        func(b *Block) { b.Parts = 0 },
		"part at parts":   func(b *Block) { b.Part = 2 },
		"not full":        func(b *Block) { b.Content = b.Content[1:] },
		"too long":        func(b *Block) { b.Content = make([]byte, MaxContent+1) },
	} {
		b := *list[0]
		change(&b)
		if got, ok, err := j.Add(&b); got != nil || ok || !errors.Is(err, ErrBlock) {
			t.Errorf("%s: got %v, %v, want %v", name, ok, err, ErrBlock)
		}
		if held(&j) != MaxContent || len(j.open) != 1 {
			t.Errorf("%s: got %d bytes of %d messages, want %d of 1", name, held(&j), len(j.open), MaxContent)
		}
	}
	if got, ok, err := j.Add(list[1]); err != nil || !ok || !bytes.Equal(got, content) {
		t.Errorf("the last part: got %v, %v, want the content", ok, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	var j Joiner
	for id := range byte(255) {
		for _, b := range blocks(t, id, make([]byte, MaxLogical))[:MaxParts-1] {
			if _, _, err := j.Add(b); err != nil && !errors.Is(err, ErrFull) {
				t.Fatal(err)
			}
		}
	}
	if want := MaxOpen * (MaxLogical - MaxContent); held(&j) != want || len(j.open) != MaxOpen {
		t.Errorf("got %d bytes of %d messages, want %d of %d", held(&j), len(j.open), want, MaxOpen)
	}
}
