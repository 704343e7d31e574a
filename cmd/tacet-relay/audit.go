package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/relay"
)

func auditCommand() *cobra.Command {
	var s settings
	var o relay.AuditOptions
	var needles string
	var asJSON, inventory bool
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Check what the relay keeps against what it may keep",
		Long: `Check what the relay keeps against what it may keep.

Every column of every store is held against the inventory (docs/inventory.md),
the oldest rows against every promise of deletion, and all files, logs and
backups are searched for texts and for what names somebody. A copy in memory has
such things planted, to prove that the search finds them. What a relay can still
tell is said at the end. It changes nothing, and the relay may run meanwhile.

--needles names a file of known things that must be nowhere: where, what and hex
on a line, with tabs between; where is "never", "kept" (may be in memory while it
is under way) or "now" (must be in memory, which proves that it was searched).

It exits with 1 if there are findings or the search did not prove itself.`,
		Example: `  tacet-relay audit --config /etc/tacet-relay.toml
  journalctl -u tacet-relay -o cat > relay.log && tacet-relay audit --log relay.log
  tacet-relay audit --json > audit.json
  tacet-relay audit --inventory`,
	}
	s.register(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&o.Logs, "log", nil, "file or folder of what the relay logged; may come often")
	f.StringArrayVar(&o.Backups, "backup", nil, "file or folder with a copy of the data directory; may come often")
	f.BoolVar(&o.Memory, "memory", false, "search the memory of the running relay for needles (as root, on Linux)")
	f.StringVar(&needles, "needles", "", "file of known things that must be nowhere")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&inventory, "inventory", false, "print the inventory as a page, and check nothing")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if inventory {
			_, err := io.WriteString(cmd.OutOrStdout(), relay.Inventory())
			return err
		}
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		if needles != "" {
			in, err := os.Open(needles)
			if err != nil {
				return &relay.Problem{Err: fmt.Errorf("reading needles: %w", err), Hint: "name a file of needles, see --help"}
			}
			defer in.Close()
			o.Needles = in
		}
		o.Talk = func(what string) { fmt.Fprintf(cmd.ErrOrStderr(), "%s …\n", what) }
		r, err := relay.Audit(cmd.Context(), cfg, o)
		if err != nil {
			return err
		}
		if asJSON {
			err = printJSON(cmd.OutOrStdout(), r)
		} else {
			_, err = io.WriteString(cmd.OutOrStdout(), r.Text()+"\n"+r.Line()+"\n")
		}
		if err == nil && !r.OK() {
			err = &relay.Problem{Err: errors.New(map[bool]string{true: "there is a finding", false: "there are findings"}[len(r.Findings) == 1]), Hint: "each says what to do; keep a copy of the report"}
			if len(r.Findings) == 0 {
				err = &relay.Problem{Err: fmt.Errorf("the search found %d of %d that were planted", r.Hunted.Found, r.Hunted.Planted), Hint: "nothing that it says can be relied on: run it again, and tell those who make Tacet"}
			}
		}
		return err
	}
	return cmd
}
