package relay_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
)

// example returns the bytes of a named example on a page of the specification.
func example(t *testing.T, name string) []byte {
	t.Helper()
	page, err := os.ReadFile("../docs/spec/relay-api.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("<!-- example: " + name + " -->\n```hex\n([0-9a-f\\s]*)```").FindSubmatch(page)
	if m == nil {
		t.Fatalf("no example %q on the page", name)
	}
	b, err := hex.DecodeString(strings.Join(strings.Fields(string(m[1])), ""))
	if err != nil {
		t.Fatalf("example %q: %v", name, err)
	}
	return b
}

func seed(t *testing.T, b byte) key.Sign {
	t.Helper()
	s, err := key.New[key.SignRole](bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpecExamples(t *testing.T) {
	realm, second, receipts := seed(t, 1), seed(t, 2), seed(t, 3)

	d := wire.Descriptor{
		Version: 1, Realm: key.SignPublicOf(realm), Time: key.SignPublicOf(second), Receipts: key.SignPublicOf(receipts),
		Period: 1800, Ping: 60, Binding: true, Roles: []string{"live", "blob"}, WindowSec: 60, WindowMax: 64 << 20,
		BlobMax: wire.MaxBlob, BlobDays: 30, Gate: "open", Policy: "for friends",
	}
	body := d.Encode()
	signed := wire.AppendSigned(nil, key.SignMessage(realm, wire.LabelDescriptor, body), body)

	p := wire.Proof{Verb: wire.VerbWatch, Period: 988_800}
	for i := range 32 {
		p.Realm[i], p.Binding[i], p.Nonce[i], p.Address[i] = 0x11, 0x22, 0x33, 0x44
	}

	sec := binary.BigEndian.AppendUint64(nil, 1_780_000_000)
	sig := key.SignMessage(second, wire.LabelSecond, sec)

	r := wire.Receipt{ID: wire.BlobID(bytes.Repeat([]byte{0x55}, 32)), Hash: sha256.Sum256(make([]byte, 4096))}
	r.Sig = key.SignMessage(receipts, wire.LabelReceipt, r.ID[:], r.Hash[:])

	for name, want := range map[string][]byte{
		"descriptor": signed,
		"answer":     wire.Answer{ID: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, Delivered: 2, Complete: true}.Append(nil),
		"proof":      p.Append(nil),
		"second":     append(sec, sig[:]...),
		"receipt":    r.Append(nil),
	} {
		if got := example(t, name); !bytes.Equal(got, want) {
			t.Errorf("example %s: got %x, want\n%s", name, got, lines(want))
		}
	}
}

// lines is how examples stand on the page: 32 bytes a line.
func lines(b []byte) string {
	var s strings.Builder
	for ; len(b) > 0; b = b[min(32, len(b)):] {
		s.WriteString(hex.EncodeToString(b[:min(32, len(b))]) + "\n")
	}
	return s.String()
}
