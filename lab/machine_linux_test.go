package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// machine is a Debian machine of its own, made of this one: its files lie over
// ours and vanish with it, systemd is its first process, and its network has
// nobody else in it. Only what is changed is written, to memory.
type machine struct {
	t    *testing.T
	init int // process number of its systemd
}

// machineScript boots one. Its first argument is a folder that is made a disk in
// memory, the second a folder that the machine sees as /root/got.
const machineScript = `
mount --make-rprivate /
mount -t tmpfs -o size=768m none "$1"
mkdir "$1/over" "$1/work" "$1/root"
mount -t overlay -o lowerdir=/,upperdir="$1/over",workdir="$1/work" overlay "$1/root"
cd "$1/root"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs none run
mount -t tmpfs none tmp
mount -t tmpfs none sys/fs/cgroup
mkdir -p sys/fs/cgroup/unified sys/fs/cgroup/systemd
mount -t cgroup2 cgroup2 sys/fs/cgroup/unified 2>/dev/null || true
mount -t cgroup -o none,name=systemd cgroup sys/fs/cgroup/systemd 2>/dev/null || mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs none dev
for n in null zero full random urandom tty; do touch dev/$n; mount --bind /dev/$n dev/$n; done
mkdir dev/pts dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
touch dev/console
mkdir -p root/got
mount --bind "$2" root/got
# Nothing of a relay that this machine may have.
rm -rf etc/tacet-relay.toml etc/systemd/system/tacet-relay.service var/lib/tacet-relay usr/local/bin/tacet usr/local/bin/tacet-relay
ip link set lo up
ip addr add 192.0.2.10/32 dev lo
export container=tacet
exec chroot . /lib/systemd/systemd --system --unit=basic.target --log-target=null --show-status=false
`

// newMachine boots one that has files of a folder in /root/got, or skips.
func newMachine(t *testing.T, got string) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED 1 test: a machine of its own needs root")
	}
	for _, program := range []string{"/lib/systemd/systemd", "unshare", "nsenter", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("SKIPPED 1 test: %v (Debian: systemd, util-linux, iproute2)", err)
		}
	}
	disk, err := os.MkdirTemp("", "tacet-machine-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(disk) })
	said := &screen{}
	c := exec.Command("unshare", "--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup", "--fork", "--kill-child=SIGKILL",
		"sh", "-euc", machineScript, "machine", disk, got)
	c.Stdout, c.Stderr = said, said
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	launch(t, c) // which kills it in the end: its first process goes, and all others with that
	m := &machine{t: t}
	end := time.Now().Add(fiveMinutes)
	for {
		if m.init = childOf(c.Process.Pid); m.init > 0 {
			out, _ := m.command("systemctl", "is-system-running").Output()
			if s := strings.TrimSpace(string(out)); s == "running" || s == "degraded" {
				return m
			}
		}
		if state := ended(c.Process.Pid); state || time.Now().After(end) {
			t.Skipf("SKIPPED 1 test: no machine can be booted here: %s", strings.TrimSpace(said.String()))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// childOf returns the number of a process's only child, 0 if it has none yet.
func childOf(pid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return n
}

func ended(pid int) bool { return !lives(pid) }

// command is one that will run there, with the environment of a fresh login.
func (m *machine) command(name string, args ...string) *exec.Cmd {
	c := exec.Command("nsenter", append([]string{"-t", strconv.Itoa(m.init), "-m", "-p", "-u", "-i", "-n", "-C", "-r", "-w", name}, args...)...)
	c.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "TERM=linux", "LANG=C.UTF-8", "HOME=/root"}
	return c
}

// console is a terminal of a machine at which somebody sits.
type console struct {
	m     *machine
	tty   *os.File
	shown screen
	from  int // of what was shown, after the last answer
	shell *exec.Cmd
}

// sit opens a terminal with a shell in a folder.
func (m *machine) sit(home string) *console {
	m.t.Helper()
	tty, end, err := openTerminal()
	if err != nil {
		m.t.Skipf("SKIPPED 1 test: no terminals here: %v", err)
	}
	c := &console{m: m, tty: tty}
	c.shell = m.command("env", "HOME="+home, "PS1=$ ", "sh", "-c", "mkdir -p "+home+" && cd "+home+" && exec sh")
	c.shell.Stdin, c.shell.Stdout, c.shell.Stderr = end, end, end
	c.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.shell.Start(); err != nil {
		m.t.Fatal(err)
	}
	end.Close()
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(&c.shown, tty) }()
	m.t.Cleanup(func() {
		syscall.Kill(-c.shell.Process.Pid, syscall.SIGKILL)
		c.shell.Wait()
		tty.Close()
		<-done
		if m.t.Failed() {
			m.t.Logf("the terminal in %s:\n%s", home, c.text(0))
		}
	})
	c.sees(`\$ $`)
	return c
}

// openTerminal returns both ends of a new terminal of 80 columns.
func openTerminal() (here, there *os.File, err error) {
	here, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	// Not by Fd, after which a Close would wait for a read that nobody ends.
	raw, err := here.SyscallConn()
	n := 0
	if err == nil {
		cerr := raw.Control(func(at uintptr) {
			fd := int(at)
			if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
				err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 50, Col: 80})
			}
			if err == nil {
				n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
			}
		})
		err = errors.Join(err, cerr)
	}
	if err == nil {
		there, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		here.Close()
	}
	return here, there, err
}

// control are sequences that a terminal acts on and does not show.
var control = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

// text is what was shown since a place, without colours, every line for itself.
func (c *console) text(from int) string {
	s := control.ReplaceAllString(c.shown.String()[from:], "")
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
}

// sees waits until what was shown since the last answer matches, and returns the
// last group.
func (c *console) sees(pattern string) (group string) {
	c.m.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	var m []string
	patiently(c.m.t, "the terminal to show "+pattern, func() bool {
		m = want.FindStringSubmatch(c.text(c.from))
		return m != nil
	})
	return m[len(m)-1]
}

// types types a line.
func (c *console) types(line string) {
	c.from = len(c.shown.String())
	io.WriteString(c.tty, line+"\n")
}

// does types a command, answers what it asks, and waits for its end, which must
// be a good one. It returns what was shown.
func (c *console) does(command string, answers ...string) string {
	c.m.t.Helper()
	began := len(c.shown.String())
	c.types(command)
	for i := 0; i+1 < len(answers); i += 2 {
		c.sees(answers[i])
		c.types(answers[i+1])
	}
	c.sees(`^\$ $`)
	shown := c.text(began)
	c.types("echo status $?")
	if status := c.sees(`^status (\d+)$`); status != "0" {
		c.m.t.Fatalf("%s: status %s\n%s", command, status, shown)
	}
	c.sees(`^\$ $`)
	return shown
}

// files makes a folder with copies of programs in it.
func files(t *testing.T, from string, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range names {
		if err := os.Link(filepath.Join(from, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
