package wake

import (
	"bytes"
	"testing"

	"github.com/tacet-chat/tacet/internal/vectortest"
)

func TestExamplesOfTheSpecification(t *testing.T) {
	private, auth := PushKeys(wakeKey(t, 9), [IDSize]byte{1})
	code, mac := NewProver(wakeKey(t, 3)).Code(1_800_000_000, endpoint), NewProver(wakeKey(t, 3)).MAC(endpoint)
	for name, got := range map[string][]byte{
		"push-keys": append(private.PublicKey().Bytes()[:16], auth[:]...), "code": code[:], "mac": mac[:],
	} {
		if want := vectortest.Example(t, "wake.md", name); !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, want %x", name, got, want)
		}
	}
	if got, want := NewVAPID(wakeKey(t, 3), "").Public(), "BLXLhgRbOpbNMhK_WwIuKJgNYAwcHPdTi3GUul5IpP8YNEaVQxlEqxdQPI1UqIR_SsloXpMuuRPHneSCpw4oQAo"; got != want {
		t.Errorf("VAPID key: got %s, want %s", got, want)
	}
}
