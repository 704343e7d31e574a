package memory_test

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

func TestBlobs(t *testing.T) {
	storetest.Blobs(t, func(t *testing.T, max int64) blob.Store {
		s, err := memory.NewBlobs(max, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestGate(t *testing.T) {
	storetest.Members(t, func(*testing.T) gate.Members { return memory.NewGate(10_000, rand.Reader) })
	storetest.Spent(t, func(*testing.T) gate.Spent { return memory.NewGate(10_000, rand.Reader) })
}

func TestAFullGateKeepsWhatItHas(t *testing.T) {
	g := memory.NewGate(2, rand.Reader)
	for i, want := range []error{nil, nil, gate.ErrFull} {
		if _, err := g.Spend(t.Context(), gate.Mark{Until: 1, Hash: uint64(i)}); !errors.Is(err, want) {
			t.Errorf("spending: got %v, want %v", err, want)
		}
		if err := g.AddInvite(t.Context(), gate.Invite{Hash: [32]byte{byte(i)}, Uses: 9, Last: 1}); !errors.Is(err, want) {
			t.Errorf("inviting: got %v, want %v", err, want)
		}
		if err := g.Join(t.Context(), [32]byte{}, [32]byte{byte(i)}, 1); !errors.Is(err, want) {
			t.Errorf("joining: got %v, want %v", err, want)
		}
	}
	if v, err := g.Spend(t.Context(), gate.Mark{Until: 1, Hash: 0}); v != gate.Other || err != nil {
		t.Errorf("spending again: got %d, %v, want it spent", v, err)
	}
}
