package lab

import (
	"net"
	"net/netip"
)

// placed is a listener on loopback whose peers count as other networks: who
// comes from 127.0.N.H, N not 0, is 198.18.N.H to the relay (RFC 2544). Without
// it all would be loopback, which limits spare.
type placed struct{ net.Listener }

type placedConn struct {
	*net.TCPConn
	from *net.TCPAddr
}

func (p placed) Accept() (net.Conn, error) {
	c, err := p.Listener.Accept()
	if err != nil {
		return nil, err
	}
	tcp := c.(*net.TCPConn)
	a := tcp.RemoteAddr().(*net.TCPAddr).AddrPort()
	b := a.Addr().Unmap().As4()
	if b[0] != 127 || b[2] == 0 {
		return tcp, nil
	}
	at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, b[2], b[3]}), a.Port())
	return &placedConn{tcp, net.TCPAddrFromAddrPort(at)}, nil
}

func (c *placedConn) RemoteAddr() net.Addr { return c.from }
