package manifest

import (
	"errors"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pad"
)

func TestNextManifest(t *testing.T) {
	root, thief := signKey(t, "root"), signKey(t, "thief")
	ab := devices(t, "a", "b")
	m1 := first(t, root, ab)
	m2 := after(t, root, m1, revoked(ab, 0))
	m3 := after(t, root, m2, append(revoked(ab, 0), device(t, "c")))

	take := func(d Device, from Device) Device { d.DH = from.DH; return d }
	alter := func(m *Manifest, f func(*Manifest)) *Manifest {
		c := *m
		f(&c)
		return signed(t, root, &c)
	}
	otherPast := after(t, root, first(t, root, devices(t, "a")), revoked(ab, 0))
	expired := alter(m2, func(m *Manifest) { m.NotAfter = uint64(now.Unix()) / day * day })
	expiredFork := alter(expired, func(m *Manifest) { m.Previous[0] ^= 1 })
	unsigned := *m3
	unsigned.Sig[5] ^= 1
	malformed := *m3
	malformed.Devices = nil

	for name, c := range map[string]struct {
		old, next *Manifest
		want      error
	}{
		"device revoked":               {m1, m2, nil},
		"device joins":                 {m2, m3, nil},
		"the same again":               {m2, m2, nil},
		"the same, signed anew":        {m2, alter(m2, func(*Manifest) {}), nil},
		"rollback":                     {m3, m2, ErrRollback},
		"rollback to the first":        {m2, m1, ErrRollback},
		"fork at the same sequence":    {m2, after(t, root, m1, ab), ErrFork},
		"fork at the first":            {m1, first(t, root, devices(t, "b")), ErrFork},
		"fork before":                  {m2, after(t, root, otherPast, revoked(ab, 0)), ErrFork},
		"gap":                          {m1, m3, ErrGap},
		"expired":                      {m1, expired, ErrExpired},
		"expired fork is a fork":       {m1, expiredFork, ErrFork},
		"wrong root":                   {m1, after(t, thief, m1, ab), ErrRoot},
		"bad signature":                {m2, &unsigned, ErrSignature},
		"malformed":                    {m2, &malformed, ErrManifest},
		"revoked device is back":       {m2, after(t, root, m2, ab), ErrRevoked},
		"active device gone":           {m1, after(t, root, m1, ab[:1]), ErrRemoved},
		"first device gone":            {m1, after(t, root, m1, ab[1:]), ErrRemoved},
		"revoked gone without need":    {m2, after(t, root, m2, ab[1:]), ErrRemoved},
		"devices change places":        {m1, after(t, root, m1, devices(t, "b", "a")), ErrRemoved},
		"device joins in front":        {m1, after(t, root, m1, devices(t, "c", "a", "b")), ErrRemoved},
		"device with another DH key":   {m1, after(t, root, m1, []Device{take(ab[0], device(t, "c")), ab[1]}), ErrChanged},
		"device with another X-Wing":   {m1, after(t, root, m1, []Device{{Sign: ab[0].Sign, DH: ab[0].DH}, ab[1]}), ErrChanged},
		"device with another sign key": {m1, after(t, root, m1, []Device{{Sign: device(t, "c").Sign, DH: ab[0].DH, XWing: ab[0].XWing}, ab[1]}), ErrRemoved},
		"all revoked":                  {m1, after(t, root, m1, revoked(ab, 0, 1)), nil},
	} {
		if err := CheckNext(c.old, c.next, now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestSequenceDoesNotWrap(t *testing.T) {
	root := signKey(t, "root")
	list := devices(t, "a")
	last := signed(t, root, &Manifest{Sequence: 1<<32 - 1, Previous: [32]byte{1}, NotAfter: NotAfter(now), Devices: list})
	if err := Sign(root, &Manifest{Sequence: last.Sequence + 1, Previous: last.Hash(), Devices: list}); !errors.Is(err, ErrManifest) {
		t.Errorf("got %v, want ErrManifest", err)
	}
	if err := CheckNext(last, first(t, root, list), now); !errors.Is(err, ErrRollback) {
		t.Errorf("got %v, want ErrRollback", err)
	}
}

func TestRevokedDeviceLeavesOnlyAFullList(t *testing.T) {
	root := signKey(t, "root")
	eight := revoked(devices(t, "a", "b", "c", "d", "e", "f", "g", "h"), 1, 4)
	m := first(t, root, eight)
	without := func(i int, join ...Device) []Device {
		return append(append(append([]Device(nil), eight[:i]...), eight[i+1:]...), join...)
	}
	back := eight[1]
	back.Revoked = false
	heir := device(t, "i")
	heir.DH = eight[1].DH
	for name, c := range map[string]struct {
		list []Device
		want error
	}{
		"makes room for one":           {without(1, device(t, "i")), nil},
		"leaves no room filled":        {without(1), ErrRemoved},
		"an active one makes no room":  {without(0, device(t, "i")), ErrRemoved},
		"comes back at the end":        {without(1, back), ErrRevoked},
		"leaves a key to another":      {without(1, heir), ErrRevoked},
		"both make room for two":       {append(append(append([]Device{eight[0]}, eight[2:4]...), eight[5:]...), devices(t, "i", "j")...), nil},
		"moves to the end, as revoked": {without(1, eight[1]), ErrRevoked},
	} {
		if err := CheckNext(m, after(t, root, m, c.list), now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestChainIsWalkedStepByStep(t *testing.T) {
	root := signKey(t, "root")
	ab := devices(t, "a", "b")
	m1 := first(t, root, ab)
	old := &Manifest{Sequence: 2, Previous: m1.Hash(), NotAfter: day, Devices: ab}
	m2 := signed(t, root, old)
	m3 := after(t, root, m2, revoked(ab, 1))
	late := time.Unix(int64(m1.NotAfter)+1, 0)
	for name, c := range map[string]struct {
		next []*Manifest
		now  time.Time
		want error
	}{
		"whole":                      {[]*Manifest{m2, m3}, now, nil},
		"none":                       {nil, now, nil},
		"none, and the old too old":  {nil, late, ErrExpired},
		"one in between has expired": {[]*Manifest{m2, m3}, now, nil},
		"the last has expired":       {[]*Manifest{m2}, now, ErrExpired},
		"a gap":                      {[]*Manifest{m3}, now, ErrGap},
		"backwards":                  {[]*Manifest{m2, m1}, now, ErrRollback},
	} {
		if err := CheckChain(m1, c.next, c.now); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestReferenceFromAPeer(t *testing.T) {
	root := signKey(t, "root")
	m1 := first(t, root, devices(t, "a"))
	m2 := after(t, root, m1, devices(t, "a", "b"))
	fork := after(t, root, m1, devices(t, "a", "c"))
	for name, c := range map[string]struct {
		held, seen pad.Ref
		want       error
	}{
		"the same":       {m2.Ref(), m2.Ref(), nil},
		"lower":          {m2.Ref(), m1.Ref(), ErrRollback},
		"none":           {m2.Ref(), pad.Ref{}, ErrRollback},
		"higher":         {m1.Ref(), m2.Ref(), ErrNewer},
		"another branch": {m2.Ref(), fork.Ref(), ErrFork},
	} {
		if err := CheckRef(c.held, c.seen); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if m2.Ref() == fork.Ref() || key.SignPublicOf(root) != m2.Root {
		t.Error("two branches have one name")
	}
}
