package lab

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Addresses of the scenarios, all of the ranges for documentation (RFC 5737,
// RFC 3849). The relay's name is in everybody's hosts file: names are found
// without asking anybody.
const (
	relayName = "relay.example"
	relayPort = "7117"
	server4   = "192.0.2.10"
	server6   = "2001:db8:5::10"
)

// placePrefix begins the names of our namespaces: number of the process, then
// chance.
const placePrefix = "tacet-net"

// place is a network namespace with processes in it.
type place struct {
	t    *testing.T
	name string
}

// needNetwork skips the test, loudly, where namespaces are not to be had.
func needNetwork(t *testing.T) {
	t.Helper()
	if os.Getenv("TACET_NETWORK") != "1" {
		t.Skip("SKIPPED 1 test: networks are a suite of their own: scripts/test network")
	}
	if err := networkAllowed(); err != nil {
		t.Skipf("SKIPPED 1 test: it needs root on Linux, ip, iptables and TUN devices: %v", err)
	}
}

// networkAllowed tries everything that a scenario needs, once.
var networkAllowed = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return os.ErrPermission
	}
	for _, tool := range []string{"ip", "iptables-restore", "ip6tables-restore"} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	sweepPlaces()
	name := placeName("try")
	defer removePlace(name)
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		return fmt.Errorf("ip netns add: %w: %s", err, out)
	}
	tun, err := openTun(name, "wan")
	if err != nil {
		return err
	}
	defer tun.Close()
	if err := script(name, homeScript("both", "198.51.100.1", "2001:db8:77")); err != nil {
		return err
	}
	return script(name, "ip link add lan type veth peer name eth0")
})

func placeName(what string) string {
	return fmt.Sprintf("%s-%d-%08x-%s", placePrefix, os.Getpid(), rand.Uint32(), what)
}

// sweepPlaces removes what runs before this one left behind when they crashed.
func sweepPlaces() {
	all, _ := os.ReadDir("/run/netns")
	for _, e := range all {
		rest, ours := strings.CutPrefix(e.Name(), placePrefix+"-")
		number, _, _ := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		if ours && err == nil && !lives(pid) {
			removePlace(e.Name())
		}
	}
}

// lives reports whether a process runs: one that ended may still be listed, as
// nobody has asked how it ended.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := bytes.Cut(stat, []byte(") ")) // the name may hold anything
	return err == nil && !bytes.HasPrefix(after, []byte("Z"))
}

// removePlace ends what runs in a namespace of ours, and the namespace.
func removePlace(name string) {
	out, _ := exec.Command("ip", "netns", "pids", name).Output()
	for _, s := range strings.Fields(string(out)) {
		if pid, err := strconv.Atoi(s); err == nil && pid > 1 && pid != os.Getpid() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	exec.Command("ip", "netns", "del", name).Run()
	os.RemoveAll(filepath.Join("/etc/netns", name))
}

// newPlace makes a namespace with a hosts file.
func newPlace(t *testing.T, what string) *place {
	t.Helper()
	p := &place{t, placeName(what)}
	etc := filepath.Join("/etc/netns", p.name)
	t.Cleanup(func() { removePlace(p.name) })
	if err := os.MkdirAll(etc, 0o755); err != nil {
		t.Fatal(err)
	}
	hosts := fmt.Sprintf("127.0.0.1 localhost\n%s %s\n%s %s\n", server4, relayName, server6, relayName)
	if err := os.WriteFile(filepath.Join(etc, "hosts"), []byte(hosts), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ip", "netns", "add", p.name).CombinedOutput(); err != nil {
		t.Fatalf("ip netns add: %v: %s", err, out)
	}
	return p
}

// command is a command that will run there.
func (p *place) command(name string, args ...string) *exec.Cmd {
	c := exec.Command("ip", append([]string{"netns", "exec", p.name, name}, args...)...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

// do runs lines of a shell there.
func (p *place) do(lines string) {
	p.t.Helper()
	if err := script(p.name, lines); err != nil {
		p.t.Fatal(err)
	}
}

func script(name, lines string) error {
	c := exec.Command("ip", "netns", "exec", name, "sh", "-eu", "-s")
	c.Stdin = strings.NewReader(lines)
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("setting up a network: %w: %s", err, said.Bytes())
	}
	return nil
}

// serverScript sets up a host that stands on the internet itself.
func serverScript() string {
	return `
ip link set lo up
ip link set wan up mtu 1500
ip addr add ` + server4 + `/32 dev wan
ip -6 addr add ` + server6 + `/128 dev wan nodad
ip route add default dev wan
ip -6 route add default dev wan
`
}

// Addresses inside of a home.
const (
	router4 = "192.168.1.1"
	host4   = "192.168.1.20"
	next4   = "192.168.1.77" // of the same device, later
)

// homeScript sets up a router: with IPv4 it translates addresses, with IPv6
// every device has one of its own and the router lets nobody in unasked.
// sort is v4, v6 or both; public is its IPv4 address, prefix its IPv6 /48
// without its last colons.
func homeScript(sort, public, prefix string) string {
	s := `
ip link set lo up
ip link set wan up mtu 1500
iptables-restore <<X
*nat
-A POSTROUTING -o wan -j MASQUERADE
COMMIT
*filter
:FORWARD DROP
-A FORWARD -i lan -j ACCEPT
-A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
COMMIT
X
ip6tables-restore <<X
*filter
:FORWARD DROP
-A FORWARD -p icmpv6 -j ACCEPT
-A FORWARD -i lan -j ACCEPT
-A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
COMMIT
X
`
	if sort != "v6" {
		s += `
echo 1 >/proc/sys/net/ipv4/ip_forward
ip addr add ` + public + `/32 dev wan
ip route add default dev wan
`
	}
	if sort != "v4" {
		s += `
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
ip -6 addr add ` + prefix + `:ffff::1/128 dev wan nodad
ip -6 route add default dev wan
`
	}
	return s
}

// home is a host behind a router.
type home struct {
	router, host *place
	line         *uplink
}

// newHome builds one. sort, public and prefix are as for homeScript.
func newHome(t *testing.T, n *internet, w weather, sort, public, prefix string) *home {
	t.Helper()
	h := &home{router: newPlace(t, "router"), host: newPlace(t, "host")}
	var reach []string
	if sort != "v6" {
		reach = append(reach, public+"/32")
	}
	if sort != "v4" {
		reach = append(reach, prefix+"::/48")
	}
	h.line = n.attach(h.router.name, w, reach...)
	h.router.do(homeScript(sort, public, prefix))
	h.router.do(`
echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad
ip link add lan type veth peer name eth0 netns ` + h.host.name + `
ip link set lan up
`)
	h.host.do(`
ip link set lo up
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad
ip link set eth0 up
`)
	if sort != "v6" {
		h.router.do("ip addr add " + router4 + "/24 dev lan")
		h.host.do("ip addr add " + host4 + "/24 dev eth0\nip route add default via " + router4)
	}
	if sort != "v4" {
		h.router.do("ip -6 addr add " + prefix + "::1/64 dev lan nodad")
		h.host.do("ip -6 addr add " + prefix + "::20/64 dev eth0 nodad\nip -6 route add default via " + prefix + "::1")
	}
	return h
}
