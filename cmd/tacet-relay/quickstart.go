package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tacet-chat/tacet/relay"
	"github.com/tacet-chat/tacet/relay/setup"
)

// quick is what quickstart was told.
type quick struct {
	setup.Options
	park          string
	dry, yes, raw bool
}

func quickstartCommand() *cobra.Command {
	var q quick
	cmd := &cobra.Command{
		Use:   "quickstart",
		Args:  cobra.MaximumNArgs(1),
		Short: "Make this machine a relay: configuration, service, first invite",
		Long: `Make this machine a relay: look whether it can be one, write the configuration and
a unit for systemd, make the relay's user, start it, and print the lines that DNS
lacks and the first invite. Nothing is changed before everything was looked at,
and nothing is fetched from the network. Run again, it changes nothing, or goes on
where it was stopped.`,
		Example: `  tacet-relay quickstart --domain relay.example
  tacet-relay quickstart --ip --dry-run
  tacet-relay quickstart --onion --park no --yes`,
	}
	f := cmd.Flags()
	f.StringVar(&q.Domain, "domain", "", "`NAME` of this machine, for which a certificate is got, too")
	f.StringVar(&q.Address, "ip", "", "no name: this machine's own address, or --ip=`ADDRESS`")
	f.Lookup("ip").NoOptDefVal = "auto"
	f.BoolVar(&q.Onion, "onion", false, "an onion service of the Tor that runs here")
	f.StringVar(&q.Listen, "listen", "", "host:port to listen on (default :443 for root, else :7117)")
	f.StringVar(&q.Data, "data", "", "data directory (default that of serve)")
	f.StringVarP(&q.Config, "config", "c", "", "configuration file to write (default /etc/tacet-relay.toml for root)")
	f.StringVar(&q.park, "park", "", "yes or no: keep cells for people who are away, until they take them; asked where not said")
	f.StringVar(&q.Gate, "gate", "invite", "who may use it: open, invite or closed")
	f.StringVar(&q.Unit, "unit", "", "unit file to write, or none (default systemd's place for root, else none)")
	f.BoolVar(&q.dry, "dry-run", false, "show what would be done, and do nothing")
	f.BoolVarP(&q.yes, "yes", "y", false, "ask nothing")
	f.BoolVar(&q.raw, "json", false, "print JSON; asks nothing")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := q.settle(cmd, args); err != nil {
			return err
		}
		return q.run(cmd.Context(), cmd.OutOrStdout())
	}
	return cmd
}

// settle fills in what was not said, and asks where somebody sits there.
func (q *quick) settle(cmd *cobra.Command, args []string) (err error) {
	if len(args) == 1 && q.Address == "auto" { // --ip ADDRESS
		q.Address, args = args[0], nil
	}
	if len(args) > 0 {
		return usage{fmt.Errorf("unknown argument %q", args[0])}
	}
	ask := !q.yes && !q.raw && !q.dry && term.IsTerminal(int(os.Stdin.Fd()))
	in := bufio.NewReader(os.Stdin)
	ways := 0
	for _, named := range []bool{q.Domain != "", q.Address != "", q.Onion} {
		if named {
			ways++
		}
	}
	if ways == 0 && ask {
		q.Domain = question(in, "The name of this machine, such as relay.example (empty: none, its address):", "")
		if q.Domain == "" {
			q.Address = "auto"
		}
		ways = 1
	}
	if ways != 1 {
		return usage{&relay.Problem{Err: errors.New("one way in has to be named"), Hint: "--domain relay.example, or --ip for a machine without a name, or --onion"}}
	}
	q.Domain = strings.ToLower(strings.TrimSuffix(q.Domain, "."))
	if !slices.Contains([]string{"open", "invite", "closed"}, q.Gate) {
		return usage{&relay.Problem{Err: fmt.Errorf("--gate is not %q", q.Gate), Hint: "it is open, invite or closed"}}
	}
	if q.park == "" && ask && !exists(q.Config) {
		fmt.Fprintln(os.Stderr, "Park keeps sealed cells for people who are away, for 30 days at most, under an\naddress of a day; it deletes them once they are taken.")
		q.park = question(in, "Park? yes or no:", "yes")
	}
	switch q.park {
	case "", "yes", "y":
		q.Park = true
	case "no", "n":
	default:
		return usage{&relay.Problem{Err: fmt.Errorf("park is not %q", q.park), Hint: "it is yes or no"}}
	}
	return q.places()
}

