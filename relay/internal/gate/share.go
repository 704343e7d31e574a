package gate

import "net/netip"

// Parts of what can be open at one moment. A network gets an eighth of what is
// free, and less the less is free: so one that holds much is refused first, k
// networks that take all they can hold k/(k+8) of everything, and one that holds
// nothing gets a place as long as there is any. Of 4,096 places a crowd that
// wants the last one needs about 390 networks.
const (
	shareNetwork = 8  // of all while all is free
	refusalPart  = 16 // of all places: those who are told why they get none
)

// network stands for a peer's network: family 1 ‖ the /24 of an IPv4 address or
// the /56 of an IPv6 one, then zeros. The zero value is loopback, or no address.
type network [8]byte

func networkOf(remote netip.Addr) (n network) {
	if remote = remote.Unmap(); !remote.IsValid() || remote.IsLoopback() {
		return n
	}
	appendNetwork(n[:0], remote)
	return n
}

func (n *network) local() bool { return n[0] == 0 }

// appendNetwork appends family 1 ‖ prefix of a valid address.
func appendNetwork(b []byte, remote netip.Addr) []byte {
	remote = remote.Unmap()
	if remote.Is4() {
		a := remote.As4()
		return append(append(b, 4), a[:3]...)
	}
	a := remote.As16()
	return append(append(b, 6), a[:7]...)
}

// id is the place of a network among the shares: a part of its keyed hash, and
// so another one under the next key.
type id [16]byte

// share is what one network holds. It exists while that is something.
type share struct {
	network network
	id      id
	held    [kinds]int
	sockets int // of the kinds that hold one
	all     int
}

func (s *share) add(what What, n int) {
	s.held[what] += n
	s.all += n
	switch what {
	case Connection, Watch, Put, Refusal:
		s.sockets += n
	}
}

// room reports whether a network, whose share is nil if it holds nothing, may
// hold one more. Callers hold mu.
func (g *Gate) room(s *share, what What, local bool) bool {
	if s == nil {
		s = &share{}
	}
	if !g.fits(s.held[what], g.total.held[what], g.most[what], local) {
		return false
	}
	switch what {
	case Connection, Watch, Put, Refusal:
		return g.fits(s.sockets, g.total.sockets, g.sockets, local)
	}
	return true
}

// fits reports whether a network that holds some of all that is held may have
// one more: the first always if there is any. Peers on loopback stand for many:
// they get half of what others leave, and all where nobody else can come. Most 0
// is no bound.
func (g *Gate) fits(some, all, most int, local bool) bool {
	free := int64(most - all)
	switch {
	case most == 0:
		return true
	case free <= 0:
		return false
	case some == 0, local && g.alone:
		return true
	case local:
		return int64(some) < free
	}
	return int64(some) < free*free/(shareNetwork*int64(most))
}

// Network returns what stands for a peer's network where something is counted by
// it, and whether the peer is local: on loopback, or without an address, and so
// may stand for many.
func Network(remote netip.Addr) (network [8]byte, local bool) {
	n := networkOf(remote)
	return n, n.local()
}
