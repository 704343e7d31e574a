package wake

import (
	"context"
	"net/netip"
	"testing"
	"time"

	tickets "github.com/tacet-chat/tacet/internal/wake"
)

// Senders who make realms up aim no more at one host than those who name one.
func TestManyRealmsAtOneNameAreOneHost(t *testing.T) {
	d := &Dialer{Resolve: func(ctx context.Context, _ string) ([]netip.Addr, error) {
		<-ctx.Done() // nobody answers
		return nil, ctx.Err()
	}}
	f := NewForwarder(d, [32]byte{255}, nil, time.Now)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	f.ctx = ctx
	go func() { done <- f.Run(ctx) }()
	for n := range perGateway + 8 {
		f.start(tickets.Gateway{Name: "push.example", Realm: [32]byte{byte(n + 1)}}, make([]byte, tickets.TicketSize))
	}
	if got := f.Under(); got > perGateway {
		t.Errorf("got %d tickets under way to one name, want at most %d", got, perGateway)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(f.busy) != 0 || f.forwards != 0 {
		t.Errorf("got %d tickets and %d counts at the end, want none", f.forwards, len(f.busy))
	}
}
