package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Stage is a relay, two people and what stands between them, in a directory
// that is thrown away. Every one of them is a process of its own.
type Stage struct {
	tolled bool // its relay wants tokens
	Dir    string
	Host   *Host
	Tap    *Tap
	Ada    *Person
	Bob    *Person
	Cy     *Person // nil until a story needs a third

	log *os.File // what the relay has to say
}

// StageOptions say what a stage is for.
type StageOptions struct {
	AckMean time.Duration // zero: as people have it
	Record  bool          // the tap writes down what it sees
	Seed    uint64        // of the tap's dice
	Config  string        // of the relay, TOML; empty: the default
	Spread  time.Duration // of changes of groups, as client.Options has it
	Brief   bool          // people's processes think that they end soon
}

// Network addresses of the two, where the system has them: loopback is wide.
const (
	adaFrom = "127.0.0.2"
	bobFrom = "127.0.0.3"
)

// passphrase of everybody on a stage: what they protect is thrown away.
const passphrase = "only for the length of this play"

// Raise starts a relay and the two people. They do not know each other yet.
func Raise(ctx context.Context, o StageOptions) (_ *Stage, err error) {
	s := &Stage{tolled: strings.Contains(o.Config, `"token"`)}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if s.Dir, err = os.MkdirTemp("", "tacet-lab-"); err != nil {
		return nil, fmt.Errorf("raising the stage: %w", err)
	}
	if err := os.Mkdir(s.Logs(), 0o700); err != nil {
		return nil, fmt.Errorf("raising the stage: %w", err)
	}
	if s.log, err = os.Create(filepath.Join(s.Logs(), "relay.log")); err != nil {
		return nil, fmt.Errorf("raising the stage: %w", err)
	}
	s.Host = &Host{Data: filepath.Join(s.Dir, "relay"), Config: o.Config, log: s.log}
	if err := s.Host.Start(ctx); err != nil {
		return nil, err
	}
	if s.Tap, err = NewTap(s.Host.Addr(), o.Record, o.Seed); err != nil {
		return nil, err
	}
	s.Ada = s.person("Ada Lindqvist", "ada", adaFrom, o)
	s.Bob = s.person("Bob Okonkwo", "bob", bobFrom, o)
	return s, errors.Join(s.Ada.Start(ctx, Fall{}), s.Bob.Start(ctx, Fall{}))
}

func (s *Stage) person(name, dir, from string, o StageOptions) *Person {
	if !here(from) {
		from = ""
	}
	order := personOrder{
		Dir: filepath.Join(s.Dir, dir), Passphrase: passphrase, Name: name, Relay: s.Tap.Name(), From: from, AckMean: o.AckMean, Brief: o.Brief, Spread: o.Spread,
	}
	return newPerson(order, os.Stderr)
}

// here reports whether a network address is this machine's.
func here(ip string) bool {
	ln, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// Logs is the directory of what the relay has to say.
func (s *Stage) Logs() string { return filepath.Join(s.Dir, "log") }

// Meet makes the two contacts: Ada invites, Bob accepts with a first message.
// To each other they are "ada" and "bob". It returns the invite's link.
func (s *Stage) Meet(ctx context.Context, text string) (link string, err error) {
	if s.tolled {
		for _, p := range []*Person{s.Ada, s.Bob} {
			if err := p.solvent(ctx); err != nil {
				return "", err
			}
		}
	}
	if link, err = s.Ada.Invite(ctx); err != nil {
		return "", err
	}
	return link, s.join(ctx, link, text)
}

// solvent waits until somebody has tokens, which may take a puzzle, and has
// connected with them.
func (p *Person) solvent(ctx context.Context) error {
	for {
		if st, err := p.Status(ctx); err == nil && st.Connected {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s has no tokens: %w", p.Name, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// join is Bob's half, and waits until both can write.
func (s *Stage) join(ctx context.Context, link, text string) error {
	const within = 30 * time.Second
	if err := s.Bob.Accept(ctx, link, "ada", text); err != nil {
		return err
	}
	if _, err := s.Ada.Receive(ctx, within, text); err != nil {
		return err
	}
	if _, err := s.Ada.ask(ctx, ask{Do: "rename", Who: s.Bob.Name, Text: "bob"}); err != nil {
		return err
	}
	_, err := s.Bob.Await(ctx, within, func(e client.Event) bool { return e.State == client.Told && e.Text == "accepted your request" })
	return err
}

// Close ends everybody and throws the directory away. It returns what went
// wrong in any of the processes.
func (s *Stage) Close() error {
	var errs []error
	for _, p := range []*Person{s.Ada, s.Bob, s.Cy} {
		if p != nil {
			errs = append(errs, p.Stop())
		}
	}
	if s.Host != nil {
		errs = append(errs, s.Host.Stop())
	}
	if s.Tap != nil {
		errs = append(errs, s.Tap.Close())
	}
	if s.log != nil {
		errs = append(errs, s.log.Close())
	}
	if s.Dir != "" {
		errs = append(errs, os.RemoveAll(s.Dir))
	}
	return errors.Join(errs...)
}
