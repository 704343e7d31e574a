package gate

import (
	"fmt"
	"testing"
)

const mib = 1 << 20

// fill takes pieces from new connections of a network until one is refused.
func fill(r *Room, network string, n int64) (gives []func()) {
	for port := 1; port < 10_000; port++ {
		give, ok := r.Take(fmt.Sprintf("%s:%d", network, port), n)
		if !ok {
			break
		}
		gives = append(gives, give)
	}
	return gives
}

func TestAPartyHoldsItsPartAndLeavesTheRest(t *testing.T) {
	for _, c := range []struct {
		name, remote string
		same         bool // connection
		most         int64
	}{
		{"a connection", "192.0.2.1:1", true, 32 * mib / 17},
		{"a network", "192.0.2.1", false, 32 * mib / 9},
		{"a network of IPv6", "[2001:db8::1]", false, 32 * mib / 9},
		{"loopback", "127.0.0.1", false, 32 * mib / 2},
		{"a connection on loopback", "127.0.0.1:1", true, 32 * mib / 17},
	} {
		r := NewRoom(32 * mib)
		const n = 4096
		var held int64
		if c.same {
			for ; held <= 32*mib; held += n {
				if _, ok := r.Take(c.remote, n); !ok {
					break
				}
			}
		} else {
			held = n * int64(len(fill(r, c.remote, n)))
		}
		if held > c.most+n || held < c.most-n {
			t.Errorf("%s: got %d bytes, want about %d", c.name, held, c.most)
		}
		if _, ok := r.Take("198.51.100.1:1", mib/4); !ok {
			t.Errorf("%s: left nothing for a stranger", c.name)
		}
	}
}

// Sixty networks that take all they get leave room for one more small piece.
func TestTheSmallFindRoomWhenTheLargeDoNot(t *testing.T) {
	r := NewRoom(32 * mib)
	for n := range 60 {
		fill(r, fmt.Sprintf("192.0.%d.1", n), mib/4)
	}
	if _, ok := r.Take("198.51.100.1:1", mib/4); ok {
		t.Error("got room for a large piece: the room is not full, the test is blind")
	}
	if _, ok := r.Take("198.51.100.1:1", 4096); !ok {
		t.Error("got no room for a small piece, want some")
	}
}

func TestWhatIsGivenBackIsFreeAndForgotten(t *testing.T) {
	r := NewRoom(32 * mib)
	for _, network := range []string{"192.0.2.1", "127.0.0.1", "[2001:db8::1]"} {
		gives := fill(r, network, mib/4)
		if len(gives) == 0 {
			t.Fatalf("%s: got no room at all", network)
		}
		for _, give := range gives {
			give()
		}
	}
	if give, ok := r.Take("@", 1); ok { // no network address
		give()
	}
	if r.free != 32*mib || len(r.held) != 0 {
		t.Errorf("got %d bytes free and %d rows, want all and none", r.free, len(r.held))
	}
}
