package contact

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/addr"
)

var routeNow = time.Unix(1_800_000_000, 0)

func TestOffersSurviveTheWay(t *testing.T) {
	realm := Realm{Name: "relay.example:7117", Pin: [32]byte{3}}
	_, o, err := NewRoute(rand.Reader, routeNow, realm, 600)
	if err != nil {
		t.Fatal(err)
	}
	b := AppendOffer(nil, o, realm)
	got, r, err := ParseOffer(b)
	if err != nil || r != realm || got.Public != o.Public || got.Birth != o.Birth || !got.Secret.Equal(o.Secret) {
		t.Errorf("got %+v at %+v, %v, want what was written", got, r, err)
	}
	for n := range b {
		if _, _, err := ParseOffer(b[:n]); !errors.Is(err, ErrOffer) {
			t.Fatalf("cut to %d bytes: got %v, want ErrOffer", n, err)
		}
	}
	if _, _, err := ParseOffer(append(b, 0)); !errors.Is(err, ErrOffer) {
		t.Error("a byte more was taken")
	}
}

// A contact names the relay at which they are to be answered. It must not be one
// of our own services, nor anything that cannot be a relay.
func TestOffersThatMustNotBeTaken(t *testing.T) {
	public, private := Realm{Name: "relay.example"}, Realm{Name: "127.0.0.1:7117"}
	now := addr.PeriodAt(routeNow.Unix(), 1800)
	for _, c := range []struct {
		name  string
		home  Realm
		birth uint64
		ok    bool
	}{
		{"relay.example", public, now, true},
		{"other.example:8443", public, now, true},
		{"127.0.0.1:7117", private, now, true},
		{"localhost", private, now, true},
		{strings.Repeat("a", 56) + ".onion", public, now, true},
		{"127.0.0.1:2375", public, now, false},
		{"localhost:2375", public, now, false},
		{"[::1]:80", public, now, false},
		{"[::ffff:127.0.0.1]:80", public, now, false},
		{"10.0.0.1", public, now, false},
		{"192.168.1.1:443", public, now, false},
		{"169.254.169.254", public, now, false},
		{"0.0.0.0:80", public, now, false},
		{"router", public, now, false},
		{"printer.local", public, now, false},
		{"Relay.Example", public, now, false},
		{"relay.example/path", public, now, false},
		{"user@relay.example", public, now, false},
		{"relay.example", public, now + 1, true},
		{"relay.example", public, now + 2, false},
		{"relay.example", public, now - 48*7, true},
		{"relay.example", public, 1, false},
	} {
		err := CheckOffer(routeNow, c.home, &addr.Offer{Birth: c.birth, Period: 1800}, Realm{Name: c.name})
		if (err == nil) != c.ok {
			t.Errorf("%s, born %d periods from now, at home on %s: got %v, want ok %v", c.name, int64(c.birth-now), c.home.Name, err, c.ok)
		}
	}
}

// Names come from strangers: one must not look like another's.
func TestNamesThatLookAlikeAreOne(t *testing.T) {
	for _, c := range []string{"Ada\u3164", "A\u200bda", "Ada\ufe0f", "Ada\u2800", " ada ", "\u202eAda", "Ａｄａ", "#Ada", "A\u00adda"} {
		if !SameName(c, "Ada") {
			t.Errorf("%q passes for another name than Ada", c)
		}
	}
	for _, c := range []string{"Adam", "Ida", "Ad a"} {
		if SameName(c, "Ada") {
			t.Errorf("%q is taken for Ada", c)
		}
	}
	if got := CleanName("#7 line\nbreak\x1b[31m"); strings.ContainsAny(got, "\n\x1b") || strings.HasPrefix(got, "#") {
		t.Errorf("got %q, want one line without commands and number sign", got)
	}
}