// places decides where things are.
func (q *quick) places() (err error) {
	q.Root = os.Geteuid() == 0
	if q.Data == "" {
		q.Data = relay.Default().Data
	}
	if q.Config == "" {
		q.Config = setup.SystemConfig
		if !q.Root {
			dir, err := os.UserConfigDir()
			if err != nil {
				return &relay.Problem{Err: err, Hint: "name a file with --config"}
			}
			q.Config = filepath.Join(dir, "tacet-relay.toml")
		}
	}
	if q.Unit == "" {
		q.Unit = setup.NoUnit
		if q.Root {
			q.Unit = setup.SystemUnit
		}
	}
	for _, path := range []*string{&q.Data, &q.Config} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	if q.Unit != setup.NoUnit {
		if q.Unit, err = filepath.Abs(q.Unit); err != nil {
			return err
		}
	}
	if q.Program, err = os.Executable(); err != nil { // a container without /proc
		q.Program = os.Args[0]
		return nil
	}
	q.Program, err = filepath.EvalSymlinks(q.Program)
	return err
}

// question asks on the terminal and returns what is proposed for an empty line.
func question(in *bufio.Reader, what, proposed string) string {
	if proposed != "" {
		what += " [" + proposed + "]"
	}
	fmt.Fprint(os.Stderr, what+" ")
	line, err := in.ReadString('\n')
	if line = strings.ToLower(strings.TrimSpace(line)); line == "" || err != nil {
		return proposed
	}
	return line
}

func exists(path string) bool {
	if path == "" {
		path = setup.SystemConfig
	}
	_, err := os.Stat(path)
	return err == nil
}

// started is what quickstart prints as JSON.
type started struct {
	Name        string        `json:"name,omitempty"`
	Checks      []relay.Check `json:"checks"`
	Changes     []setup.Step  `json:"changes"`
	DryRun      bool          `json:"dry_run"`
	DNS         []string      `json:"dns,omitempty"`
	Torrc       []string      `json:"torrc,omitempty"`
	Start       string        `json:"start,omitempty"`
	Fingerprint string        `json:"fingerprint,omitempty"`
	Invite      string        `json:"invite,omitempty"`
}

// run makes the plan, carries it out and says so.
func (q *quick) run(ctx context.Context, out io.Writer) error {
	p, err := setup.New(ctx, q.Options)
	if err != nil {
		return err
	}
	s := started{Name: p.Name, Checks: p.Checks, DryRun: q.dry, DNS: p.DNS, Torrc: p.Torrc, Start: p.Start, Changes: []setup.Step{}}
	show := teller{w: out, quiet: q.raw}
	show.checks(p.Checks)
	if n := p.Failed(); n > 0 {
		if q.raw {
			err = printJSON(out, s)
		}
		return errors.Join(err, &relay.Problem{Err: fmt.Errorf("%s in the way; nothing was changed", things(n)), Hint: "follow the hints above, then run quickstart again"})
	}
	if q.dry {
		s.Changes = append(s.Changes, p.Steps...)
		show.plan(p)
	} else {
		if err := p.Apply(ctx, func(step setup.Step) {
			s.Changes = append(s.Changes, step)
			show.step(step)
		}); err != nil {
			return err
		}
		if s.Invite, err = firstInvite(ctx, p); err != nil {
			return err
		}
		if st, err := relay.AskStatus(p.Config.Data); err == nil && len(p.Steps) > 0 {
			s.Fingerprint = st.Fingerprint
		}
	}
	if q.raw {
		return printJSON(out, s)
	}
	show.end(p, &s)
	return show.err
}
