package memory_test

import (
	"crypto/rand"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/blob"
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
