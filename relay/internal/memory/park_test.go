package memory_test

import (
	"crypto/rand"
	"testing"

	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/park"
	"github.com/tacet-chat/tacet/relay/internal/storetest"
)

func TestPark(t *testing.T) {
	storetest.Park(t, func(t *testing.T, rows int) park.Store {
		s, err := memory.NewPark(int64(rows)*park.RowCost, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}
