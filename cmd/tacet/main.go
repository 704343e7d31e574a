// Command tacet is the client as a program: it parses what it is told, hands it
// to package client, in this process or in the one that owns the profile, and
// says what came of it. It holds no rule of the protocol.
//
// Data goes to standard output, talk to standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// Statuses of exit. docs/use.md says them to people.
const (
	exitFailure = 1
	exitUsage   = 2
	exitWaiting = 3 // send --wait: the state was not reached in time; the message stays queued
	exitNetwork = 4 // the relay cannot be reached
	exitLocked  = 5 // a process that does not answer has the profile
)

func main() { os.Exit(run(os.Args[1:])) }

// run runs one command and returns the status of exit.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program at once

	a := newApp()
	root := commands(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	a.progress.Stop()
	if err == nil {
		return 0
	}
	return a.fail(cmd, err)
}

// status is an error that ends the program with a status of its own. Without
// an error inside, everything has been said.
type status struct {
	code int
	err  error
}

func (s *status) Error() string {
	if s.err == nil {
		return fmt.Sprintf("exit status %d", s.code)
	}
	return s.err.Error()
}
func (s *status) Unwrap() error { return s.err }

// usage is an error in what the program was told.
func usage(what, hint string) error {
	return &status{exitUsage, &text.Failure{What: what, Hint: hint}}
}

// fail says an error and returns the status of exit for it.
func (a *app) fail(cmd *cobra.Command, err error) int {
	code := exitFailure
	var s *status
	switch {
	case errors.As(err, &s):
		code = s.code
		if s.err == nil {
			return code
		}
		err = s.err
	case !a.ran: // it did not come as far as doing anything
		code = exitUsage
		err = &text.Failure{What: err.Error(), Hint: fmt.Sprintf("`%s --help` says how it is used", cmd.CommandPath())}
	case errors.Is(err, client.ErrNetwork):
		code = exitNetwork
	}
	fmt.Fprint(a.err, text.Explain(err).Text(a.talk))
	return code
}

const long = `Private conversations through a relay that keeps nothing that says who talks
to whom. Messages move while a process of yours runs: chat, read --follow, or
the few seconds of a send. Until then they wait on this device.

Start:  tacet init --relay HOST     then  tacet invite new
   or:  tacet init                  then  tacet accept LINK`

// commands returns the command line.
func commands(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "tacet",
		Short:         "Private conversations through a relay that keeps nothing",
		Long:          long,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return errors.New("a command is missing") },
	}
	a.register(root)
	cobra.EnableCommandSorting = false // ours have an order
	root.AddGroup(&cobra.Group{ID: "start", Title: "To start:"}, &cobra.Group{ID: "people", Title: "People:"},
		&cobra.Group{ID: "messages", Title: "Messages:"}, &cobra.Group{ID: "profile", Title: "This profile:"})
	group := func(id string, cs ...*cobra.Command) {
		for _, c := range cs {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	group("start", initCommand(a), recoverCommand(a), inviteCommand(a), acceptCommand(a))
	group("people", requestsCommand(a), contactsCommand(a), verifyCommand(a), groupCommand(a))
	group("messages", chatCommand(a), sendCommand(a), readCommand(a), unsendCommand(a))
	group("profile", statusCommand(a), deviceCommand(a), doctorCommand(a), wakeCommand(a), passphraseCommand(a))
	root.AddCommand(versionCommand(a))
	root.SetUsageTemplate(usageText)
	root.InitDefaultCompletionCmd()
	a.mark(root)
	return root
}

// usageText is how help is laid out.
const usageText = `Usage:
  {{if .HasAvailableSubCommands}}{{.CommandPath}} COMMAND{{else}}{{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{$all := .Commands}}{{range $group := .Groups}}

{{.Title}}{{range $all}}{{if and (eq .GroupID $group.ID) .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableSubCommands}}

{{if .Groups}}Besides:{{else}}Commands:{{end}}{{range $all}}{{if and (eq .GroupID "") (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

For every command:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
`

// mark makes every command note that it ran: what fails before is a mistake in
// what the program was told.
func (a *app) mark(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.mark(sub)
	}
	if do := c.RunE; do != nil && c.HasParent() {
		c.RunE = func(cmd *cobra.Command, args []string) error {
			a.ran = true
			return do(cmd, args)
		}
	}
}
