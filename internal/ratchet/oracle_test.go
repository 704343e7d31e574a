package ratchet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// python is Debian's own interpreter, which sees Debian's packages.
const python = "/usr/bin/python3"

// event is one step of a scenario: a message is encrypted, or one is opened.
type event struct {
	Op      string `json:"op"` // send or recv
	Who     string `json:"who"`
	Block   string `json:"block,omitempty"`
	Nonces  string `json:"nonces,omitempty"` // of the header 12, of the block 12
	Head    string `json:"head,omitempty"`   // the sealed header 146
	Field   string `json:"field,omitempty"`  // of the braid 78, which the oracles do not know
	Braid   string `json:"braid,omitempty"`  // and the key that it stands for
	Message int    `json:"message"`          // which message is opened
}

// scenario is what an oracle needs to replay a conversation.
type scenario struct {
	SK     string              `json:"sk"`
	Signed string              `json:"signed"`
	AD     string              `json:"ad"`
	Keys   map[string][]string `json:"keys"` // ratchet private keys in the order of their making
	Events []event             `json:"events"`
}

// outcome is what happened at one event, here or at the oracle.
type outcome struct {
	Message string `json:"message"` // send: whole message; the reference gives it
	DH      string `json:"dh"`      // send: header fields and nonce ‖ body; the library gives them
	PN      uint32 `json:"pn"`
	N       uint32 `json:"n"`
	Body    string `json:"body"`
	Key     string `json:"key"`     // EC key of the message
	Block   string `json:"block"`   // recv
	Refused bool   `json:"refused"` // recv
}

// tape passes randomness on and notes it.
type tape struct {
	r     io.Reader
	notes [][]byte
}

func (t *tape) Read(b []byte) (int, error) {
	n, err := io.ReadFull(t.r, b)
	t.notes = append(t.notes, bytes.Clone(b[:n]))
	return n, err
}

// keys notes the ratchet keys that one operation made.
func (s *scenario) keys(who string, tp *tape) {
	for _, n := range tp.notes {
		s.Keys[who] = append(s.Keys[who], hexOf(n))
	}
}

// play runs a random conversation of a suite with losses, late and repeated
// messages.
func play(t *testing.T, suite byte, seed uint64, steps int) (scenario, []outcome) {
	d, r := dice(seed), stream(fmt.Sprint("oracle ", seed))
	sk, signed := secretOf[key.SharedRole](t, r), secretOf[key.DHRole](t, r)
	s := scenario{SK: hexOf(sk.Bytes()), Signed: hexOf(signed.Bytes()), AD: hexOf(ad), Keys: map[string][]string{"a": {}, "b": {}}}
	tp := &tape{r: r}
	a, b := ends(t, suite, tp, sk, signed)
	s.keys("a", tp)
	people, names := [2]*State{a, b}, [2]string{"a", "b"}
	var out []outcome
	var ms [][]byte
	var waiting [2][]int // messages to open, per person
	send := func(who int) {
		p, tp := people[who], &tape{r: r}
		_, ec := stepChain(p.send)
		h := header{dh: p.ownPublic, pn: p.pn, n: p.ns}
		was := p.Clone()
		m := encrypt(t, p, tp, len(ms))
		bk, field := braidKey(t, was, bytes.NewReader(bytes.Join(tp.notes[1:], nil)))
		if !bk.Valid() {
			bk = cut[key.BraidRole](make([]byte, 32))
		}
		s.Events = append(s.Events, event{Op: "send", Who: names[who], Block: hexOf(block(len(ms))), Nonces: hexOf(tp.notes[0]), Head: hexOf(m[:sealedHead]),
			Field: hexOf(field[:]), Braid: hexOf(bk.Bytes())})
		out = append(out, outcome{Message: hexOf(m), DH: hexOf(h.dh[:]), PN: h.pn, N: h.n, Body: hexOf(m[sealedHead:]), Key: hexOf(ec.Bytes())})
		waiting[1-who] = append(waiting[1-who], len(ms))
		ms = append(ms, m)
	}
	receive := func(who, at int) {
		n, tp := waiting[who][at], &tape{r: r}
		got, err := people[who].Decrypt(tp, start, ad, ms[n])
		s.keys(names[who], tp)
		s.Events = append(s.Events, event{Op: "recv", Who: names[who], Message: n})
		out = append(out, outcome{Block: hexOf(got), Refused: err != nil})
		if err == nil && !bytes.Equal(got, block(n)) {
			t.Fatalf("message %d: got another block, want its own", n)
		}
		if d.IntN(12) > 0 { // else it will come again
			waiting[who] = append(waiting[who][:at], waiting[who][at+1:]...)
		}
	}
	for range steps {
		who := d.IntN(2)
		if d.IntN(2) == 0 && (who == 0 || b.send.Valid()) {
			for range 1 + d.IntN(4) {
				send(who)
			}
		}
		for range d.IntN(5) {
			if n := len(waiting[who]); n > 0 {
				at := 0
				if d.IntN(3) == 0 {
					at = d.IntN(n)
				}
				receive(who, at)
			}
		}
	}
	return s, out
}

