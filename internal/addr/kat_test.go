package addr

import (
	"bytes"
	"crypto/sha3"
	"encoding/hex"
	"encoding/json"
	"flag"
	"io"
	"os"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/vectortest"
)

var update = flag.Bool("update", false, "write the known answers anew")

// stream is deterministic randomness, named after what it is for.
func stream(name string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("addr test " + name))
	return h
}

// route makes a whole route from a name.
func route(t testing.TB, name string) (key.Owner, *Offer) {
	t.Helper()
	r := stream(name)
	o, p, err := NewOwner(r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := key.Generate[key.RouteRole](r)
	if err != nil {
		t.Fatal(err)
	}
	return o, &Offer{Public: p, Secret: s, Birth: 990_000, Period: 1800}
}

func at(t testing.TB, c *Chain, n uint64) *Period {
	t.Helper()
	p, err := c.At(n)
	if err != nil {
		t.Fatalf("period %d: %v", n, err)
	}
	return p
}

type answer struct {
	Name  string `json:"name"`
	Bytes string `json:"bytes"`
}

// answers computes every derivation of the room from fixed inputs.
func answers(t *testing.T) (list []answer) {
	add := func(name string, b []byte) { list = append(list, answer{name, hex.EncodeToString(b)}) }
	o, offer := route(t, "known answers")
	add("owner", o.Bytes())
	add("offer", offer.Append(nil))
	for _, k := range []struct {
		name string
		kind Kind
	}{{"live", Live}, {"park", Park}} {
		c := NewChain(offer, k.kind)
		add(k.name+" state", c.Append(nil))
		for _, n := range []uint64{0, 1, 2, 47, 1000} {
			p := at(t, c, c.Base()+n)
			add(k.name+" address", p.Address[:])
			add(k.name+" blind", p.blind.Bytes())
			add(k.name+" seal", p.Seal.Bytes())
			sig, err := p.Sign(o, stream("proof"), []byte("message"))
			if err != nil {
				t.Fatal(err)
			}
			add(k.name+" proof", sig[:])
		}
		c.Forget(c.Base() + 2)
		add(k.name+" later state", c.Append(nil))
	}
	_, other := route(t, "the other end")
	common, err := Agree(o, other.Public)
	if err != nil {
		t.Fatal(err)
	}
	add("agreement", common.Bytes())
	a, proof, err := Decoy(stream("decoy"))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := proof([]byte("message"))
	if err != nil {
		t.Fatal(err)
	}
	add("decoy address", a[:])
	add("decoy proof", sig)
	return list
}

func TestDerivationsAreFrozen(t *testing.T) {
	const file = "testdata/route.json"
	got := answers(t)
	if *update {
		b, err := json.MarshalIndent(got, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var want []answer
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Fatalf("got %d answers, want %d", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: got %s, want %s", want[i].Name, got[i].Bytes, want[i].Bytes)
		}
	}
}

func TestExamplesOfTheSpecification(t *testing.T) {
	example := func(name string) []byte { return vectortest.Example(t, "route.md", name) }
	o, err := ParseOffer(example("offer"))
	if err != nil {
		t.Fatal(err)
	}
	p := at(t, NewChain(&o, Live), o.Birth+1)
	if want := example("address"); !bytes.Equal(p.Address[:], want) {
		t.Errorf("address: got %x, want %x", p.Address, want)
	}
	if want := example("seal"); !bytes.Equal(p.Seal.Bytes(), want) {
		t.Errorf("seal key: got %x, want %x", p.Seal.Bytes(), want)
	}
	park := NewChain(&o, Park)
	q := at(t, park, park.Base())
	if want := example("park-address"); !bytes.Equal(q.Address[:], want) {
		t.Errorf("park address: got %x, want %x", q.Address, want)
	}
	owner, err := key.New[key.OwnerRole](example("owner"))
	if err != nil {
		t.Fatal(err)
	}
	sig, err := p.Sign(owner, bytes.NewReader(example("random")), []byte("message"))
	if err != nil {
		t.Fatal(err)
	}
	if want := example("proof"); !bytes.Equal(sig[:], want) {
		t.Errorf("proof: got %x, want %x", sig, want)
	}
}
