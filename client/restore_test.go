package client

import (
	"crypto/rand"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/wire"
)

// copyProfile copies a profile that no process has open.
func copyProfile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// keep copies a person's disk, restore puts the copy back.
func (p *person) keep(to string) {
	p.t.Helper()
	p.stop()
	copyProfile(p.t, p.opt.Dir, to)
	p.start()
}

func (p *person) restore(from string) {
	p.t.Helper()
	p.stop()
	copyProfile(p.t, from, p.opt.Dir)
	p.start()
}

// nonces collects the nonces of all that is put: of cells, and of the headers
// and blocks inside. Each is random, so none may come twice with another
// ciphertext behind it, whatever disk was put back in between.
type nonces struct {
	mu       sync.Mutex
	people   []*person
	seen     map[string]string // nonce → what it came with
	payloads int
	repeated []string
}

func watchNonces(r *realm, people ...*person) *nonces {
	n := &nonces{people: people, seen: map[string]string{}}
	r.lie(func() {
		r.cell = func(_ string, p *transport.Put) bool {
			n.cell(p.Address, p.Cell)
			return true
		}
	})
	return n
}

func (n *nonces) cell(a transport.Address, c *transport.Cell) {
	n.add("cell", c[:wire.NonceSize], c[wire.NonceSize:])
	for _, p := range n.people {
		if b, ok := p.opened(a, c); ok && b.Kind == wire.KindPair {
			n.add("header", b.Payload[:12], b.Payload[12:146])
			n.add("block", b.Payload[146:158], b.Payload[158:])
			n.mu.Lock()
			n.payloads++
			n.mu.Unlock()
		}
	}
}

func (n *nonces) add(what string, nonce, with []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := what + string(nonce)
	if old, ok := n.seen[k]; ok && old != string(with) {
		n.repeated = append(n.repeated, what)
	}
	n.seen[k] = string(with)
}

// settled waits, at most until the time is over, until nothing waits anywhere.
func settled(within time.Duration, people ...*person) {
	for end := time.Now().Add(within); time.Now().Before(end); {
		waiting := 0
		for _, p := range people {
			st, err := p.Status(p.t.Context())
			if err != nil {
				p.t.Fatal(err)
			}
			waiting += st.Waiting
		}
		if waiting == 0 {
			break
		}
		time.Sleep(10 * time.Second)
	}
	time.Sleep(time.Minute)
	synctest.Wait()
}

// TestADiskPutBackTalksAgain copies Ada's disk, goes on, puts the copy back and
// goes on: messages flow again both ways, each is shown once, both are told.
func TestADiskPutBackTalksAgain(t *testing.T) {
	const n = 4
	say := func(p *person, to, what string) {
		for i := range n {
			p.send(to, fmt.Sprint(what, i))
			time.Sleep(20 * time.Second)
		}
	}
	talk := func(a, b *person, what string) {
		for i := range n {
			a.send("bob", fmt.Sprint(what, i))
			time.Sleep(20 * time.Second)
			b.send("ada", fmt.Sprint(what, i))
			time.Sleep(20 * time.Second)
		}
	}
	lost := map[string]func(a, b *person){
		"a talk":             func(a, b *person) { talk(a, b, "lost") },
		"what Ada said":      func(a, _ *person) { say(a, "bob", "lost") },
		"what Bob said":      func(_, b *person) { say(b, "ada", "lost") },
		"a day":              func(a, b *person) { talk(a, b, "lost"); time.Sleep(24 * time.Hour) },
		"a week and a route": func(a, b *person) { talk(a, b, "lost"); time.Sleep(7*24*time.Hour + 2*time.Hour) },
	}
	first := map[string]func(a, b *person){
		"Ada": func(a, b *person) {
			for i := range n {
				a.send("bob", fmt.Sprint("new", i))
			}
		},
		"Bob": func(a, b *person) {
			for i := range n {
				b.send("ada", fmt.Sprint("new", i))
			}
		},
		"both": func(a, b *person) {
			for i := range n {
				a.send("bob", fmt.Sprint("new", i))
				b.send("ada", fmt.Sprint("new", i))
			}
		},
	}
	for l, lose := range lost {
		for f, speak := range first {
			if testing.Short() && (f != "both" || strings.Contains(l, "a week")) {
				continue
			}
			t.Run(l+" is lost and first speaks "+f, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { putBack(t, lose, speak) })
			})
		}
	}
}

