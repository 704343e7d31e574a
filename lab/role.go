package lab

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"sync"

	"github.com/tacet-chat/tacet/relay"
)

// Roles of a process.
const (
	roleRelay  = "relay"
	rolePerson = "person"
)

// Role plays one role until its input ends, and returns the status of exit. A
// program that uses the package must call it when its first argument is
// RoleCommand, with the second.
func Role(role string) int {
	signal.Ignore(os.Interrupt) // meant for whoever started us
	in := bufio.NewReader(os.Stdin)
	out := &speaker{w: os.Stdout}
	var err error
	switch role {
	case roleRelay:
		err = playRelay(in, out)
	case rolePerson:
		err = playPerson(in, out)
	default:
		err = fmt.Errorf("there is no role %q", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	return 0
}

// speaker writes lines of JSON from several goroutines.
type speaker struct {
	mu sync.Mutex // guards writing
	w  io.Writer
}

func (s *speaker) say(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.w.Write(append(line, '\n'))
	return err
}

// hear reads one line.
func hear(in *bufio.Reader, v any) error {
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, v)
}

// relayOrder is what a relay is told. Where a number is 0 it has its default.
type relayOrder struct {
	Listen         string `json:"listen"`
	Data           string `json:"data"`
	TLS            string `json:"tls,omitempty"`
	Placed         bool   `json:"placed,omitempty"`         // peers are placed
	MaxConnections int    `json:"maxConnections,omitempty"` // of one sort
	WindowMiB      int    `json:"windowMiB,omitempty"`
	QueueMiB       int    `json:"queueMiB,omitempty"`
	BlobMiB        int    `json:"blobMiB,omitempty"`
	Config         string `json:"config,omitempty"` // TOML; all the above stands over it
}

// relayWord is what it answers once it listens.
type relayWord struct {
	Addr    string `json:"addr"`
	Realm   string `json:"realm"`             // fingerprint, hex
	Cluster string `json:"cluster,omitempty"` // where other nodes reach it
}

// relayState is what it answers to every line after that.
type relayState struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap"` // bytes of objects that are reachable
}

// playRelay is a relay as tacet-relay runs it. It logs all that it has to say to
// standard error.
func playRelay(in *bufio.Reader, out *speaker) error {
	var o relayOrder
	if err := hear(in, &o); err != nil {
		return err
	}
	cfg, err := relay.ParseConfig([]byte(o.Config))
	if err != nil {
		return err
	}
	cfg.Listen, cfg.Data, cfg.TLS, cfg.MaxConnections = o.Listen, o.Data, o.TLS, o.MaxConnections
	cfg.WindowMiB, cfg.QueueMiB, cfg.BlobMiB, cfg.Log = o.WindowMiB, o.QueueMiB, o.BlobMiB, os.Stderr
	if o.Placed {
		ln, err := net.Listen("tcp", o.Listen)
		if err != nil {
			return err
		}
		cfg.Listener = placed{ln}
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
	pin := r.Fingerprint()
	if err := out.say(relayWord{Addr: addr.String(), Realm: hex.EncodeToString(pin[:]), Cluster: r.ClusterAddr()}); err != nil {
		return err
	}
	go func() {
		defer stop()
		for {
			if _, err := in.ReadSlice('\n'); err != nil {
				return
			}
			runtime.GC()
			runtime.GC() // what the first one left in pools
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			out.say(relayState{runtime.NumGoroutine(), m.HeapAlloc})
		}
	}()
	return <-done
}
