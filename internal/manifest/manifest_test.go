package manifest

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

func TestSignedManifestVerifies(t *testing.T) {
	root := signKey(t, "root")
	m := first(t, root, revoked(devices(t, "a", "b"), 0))
	b := m.Append([]byte("before"))
	got, err := Parse(b[len("before"):])
	if err != nil {
		t.Fatal(err)
	}
	if err := got.Verify(key.SignPublicOf(root), now); err != nil {
		t.Errorf("got %v, want a good manifest", err)
	}
	if got.Hash() != m.Hash() || got.Ref() != m.Ref() || got.Ref().Sequence != 1 {
		t.Errorf("got %v, want the name %v", got.Ref(), m.Ref())
	}
	if _, ok := got.Active(0); ok {
		t.Error("a revoked device is active")
	}
	if d, ok := got.Active(1); !ok || d != device(t, "b") {
		t.Error("the other device is not active")
	}
	for _, i := range []int{-1, 2} {
		if _, ok := got.Active(i); ok {
			t.Errorf("got an active device at %d, want none", i)
		}
	}
	if i, ok := got.Find(device(t, "b").Sign); !ok || i != 1 {
		t.Errorf("got place %d, %v, want 1", i, ok)
	}
	if _, ok := got.Find(device(t, "c").Sign); ok {
		t.Error("found a device that is not there")
	}
}

func TestSizesAreWhatTheSpecificationSays(t *testing.T) {
	root := signKey(t, "root")
	for n, want := range map[int]int{1: 235, 8: 914} {
		names := []string{"a", "b", "c", "d", "e", "f", "g", "h"}[:n]
		if got := len(first(t, root, devices(t, names...)).Append(nil)); got != want {
			t.Errorf("%d devices: got %d bytes, want %d", n, got, want)
		}
	}
	if MinSize != 235 || MaxSize != 914 {
		t.Errorf("got %d to %d, want 235 to 914", MinSize, MaxSize)
	}
}

func TestEveryFlippedBitIsSeen(t *testing.T) {
	root := signKey(t, "root")
	b := first(t, root, devices(t, "a", "b")).Append(nil)
	for i := range len(b) * 8 {
		c := bytes.Clone(b)
		c[i/8] ^= 1 << (i % 8)
		m, err := Parse(c)
		if err == nil {
			err = m.Verify(key.SignPublicOf(root), now)
		}
		if err == nil {
			t.Fatalf("byte %d, bit %d: got no error", i/8, i%8)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	root := signKey(t, "root")
	good := first(t, root, devices(t, "a", "b")).Append(nil)
	second := after(t, root, first(t, root, devices(t, "a")), devices(t, "a")).Append(nil)
	nine := &Manifest{Sequence: 1, NotAfter: NotAfter(now),
		Devices: devices(t, "a", "b", "c", "d", "e", "f", "g", "h", "i")}
	edit := func(b []byte, at int, with ...byte) []byte {
		b = bytes.Clone(b)
		copy(b[at:], with)
		return b
	}
	at := func(device, field int) int { return headSize + device*DeviceSize + field }
	for name, b := range map[string][]byte{
		"nothing":                      nil,
		"one byte less":                good[:len(good)-1],
		"trailing byte":                append(bytes.Clone(good), 0),
		"unknown version":              edit(good, 0, 2),
		"no devices":                   append(edit(good[:headSize], headSize-1, 0), good[len(good)-64:]...),
		"count above what is there":    edit(good, headSize-1, 3),
		"count below what is there":    edit(good, headSize-1, 1),
		"nine devices":                 nine.Append(nil),
		"sequence zero":                edit(good, 33, 0, 0, 0, 0),
		"first that follows another":   edit(good, 37, 1),
		"second that follows none":     edit(second, 37, make([]byte, 32)...),
		"revoked is neither 0 nor 1":   edit(good, at(0, 0), 2),
		"signing key twice":            edit(good, at(1, 1), good[at(0, 1):at(0, 33)]...),
		"DH key twice":                 edit(good, at(1, 33), good[at(0, 33):at(0, 65)]...),
		"X-Wing key twice":             edit(good, at(1, 65), good[at(0, 65):at(0, 97)]...),
		"root as a device":             edit(good, at(0, 1), good[1:33]...),
		"DH key that is not canonical": edit(good, at(0, 33), bytes.Repeat([]byte{0xff}, 32)...),
	} {
		if _, err := Parse(b); !errors.Is(err, ErrManifest) {
			t.Errorf("%s: got %v, want ErrManifest", name, err)
		}
	}
}

func TestSignRefusesWhatParseWould(t *testing.T) {
	root := signKey(t, "root")
	for name, m := range map[string]*Manifest{
		"no devices":         {Sequence: 1},
		"nine devices":       {Sequence: 1, Devices: devices(t, "a", "b", "c", "d", "e", "f", "g", "h", "i")},
		"hour in not after":  {Sequence: 1, NotAfter: 3600, Devices: devices(t, "a")},
		"not after too far":  {Sequence: 1, NotAfter: 1 << 32 * day, Devices: devices(t, "a")},
		"the root as device": {Sequence: 1, Devices: []Device{{Sign: key.SignPublicOf(root)}}},
	} {
		if err := Sign(root, m); !errors.Is(err, ErrManifest) || m.Sig != (key.Signature{}) {
			t.Errorf("%s: got %v, signature %x, want ErrManifest and none", name, err, m.Sig)
		}
	}
}

func TestVerifyRefuses(t *testing.T) {
	root, other := signKey(t, "root"), signKey(t, "other root")
	pub := key.SignPublicOf(root)
	m := first(t, root, devices(t, "a"))
	forged := *m
	forged.Sig = key.SignMessage(other, labelSign, m.appendBody(nil))
	label := *m
	label.Sig = key.SignMessage(root, labelHash, m.appendBody(nil))
	long := *m
	long.NotAfter += day
	foreign := first(t, other, devices(t, "a"))
	end := time.Unix(int64(m.NotAfter), 0)
	for name, c := range map[string]struct {
		m    *Manifest
		now  time.Time
		want error
	}{
		"good":                     {m, now, nil},
		"last second":              {m, end, nil},
		"a second later":           {m, end.Add(time.Second), ErrExpired},
		"a clock before 1970":      {m, time.Unix(-1, 0), nil},
		"signed by another root":   {&forged, now, ErrSignature},
		"signed as something else": {&label, now, ErrSignature},
		"life made longer":         {&long, now, ErrSignature},
		"another person's":         {foreign, now, ErrRoot},
		"empty":                    {&Manifest{Root: pub}, now, ErrManifest},
	} {
		if err := c.m.Verify(pub, c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestNotAfterDoesNotTellTheHour(t *testing.T) {
	for unix, want := range map[int64]uint64{
		-5:        180 * day,
		0:         180 * day,
		1:         181 * day,
		day:       181 * day,
		day + 1:   182 * day,
		2*day - 1: 182 * day,
	} {
		if got := NotAfter(time.Unix(unix, 0)); got != want {
			t.Errorf("%d: got %d, want %d", unix, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	root := signKey(f, "root")
	m := first(f, root, devices(f, "a", "b"))
	f.Add(m.Append(nil))
	f.Add(after(f, root, m, revoked(devices(f, "a", "b", "c"), 1)).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Parse(b)
		if err != nil {
			return
		}
		if got := m.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}
