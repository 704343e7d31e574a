package contact

import (
	"bytes"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pqxdh"
)

func introduction(t testing.TB, name string, guest int) []byte {
	t.Helper()
	id, err := device.New(rand.Reader, time.Unix(1_800_000_000, 0))
	if err != nil {
		t.Fatal(err)
	}
	private, public, err := pqxdh.NewPrekeys(rand.Reader, id.Sign, false)
	if err != nil {
		t.Fatal(err)
	}
	private.Wipe()
	realm := Realm{Name: "relay.example", Pin: [32]byte{7}}
	_, offer, err := NewRoute(rand.Reader, time.Unix(1_800_000_000, 0), realm, 1800)
	if err != nil {
		t.Fatal(err)
	}
	i := &Introduction{Device: id.Place(id.Manifest), Made: 1_800_000_000, Manifest: id.Manifest, Prekeys: public.Append(nil), Offer: *offer, Realm: realm,
		Name: name, Guest: bytes.Repeat([]byte{3}, guest)}
	return i.Append(nil)
}

// TestIntroduction writes and reads, and refuses what is changed: but for the time, the
// route, the name and the tokens every byte is signed. Those come by the group, which
// says from whom.
func TestIntroduction(t *testing.T) {
	for _, raw := range [][]byte{introduction(t, "Cat", 0), introduction(t, "", maxGuest)} {
		i, err := ParseIntroduction(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := i.Append(nil); !bytes.Equal(got, raw) {
			t.Errorf("got %x, want what was read", got)
		}
		n := len(i.Manifest.Append(nil))
		for at := 12; at < 12+n+pqxdh.PrekeysSize; at++ {
			if at-12-n >= 97 && at-12-n < 193 {
				continue // where a one-time key would be there are zeros, which are looked at below
			}
			bad := bytes.Clone(raw)
			bad[at] ^= 1
			if j, err := ParseIntroduction(bad); err == nil && (j.Sign() == i.Sign() || at < 12+n) {
				t.Fatalf("byte %d was changed and nobody saw", at)
			}
		}
		for name, bad := range map[string][]byte{
			"one byte short": raw[:len(raw)-1], "one byte long": append(bytes.Clone(raw), 0), "nothing": nil,
			"version 2":                append([]byte{2}, raw[1:]...),
			"a device that is not one": append([]byte{1, 7}, raw[2:]...),
		} {
			if _, err := ParseIntroduction(bad); !errors.Is(err, ErrIntroduction) {
				t.Errorf("%s: got %v, want ErrIntroduction", name, err)
			}
		}
	}
	if _, err := ParseIntroduction(introduction(t, strings.Repeat("x", MaxName+1), 0)); !errors.Is(err, ErrIntroduction) {
		t.Errorf("a name that is too long: got %v, want ErrIntroduction", err)
	}
	if _, err := ParseIntroduction(introduction(t, "a\u202eb", 0)); !errors.Is(err, ErrIntroduction) {
		t.Errorf("a name that turns around: got %v, want ErrIntroduction", err)
	}
}

func TestMemberNameSaysWhoIs(t *testing.T) {
	if got, want := MemberName(key.SignPublic{0x1a, 0x2b, 0x3c, 0x4d}), "member 1a2b3c4d"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzIntroduction(f *testing.F) {
	f.Add(introduction(f, "Cat", 85))
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := ParseIntroduction(b)
		if err != nil {
			return
		}
		if got := i.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}
