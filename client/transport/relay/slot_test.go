package relay_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/client/transport/relay"
	"github.com/tacet-chat/tacet/internal/wire"
)

func newSlot() *wire.BlobPut {
	p := newBlob([32]byte{})
	p.Kind, p.Days, p.Capability = wire.BlobSlot, 0, [32]byte{}
	return p
}

func TestSlotIsDecidedOnceAndReadWithItsReceipt(t *testing.T) {
	for _, name := range []string{"localhost", "relay.example"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t, name)
			r := f.join()
			first, second := newSlot(), newSlot()
			second.ID = first.ID
			if b, got, err := r.GetSlot(t.Context(), first.ID); b != nil || got != nil || !errors.Is(err, transport.ErrNothing) {
				t.Errorf("empty: got %d bytes, %v, %v, want ErrNothing alone", len(b), got, err)
			}
			won, err := r.PutBlob(t.Context(), first)
			if err != nil {
				t.Fatal(err)
			}
			lost, err := r.PutBlob(t.Context(), second)
			if !errors.Is(err, relay.ErrTaken) || lost != won {
				t.Errorf("loser: got %v, want ErrTaken and the winner's receipt", err)
			}
			b, got, err := r.GetSlot(t.Context(), first.ID)
			if err != nil || !bytes.Equal(b, first.Content) || got == nil || *got != won {
				t.Errorf("reading: got %d bytes, %v, want the winner's content and receipt", len(b), err)
			}
		})
	}
}

func TestWhatComesFromASlotMustFit(t *testing.T) {
	p := newSlot()
	other := newSlot()
	for name, c := range map[string]struct {
		status int
		body   []byte
		header func(f *fake) []byte // of the answer; nil: none
		want   error                // nil: temporary
		kept   bool                 // a receipt comes with it
	}{
		"of another key":      {200, p.Content, func(f *fake) []byte { return (&fake{receipts: newSign()}).receipt(p.ID, p.Content) }, transport.ErrIdentity, false},
		"for another id":      {200, p.Content, func(f *fake) []byte { return f.receipt(other.ID, p.Content) }, nil, false},
		"for another content": {200, p.Content, func(f *fake) []byte { return f.receipt(p.ID, other.Content) }, nil, false},
		"no receipt":          {200, p.Content, nil, nil, false},
		"another size":        {200, p.Content[1:], func(f *fake) []byte { return f.receipt(p.ID, p.Content[1:]) }, nil, false},
		"gone":                {410, nil, func(f *fake) []byte { return f.receipt(p.ID, p.Content) }, transport.ErrNothing, true},
		"gone, without":       {410, []byte("gone"), nil, nil, false},
		"limit":               {429, []byte("later"), nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, "localhost")
				f.replace("/v1/blob/"+hex.EncodeToString(p.ID[:]), func(w http.ResponseWriter, r *http.Request) {
					body := c.body
					if c.header != nil {
						if b := c.header(f); c.status == 200 {
							w.Header().Set("Tacet-Receipt", hex.EncodeToString(b))
						} else {
							body = b
						}
					}
					w.WriteHeader(c.status)
					w.Write(body)
				})
				b, got, err := f.join().GetSlot(t.Context(), p.ID)
				if c.want == nil {
					mustBeTemporary(t, err)
				} else if !errors.Is(err, c.want) {
					t.Errorf("got error %v, want %v", err, c.want)
				}
				if b != nil || (got != nil) != c.kept {
					t.Errorf("got %d bytes and receipt %v, want none and %v", len(b), got != nil, c.kept)
				}
				if c.kept && got.Hash != sha256.Sum256(p.Content) {
					t.Error("got a receipt for another content")
				}
			})
		})
	}
}
