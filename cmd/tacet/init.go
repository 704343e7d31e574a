package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/ui/text"
)

// founding is what init and recover are told.
type founding struct {
	name, relay string
	trust, none bool
}

func (f *founding) register(c *cobra.Command) {
	c.Flags().StringVar(&f.name, "name", "", "the `NAME` that the people you talk with see; may be empty")
	c.Flags().StringVar(&f.relay, "relay", "", "your relay: `HOST`[:port][#keyfingerprint]; without one, that of the first invite you accept")
	c.Flags().BoolVar(&f.trust, "trust-relay", false, "take whatever key the relay shows, unasked")
	c.Flags().BoolVar(&f.none, "no-passphrase", false, "have no passphrase: whoever can read the folder can open the profile")
}

func initCommand(a *app) *cobra.Command {
	var f founding
	c := &cobra.Command{
		Use:   "init",
		Short: "Make a profile: a new person",
		Long: `Make a profile: a new person, with keys that are made here and nowhere else. No
phone number, no mail address.

It asks for a passphrase, which seals the profile on this device, and prints 24
recovery words, once. The words are who you are: keep them on paper.`,
		Args: cobra.NoArgs,
		Example: `  tacet init --name Ada --relay relay.example
  tacet init --name Bob                  # and then: tacet accept LINK
  tacet --profile work init --relay 127.0.0.1:7117`,
	}
	f.register(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.found(cmd.Context(), &f, func(ctx context.Context, o client.Options, p client.NewProfile) error {
			words, err := client.Create(ctx, o, p)
			if err != nil {
				return err
			}
			if err := a.showWords(ctx, o.Dir, &p, words); err != nil || a.json {
				return err
			}
			next := "`tacet invite new` makes a link for somebody you want to talk with."
			if p.Relay == "" {
				next = "`tacet accept LINK` takes up an invite, and its relay becomes yours."
			}
			a.say("The profile is ready. %s", next)
			return nil
		})
	}
	return c
}

func recoverCommand(a *app) *cobra.Command {
	var f founding
	c := &cobra.Command{
		Use:   "recover",
		Short: "Make a new device of yours from the 24 words",
		Long: `Make a new device of yours from the 24 recovery words, which are asked for or read
from standard input. Numbers, capitals and line breaks between the words do not
matter. Contacts and history are not in the words: people reach you again by a
new invite, and see that it is you by the safety number.`,
		Args: cobra.NoArgs,
		Example: `  tacet recover --name Ada --relay relay.example
  tacet recover --passphrase-file secret < words.txt`,
	}
	f.register(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.found(cmd.Context(), &f, func(ctx context.Context, o client.Options, p client.NewProfile) error {
			words, err := a.readWords(ctx)
			if err != nil {
				return err
			}
			a.progress.Start("making the profile")
			if err := client.Recover(ctx, o, p, words); err != nil {
				return err
			}
			a.say("This is your new device. People reach you by a new invite: `tacet invite new`.")
			if a.json {
				return a.printJSON(profileJSON(o.Dir, &p, nil))
			}
			return nil
		})
	}
	return c
}

// found makes a profile with what make does once everything is known.
func (a *app) found(ctx context.Context, f *founding, make func(context.Context, client.Options, client.NewProfile) error) error {
	dir, err := a.dir()
	if err != nil {
		return err
	}
	if client.Exists(dir) {
		return client.ErrExists
	}
	n, err := a.network(dir)
	if err != nil {
		return err
	}
	o := client.Options{Dir: dir, Network: n}
	p := client.NewProfile{Name: f.name}
	if p.Relay, p.RelayKey, err = a.chooseRelay(ctx, n, f); err != nil {
		return err
	}
	switch {
	case f.none:
		a.say("%s without a passphrase, whoever can read %s can open this profile.", a.talk.Warn("warning:"), text.Line(dir))
		open := filepath.Join(dir, openName)
		os.Remove(open) // of a profile that was not finished
		if o.Passphrase, err = openly(dir); err != nil {
			return err
		}
		defer func() {
			if !client.Exists(dir) {
				os.Remove(open)
			}
		}()
	case a.passFile != "":
		if o.Passphrase, err = a.secretFile(a.passFile); err == nil && len(o.Passphrase) == 0 {
			err = errEmptyFile()
		}
	default:
		a.say("The passphrase seals this profile on this device. Nobody can reset it.")
		o.Passphrase, err = a.newPassphrase(ctx)
	}
	if err != nil {
		return err
	}
	if err := a.keepProxy(dir); err != nil {
		return err
	}
	return notReached(make(ctx, o, p))
}

