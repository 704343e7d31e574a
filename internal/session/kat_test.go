package session

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

// answer is one named value of a known-answer file.
type answer struct {
	Name string `json:"name"`
	Hex  string `json:"hex"`
}

const (
	katFile   = "testdata/conversation2.json"
	katSuite1 = "testdata/conversation.json" // frozen for good: what devices stored in suite 1
)

// frozenAnswers reads the file, unless it is to be written anew.
func frozenAnswers(t testing.TB, path string) (list []answer) {
	t.Helper()
	if *update && path == katFile {
		return nil
	}
	if err := json.Unmarshal(ok[[]byte](t)(os.ReadFile(path)), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// started is how the known conversation begins. Encapsulation has its own
// randomness, so the hello and the initiator's state are part of the file: given
// them, everything after is determined.
func started(t *testing.T, frozen []answer, a, b *person, x *ask) (hello, state []byte) {
	t.Helper()
	if *update {
		s, h, err := Start(rand.Reader, a.self, b.peer(x), offer, "Ann", block(0))
		if err != nil {
			t.Fatal(err)
		}
		return ok[[]byte](t)(h.Append(nil)), s.Append(nil)
	}
	for i, want := range []string{"hello", "initiator after the hello"} {
		if i >= len(frozen) || frozen[i].Name != want {
			t.Fatalf("%s does not begin with %q", katFile, want)
		}
	}
	return ok[[]byte](t)(hex.DecodeString(frozen[0].Hex)), ok[[]byte](t)(hex.DecodeString(frozen[1].Hex))
}

// TestKnownConversation freezes a session from its hello on: accepting, the
// associated data, every message and both states at the end.
func TestKnownConversation(t *testing.T) {
	frozen := frozenAnswers(t, katFile)
	a, b := newPerson(t, "known ann", 2), newPerson(t, "known bob", 1)
	x := b.ask(t, "known", true)
	hello, state := started(t, frozen, a, b, x)
	list := []answer{{"hello", hexOf(hello)}, {"initiator after the hello", hexOf(state)}}
	add := func(name string, b []byte) { list = append(list, answer{name, hexOf(b)}) }

	sa := ok[*Session](t)(Parse(state))
	sb, first, err := b.accept(x, ok[*Hello](t)(ParseHello(hello)))
	if err != nil || !bytes.Equal(first, block(0)) || sa.ad != sb.ad {
		t.Fatalf("accepting: got %v, want the first block and one associated data", err)
	}
	add("manifest of the initiator", a.self.Manifest.Append(nil))
	add("manifest of the responder", b.self.Manifest.Append(nil))
	add("prekeys", x.public.Append(nil))
	add("private prekeys", x.private.Append(nil))
	add("responder DH private", b.self.DH.Bytes())
	add("bundle hash", bundle[:])
	add("associated data", sb.ad[:])
	add("responder after the hello", sb.Append(nil))
	r := stream("known conversation")
	for n := range 4 {
		from, to := sb, sa
		if n == 2 {
			from, to = sa, sb
		}
		m := ok[[]byte](t)(from.Seal(r, block(n)))
		if got, err := to.Open(r, now, m); err != nil || !bytes.Equal(got, block(n)) {
			t.Fatalf("message %d: got %v, want its block", n, err)
		}
		add(fmt.Sprint("message ", n), m)
		inner := InnerHash(m)
		add(fmt.Sprint("inner hash ", n), inner[:])
	}
	add("initiator at the end", sa.Append(nil))
	add("responder at the end", sb.Append(nil))

	if *update {
		text := ok[[]byte](t)(json.MarshalIndent(list, "", " "))
		if err := os.WriteFile(katFile, append(text, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(list) != len(frozen) {
		t.Fatalf("got %d answers, want %d", len(list), len(frozen))
	}
	for i := range list {
		if list[i] != frozen[i] {
			t.Errorf("got %s %s, want %s %s", list[i].Name, list[i].Hex, frozen[i].Name, frozen[i].Hex)
		}
	}
}

// TestStoredSessionsOfSuite1 goes on with sessions as devices of suite 1 stored
// them: every message and both states at the end are what they were then.
func TestStoredSessionsOfSuite1(t *testing.T) {
	frozen := map[string][]byte{}
	for _, a := range frozenAnswers(t, katSuite1) {
		frozen[a.Name] = ok[[]byte](t)(hex.DecodeString(a.Hex))
	}
	sa := ok[*Session](t)(Parse(frozen["initiator after the hello"]))
	sb := ok[*Session](t)(Parse(frozen["responder after the hello"]))
	r := stream("known conversation")
	for n := range 4 {
		from, to := sb, sa
		if n == 2 {
			from, to = sa, sb
		}
		m := ok[[]byte](t)(from.Seal(r, block(n)))
		if !bytes.Equal(m, frozen[fmt.Sprint("message ", n)]) {
			t.Errorf("message %d: got other bytes, want those of then", n)
		}
		if got, err := to.Open(r, now, m); err != nil || !bytes.Equal(got, block(n)) {
			t.Fatalf("message %d: got %v, want its block", n, err)
		}
	}
	for name, s := range map[string]*Session{"initiator at the end": sa, "responder at the end": sb} {
		if got := s.Append(nil); !bytes.Equal(got, frozen[name]) {
			t.Errorf("%s: got another state, want that of then", name)
		}
		if s.Suite() != 1 || s.Epoch() != 0 {
			t.Errorf("%s: got suite %d and epoch %d, want 1 and none", name, s.Suite(), s.Epoch())
		}
	}
	// The hello of then begins nothing any more.
	if _, err := ParseHello(frozen["hello"]); !errors.Is(err, ErrSuite) {
		t.Errorf("got %v, want %v", err, ErrSuite)
	}
}

// TestSpecExamples compares the pages' bytes with the code's.
func TestSpecExamples(t *testing.T) {
	inner := InnerHash(make([]byte, MessageSize))
	if want := vectortest.Example(t, "session.md", "inner-hash"); !bytes.Equal(inner[:], want) {
		t.Errorf("inner hash: got %x, want %x", inner, want)
	}
	a, b := newPerson(t, "ann", 1), newPerson(t, "bob", 1)
	_, h, err := Start(stream("x"), a.self, b.peer(b.ask(t, "b", true)), offer[:2], "Ann", block(0))
	if err != nil {
		t.Fatal(err)
	}
	raw := ok[[]byte](t)(h.Append(nil))
	if got, want := raw[:5], vectortest.Example(t, "hello.md", "head"); !bytes.Equal(got, want) {
		t.Errorf("hello's head: got %x, want %x", got, want)
	}
	end := raw[len(raw)-MessageSize-7 : len(raw)-MessageSize]
	if want := vectortest.Example(t, "hello.md", "route-and-name"); !bytes.Equal(end, want) {
		t.Errorf("route and name: got %x, want %x", end, want)
	}
	sum := (&Hello{Suite: 2, Manifest: a.self.Manifest, Route: offer, Name: "Ann"}).bind([32]byte{1})
	if again := (&Hello{Suite: 2, Manifest: a.self.Manifest, Route: offer, Name: "Ann", First: [MessageSize]byte{1}}).bind([32]byte{1}); again != sum {
		t.Error("got other associated data for another first message, want the same: it is encrypted under it")
	}
}
