package invite

import (
	"errors"
	"strings"
	"testing"
)

const onion = "vww6ybal4bd7szmgncyruucpgfkqahzddi37ktceo3ah7ngmcopnpyyd.onion"

func TestLinkIsFoundInWhatPeoplePass(t *testing.T) {
	link, c := plain.String(), code(plain)
	for name, text := range map[string]string{
		"as it is":                     link,
		"blanks around":                " \t" + link + "\r\n",
		"line break in the code":       link[:len(link)-9] + "\r\n" + link[len(link)-9:],
		"many line breaks in the code": link[:len(link)-9] + "\n \n\t" + link[len(link)-9:len(link)-3] + "\n" + link[len(link)-3:],
		"line break in the name":       "tacet://relay.\n  example/i#" + c,
		"line break after the scheme":  "tacet://\nrelay.example/i#" + c,
		"line break before the code":   "tacet://relay.example/i#\n" + c,
		"line break in the path":       "tacet://relay.example/\ni\n#" + c,
		"zero-width characters":        strings.Join(strings.Split(link, "a"), "\u200ba\u2060"),
		"soft hyphens and marks":       "\ufeff" + strings.ReplaceAll(link, "e", "e\u00ad\u200e"),
		"emoji selectors":              link[:len(link)-3] + "\ufe0f" + link[len(link)-3:] + "\ufe0e",
		"no-break spaces":              "\u00a0" + link[:30] + "\u00a0" + link[30:] + "\u202f",
		"no scheme":                    link[len(linkStart):],
		"no scheme, after words":       "my invite: relay.example/i#" + c,
		"no scheme, after a colon":     "invite:relay.example/i#" + c,
		"https":                        "https://relay.example/i#" + c,
		"http":                         "http://relay.example/i#" + c,
		"upper-case scheme":            "TACET://relay.example/i#" + c,
		"upper-case name and path":     "Tacet://RELAY.Example/I#" + c,
		"scheme without slashes":       "tacet:relay.example/i#" + c,
		"slash after the path":         "https://relay.example/i/#" + c,
		"standard port":                "https://relay.example:443/i#" + c,
		"tracking before the fragment": "https://relay.example/i?utm_source=chat&x=1#" + c,
		"tracking after the code":      link + "&fbclid=IwAR0_x-y",
		"tracking as a query after it": link + "?utm_source=chat",
		"tracking on both sides":       "https://relay.example/i/?a=b#" + c + "&fbclid=z",
		"slash after the code":         link + "/",
		"full stop":                    link + ".",
		"in a sentence":                "Write to me: " + link + ", or call!",
		"words after the code":         link + " see you there",
		"angle brackets":               "<" + link + ">",
		"brackets":                     "(" + link + ")",
		"quotes":                       "\u201e" + link + "\u201c",
		"quotes, no scheme":            "\u00abrelay.example/i#" + c + "\u00bb",
		"markdown link":                "[" + link + "](" + link + ")",
		"markdown link with words":     "[write me](" + link + ")",
		"markdown, slanted":            "_" + link + "_",
		"markdown, bold":               "**relay.example/i#" + c + "**",
		"markdown, code":               "`" + link + "`",
		"page":                         `<a href="` + link + `">` + link + `</a>`,
		"twice, in two spellings":      link + "\n" + strings.Replace(link, "tacet", "https", 1) + "&x=1",
		"after the place to get it":    "Get it from https://tacet.example\nrelay.example/i#" + c,
		"after a page to get it":       "Get it from https://tacet.example/get then " + link,
		"hash elsewhere":               "#invite " + link + " #2",
		"unknown scheme around it":     "<URL:" + link + ">",
	} {
		if l, err := ParseLink(text); err != nil || l != plain {
			t.Errorf("%s: %q: got %v, %v, want %v", name, text, l, err, plain)
		}
	}
}

func TestLongNamesAreFoundInPieces(t *testing.T) {
	l := ok[Link](t)(NewLink(onion+":81", plain.Secret))
	link := l.String()
	if len(link) != MaxLink {
		t.Fatalf("got %d bytes, want %d", len(link), MaxLink)
	}
	for i := len(linkStart); i < len(link); i++ {
		if got, err := ParseLink("here:\n" + link[:i] + "\n" + link[i:]); err != nil || got != l {
			t.Errorf("broken before %d: got %v, %v, want %v", i, got, err, l)
		}
	}
}

