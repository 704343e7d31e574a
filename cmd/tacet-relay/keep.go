package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/tacet-chat/tacet/relay"
	"github.com/tacet-chat/tacet/relay/setup"
)

// secret is how a backup is locked or opened. A passphrase is never an argument.
type secret struct {
	file       string   // with the passphrase
	recipients []string // age1…
	identity   string   // file with AGE-SECRET-KEY-…
}

// maxSecret is the most that is read of a file with a passphrase or identity.
const maxSecret = 64 << 10

func (s *secret) registerLock(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "passphrase-file", "", "read the passphrase from the first line of `FILE`; else it is asked for")
	cmd.Flags().StringSliceVarP(&s.recipients, "recipient", "r", nil, "no passphrase: only the identity of `age1…` opens it")
}

func (s *secret) registerOpen(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "passphrase-file", "", "read the passphrase from the first line of `FILE`; else it is asked for")
	cmd.Flags().StringVarP(&s.identity, "identity", "i", "", "`FILE` with the age identity of a recipient")
}

// lock returns whom to encrypt to.
func (s *secret) lock() (to []age.Recipient, err error) {
	for _, r := range s.recipients {
		parsed, err := age.ParseRecipients(strings.NewReader(r))
		if err != nil {
			return nil, usage{&relay.Problem{Err: fmt.Errorf("%q is not an age recipient", r), Hint: "it begins with age1; `age-keygen` makes one with its identity"}}
		}
		to = append(to, parsed...)
	}
	if len(to) > 0 {
		return to, nil
	}
	phrase, err := s.passphrase(true)
	if err != nil {
		return nil, err
	}
	one, err := age.NewScryptRecipient(phrase)
	return []age.Recipient{one}, err
}

// open returns what to decrypt with.
func (s *secret) open() ([]age.Identity, error) {
	if s.identity != "" {
		b, err := readFew(s.identity)
		if err != nil {
			return nil, err
		}
		all, err := age.ParseIdentities(bytes.NewReader(b))
		if err != nil {
			return nil, &relay.Problem{Err: fmt.Errorf("%s has no age identity", s.identity), Hint: "it is the file that `age-keygen` wrote"}
		}
		return all, nil
	}
	phrase, err := s.passphrase(false)
	if err != nil {
		return nil, err
	}
	one, err := age.NewScryptIdentity(phrase)
	return []age.Identity{one}, err
}

func readFew(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxSecret))
}

// passphrase reads it from the file or the terminal, there twice if it is new.
func (s *secret) passphrase(fresh bool) (string, error) {
	if s.file != "" {
		b, err := readFew(s.file)
		if err != nil {
			return "", fmt.Errorf("reading passphrase: %w", err)
		}
		line, _, _ := strings.Cut(string(b), "\n")
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			return "", &relay.Problem{Err: fmt.Errorf("%s has no passphrase in its first line", s.file), Hint: "write one there"}
		}
		return line, nil
	}
	if !term.IsTerminal(int(os.Stdin.Fd())) {
		return "", usage{&relay.Problem{Err: errors.New("a passphrase is needed, and there is no terminal to ask at"), Hint: "--passphrase-file FILE, or an age key"}}
	}
	for {
		fmt.Fprint(os.Stderr, "Passphrase of the backup: ")
		first, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(os.Stderr)
		if err != nil || !fresh {
			return string(first), err
		}
		fmt.Fprint(os.Stderr, "The same again: ")
		second, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(os.Stderr)
		switch {
		case err != nil:
			return "", err
		case len(first) < 12:
			fmt.Fprintln(os.Stderr, "Too short: whoever finds the backup can try as often as they like. 12 characters or more.")
		case !bytes.Equal(first, second):
			fmt.Fprintln(os.Stderr, "These were two different ones.")
		default:
			return string(first), nil
		}
	}
}

func backupCommand() *cobra.Command {
	var s settings
	var lock secret
	var keys, asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE|DIR",
		Short: "Write an encrypted backup, while the relay goes on",
		Long: `Write an encrypted backup, while the relay goes on: realm key, configuration,
certificates, blobs, members and invites. It holds no parked cells, whose senders
have them, and nothing that tokens or receipts are made from. A folder gets a file
named after the realm and the day; - is standard output.`,
		Example: `  tacet-relay backup /root/realm.age
  tacet-relay backup /var/backups --recipient age1… --keys-only
  tacet-relay backup - --passphrase-file pass | ssh elsewhere 'cat >realm.age'`,
		Args: cobra.ExactArgs(1),
	}
	s.register(cmd)
	lock.registerLock(cmd)
	cmd.Flags().BoolVar(&keys, "keys-only", false, "realm key, configuration and certificates alone: a few KiB")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := s.loadAsking(cmd)
		if err != nil {
			return err
		}
		to, err := lock.lock()
		if err != nil {
			return err
		}
		b := relay.Backup{Data: cfg.Data, Config: s.file, Keys: keys, Recipients: to}
		path, made, err := writeBackup(cmd.Context(), b, args[0], cmd.OutOrStdout())
		if err != nil {
			return err
		}
		if err := relay.NoteBackup(cfg.Data); err != nil {
			return fmt.Errorf("the backup is written; noting its day: %w", err)
		}
		switch {
		case path == "-":
			return nil
		case asJSON:
			return printJSON(cmd.OutOrStdout(), struct {
				Path string `json:"path"`
				relay.Backed
			}{path, made})
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s\n%d files, %s; `tacet-relay verify %s` tries it\n", path, made.Files, size(made.Bytes), path)
		return err
	}
	return cmd
}