// notReached says of a relay that is away that no profile was made.
func notReached(err error) error {
	if !errors.Is(err, client.ErrNetwork) {
		return err
	}
	hint := "is the relay running, and is its name right?"
	if errors.Is(err, transport.ErrForeign) || errors.Is(err, client.ErrForeign) {
		hint = text.Explain(client.ErrForeign).Hint
	}
	return &text.Failure{What: err.Error(), Means: "No profile was made.", Hint: hint, Err: err}
}

// chooseRelay reads --relay, and asks about a key that nobody compared.
func (a *app) chooseRelay(ctx context.Context, n client.Network, f *founding) (name string, pin [32]byte, err error) {
	if f.relay == "" {
		return "", pin, nil
	}
	name, key, pinned := strings.Cut(f.relay, "#")
	name = strings.ToLower(name)
	if pinned {
		ok := false
		if pin, ok = client.ParseKeyText(strings.ReplaceAll(key, " ", "")); !ok {
			return "", pin, usage("the key fingerprint after # is not one", "it has 64 hex digits; leave it out to be shown the relay's")
		}
		return name, pin, nil
	}
	a.progress.Start("asking the relay for its key")
	pin, err = n.Identify(ctx, name)
	a.progress.Stop()
	if errors.Is(err, transport.ErrFronted) {
		return "", pin, client.ErrFronted
	}
	if err != nil {
		return "", pin, notReached(fmt.Errorf("%w: %w", client.ErrNetwork, err))
	}
	if f.trust || loopback(name) {
		return name, pin, nil
	}
	if v, ok := n.(interface{ Vouched(name string) bool }); ok && v.Vouched(name) {
		a.say("A certificate authority vouches that what answers is %s.", text.Line(name))
	}
	a.say("The relay %s shows this key:\n\n    %s\n\nCompare it with what its operator says. Whoever has another key is not that relay.",
		text.Line(name), text.RelayKey(client.KeyText(pin)))
	yes, err := a.confirm(ctx, "Is it the same?")
	if errors.Is(err, errNoTerminal) {
		return "", pin, &text.Failure{What: "nobody is there to compare the relay's key", Means: "No profile was made.",
			Hint: "name the relay as host#keyfingerprint, or say --trust-relay", Err: err}
	}
	if err == nil && !yes {
		err = &text.Failure{What: "the relay's key was not confirmed", Means: "No profile was made.", Hint: "ask the operator: `tacet-relay status` shows the key there"}
	}
	return name, pin, err
}

// loopback reports whether a relay is on this machine.
func loopback(name string) bool {
	host := name
	if h, _, err := net.SplitHostPort(name); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func profileJSON(dir string, p *client.NewProfile, words []string) any {
	out := struct {
		Dir      string   `json:"dir"`
		Name     string   `json:"name"`
		Relay    string   `json:"relay"`
		RelayKey string   `json:"relay_key"`
		Words    []string `json:"words,omitempty"`
	}{Dir: dir, Name: p.Name, Relay: p.Relay, Words: words}
	if p.Relay != "" {
		out.RelayKey = client.KeyText(p.RelayKey)
	}
	return out
}

// showWords prints the recovery words, this once, and has two of them said back.
func (a *app) showWords(ctx context.Context, dir string, p *client.NewProfile, words []string) error {
	a.progress.Stop()
	if a.json {
		return a.printJSON(profileJSON(dir, p, words))
	}
	a.say("Your 24 recovery words. Write them down on paper, in order, and keep them where\nnobody looks. Who has them can be you; without them nobody can bring you back.\nThey are shown now and never again.\n")
	if err := a.print(text.Grid(words)); err != nil {
		return err
	}
	a.say("")
	if a.interactive() {
		return a.askWords(ctx, words)
	}
	return nil
}

// askWords asks for two of the words until they are right.
func (a *app) askWords(ctx context.Context, words []string) error {
	places := rand.Perm(len(words))[:2]
	for i := 0; i < len(places); {
		n := places[i]
		s, err := a.line(ctx, fmt.Sprintf("To be sure: what is word %d? ", n+1))
		switch {
		case errors.Is(err, errNoTerminal), errors.Is(err, context.Canceled):
			a.say("The words were not checked. The profile is made all the same.")
			return nil
		case err != nil:
			return err
		case strings.EqualFold(s, words[n]):
			i++
		default:
			a.say("That is not word %d. Look at your paper, and at the list above.", n+1)
		}
	}
	return nil
}

// readWords reads recovery words from a person or a pipe.
func (a *app) readWords(ctx context.Context) ([]string, error) {
	var all []string
	if a.interactive() {
		a.say("Type or paste the 24 words; several lines are fine.")
	}
	for len(all) < 24 {
		prompt := ""
		if a.interactive() {
			prompt = fmt.Sprintf("%2d of 24: ", len(all))
		}
		s, err := a.line(ctx, prompt)
		if errors.Is(err, errNoTerminal) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, client.ReadWords(s)...)
	}
	return all, nil
}
