// Package setup makes a relay out of a bare machine: it looks first whether
// everything can be done, then writes the configuration and a unit for systemd,
// makes the relay's user, and starts the service. `tacet-relay quickstart` is
// its face.
//
// A plan is made before anything is changed, and says all that will be. Each
// step writes its file whole or not at all; a run that fails says what it has
// changed, and running it again goes on from there. A second run of a plan
// that is carried out changes nothing. Nothing is fetched from the network, and
// only the system's resolver is asked. The package knows nothing of what a
// relay does: package relay reads the configuration and judges it.
package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tacet-chat/tacet/relay"
)

// Where things are for root, by custom.
const (
	SystemConfig = "/etc/tacet-relay.toml"
	SystemUnit   = "/etc/systemd/system/tacet-relay.service"
	SystemData   = "/var/lib/tacet-relay"
	User         = "tacet-relay" // and its group, and the service
)

// NoUnit is the Unit of Options that writes none.
const NoUnit = "none"

// Options say what relay is wanted. Exactly one way in is named.
type Options struct {
	Domain  string // a DNS name
	Address string // a bare address, or "auto" for this machine's own
	Onion   bool   // an onion service

	Data, Config string // paths, absolute
	Listen       string // empty: port 443 for who may take it, else 7117
	Unit         string // path, or NoUnit
	Park         bool
	Gate         string // open, invite or closed

	Program string // path of tacet-relay, for the unit
	Root    bool   // this is root: a user is made and the service started
}

// Plan is what will be done.
type Plan struct {
	Name   string        // by which people reach the relay; empty for an onion service that Tor has not named yet
	Checks []relay.Check // what the look at the machine found
	Steps  []Step        // what is to be changed, in this order; none: all is as it should be
	DNS    []string      // lines that the name's zone lacks
	Torrc  []string      // lines that Tor's configuration lacks
	Start  string        // the command that starts the relay, where this run does not
	Config relay.Config  // as it will be

	opt Options
}

// Step is one change.
type Step struct {
	What string `json:"what"` // "write", "make" or "start"
	Of   string `json:"of"`   // a path, a user or a service
	Text string `json:"text,omitempty"`

	do func(ctx context.Context) error
}

// Failed counts the checks that stand in the way.
func (p *Plan) Failed() (n int) {
	for _, c := range p.Checks {
		if c.Level == relay.Fail {
			n++
		}
	}
	return n
}

// Apply carries the plan out. told is called after each step. An error says
// what was changed before it.
func (p *Plan) Apply(ctx context.Context, told func(Step)) error {
	for i, s := range p.Steps {
		if err := s.do(ctx); err != nil {
			return halfway(p.Steps[:i], s, err)
		}
		told(s)
	}
	return nil
}

// halfway says what a run that failed has changed.
func halfway(done []Step, failed Step, err error) error {
	verb := map[string]string{"write": "writing", "make": "making", "start": "starting"}[failed.What]
	out := &relay.Problem{Err: fmt.Errorf("%s %s: %w", verb, failed.Of, err), Hint: "run quickstart again once that is mended: it goes on from here"}
	if p := (*relay.Problem)(nil); errors.As(err, &p) && p.Hint != "" {
		out.Hint = p.Hint
	}
	if len(done) == 0 {
		out.Hint += "; nothing was changed"
		return out
	}
	out.Hint += "; changed so far:"
	for _, s := range done {
		out.Hint += " " + s.Of
	}
	return out
}

// writing returns the step that brings a file to be text, or none if it is.
func writing(path, text string, mode os.FileMode) ([]Step, error) {
	b, err := os.ReadFile(path)
	switch {
	case err == nil && bytes.Equal(b, []byte(text)):
		return nil, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	return []Step{{What: "write", Of: path, Text: text, do: func(context.Context) error { return write(path, text, mode) }}}, nil
}

// write puts a file there whole or not at all.
func write(path, text string, mode os.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".tacet-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
