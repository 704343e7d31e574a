package ratchet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/internal/braid"
	"github.com/tacet-chat/tacet/internal/key"
)

// states are one of every kind.
func states(t testing.TB) map[string][]byte {
	a, b := pair(t, "states")
	r := stream("states")
	out := map[string][]byte{"initiator": a.Append(nil), "responder": b.Append(nil)}
	late := encrypt(t, a, r, 0)
	opens(t, b, r, start, encrypt(t, a, r, 1), 1)
	out["one skipped"] = b.Append(nil)
	opens(t, a, r, start, encrypt(t, b, r, 2), 2)
	encrypt(t, a, r, 3)
	opens(t, b, r, start, encrypt(t, a, r, 4), 4)
	out["two skipped"] = b.Append(nil)
	opens(t, b, r, start, late, 0)
	out["running"] = a.Append(nil)
	a, b = pair1(t, "states")
	encrypt(t, a, r, 0)
	opens(t, b, r, start, encrypt(t, a, r, 1), 1)
	out["suite 1"] = b.Append(nil)
	return out
}

func TestMalformedStatesAreRefused(t *testing.T) {
	good := states(t)
	edit := func(name string, at int, to ...byte) []byte {
		b := bytes.Clone(good[name])
		copy(b[at:], to)
		return b
	}
	const keys = stateHead + 2 // position of the first chain
	two := good["two skipped"]
	second := keys + chainHead + keySize // of the second chain
	swapped := bytes.Clone(two)          // the older key behind the younger
	copy(swapped[keys+chainHead+4:], []byte{0xff})
	for name, b := range map[string][]byte{
		"nothing":                           nil,
		"only the head":                     two[:stateHead+1],
		"cut":                               two[:len(two)-1],
		"one byte more":                     append(bytes.Clone(two), 0),
		"another version":                   edit("running", 0, 3),
		"no braid where there is one":       edit("running", 0, 1),
		"a braid where there is none":       edit("suite 1", 0, 2),
		"a braid that is cut":               good["running"][:len(good["running"])-1],
		"an unknown phase":                  edit("running", 1, 3),
		"responder that says it can send":   edit("responder", 1, 1),
		"initiator that says it cannot":     edit("initiator", 1, 0),
		"initiator that says it heard":      edit("initiator", 1, 2)[:100],
		"running that says it heard none":   edit("running", 1, 1),
		"responder that has sent":           edit("responder", 5, 1),
		"initiator with numbers received":   edit("initiator", 9, 1),
		"initiator with a chain before":     edit("initiator", 13, 1),
		"initiator with messages before":    edit("initiator", 17, 1),
		"initiator with messages heard":     edit("initiator", 21, 1),
		"initiator with a peer's key":       edit("initiator", 118, 1),
		"chain too long, sending":           edit("running", 2, 0, 0, 0x80, 1),
		"chain too long, receiving":         edit("running", 6, 0, 0, 0x80, 1),
		"chain too long, before":            edit("running", 10, 0, 0, 0x80, 1),
		"totals that wrap, sent":            edit("running", 14, 0xff, 0xff, 0xff, 0xff),
		"totals that wrap, received":        edit("running", 18, 0xff, 0xff, 0xff, 0xff),
		"more chains than there are":        edit("running", stateHead, 0xff, 0xff),
		"fewer chains than there are":       edit("two skipped", stateHead, 0, 1),
		"chain without keys":                edit("two skipped", keys+32, 0, 0),
		"chain with more keys than allowed": edit("two skipped", keys+32, 0x03, 0xe9),
		"chain with more keys than bytes":   edit("two skipped", keys+32, 0, 9),
		"number beyond a chain":             edit("two skipped", second+chainHead, 0, 0, 0x80, 0),
		"times out of order":                swapped,
		"initiator with skipped keys":       append(append(edit("initiator", stateHead, 0, 1)[:keys], two[keys:second]...), good["initiator"][keys:]...),
	} {
		if _, err := ParseState(b); !errors.Is(err, ErrState) {
			t.Errorf("%s: got %v, want %v", name, err, ErrState)
		}
	}
	for name, b := range good {
		if s, err := ParseState(b); err != nil || !bytes.Equal(s.Append(nil), b) {
			t.Errorf("%s: got %v, want the same state", name, err)
		}
	}
}

