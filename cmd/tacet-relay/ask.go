package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/relay"
)

func configCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "config",
		Short:   "Print the default configuration, with the manual as its comments",
		Example: "  tacet-relay config > /etc/tacet-relay.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), relay.Example())
			return err
		},
	}
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  tacet-relay version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "tacet-relay %s %s %s/%s\n", relay.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}

// printJSON writes v for a script.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func doctorCommand() *cobra.Command {
	var s settings
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything a relay needs, one line each",
		Long: `Look at everything a relay needs, one line each: OK, WARN or FAIL, and a hint.
It exits with 1 if anything fails. It changes nothing and needs no running relay.`,
		Example: "  tacet-relay doctor --config /etc/tacet-relay.toml",
	}
	s.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		checks := diagnose(cmd, &s)
		failed := 0
		for _, c := range checks {
			if c.Level == relay.Fail {
				failed++
			}
		}
		var err error
		if asJSON {
			err = printJSON(cmd.OutOrStdout(), checks)
		} else {
			err = printChecks(cmd.OutOrStdout(), checks)
		}
		if err == nil && failed > 0 {
			err = &relay.Problem{Err: fmt.Errorf("%d of %d checks failed", failed, len(checks)), Hint: "follow the hints above, then run doctor again"}
		}
		return err
	}
	return cmd
}

// diagnose reads the configuration and, if it can be read, checks the rest.
func diagnose(cmd *cobra.Command, s *settings) []relay.Check {
	cfg, err := s.loadAsking(cmd)
	if err != nil {
		c := relay.Check{Name: "configuration", Level: relay.Fail, Says: err.Error()}
		if p := (*relay.Problem)(nil); errors.As(err, &p) {
			c.Hint = p.Hint
		}
		return []relay.Check{c}
	}
	from := "no file is named: defaults and flags"
	if s.file != "" {
		from = s.file + " can be read"
	}
	return append([]relay.Check{{Name: "configuration", Level: relay.OK, Says: from}}, relay.Doctor(cmd.Context(), cfg)...)
}

func printChecks(w io.Writer, checks []relay.Check) error {
	var out strings.Builder
	for _, c := range checks {
		out.WriteString(checkLines(c, onScreen(w)))
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func statusCommand() *cobra.Command {
	var s settings
	var asJSON, quiet bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Ask the running relay how it is",
		Long: `Ask the running relay how it is, over the socket in its data directory.
Counts are rounded and up to a minute old; nothing is told about one peer.`,
		Example: `  tacet-relay status
  tacet-relay status --json
  tacet-relay status --quiet || systemctl restart tacet-relay`,
	}
	s.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing: the exit status says whether it runs")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.loadAsking(cmd)
		if err != nil {
			return err
		}
		st, err := relay.AskStatus(cfg.Data)
		switch {
		case err != nil || quiet:
			return err
		case asJSON:
			return printJSON(cmd.OutOrStdout(), st)
		}
		return printStatus(cmd.OutOrStdout(), &st)
	}
	return cmd
}

func printStatus(w io.Writer, s *relay.Status) error {
	mode := "plain HTTP, this machine only"
	switch {
	case s.Front == "TLS":
		mode = "plain HTTP behind a proxy that ends TLS: weaker"
	case s.Front == "PROXY protocol":
		mode = "TLS 1.3 behind a proxy that forwards TCP"
	case s.TLS:
		mode = "TLS 1.3"
	}
	if s.Onion {
		mode += ", and for Tor"
	}
	cluster := ""
	if c := s.Cluster; c != nil {
		cluster = fmt.Sprintf("cluster   %d nodes, %d silent", c.Nodes, c.Silent)
		if c.Cut {
			cluster += "; cut off from NATS"
		}
		if c.Mode == "owners" {
			cluster += "; addresses have owners"
		}
		cluster += "\n"
	}
	parked := ""
	if slices.Contains(s.Roles, relay.RolePark) {
		parked = ", " + about(s.Totals.Parked) + " parked"
	}
	store := s.Store
	if slices.Contains(s.Roles, relay.RoleToken) {
		store += "; gate: " + s.Gate
	}
	_, err := fmt.Fprintf(w, "version   %s, up %s\nlistening %s (%s)\nrealm     %s\nroles     %s; blobs: %s\n%snow       %s requests, %s putting, %s watching, %s blobs%s\n",
		s.Version, s.Uptime, s.Listen, mode, s.Fingerprint, strings.Join(s.Roles, ", "), store, cluster,
		about(s.Totals.Requests), about(s.Totals.Putting), about(s.Totals.Watching), about(s.Totals.Blobs), parked)
	for _, n := range s.Names {
		line := n.Says
		if n.Hint != "" {
			line += " (hint: " + n.Hint + ")"
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "name      %s\n", line)
		}
	}
	return err
}

// about says a rounded count.
func about(n int) string {
	if n == 0 {
		return "under 10"
	}
	return fmt.Sprintf("over %d", n)
}
