package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"

	"github.com/tacet-chat/tacet/relay"
)

// Roles of a process, which a program that uses the package plays when it is
// started as `PROGRAM role ROLE`.
const (
	rolePrefix = "load-"
	roleRelay  = rolePrefix + "relay"
	roleEars   = rolePrefix + "ears"
	roleMLS    = rolePrefix + "mls"
	rolePerson = rolePrefix + "person"
)

// roleCommand is the hidden command of this program that plays a role.
const roleCommand = "role"

// IsRole reports whether the role is one of this package.
func IsRole(role string) bool { return strings.HasPrefix(role, rolePrefix) }

// Role plays one role until its input ends, and returns the status of exit.
func Role(role string) int {
	signal.Ignore(os.Interrupt) // meant for whoever started us
	in := bufio.NewReader(os.Stdin)
	var err error
	switch role {
	case roleRelay:
		err = playRelay(in)
	case roleEars:
		err = playEars(in)
	case roleMLS:
		err = playMLS(in)
	case rolePerson:
		err = playPerson(in)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

// say writes a line of JSON to whoever started us.
func say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

// hear reads a line of JSON.
func hear(in *bufio.Reader, v any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// relayOrder is what a relay is told, first what it is, then what to do.
type relayOrder struct {
	TLS  bool   `json:"tls,omitempty"`
	Park string `json:"park,omitempty"` // data directory: cells are parked there
	Blob string `json:"blob,omitempty"` // data directory: cells are parked there, and blobs lie there
	Ping int    `json:"ping,omitempty"` // seconds, 0 for the default

	Free    bool   `json:"free,omitempty"`    // collect garbage and give memory back
	Profile string `json:"profile,omitempty"` // file to write a CPU profile to, from now
	Stop    bool   `json:"stop,omitempty"`    // of the profile
}

// relayWord is what it answers.
type relayWord struct {
	Addr       string `json:"addr,omitempty"`
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap"` // bytes of live objects
	CPU        int64  `json:"cpu"`  // µs that the process has used
	Err        string `json:"err,omitempty"`
}

// playRelay is a relay as tacet-relay runs it, without a data directory: every
// start is a new realm. What it can do beside, such as freeing memory when told
// to, is of this role and in no relay that people run.
func playRelay(in *bufio.Reader) error {
	var o relayOrder
	if err := hear(in, &o); err != nil {
		return err
	}
	cfg := relay.Config{Listen: "127.0.0.1:0", TLS: "off", Ping: o.Ping, MaxConnections: 1_000_000, Log: os.Stderr}
	if o.TLS {
		cfg.TLS = "on"
	}
	if o.Park != "" {
		cfg.Data, cfg.Roles = o.Park, []string{relay.RoleLive, relay.RolePark}
	}
	if o.Blob != "" {
		cfg.Data, cfg.Roles = o.Blob, []string{relay.RoleLive, relay.RoleBlob, relay.RolePark}
	}
	r, err := relay.New(cfg)
	if err != nil {
		return err
	}
	addr, err := r.Listen()
	if err != nil {
		r.Close()
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	if err := say(relayWord{Addr: addr.String()}); err != nil {
		return err
	}
	go func() {
		defer stop()
		for {
			var o relayOrder
			if hear(in, &o) != nil || say(do(o)) != nil {
				return
			}
		}
	}()
	return <-done
}

func do(o relayOrder) (w relayWord) {
	if o.Free {
		debug.FreeOSMemory()
	}
	if o.Profile != "" {
		f, err := os.Create(o.Profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			w.Err = err.Error()
		}
	}
	if o.Stop {
		pprof.StopCPUProfile()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	w.Goroutines, w.Heap, w.CPU = runtime.NumGoroutine(), m.HeapAlloc, ownTime().Microseconds()
	return w
}