func TestSkippedNumbersAreInOrder(t *testing.T) {
	s, err := ParseState(states(t)["one skipped"])
	if err != nil {
		t.Fatal(err)
	}
	c := &s.skipped.chains[0]
	c.keys = append(c.keys, skipped{n: 0, at: c.keys[0].at, ec: c.keys[0].ec.Clone()})
	if _, err := ParseState(s.Append(nil)); !errors.Is(err, ErrState) {
		t.Errorf("one number twice: got %v, want %v", err, ErrState)
	}
	c.keys[1].n = 1
	if _, err := ParseState(s.Append(nil)); err != nil {
		t.Errorf("two numbers: got %v, want no error", err)
	}
}

// TestLargestStateIsRead fills every bound.
func TestLargestStateIsRead(t *testing.T) {
	s, err := ParseState(states(t)["running"])
	if err != nil {
		t.Fatal(err)
	}
	r := stream("largest")
	for range MaxSkipped {
		s.skipped.chains = append(s.skipped.chains, chain{
			head: secretOf[key.HeaderRole](t, r),
			keys: []skipped{{n: MaxChain - 1, ec: secretOf[key.MessageRole](t, r)}},
		})
	}
	// The braid's own bound is tested where it is set.
	if got := len(s.Append(nil)) - len(s.braid.Append(nil)); got != MaxState-braid.MaxState {
		t.Errorf("got %d bytes before the braid, want %d", got, MaxState-braid.MaxState)
	}
	if c := again(t, s); c.Skipped() != MaxSkipped {
		t.Errorf("got %d keys, want %d", c.Skipped(), MaxSkipped)
	}
	s.skipped.chains[0].keys = append(s.skipped.chains[0].keys, s.skipped.chains[1].keys...)
	s.skipped.chains[0].keys[0].n--
	if _, err := ParseState(s.Append(nil)); !errors.Is(err, ErrState) {
		t.Errorf("one key too many: got %v, want %v", err, ErrState)
	}
}

func FuzzParseState(f *testing.F) {
	for _, b := range states(f) {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseState(data)
		if err != nil {
			return
		}
		if got := s.Append(nil); !bytes.Equal(got, data) {
			t.Errorf("got %x, want %x", got, data)
		}
		r := stream("fuzz")
		s.Decrypt(r, start, ad, make([]byte, Size))
		if m, err := s.Encrypt(r, ad, block(0)); err == nil {
			s.Decrypt(r, start, ad, m)
		}
		again(t, s)
	})
}

// FuzzDecrypt feeds any bytes, and any header under the right key, to a state.
func FuzzDecrypt(f *testing.F) {
	all := states(f)
	f.Add(make([]byte, Size), false)
	f.Add((&header{dh: key.DHPublic{9}, pn: 1, n: 2}).append(nil), true)
	f.Add((&header{dh: key.DHPublic{9}, pn: MaxChain, n: MaxChain - 1}).append(nil), true)
	f.Fuzz(func(t *testing.T, data []byte, inside bool) {
		s, err := ParseState(all["two skipped"])
		if err != nil {
			t.Fatal(err)
		}
		m := data
		if inside {
			h := make([]byte, headerSize)
			copy(h, data)
			nonce := make([]byte, nonceSize)
			binary.BigEndian.PutUint32(nonce, uint32(len(data)))
			m = newGCM(s.nextRecv.Bytes()).Seal(bytes.Clone(nonce), nonce, h, nil)
			m = append(m, make([]byte, Size-len(m))...)
		}
		refuses(t, "forged bytes", s, stream("fuzz"), start, ad, m)
	})
}
