package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

func statusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "status",
		Short:   "How things are: relay, messages, people",
		Args:    cobra.NoArgs,
		Example: "  tacet status --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error {
				st, err := p.Status(cmd.Context())
				if err != nil {
					return err
				}
				if a.json {
					return a.printJSON(struct {
						Dir string `json:"dir"`
						client.Status
					}{p.dir, st})
				}
				return a.print(statusText(p.dir, &st, time.Now()))
			})
		},
	}
}

const (
	statusColumns = 68 // beside the labels, in a terminal of 80
	keyColumns    = 40 // half of a fingerprint
)

func statusText(dir string, st *client.Status, now time.Time) string {
	name := "no name"
	if st.Name != "" {
		name = text.Name(st.Name)
	}
	relay := "none yet"
	if st.Relay != "" {
		relay = text.Line(st.Relay) + ", " + connection(st)
	}
	messages := []string{"nothing waits here", "nothing unread"}
	if st.Waiting > 0 {
		messages[0] = text.Count(st.Waiting, "message") + " waiting here"
	}
	if st.Unread > 0 {
		messages[1] = fmt.Sprintf("%d unread", st.Unread)
	}
	people := []string{text.Count(st.Contacts, "contact")}
	if st.Requests > 0 {
		people = append(people, text.Count(st.Requests, "request")+" (`tacet requests`)")
	}
	rows := append([][]string{{"profile", name + ", " + text.Line(dir)}}, text.Rows("relay", relay, statusColumns)...)
	if st.RelayKey != "" {
		rows = append(rows, text.Rows("relay key", text.RelayKey(st.RelayKey), keyColumns)...)
	}
	rows = append(rows, tokenRows(st.Realms, now)...)
	rows = append(rows, [][]string{
		{"messages", strings.Join(messages, ", ")},
		{"people", strings.Join(people, ", ")},
	}...)
	if len(st.Silent) > 0 {
		var names []string
		for _, n := range st.Silent {
			names = append(names, text.Name(n))
		}
		rows = append(rows, []string{"silent", strings.Join(names, ", ")})
	}
	for _, t := range st.GroupsFailing {
		rows = append(rows, text.Rows("group fails", text.Line(t), statusColumns)...)
	}
	if st.Proxy != "" {
		rows = append(rows, []string{"proxy", text.Line(st.Proxy)})
	}
	if st.Wake != nil {
		rows = append(rows, wakeRows(st.Wake, now)...)
	}
	rows = append(rows, text.Rows("exposure", text.Line(st.Exposure), statusColumns)...)
	rows = append(rows, []string{"device", "renews itself; good until " + text.Day(st.Manifest, now) + " without running"})
	return text.Table(rows)
}

// tokenRows says what there is to pay each relay with that wants tokens.
func tokenRows(all []client.RealmTokens, now time.Time) (rows [][]string) {
	for _, t := range all {
		line := fmt.Sprintf("%d left", t.Left)
		switch {
		case t.Trouble != "":
			line = t.Trouble
		case !t.Member && !t.Puzzles:
			line += ", given by contacts there"
		case !t.Next.IsZero():
			line += ", more " + text.Day(t.Next, now)
		}
		if !t.Home {
			line = text.Line(t.Relay) + ": " + line
		}
		rows = append(rows, text.Rows("tokens", text.Line(line), statusColumns)...)
	}
	return rows
}

// connection says how we stand with the relay.
func connection(st *client.Status) string {
	switch {
	case !st.Running:
		return "not connected: no process is moving messages"
	case st.Connected:
		return "connected"
	case st.Trouble != "":
		return text.Line(st.Trouble)
	}
	return "connecting"
}

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Look at everything that messages need, one line each",
		Long: `Look at everything that messages need, one line each: ok, warn or fail, and what
to do. It exits with 1 if anything fails. It changes nothing.`,
		Args:    cobra.NoArgs,
		Example: "  tacet doctor",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), staying, func(p *profile) error {
				a.progress.Start("asking the relay")
				checks, err := p.Doctor(cmd.Context())
				if err != nil {
					return err
				}
				return a.showChecks(checks)
			})
		},
	}
}

func (a *app) showChecks(checks []client.Check) error {
	failed := 0
	var out strings.Builder
	for _, c := range checks {
		mark := a.style.Good(fmt.Sprintf("%-4s", text.Line(c.State)))
		switch c.State {
		case "fail":
			failed++
			mark = a.style.Bad(fmt.Sprintf("%-4s", c.State))
		case "warn":
			mark = a.style.Warn(fmt.Sprintf("%-4s", c.State))
		}
		fmt.Fprintf(&out, "%s  %-9s %s\n", mark, text.Line(c.Name), text.Line(c.Text))
		if c.Hint != "" {
			fmt.Fprintf(&out, "%16shint: %s\n", "", text.Line(c.Hint))
		}
	}
	var err error
	if a.json {
		err = a.printJSON(list(checks))
	} else {
		err = a.print(out.String())
	}
	if err == nil && failed > 0 {
		err = &status{code: exitFailure}
	}
	return err
}

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs, Example: "  tacet version",
		RunE: func(*cobra.Command, []string) error {
			v := "devel"
			if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
				v = b.Main.Version
			}
			if a.json {
				return a.printJSON(map[string]string{"version": v, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			return a.print(fmt.Sprintf("tacet %s %s %s/%s\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH))
		},
	}
}
