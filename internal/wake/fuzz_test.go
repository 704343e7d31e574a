package wake

import (
	"bytes"
	"testing"
)

// FuzzParse: what each parser accepts is what is written for it.
func FuzzParse(f *testing.F) {
	whole := sealed(f)
	inner := make([]byte, innerSize)
	made(f, 1).put(inner)
	prove, err := (&Prove{UnifiedPush, made(f, 1).Subscription}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	confirm, err := (&Confirm{Endpoint: endpoint}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	batch, err := (&Batch{Forget: true, Expires: 1_800_000_000, Tickets: [][]byte{whole}}).Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{whole, inner, prove, confirm, batch, Message{Challenge: true, Code: [CodeSize]byte{1}}.append(nil), read(f).RFC8188[1].Body} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if g, err := ParseGateway(b); err == nil && (len(g.Name) == 0 || len(g.Name) > MaxName) {
			t.Errorf("got a name of %d bytes", len(g.Name))
		}
		if x, err := parseTicket(b); err == nil {
			out := make([]byte, innerSize)
			if x.put(out); !bytes.Equal(out, b) {
				t.Errorf("got %x, want %x", out, b)
			}
		}
		if x, err := ParseProve(b); err == nil {
			if out, err := x.Append(nil); err != nil || !bytes.Equal(out, b) {
				t.Errorf("got %x, %v, want %x", out, err, b)
			}
		}
		if x, err := ParseConfirm(b); err == nil {
			if out, err := x.Append(nil); err != nil || !bytes.Equal(out, b) {
				t.Errorf("got %x, %v, want %x", out, err, b)
			}
		}
		if x, err := ParseBatch(b); err == nil {
			if out, err := x.Append(nil); err != nil || !bytes.Equal(out, b) {
				t.Errorf("got %x, %v, want %x", out, err, b)
			}
		}
		if x, err := parseMessage(b); err == nil {
			if out := x.append(nil); !bytes.Equal(out, b) {
				t.Errorf("got %x, want %x", out, b)
			}
		}
		if c, err := parseCoding(b); err == nil && (c.size < tagSize+2 || codingHead+len(c.keyID)+len(c.records) != len(b)) {
			t.Errorf("got records of %d, %d bytes of %d", c.size, len(c.keyID)+len(c.records), len(b))
		}
	})
}

func sealed(f *testing.F) []byte {
	_, pub := gatewayKey(f, 1)
	whole, err := Seal(pub, gw, made(f, 1))
	if err != nil {
		f.Fatal(err)
	}
	return whole
}

// FuzzOpen: nothing opens that nobody sealed.
func FuzzOpen(f *testing.F) {
	coded := read(f).RFC8188[1]
	f.Add(sealed(f))
	f.Add([]byte(coded.Body))
	f.Add([]byte(read(f).RFC8291.Body))
	k, _ := gatewayKey(f, 1)
	private, auth := PushKeys(wakeKey(f, 9), [IDSize]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := Open(k, b); err == nil && x != *made(t, 1) {
			t.Error("a ticket opened that nobody sealed")
		}
		if _, err := Decrypt(private, auth, b); err == nil {
			t.Error("a push opened that nobody sealed")
		}
		if c, err := parseCoding(b); err == nil {
			c.open(coded.IKM) // any outcome but a panic
		}
	})
}
