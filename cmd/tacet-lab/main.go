// Command tacet-lab is the proof as a program: it lets anybody watch a relay
// and two people on their own machine, and play with them. All that it does is
// in package lab; this one parses and runs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tacet-chat/tacet/lab"
	"github.com/tacet-chat/tacet/lab/leak"
	"github.com/tacet-chat/tacet/lab/load"
)

// Statuses of exit.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == leak.ChildCommand {
		leak.Child(os.Args[2]) // ends the process
	}
	if len(os.Args) == 3 && os.Args[1] == lab.RoleCommand {
		os.Exit(play(os.Args[2]))
	}
	os.Exit(run(os.Args[1:]))
}

// play plays a role as a process of something that is measured or shown.
func play(role string) int {
	if load.IsRole(role) {
		return load.Role(role)
	}
	return lab.Role(role)
}

// run runs one command and returns the status of exit.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ran := false
	root := commands(&ran)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	if p := (*load.Problem)(nil); errors.As(err, &p) {
		fmt.Fprintln(os.Stderr, "hint:", p.Hint)
	}
	if !ran {
		fmt.Fprintln(os.Stderr, "hint: `tacet-lab --help` lists commands, `tacet-lab COMMAND --help` their flags")
		return exitUsage
	}
	return exitFailure
}

// commands returns the command line. ran is set once a command runs.
func commands(ran *bool) *cobra.Command {
	root := &cobra.Command{
		Use:           "tacet-lab",
		Short:         "Watch a relay and two people, what the relay can tell of them, and what it costs",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(*cobra.Command, []string) error { return errors.New("a command is missing") },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(demoCommand(ran), loadCommand(ran), leakCommand(ran), budgetCommand(ran), commitsCommand(ran))
	return root
}

func demoCommand(ran *bool) *cobra.Command {
	var script, audit bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "A relay and two people on loopback, with nothing to configure",
		Long: `A relay and two people on loopback, with nothing to configure.

All three are processes of their own in a directory that is thrown away at the
end, so that they can really be frozen and killed. Without --script you write
for both people, and see both screens and what the relay saw.

With --script a story plays by itself: live delivery, a frozen device, somebody
who is away, crashes, a relay that is killed, what the relay saw, and a search
of all it kept. Its last line counts messages; the exit status is 1 if anything
was not as it should be. With --audit the running relay is audited, too.`,
		Example: `  tacet-lab demo
  tacet-lab demo --script
  tacet-lab demo --script --audit`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			*ran = true
			if audit && !script {
				return errors.New("--audit belongs to --script")
			}
			colour := term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == ""
			if script {
				return lab.Tell(cmd.Context(), os.Stdout, lab.TellOptions{Colour: colour, Audit: audit})
			}
			return lab.Play(cmd.Context(), os.Stdin, os.Stdout, colour)
		},
	}
	cmd.Flags().BoolVar(&script, "script", false, "play a story without a hand")
	cmd.Flags().BoolVar(&audit, "audit", false, "with --script: audit the relay, as tacet-relay audit does")
	return cmd
}