// consult has an oracle replay a scenario.
func consult(t *testing.T, script string, s scenario) []outcome {
	t.Helper()
	in, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(python, "-B", "testdata/oracle/"+script)
	var complaint bytes.Buffer
	c.Stdin, c.Stderr = bytes.NewReader(in), &complaint
	text, err := c.Output()
	if err != nil {
		t.Fatalf("running %s: %v\n%s", script, err, complaint.String())
	}
	var out []outcome
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var o outcome
		if err := d.Decode(&o); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatalf("reading what %s says: %v", script, err)
		}
		out = append(out, o)
	}
}

// installed skips, loudly, where an oracle cannot run.
func installed(t *testing.T, module, pkg string) {
	t.Helper()
	if err := exec.Command(python, "-B", "-c", "import "+module).Run(); err != nil {
		t.Skipf("SKIPPED 1 suite: %s is not installed", pkg)
	}
}

// enough refuses a scenario that does not try what it is for.
func enough(t *testing.T, out []outcome) {
	t.Helper()
	var sent, opened, refused, chains int
	for _, o := range out {
		switch {
		case o.Message != "":
			sent++
			if o.N == 0 {
				chains++
			}
		case o.Refused:
			refused++
		default:
			opened++
		}
	}
	if sent < 200 || opened < 100 || refused < 5 || chains < 20 {
		t.Errorf("got %d sent in %d chains, %d opened, %d refused, want a longer scenario", sent, chains, opened, refused)
	}
}

// TestAgreesWithDoubleRatchetLibrary compares counters, EC keys, ciphertexts,
// outcomes and refusals with Debian's python3-doubleratchet: the classical
// ratchet. That library has no encrypted headers.
func TestAgreesWithDoubleRatchetLibrary(t *testing.T) {
	installed(t, "doubleratchet", "python3-doubleratchet")
	for seed := range uint64(4) {
		s, want := play(t, stateVersion1+byte(seed%2), seed, 200)
		enough(t, want)
		got := consult(t, "library.py", s)
		if len(got) != len(want) {
			t.Fatalf("seed %d: got %d outcomes, want %d", seed, len(got), len(want))
		}
		for i, w := range want {
			g := got[i]
			if s.Events[i].Op == "recv" {
				if g.Block != w.Block || g.Refused != w.Refused {
					t.Fatalf("seed %d, event %d: got refused %v from the library, want %v", seed, i, g.Refused, w.Refused)
				}
				continue
			}
			if g.DH != w.DH || g.PN != w.PN || g.N != w.N || g.Key != w.Key || g.Body != w.Body {
				t.Fatalf("seed %d, event %d: got %+v from the library, want %+v", seed, i, g, w)
			}
		}
	}
}

// TestAgreesWithReferenceModel compares whole messages, outcomes and refusals
// with the second model, written from the specification's pseudocode of
// encrypted headers.
func TestAgreesWithReferenceModel(t *testing.T) {
	installed(t, "cryptography", "python3-cryptography")
	for seed := range uint64(4) {
		s, want := play(t, stateVersion1+byte(seed%2), 100+seed, 200)
		enough(t, want)
		got := consult(t, "reference.py", s)
		if len(got) != len(want) {
			t.Fatalf("seed %d: got %d outcomes, want %d", seed, len(got), len(want))
		}
		for i, w := range want {
			if g := got[i]; g.Message != w.Message || g.Block != w.Block || g.Refused != w.Refused || g.Key != w.Key {
				t.Fatalf("seed %d, event %d (%s): got %+v from the model, want %+v", seed, i, s.Events[i].Op, g, w)
			}
		}
	}
}
