package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tacet-chat/tacet/ui/text"
)

// app is one run of the program.
type app struct {
	in       *os.File
	lines    *bufio.Reader // of in
	out, err io.Writer
	style    text.Style // of out
	talk     text.Style // of err
	progress *text.Progress
	ran      bool

	// Flags of all commands.
	profile  string
	passFile string
	proxy    string
	proxied  []string // relays that may have a program in front that ends TLS
	park     string   // how long messages may lie at their receivers' relays
	json     bool

	secret    []byte                                                   // the passphrase, once it is known
	askSecret func(ctx context.Context, prompt string) ([]byte, error) // how it is asked for
	note      func(s string)                                           // how something by the way is said
}

func newApp() *app {
	a := &app{in: os.Stdin, lines: bufio.NewReader(os.Stdin), out: os.Stdout, err: os.Stderr, style: style(os.Stdout), talk: style(os.Stderr)}
	a.askSecret, a.note = readSecret, a.remark
	a.progress = &text.Progress{Style: a.talk}
	if term.IsTerminal(int(os.Stderr.Fd())) && os.Getenv("TERM") != "dumb" {
		a.progress.W = os.Stderr
	}
	return a
}

// style colours what goes to a terminal, unless somebody asked for none.
func style(f *os.File) text.Style {
	return text.Style{On: term.IsTerminal(int(f.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (a *app) register(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&a.profile, "profile", os.Getenv("TACET_PROFILE"), "profile: a `NAME`, or the path of a folder (default \"default\"; $TACET_PROFILE)")
	f.StringVar(&a.passFile, "passphrase-file", os.Getenv("TACET_PASSPHRASE_FILE"), "read the passphrase from the first line of `FILE` ($TACET_PASSPHRASE_FILE)")
	f.StringVar(&a.proxy, "proxy", os.Getenv("TACET_PROXY"), "reach relays through this proxy only; for Tor the `URL` is socks5://127.0.0.1:9050 ($TACET_PROXY)")
	f.StringSliceVar(&a.proxied, "allow-proxied", nil, "speak to the relay `NAME` although its TLS ends in a program in front of it: weaker; kept in the profile")
	f.StringVar(&a.park, "park", os.Getenv("TACET_PARK"), "how long a contact's relay may keep what waits for them: a `TIME` up to 60d, or off (default 7d; $TACET_PARK)")
	f.BoolVar(&a.json, "json", false, "print JSON")
	// A default from the environment is nobody's business in the help.
	for _, name := range []string{"profile", "passphrase-file", "proxy", "park"} {
		f.Lookup(name).DefValue = ""
	}
}

// dir returns the profile's folder. A name is a profile in the user's data
// folder; what has a slash in it, or is a dot or two, is a path.
func (a *app) dir() (string, error) {
	name := a.profile
	if name == "" {
		name = "default"
	}
	if strings.ContainsRune(name, os.PathSeparator) || strings.ContainsRune(name, '/') || name == "." || name == ".." {
		return filepath.Abs(name)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", usage("there is no home folder to keep profiles in", "name a folder with --profile")
		}
		data = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(data, "tacet", name), nil
}

// parking returns how long what waits may be parked, as client.Options has it.
func (a *app) parking() (time.Duration, error) {
	switch a.park {
	case "":
		return 0, nil
	case "off":
		return -1, nil
	}
	d, err := text.ParseDuration(a.park)
	if err != nil || d < time.Hour || d > 60*24*time.Hour {
		return 0, usage("--park is a time from 1h to 60d, or off", "")
	}
	return d, nil
}

// say talks to the person.
func (a *app) say(format string, args ...any) {
	a.progress.Stop()
	fmt.Fprintf(a.err, format+"\n", args...)
}

// remark says something by the way, as a sentence.
func (a *app) remark(s string) { a.tell(capital(s) + ".") }

// tell says sentences, in lines that fit.
func (a *app) tell(s string) { a.say("%s", strings.Join(text.Wrap(s, 80), "\n")) }

// print writes data.
func (a *app) print(s string) error {
	a.progress.Stop()
	_, err := io.WriteString(a.out, s)
	return err
}

// printJSON writes a value for a program, as one line. Nothing in it can act on
// a terminal.
func (a *app) printJSON(v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return a.print(string(text.EscapeJSON(raw)) + "\n")
}

// list is v, and never null in JSON.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// interactive reports whether a person sits at the terminal.
func (a *app) interactive() bool {
	return term.IsTerminal(int(a.in.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
}

// isTerminal reports whether w is a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// duration is a flag that takes 2h, 7d and the like.
type duration struct {
	time.Duration
}

func (d *duration) Set(s string) (err error) {
	d.Duration, err = text.ParseDuration(s)
	return err
}
func (d *duration) Type() string { return "time" }
func (d *duration) String() string {
	if d.Duration == 0 {
		return ""
	}
	return text.Duration(d.Duration)
}
