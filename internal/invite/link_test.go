package invite

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"testing"

	"rsc.io/qr"
)

// plain is the link of the tests: its code has what two alphabets disagree on.
var plain = Link{Relay: relayName, Secret: [16]byte{0xfb, 0xef, 0xfb, 0xef, 0xbe, 0xff, 0xff, 0xff, 8, 9, 10, 11, 12, 13, 14, 0xff}}

// code is what stands after the # in a link.
func code(l Link) string {
	_, c, _ := strings.Cut(l.String(), "#")
	return c
}

func TestLinkComesBack(t *testing.T) {
	for _, relay := range []string{"a", "relay.example", "relay.example:8443", "localhost:8080", "192.0.2.1", "[2001:db8::1]:7000",
		"vww6ybal4bd7szmgncyruucpgfkqahzddi37ktceo3ah7ngmcopnpyyd.onion"} {
		l := ok[Link](t)(NewLink(relay, plain.Secret))
		got, err := ParseLink(l.String())
		if err != nil || got != l || got.Relay != relay {
			t.Errorf("%s: got %v, %v, want %v", l, got, err, l)
		}
	}
}

func TestAnyLinkFitsAScreen(t *testing.T) {
	if MaxRelay != 65 {
		t.Errorf("got relay names up to %d bytes, want 65", MaxRelay)
	}
	const quiet = 4 // modules on every side, as the QR standard asks
	for n := 1; n <= MaxRelay; n++ {
		relay := (strings.Repeat("r", 32) + "." + strings.Repeat("r", 40))[:n]
		l, err := NewLink(strings.TrimSuffix(relay, "."), plain.Secret)
		if err != nil {
			t.Fatal(err)
		}
		link := l.String()
		if len(link) > MaxLink {
			t.Fatalf("name of %d bytes: got a link of %d bytes, want at most %d", n, len(link), MaxLink)
		}
		c, err := qr.Encode(link, qr.L)
		if err != nil {
			t.Fatal(err)
		}
		// Two modules stand in one character, one above the other.
		if rows := (c.Size + 2*quiet + 1) / 2; rows > 24 {
			t.Fatalf("link of %d bytes: got %d rows, want at most 24", len(link), rows)
		}
	}
	if c, err := qr.Encode(strings.Repeat("r", MaxLink+7), qr.L); err != nil || (c.Size+2*quiet+1)/2 <= 24 {
		t.Errorf("got a code of %d modules for 107 bytes, want one that is too large: %v", c.Size, err)
	}
}

func TestEveryWrongCharacterIsSeen(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	good := plain.String()
	start := strings.IndexByte(good, '#') + 1
	for i := start; i < len(good); i++ {
		for _, c := range []byte(alphabet) {
			if c == good[i] {
				continue
			}
			if l, err := ParseLink(good[:i] + string(c) + good[i+1:]); !errors.Is(err, ErrCode) {
				t.Fatalf("character %d as %c: got %v, %v, want ErrCode", i, c, l, err)
			}
		}
	}
	for i := range relayName {
		for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789") {
			at := len(linkStart) + i
			if c == good[at] || good[at] == '.' {
				continue
			}
			if l, err := ParseLink(good[:at] + string(c) + good[at+1:]); !errors.Is(err, ErrCode) {
				t.Fatalf("character %d of the name as %c: got %v, %v, want ErrCode", i, c, l, err)
			}
		}
	}
}

func TestCheckIsTheNamedCRC(t *testing.T) {
	// The published check value of CRC-8/SMBUS: a zero byte in front, in place
	// of an empty name, changes nothing where the register starts at zero.
	if got := check("", []byte("123456789")); got != 0xf4 {
		t.Errorf("got %02x, want f4", got)
	}
}

// made is a code with a right check over any bytes.
func made(relay string, b ...byte) string {
	return base64.RawURLEncoding.EncodeToString(append(slices.Clone(b), check(relay, b)))
}

func TestCodesThatAreNotOurs(t *testing.T) {
	secret := plain.Secret[:]
	good := code(plain)
	for name, c := range map[string]struct {
		code string
		want error
	}{
		"good":                        {good, nil},
		"made as ours":                {made(relayName, append([]byte{1}, secret...)...), nil},
		"version zero":                {made(relayName, append([]byte{0}, secret...)...), ErrVersion},
		"version two":                 {made(relayName, append([]byte{2}, secret...)...), ErrVersion},
		"version two, longer":         {made(relayName, append([]byte{2}, make([]byte, 32)...)...), ErrVersion},
		"version one, shorter":        {made(relayName, 1, 2, 3), ErrCode},
		"version one, longer":         {made(relayName, append([]byte{1}, make([]byte, 20)...)...), ErrCode},
		"check of another relay":      {made("relay.examplf", append([]byte{1}, secret...)...), ErrCode},
		"nothing":                     {"", ErrCode},
		"one character less":          {good[:23], ErrCode},
		"one character more":          {good + "A", ErrCode},
		"padded":                      {good + "=", ErrCode},
		"bits left over":              {"Ag", ErrCode}, // 0x02: check of nothing is not that, and canonical is AA
		"standard alphabet":           {strings.NewReplacer("-", "+", "_", "/").Replace(good), ErrCode},
		"longer than any version has": {strings.Repeat("A", 200), ErrCode},
	} {
		l, err := ParseLink(linkStart + relayName + linkMid + c.code)
		if !errors.Is(err, c.want) || err == nil && l != plain {
			t.Errorf("%s: got %v, %v, want %v", name, l, err, c.want)
		}
	}
}

func TestCodeHasOneSpelling(t *testing.T) {
	// Four bytes take six characters, the last of which has four bits to spare:
	// each of the other 15 spellings must be refused as mistyped.
	spare := made(relayName, 2, 3, 4)
	if _, err := decode(relayName, spare); !errors.Is(err, ErrVersion) {
		t.Fatalf("got %v, want ErrVersion", err)
	}
	for i := range 64 {
		last := base64.RawURLEncoding.EncodeToString([]byte{byte(i) << 2})[:1]
		c := spare[:5] + last
		if _, err := decode(relayName, c); c != spare && !errors.Is(err, ErrCode) {
			t.Errorf("%s: got %v, want ErrCode", c, err)
		}
	}
}

func TestKeysFollowFromTheNameInAnySpelling(t *testing.T) {
	for _, relay := range []string{"RELAY.example", "relay.example:443", "Relay.Example:443"} {
		made := ok[Link](t)(NewLink(relay, plain.Secret))
		by := Link{Relay: relay, Secret: plain.Secret}
		for name, l := range map[string]Link{"made": made, "put together": by} {
			if l.ID() != plain.ID() || !l.Key().Equal(plain.Key()) || l.String() != plain.String() {
				t.Errorf("%s of %s: got other keys than those of %s", name, relay, relayName)
			}
		}
	}
	for name, l := range map[string]Link{
		"another port":   {Relay: relayName + ":444", Secret: plain.Secret},
		"another secret": {Relay: relayName, Secret: [16]byte{1}},
		"no name":        {Relay: "no name", Secret: plain.Secret},
	} {
		if l.ID() == plain.ID() || l.Key().Equal(plain.Key()) {
			t.Errorf("%s: got the same keys", name)
		}
	}
	if id := plain.ID(); slices.Equal(id[:], plain.Key().Bytes()) {
		t.Error("the place of the bundle is its key")
	}
}
