package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
)

// v2 puts a header together by hand.
func v2(command, family byte, rest string) string {
	return signature + string([]byte{command, family, byte(len(rest) >> 8), byte(len(rest))}) + rest
}

const (
	four = "\xc0\x00\x02\x07\xcb\x00\x71\x01\x12\x34\x01\xbb" // 192.0.2.7:4660 to 203.0.113.1:443
	six  = "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07" +
		"\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x12\x34\x01\xbb"
)

func TestHeadersThatAreRead(t *testing.T) {
	for text, want := range map[string]string{
		v2(0x21, 0x11, four):                                "192.0.2.7:4660",
		v2(0x21, 0x21, six):                                 "[2001:db8::7]:4660",
		v2(0x21, 0x11, four+"\x04\x00\x01x"):                "192.0.2.7:4660", // an extra: it is skipped
		v2(0x20, 0x11, four):                                "",               // a health check of the proxy
		v2(0x20, 0x00, ""):                                  "",
		v2(0x21, 0x00, ""):                                  "",
		v2(0x21, 0x31, strings.Repeat("\x00", 216)):         "",
		"PROXY TCP4 192.0.2.7 203.0.113.1 4660 443\r\n":     "192.0.2.7:4660",
		"PROXY TCP6 2001:db8::7 ::1 4660 443\r\n":           "[2001:db8::7]:4660",
		"PROXY TCP6 fc00:dead:beef:4dad::1:2 ::1 2 443\r\n": "[fc00:dead:beef:4dad::1:2]:2",
		"PROXY UNKNOWN\r\n":                                 "",
		"PROXY UNKNOWN whatever stands here\r\n":            "",
	} {
		r := strings.NewReader(text + "next")
		h, err := Read(r)
		got := ""
		if h.Client.IsValid() {
			got = h.Client.String()
		}
		if rest, _ := io.ReadAll(r); err != nil || got != want || string(rest) != "next" {
			t.Errorf("%q: got %q, %v, left %q, want %q, left \"next\"", text, got, err, rest, want)
		}
	}
}

func TestWhatIsNoHeader(t *testing.T) {
	for _, text := range []string{
		"GET / HTTP/1.1\r\nHost: relay\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\x00\x00\x00\x00", // TLS
		v2(0x11, 0x11, four), // version 1 in the form of 2
		v2(0x22, 0x11, four), // an unknown command
		v2(0x21, 0x12, four), // datagrams
		v2(0x21, 0x41, four),
		v2(0x21, 0x11, four[:11]),
		v2(0x21, 0x21, four),
		v2(0x21, 0x31, four),
		v2(0x21, 0x11, four+strings.Repeat("x", maxV2)),
		"PROXY TCP4 192.0.2.7 203.0.113.1 4660\r\n",
		"PROXY TCP4 192.0.2.7 203.0.113.1 4660 443 1\r\n",
		"PROXY TCP4 192.0.2.7  203.0.113.1 4660 443\r\n",
		"PROXY TCP4 2001:db8::7 ::1 4660 443\r\n",
		"PROXY TCP6 192.0.2.7 203.0.113.1 4660 443\r\n",
		"PROXY TCP4 192.0.2.7 203.0.113.1 04660 443\r\n",
		"PROXY TCP4 192.0.2.7 203.0.113.1 +4660 443\r\n",
		"PROXY TCP4 192.0.2.7 203.0.113.1 65536 443\r\n",
		"PROXY TCP6 fe80::1%eth0 ::1 4660 443\r\n",
		"PROXY UDP4 192.0.2.7 203.0.113.1 4660 443\r\n",
		"PROXY TCP4 192.0.2.7 203.0.113.1 4660 443\n",
		"PROXY UNKNOWN " + strings.Repeat("x", maxV1),
		"proxy UNKNOWN\r\n",
		"\r\n\r\n\x00\r\nQUIX\n\x21\x11\x00\x0c" + four,
	} {
		if h, err := Read(strings.NewReader(text)); !errors.Is(err, ErrHeader) {
			t.Errorf("%q: got %v, %v, want an error", text, h, err)
		}
	}
	if _, err := Read(strings.NewReader(v2(0x21, 0x11, four)[:20])); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v for half a header, want its end", err)
	}
}

// What Read takes, AppendV2 says again.
func FuzzRead(f *testing.F) {
	f.Add([]byte(v2(0x21, 0x11, four)))
	f.Add([]byte(v2(0x21, 0x21, six)))
	f.Add([]byte("PROXY TCP6 fc00:dead:beef:4dad::1:2 ::1 2 443\r\n"))
	f.Add([]byte("PROXY UNKNOWN\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		h, err := Read(r)
		if err != nil {
			return
		}
		if took := len(b) - r.Len(); took > headV2+maxV2 {
			t.Fatalf("took %d bytes", took)
		}
		again := h.AppendV2(nil)
		back, err := ParseV2(again)
		if err != nil || back != h {
			t.Fatalf("got %v, %v back, want %v", back, err, h)
		}
	})
}

func TestTheLastWordOfForwardedCounts(t *testing.T) {
	for _, c := range []struct {
		header []string
		want   string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"192.0.2.7"}, "192.0.2.7"},
		{[]string{"198.51.100.1, 192.0.2.7"}, "192.0.2.7"},
		{[]string{"198.51.100.1", "192.0.2.7"}, "192.0.2.7"}, // what the client wrote, then the proxy
		{[]string{"192.0.2.7", "unknown"}, ""},
		{[]string{"192.0.2.7, "}, ""},
		{[]string{"192.0.2.7:80"}, ""},
		{[]string{"2001:db8::7"}, "2001:db8::7"},
		{[]string{"[2001:db8::7]"}, ""},
		{[]string{"::ffff:192.0.2.7"}, "192.0.2.7"},
		{[]string{"fe80::1%eth0"}, ""},
	} {
		a, ok := Forwarded(c.header)
		got := ""
		if ok {
			got = a.String()
		}
		if got != c.want {
			t.Errorf("%q: got %q, want %q", c.header, got, c.want)
		}
	}
}

func TestTrustIsAListOfNetworks(t *testing.T) {
	trust, err := ParseTrust([]string{"127.0.0.1", "192.0.2.0/24", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	for a, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.2": false, "::1": false, "192.0.2.200": true, "192.0.3.1": false,
		"::ffff:192.0.2.1": true, "2001:db8:1::1": true, "2001:db9::1": false,
	} {
		if got := trust.has(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: got %t, want %t", a, got, want)
		}
	}
	for _, bad := range []string{"", "localhost", "192.0.2.1/24", "192.0.2.0/33", "::ffff:192.0.2.0/120", "fe80::1%eth0", "*"} {
		if _, err := ParseTrust([]string{bad}); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}