// size says how much a number of bytes is.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// writeBackup writes a backup to a file that is there whole or not at all.
func writeBackup(ctx context.Context, b relay.Backup, to string, stdout io.Writer) (path string, made relay.Backed, err error) {
	if to == "-" {
		if onScreen(stdout) {
			return "", made, usage{&relay.Problem{Err: errors.New("a backup is no text for a terminal"), Hint: "name a file, or put a pipe behind it"}}
		}
		made, err = relay.WriteBackup(ctx, b, stdout)
		return "-", made, err
	}
	dir := filepath.Dir(to)
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		dir, to = to, ""
	} else if err == nil {
		return "", made, &relay.Problem{Err: fmt.Errorf("%s is there already", to), Hint: "name a new file, or a folder"}
	}
	f, err := os.CreateTemp(dir, ".tacet-backup-*") // of mode 0600
	if err != nil {
		return "", made, &relay.Problem{Err: err, Hint: "name a place that can be written to"}
	}
	made, err = relay.WriteBackup(ctx, b, f)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		if path = to; path == "" {
			path = filepath.Join(dir, fmt.Sprintf("tacet-%s-%s.age", made.Realm[:8], made.Day))
			if _, serr := os.Lstat(path); !errors.Is(serr, fs.ErrNotExist) {
				path = filepath.Join(dir, fmt.Sprintf("tacet-%s-%s.age", made.Realm[:8], time.Now().UTC().Format("2006-01-02T150405")))
			}
		}
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return "", made, errors.Join(err, os.Remove(f.Name()))
	}
	return path, made, nil
}

// source opens a backup; - is standard input.
func source(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage{&relay.Problem{Err: err, Hint: "name the file that `tacet-relay backup` wrote"}}
	}
	return f, nil
}

func printBacked(w io.Writer, b relay.Backed, asJSON bool, first string) error {
	if asJSON {
		return printJSON(w, b)
	}
	stores := "no store"
	if len(b.Stores) > 0 {
		stores = strings.Join(b.Stores, " and ") + " opened"
	}
	_, err := fmt.Fprintf(w, "%s\nrealm     %s\nmade      %s by version %s\nholds     %d files, %s; %s\n", first, b.Realm, b.Day, b.Version, b.Files, size(b.Bytes), stores)
	return err
}

func verifyCommand() *cobra.Command {
	var key secret
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Prove that a backup can be restored, and touch nothing",
		Long: `Prove that a backup can be restored: read it to its end, compare every hash, and
open every store in it, in $TMPDIR. The relay and its folder are not touched.`,
		Example: "  tacet-relay verify realm.age",
		Args:    cobra.ExactArgs(1),
	}
	key.registerOpen(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := source(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		keys, err := key.open()
		if err != nil {
			return err
		}
		b, err := relay.VerifyBackup(f, keys)
		if err != nil {
			return err
		}
		return printBacked(cmd.OutOrStdout(), b, asJSON, "OK        this backup can be restored")
	}
	return cmd
}

func restoreCommand() *cobra.Command {
	var key secret
	var data string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Put a backup into an empty data directory",
		Long: `Put a backup into an empty data directory. Its stores take new keys for receipts
and tokens, so that nothing that was spent since can be spent again; members and
people stay what they are. The relay must be stopped, also the one that the backup
is of: two relays of one realm must never run on two copies.`,
		Example: "  tacet-relay restore realm.age --data /var/lib/tacet-relay",
		Args:    cobra.ExactArgs(1),
	}
	key.registerOpen(cmd)
	cmd.Flags().StringVar(&data, "data", "", "data directory (default that of serve)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if data == "" {
			data = relay.Default().Data
		}
		f, err := source(args[0])
		if err != nil {
			return err
		}
		defer f.Close()
		keys, err := key.open()
		if err != nil {
			return err
		}
		b, err := relay.Restore(f, keys, data)
		if err != nil {
			return err
		}
		if err := setup.Own(data); err != nil {
			return fmt.Errorf("the backup is restored; giving it to the relay's user: %w", err)
		}
		if err := printBacked(cmd.OutOrStdout(), b, asJSON, "OK        restored to "+data); err != nil || asJSON {
			return err
		}
		if config := filepath.Join(data, "relay.toml"); exists(config) {
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nIts configuration is %s; put it where you start the relay with:\n\n    install -m 644 %s %s\n", config, config, setup.SystemConfig)
		}
		return err
	}
	return cmd
}

func migrateCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "migrate [DIR]",
		Short: "Bring the stores of an older version to this one",
		Long: `Bring the stores of an older version to this one, each whole or not at all. The
relay must be stopped. Stores of a newer version are left alone.`,
		Example: "  tacet-relay migrate /var/lib/tacet-relay",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		data := relay.Default().Data
		if len(args) == 1 {
			data = args[0]
		}
		all, err := relay.Migrate(data)
		switch {
		case err != nil:
			return err
		case asJSON:
			return printJSON(cmd.OutOrStdout(), all)
		}
		for _, m := range all {
			line := fmt.Sprintf("%-10sversion %d, the newest\n", m.Store, m.From)
			if m.From != m.To {
				line = fmt.Sprintf("%-10sfrom version %d to %d\n", m.Store, m.From, m.To)
			}
			if _, err := io.WriteString(cmd.OutOrStdout(), line); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}
