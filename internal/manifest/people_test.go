package manifest

import (
	"crypto/sha3"
	"io"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
)

// now is the moment of every test.
var now = time.Unix(1_800_000_000, 0)

// stream is deterministic randomness, named after what it is for.
func stream(name string) io.Reader {
	h := sha3.NewSHAKE256()
	h.Write([]byte("manifest test " + name))
	return h
}

func signKey(t testing.TB, name string) key.Sign {
	t.Helper()
	k, err := key.Generate[key.SignRole](stream(name))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// device makes a device from a name.
func device(t testing.TB, name string) Device {
	t.Helper()
	r := stream(name)
	s, err := key.Generate[key.SignRole](r)
	if err != nil {
		t.Fatal(err)
	}
	d, err := key.Generate[key.DHRole](r)
	if err != nil {
		t.Fatal(err)
	}
	x, err := key.Generate[key.XWingRole](r)
	if err != nil {
		t.Fatal(err)
	}
	return Device{Sign: key.SignPublicOf(s), DH: key.DHPublicOf(d), XWing: XWingHash(key.XWingPublicOf(x))}
}

// devices makes active devices from names.
func devices(t testing.TB, names ...string) (list []Device) {
	t.Helper()
	for _, n := range names {
		list = append(list, device(t, n))
	}
	return list
}

// revoked returns the list with the devices at these places revoked.
func revoked(list []Device, at ...int) []Device {
	list = append([]Device(nil), list...)
	for _, i := range at {
		list[i].Revoked = true
	}
	return list
}

// first signs a first manifest, after it a following one.
func first(t testing.TB, root key.Sign, list []Device) *Manifest {
	t.Helper()
	return signed(t, root, &Manifest{Sequence: 1, NotAfter: NotAfter(now), Devices: list})
}

func after(t testing.TB, root key.Sign, m *Manifest, list []Device) *Manifest {
	t.Helper()
	return signed(t, root, &Manifest{Sequence: m.Sequence + 1, Previous: m.Hash(), NotAfter: NotAfter(now), Devices: list})
}

func signed(t testing.TB, root key.Sign, m *Manifest) *Manifest {
	t.Helper()
	if err := Sign(root, m); err != nil {
		t.Fatal(err)
	}
	return m
}