func TestTextWithoutTheOneInvite(t *testing.T) {
	link, c := plain.String(), code(plain)
	other := Link{Relay: relayName, Secret: [16]byte{9}}.String()
	typo := link[:len(link)-len(c)] + "AQ" + c[2:]
	for name, k := range map[string]struct {
		text string
		want error
	}{
		"nothing":                   {"", ErrNoInvite},
		"words":                     {"see you at 9", ErrNoInvite},
		"another page":              {"https://relay.example/about#i", ErrNoInvite},
		"a code alone":              {c, ErrNoInvite},
		"too long a text":           {link + strings.Repeat(" ", maxText), ErrNoInvite},
		"user before the name":      {"tacet://relay.example@evil.example/i#" + c, ErrNoInvite},
		"user, no scheme":           {"relay.example@evil.example/i#" + c, ErrNoInvite},
		"path before":               {"https://evil.example/relay.example/i#" + c, ErrNoInvite},
		"name in a query":           {"https://evil.example/?u=relay.example/i#" + c, ErrNoInvite},
		"unknown scheme":            {"ftp://relay.example/i#" + c, ErrNoInvite},
		"longer path":               {"tacet://relay.example/invite#" + c, ErrNoInvite},
		"letters of other scripts":  {"tacet://r\u00e9lay.example/i#" + c, ErrNoInvite},
		"two links":                 {link + " " + other, ErrSeveral},
		"two links on two lines":    {link + "\n" + other, ErrSeveral},
		"two relays":                {link + " tacet://relay2.example/i#" + c, ErrSeveral},
		"one good, one mistyped":    {link + " " + typo, ErrSeveral},
		"two mistyped":              {typo + "A " + typo, ErrSeveral},
		"one broken into the next":  {link[:len(link)-3] + "\n" + link, ErrSeveral},
		"typo":                      {typo, ErrCode},
		"the same typo twice":       {"[" + typo + "](" + typo + ")", ErrCode},
		"cut":                       {link[:len(link)-1], ErrCode},
		"cut, then words":           {link[:len(link)-4] + " yours", ErrCode},
		"code missing":              {"tacet://relay.example/i#", ErrCode},
		"another relay's code":      {"tacet://evil.example/i#" + c, ErrCode},
		"another port":              {"tacet://relay.example:8443/i#" + c, ErrCode},
		"name too long":             {"tacet://" + onion + ":8443/i#" + c, ErrRelay},
		"name that is none":         {"tacet://-/i#" + c, ErrRelay},
		"number that is no address": {"tacet://127.1/i#" + c, ErrRelay},
		"letter that only looks so": {"tacet://relay.example.\u212a/i#" + c, ErrRelay},
	} {
		if l, err := ParseLink(k.text); !errors.Is(err, k.want) || l != (Link{}) {
			t.Errorf("%s: %q: got %v, %v, want %v", name, k.text, l, err, k.want)
		}
	}
}

func TestRelayNameHasOneSpelling(t *testing.T) {
	for in, want := range map[string]string{
		"relay.example":         "relay.example",
		"RELAY.example":         "relay.example",
		"relay.example:443":     "relay.example",
		"relay.example:80":      "relay.example:80",
		"localhost:80":          "localhost",
		"localhost:443":         "localhost:443",
		"LocalHost:8080":        "localhost:8080",
		"127.0.0.1:80":          "127.0.0.1",
		"127.0.0.2:80":          "127.0.0.2:80",
		"[::1]:80":              "[::1]",
		"[0:0::0001]:443":       "[::1]:443",
		"[2001:DB8::0:1]":       "[2001:db8::1]",
		"192.0.2.1:8443":        "192.0.2.1:8443",
		"xn--rly-bma.example":   "xn--rly-bma.example",
		"a-b.0c.example:65535":  "a-b.0c.example:65535",
		"1.example":             "1.example",
		strings.Repeat("a", 63): strings.Repeat("a", 63),
		onion:                   onion,
		onion + ":443":          onion,
	} {
		got, err := RelayName(in)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", in, got, err, want)
		}
		if again, err := RelayName(got); err != nil || again != got {
			t.Errorf("%s: got %s, %v the second time, want %s", in, again, err, got)
		}
	}
	for _, in := range []string{
		"", ".", "a..b", ".a", "a.", "-a", "a-", "a_b", "a b", "a/b", "a@b", "r\u00e9lay.example", "\u212aelvin.example",
		":443", "a:", "a:0", "a:080", "a:65536", "a:999999", "a:1:2", "a:+1", "a:http",
		"1.2.3", "1.2.3.4.5", "01.2.3.4", "256.1.1.1", "0x7f.1", "127.0x1", "1", "a.0x", "a.1",
		"::1", "[::1", "::1]", "[]", "[127.0.0.1]", "[::ffff:127.0.0.1]", "[fe80::1%eth0]", "[::1]a", "[::1]:", "[g::1]",
		strings.Repeat("a", 64), strings.Repeat("a.", 33), onion + ":8443",
	} {
		if got, err := RelayName(in); !errors.Is(err, ErrRelay) {
			t.Errorf("%q: got %q, %v, want ErrRelay", in, got, err)
		}
	}
}

func FuzzParseLink(f *testing.F) {
	link := plain.String()
	f.Add(link)
	f.Add("see <" + strings.ToUpper(link[:10]) + link[10:30] + "\n" + link[30:] + "&utm=1>")
	f.Add("[relay.example/i#" + code(plain) + "](https://relay.example/i?x#" + code(plain) + ")")
	f.Add("tacet://[2001:db8::1]:7000/i#AQ")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLink(s)
		if err != nil {
			if l != (Link{}) {
				t.Errorf("got %v beside an error", l)
			}
			return
		}
		if name, err := RelayName(l.Relay); err != nil || name != l.Relay {
			t.Errorf("got relay %q, want %q: %v", l.Relay, name, err)
		}
		written := l.String()
		if len(written) > MaxLink {
			t.Errorf("got %d bytes, want at most %d", len(written), MaxLink)
		}
		if again, err := ParseLink(written); err != nil || again != l {
			t.Errorf("got %v, %v, want %v", again, err, l)
		}
	})
}
