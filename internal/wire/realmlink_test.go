package wire

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

func aRealmLink() RealmLink {
	l := RealmLink{Relay: "relay.example"}
	for i := range l.Secret {
		l.Secret[i] = byte(i)
	}
	for i := range l.Print {
		l.Print[i] = 0xa0 + byte(i)
	}
	return l
}

func TestARealmLinkComesBack(t *testing.T) {
	l := aRealmLink()
	for _, spelt := range []string{l.String(), strings.Replace(l.String(), "relay.example", "RELAY.example:443", 1), strings.Replace(l.String(), "tacet", "TACET", 1)} {
		if got, err := ParseRealmLink(spelt); err != nil || got != l {
			t.Errorf("%s: got %v, want the link", spelt, err)
		}
	}
	l.Relay = strings.Repeat("a", 60) + ".b:7"
	if got := l.String(); len(got) > MaxRealmLink {
		t.Errorf("got %d bytes, want at most %d", len(got), MaxRealmLink)
	}
}

func TestTheRealmLinkOfTheSpec(t *testing.T) {
	page, err := os.ReadFile("../../docs/spec/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := aRealmLink().String(); !strings.Contains(string(page), "\n"+want+"\n") {
		t.Errorf("the page does not have %s", want)
	}
}

func TestEveryWrongCharacterOfARealmLinkIsSeen(t *testing.T) {
	good := aRealmLink().String()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for i := strings.IndexByte(good, '#') + 1; i < len(good); i++ {
		for _, c := range []byte(alphabet) {
			if c == good[i] {
				continue
			}
			if _, err := ParseRealmLink(good[:i] + string(c) + good[i+1:]); !errors.Is(err, ErrRealmLink) {
				t.Fatalf("character %d as %c: got %v, want %v", i, c, err, ErrRealmLink)
			}
		}
	}
	at := len(linkStart)
	if _, err := ParseRealmLink(good[:at] + "s" + good[at+1:]); !errors.Is(err, ErrRealmLink) {
		t.Errorf("another name: got %v, want %v", err, ErrRealmLink)
	}
}

func TestTextThatIsNoRealmLink(t *testing.T) {
	good := aRealmLink().String()
	newer := append([]byte{2}, make([]byte, 9)...)
	newer = append(newer, LinkCheck("relay.example", newer))
	short := append([]byte{1}, make([]byte, 9)...)
	short = append(short, LinkCheck("relay.example", short))
	for text, want := range map[string]error{
		"":                                       ErrRealmLink,
		"tacet://":                               ErrRealmLink,
		"tacet://relay.example/i#AAAA":           ErrRealmLink,
		good[:len(good)-1]:                       ErrRealmLink,
		good + "A":                               ErrRealmLink,
		good + "\n":                              ErrRealmLink,
		" " + good:                               ErrRealmLink,
		strings.Replace(good, "//", "//-", 1):    ErrRelayName,
		strings.Repeat("a", 10_000):              ErrRealmLink,
		"tacet://relay.example/r#" + code(newer): ErrRealmLinkVersion,
		"tacet://relay.example/r#" + code(short): ErrRealmLink,
	} {
		if _, err := ParseRealmLink(text); !errors.Is(err, want) {
			t.Errorf("%.80q: got %v, want %v", text, err, want)
		}
	}
}

func code(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func TestARealmLinkIsNotPrinted(t *testing.T) {
	l := aRealmLink()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		if got := fmt.Sprintf(verb, l); got != "[secret]" {
			t.Errorf("%s: got %s", verb, got)
		}
	}
	if _, err := l.MarshalText(); err == nil {
		t.Error("got a text for JSON, want an error")
	}
}

func FuzzParseRealmLink(f *testing.F) {
	f.Add(aRealmLink().String())
	f.Add("tacet://relay.example/r#AAAA")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseRealmLink(s)
		if err != nil {
			return
		}
		again, err := ParseRealmLink(l.String())
		if err != nil || again != l {
			t.Errorf("got another link of %q, %v", l.String(), err)
		}
		if len(l.String()) > MaxRealmLink {
			t.Errorf("got %d bytes, want at most %d", len(l.String()), MaxRealmLink)
		}
	})
}
