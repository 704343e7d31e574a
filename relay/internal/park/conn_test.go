package park

import (
	"net"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

type anyProof struct{}

func (anyProof) Prove(wire.Proof, []byte, []byte) bool { return true }
func (anyProof) Second() (s [wire.SecondSize]byte)     { return s }

// A client that is gone before it is greeted holds nothing, and does not keep the
// relay from stopping.
func TestAClientThatIsGoneBeforeItsGreeting(t *testing.T) {
	p := New(Config{Proofs: anyProof{}, Now: time.Now})
	ours, theirs := net.Pipe()
	theirs.Close()
	released := make(chan struct{})
	s := &session{p: p, nc: ours, frames: make(chan []byte, maxWaiting), born: time.Now(), release: func() { close(released) }}
	s.out.nc = ours
	if !p.add(s) {
		t.Fatal("got no place")
	}
	go s.serve()
	select {
	case <-released:
	case <-time.After(time.Minute):
		t.Fatal("its place is still held")
	}
	p.open.Wait()
}
