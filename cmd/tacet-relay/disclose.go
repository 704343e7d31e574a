package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/relay"
)

func discloseCommand() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "disclose ADDRESS",
		Short: "Print all that could be handed over about one address",
		Long: `Print all that could be handed over about one address: 64 hex digits.

This is the whole of what this relay knows of it: which cells wait, and, if the
relay runs, how many connections watch it now. An address is a key that a device
made for one period; the relay cannot tell whose it is.`,
		Example: "  tacet-relay disclose e8894f579c132c1c700df1cf4f234f40bc1afdd19c5b8e2fe7474cbf1ed8fbef",
	}
	cmd.Args = cobra.ArbitraryArgs // counted below, with a hint
	s.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usage{&relay.Problem{Err: errors.New("one address is wanted"), Hint: "tacet-relay disclose ADDRESS"}}
		}
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		d, err := relay.Disclose(cmd.Context(), cfg, args[0])
		switch {
		case err != nil:
			return err
		case asJSON:
			return printJSON(cmd.OutOrStdout(), d)
		}
		return printDisclosure(cmd.OutOrStdout(), &d)
	}
	return cmd
}

func printDisclosure(w io.Writer, d *relay.Disclosure) error {
	var b strings.Builder
	fmt.Fprintf(&b, "address   %s\nwaiting   %s\n", d.Address, cells(len(d.Parked)))
	for _, p := range d.Parked {
		fmt.Fprintf(&b, "          %s, until %s UTC\n", p.ID, p.Until)
	}
	if d.Running {
		fmt.Fprintf(&b, "now       watched by %d connections, %s of the last minute in memory\n", d.Watching, cells(d.Minute))
	} else {
		b.WriteString("now       the relay does not run: nobody watches, and its memory is gone\n")
	}
	b.WriteString("\nThat is all. This relay has nothing that says:\n")
	for _, n := range d.Not {
		for i, l := range fold(n, 76) {
			fmt.Fprintf(&b, "%s%s\n", []string{"- ", "  "}[min(i, 1)], l)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cells(n int) string {
	if n == 1 {
		return "1 cell"
	}
	return fmt.Sprintf("%d cells", n)
}

// fold breaks a sentence into lines of at most width characters.
func fold(s string, width int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && len(line)+1+len(word) > width {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
