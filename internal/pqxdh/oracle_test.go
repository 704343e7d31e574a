package pqxdh

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// TestKnownAnswersAgreeWithSecondComputation has Python compute the frozen
// handshakes again, from the text of the specification and the private keys.
func TestKnownAnswersAgreeWithSecondComputation(t *testing.T) {
	const python = "/usr/bin/python3" // Debian's own, which sees Debian's packages
	if err := exec.Command(python, "-B", "-c", "import cryptography").Run(); err != nil {
		t.Skip("SKIPPED 1 suite: python3-cryptography is not installed")
	}
	for _, name := range []string{"one-time", "multi-use"} {
		text, err := os.ReadFile("testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		var frozen []answer
		if err := json.Unmarshal(text, &frozen); err != nil {
			t.Fatal(err)
		}
		want := make(map[string]string)
		for _, a := range frozen {
			want[a.Name] = a.Hex
		}
		c := exec.Command(python, "-B", "testdata/oracle/handshake.py")
		var complaint bytes.Buffer
		c.Stdin, c.Stderr = bytes.NewReader(text), &complaint
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, complaint.String())
		}
		d := json.NewDecoder(bytes.NewReader(out))
		for _, side := range []string{"initiator", "responder"} {
			var got struct{ AD, Secret string }
			if err := d.Decode(&got); err != nil {
				t.Fatalf("%s, %s: %v", name, side, err)
			}
			if got.AD != want["associated data"] || got.Secret != want["secret"] {
				t.Errorf("%s, %s: got %+v, want associated data %s and secret %s", name, side, got, want["associated data"], want["secret"])
			}
		}
	}
}
