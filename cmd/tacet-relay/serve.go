package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tacet-chat/tacet/relay"
)

func serveCommand() *cobra.Command {
	var s settings
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the relay until it is told to stop",
		Long: `Run the relay until it is told to stop.

The log on standard error says that it is ready and what failed; it never names
an address, a peer or a time. "tacet-relay status" says where it listens.`,
		Example: `  tacet-relay serve
  tacet-relay serve --listen :7117 --data /var/lib/tacet-relay
  tacet-relay serve --config /etc/tacet-relay.toml`,
	}
	s.register(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := s.load(cmd)
		if err != nil {
			return err
		}
		debug.SetTraceback("none") // a crash must not print what stood on the stacks
		log.SetOutput(io.Discard)  // some libraries write there what they see of a peer
		harden()
		cfg.Log = os.Stderr
		r, err := relay.New(cfg)
		if err != nil {
			return err
		}
		addr, err := r.Listen()
		if err != nil {
			r.Close()
			return err
		}
		// To a person who looks on, not to a file that stays.
		if term.IsTerminal(int(os.Stderr.Fd())) {
			fingerprint := r.Fingerprint()
			fmt.Fprintf(os.Stderr, "listening on %s, realm %s; stop with ctrl-C\n", addr, hex.EncodeToString(fingerprint[:]))
		}
		return r.Run(cmd.Context())
	}
	return cmd
}
