// Command tacet-relay is Tacet's server as a program: it parses flags and the
// configuration file, runs package relay, and prints what an operator asks.
// All that a relay does is in that package; this one holds no rule of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/relay"
	"github.com/tacet-chat/tacet/relay/setup"
)

// Statuses of exit.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// run runs one command and returns the status of exit. Errors go to standard
// error as two lines, what happened and what to do.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	ran := false
	root := commands(&ran)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	status, hint := exitFailure, ""
	if p := (*relay.Problem)(nil); errors.As(err, &p) {
		hint = p.Hint
	}
	if !ran { // it did not come as far as doing anything
		status, hint = exitUsage, "`tacet-relay --help` lists commands, `tacet-relay COMMAND --help` their flags"
	}
	if u := (usage{}); errors.As(err, &u) {
		status = exitUsage
	}
	fmt.Fprintf(os.Stderr, "error: %v\n", err)
	if hint != "" {
		fmt.Fprintf(os.Stderr, "hint: %s\n", hint)
	}
	return status
}

// usage marks an error in what the program was told.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// commands returns the command line. ran is set once a command runs.
func commands(ran *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "tacet-relay",
		Short: "A relay that carries sealed cells and keeps nothing that says who talks to whom",
		Long: `A relay that carries sealed cells and keeps nothing that says who talks to whom.

Started with nothing it listens on 127.0.0.1:7117, for programs on this machine.
Its realm key and blobs are kept in the data directory: $STATE_DIRECTORY if set,
else /var/lib/tacet-relay for root and ~/.local/state/tacet-relay for others.`,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return errors.New("a command is missing") },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		quickstartCommand(),
		serveCommand(),
		configCommand(),
		doctorCommand(),
		statusCommand(),
		inviteCommand(),
		auditCommand(),
		backupCommand(),
		verifyCommand(),
		restoreCommand(),
		migrateCommand(),
		discloseCommand(),
		versionCommand(),
	)
	all := root.Commands()
	for _, c := range all {
		all = append(all, c.Commands()...)
	}
	for _, c := range all {
		do := c.RunE
		if c.Args == nil {
			c.Args = cobra.NoArgs
		}
		c.RunE = func(cmd *cobra.Command, args []string) error {
			*ran = true
			return do(cmd, args)
		}
	}
	return root
}

// settings are the flags of commands that need the configuration.
type settings struct{ file, data, listen string }

func (s *settings) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&s.file, "config", "c", "", "configuration file (TOML); none is read unless named")
	f.StringVar(&s.data, "data", "", `data directory; --data "" keeps nothing on disk: every start is then a new realm`)
	f.StringVar(&s.listen, "listen", "", "host:port to listen on; anything but loopback is served with TLS")
}

// loadAsking is load for commands that ask or look after a relay: where neither
// a file nor a data directory is named they read root's file, if it is there.
func (s *settings) loadAsking(cmd *cobra.Command) (relay.Config, error) {
	if s.file == "" && !cmd.Flags().Changed("data") {
		if _, err := os.Stat(setup.SystemConfig); err == nil {
			s.file = setup.SystemConfig
		}
	}
	return s.load(cmd)
}

// load reads the configuration; flags stand above the file.
func (s *settings) load(cmd *cobra.Command) (relay.Config, error) {
	var text []byte
	if s.file != "" {
		f, err := os.Open(s.file)
		if err != nil {
			return relay.Config{}, usage{&relay.Problem{Err: fmt.Errorf("reading configuration: %w", err), Hint: "`tacet-relay config > FILE` makes one"}}
		}
		defer f.Close()
		if text, err = io.ReadAll(io.LimitReader(f, relay.MaxConfig+1)); err != nil {
			return relay.Config{}, fmt.Errorf("reading configuration: %w", err)
		}
	}
	cfg, err := relay.ParseConfig(text)
	if err != nil {
		return cfg, usage{err}
	}
	if cmd.Flags().Changed("data") {
		cfg.Data = s.data
	}
	if cmd.Flags().Changed("listen") {
		cfg.Listen = s.listen
	}
	return cfg, nil
}