func putBack(t *testing.T, lose, speak func(a, b *person)) {
	r := newRealm(3600)
	a, b := r.join(t, "Ada"), r.join(t, "Bob")
	n := watchNonces(r, a, b)
	meet(t, a, b)
	a.send("bob", "before")
	time.Sleep(time.Minute)
	disk := t.TempDir() + "/copy"
	a.keep(disk)
	time.Sleep(time.Minute)
	lose(a, b)
	time.Sleep(time.Minute)
	told := len(b.texts(Told))
	a.restore(disk)
	time.Sleep(time.Second)
	speak(a, b)
	settled(3*time.Hour, a, b)
	last := []Event{a.send("bob", "last"), b.send("ada", "last")}
	settled(time.Hour, a, b)
	if got := []State{a.state(last[0]), b.state(last[1])}; got[0] != OnDevice || got[1] != OnDevice {
		t.Errorf("got the last messages %v, want them acked", got)
	}
	for _, x := range []struct{ from, to *person }{{a, b}, {b, a}} {
		shown := map[string]int{}
		for _, text := range x.to.texts(Received) {
			shown[text]++
		}
		sent, err := x.from.Read(t.Context(), Query{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range sent {
			if e.Out && !strings.HasPrefix(e.Text, "lost") && e.State != Told && shown[e.Text] != 1 && e.Text != "asked to talk" {
				t.Errorf("%q of %s is shown %d times, want once", e.Text, x.from.name, shown[e.Text])
			}
		}
		for text, times := range shown {
			if times > 1 {
				t.Errorf("%q of %s is shown %d times", text, x.from.name, times)
			}
		}
		if st, _ := x.from.Status(t.Context()); st.Waiting != 0 {
			t.Errorf("%d messages of %s still wait", st.Waiting, x.from.name)
		}
	}
	if n := strings.Join(a.texts(Told), "\n"); !strings.Contains(n, "session") {
		t.Errorf("Ada was told %q, want that a session was started", n)
	}
	if n := strings.Join(b.texts(Told)[told:], "\n"); !strings.Contains(n, "session") {
		t.Errorf("Bob was told %q, want that a session was started", n)
	}
	if len(n.repeated) != 0 || n.payloads < 10 {
		t.Errorf("of %d messages got repeated nonces %v, want none", n.payloads, n.repeated)
	}
}

// stuck is randomness that has run dry for reads of the size of nonces.
type stuck struct{}

func (stuck) Read(b []byte) (int, error) {
	if len(b) == 24 {
		return len(b), nil // as they were: zeros
	}
	return rand.Read(b)
}

// TestRepeatedNoncesAreCaught plants what the check above is for.
func TestRepeatedNoncesAreCaught(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(3600)
		a, b := r.join(t, "Ada"), r.join(t, "Bob")
		n := watchNonces(r, a, b)
		meet(t, a, b)
		if len(n.repeated) != 0 {
			t.Fatalf("got repeated nonces %v before the fault, want none", n.repeated)
		}
		a.stop()
		a.opt.Rand = stuck{}
		a.start()
		a.send("bob", "one")
		a.send("bob", "two")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(n.repeated) == 0 {
			t.Error("got no repeated nonce from randomness that is stuck")
		}
	})
}

// TestARestoreAtAnyMoment copies and restores one disk at random moments of a
// random conversation. What was said after the last restore, and what waited
// then, is shown exactly once, and nothing is shown twice.
func TestARestoreAtAnyMoment(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { randomRestores(t, seed) }) })
	}
}

func randomRestores(t *testing.T, seed uint64) {
	r := newRealm(3600)
	rnd := mrand.New(mrand.NewPCG(seed, 1))
	p := [2]*person{r.join(t, "Ada"), r.join(t, "Bob")}
	names := [2]string{"bob", "ada"} // whom each writes to
	meet(t, p[0], p[1])
	who, disk := rnd.IntN(2), t.TempDir()+"/copy"
	p[who].keep(disk)
	var sent [2][]string
	restores := 0
	for m := range 40 {
		i := rnd.IntN(2)
		switch k := rnd.IntN(12); {
		case k < 7:
			text := fmt.Sprint("m", m)
			p[i].send(names[i], text)
			sent[i] = append(sent[i], text)
		case k < 9:
			time.Sleep(time.Duration(rnd.IntN(int(2 * time.Minute))))
		case k < 10:
			time.Sleep(time.Duration(rnd.IntN(int(2 * time.Hour))))
		case k < 11:
			p[who].keep(disk)
		case restores < 2:
			restores++
			p[who].restore(disk)
			sent = [2][]string{}
		}
	}
	settled(6*time.Hour, p[0], p[1])
	for i := range p {
		got := map[string]int{}
		for _, text := range p[1-i].texts(Received) {
			if got[text]++; got[text] == 2 {
				t.Errorf("%q of %s is shown twice", text, p[i].name)
			}
		}
		for _, m := range sent[i] {
			if got[m] == 0 {
				t.Errorf("%q of %s is not shown, after %d restores", m, p[i].name, restores)
			}
		}
		if st, _ := p[i].Status(t.Context()); st.Waiting != 0 {
			t.Errorf("%d messages of %s still wait", st.Waiting, p[i].name)
		}
	}
}
