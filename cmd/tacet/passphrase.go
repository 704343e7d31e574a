package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// openName is a file in a profile's folder that stands for the passphrase when
// its owner wants none: whoever reads the folder can open the profile.
const openName = "no-passphrase"

// passphrase returns what opens the profile in dir: from the file that was
// named, from a profile that has none, or from the person.
func (a *app) passphrase(ctx context.Context, dir string) ([]byte, error) {
	switch {
	case a.secret != nil:
		return a.secret, nil
	case a.passFile != "":
		return a.keep(a.secretFile(a.passFile))
	}
	if open := filepath.Join(dir, openName); exists(open) {
		return a.keep(a.secretFile(open))
	}
	a.progress.Stop()
	s, err := a.askSecret(ctx, "Passphrase: ")
	if errors.Is(err, errNoTerminal) {
		return nil, &text.Failure{What: "the profile needs its passphrase, and nobody is there to type it", Means: "Nothing was sent or changed.",
			Hint: "--passphrase-file FILE, or $TACET_PASSPHRASE_FILE", Err: err}
	}
	return a.keep(s, err)
}

func (a *app) keep(s []byte, err error) ([]byte, error) {
	if err == nil {
		a.secret = s
	}
	return s, err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// newPassphrase asks for a new passphrase, twice.
func (a *app) newPassphrase(ctx context.Context) ([]byte, error) {
	for {
		first, err := readSecret(ctx, "New passphrase: ")
		switch {
		case errors.Is(err, errNoTerminal):
			return nil, &text.Failure{What: "a new passphrase is needed, and nobody is there to type it",
				Hint: "give it in a file, or say --no-passphrase", Err: err}
		case err != nil:
			return nil, err
		case len(first) == 0:
			a.say("A passphrase cannot be empty. Whoever wants none says --no-passphrase.")
			continue
		case len(first) > maxSecret:
			a.say("A passphrase has at most %d bytes.", maxSecret)
			continue
		}
		again, err := readSecret(ctx, "The same again: ")
		if err != nil {
			return nil, err
		}
		if bytes.Equal(first, again) {
			return first, nil
		}
		a.say("They are not the same. Once more:")
	}
}

// errEmptyFile: no passphrase stands in the file.
func errEmptyFile() error {
	return &text.Failure{What: "the passphrase file is empty", Hint: "write a passphrase into its first line, or say --no-passphrase"}
}

// openly makes the file that stands for a passphrase, and returns what is in it.
func openly(dir string) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	secret := []byte(rand.Text())
	return secret, writeNew(filepath.Join(dir, openName), append(secret, "\nThis line opens the profile. It has no passphrase, by its owner's wish.\n"...))
}

// writeNew writes a file that was not there and that nobody else may read.
func writeNew(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func passphraseCommand(a *app) *cobra.Command {
	var none bool
	var file string
	c := &cobra.Command{
		Use:   "passphrase",
		Short: "Change the passphrase of this profile",
		Long: `Change the passphrase of this profile. Nobody can reset one: not a relay, not
the makers of Tacet. The 24 words make a new device of yours, without contacts
and history.`,
		Args: cobra.NoArgs,
		Example: `  tacet passphrase
  tacet passphrase --passphrase-file old --new-passphrase-file new`,
	}
	c.Flags().StringVar(&file, "new-passphrase-file", "", "read the new passphrase from the first line of `FILE`")
	c.Flags().BoolVar(&none, "no-passphrase", false, "have none: whoever can read the folder can then open the profile")
	c.MarkFlagsMutuallyExclusive("new-passphrase-file", "no-passphrase")
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.changePassphrase(cmd.Context(), file, none)
	}
	return c
}

func (a *app) changePassphrase(ctx context.Context, file string, none bool) error {
	p, err := a.open(ctx, staying)
	if err != nil {
		return err
	}
	defer p.close()
	old, err := a.passphrase(ctx, p.dir) // asked already, unless another process has the profile
	if err != nil {
		return err
	}
	open := filepath.Join(p.dir, openName)
	var next []byte
	switch {
	case none && exists(open):
		a.say("The profile has no passphrase already.")
		return nil
	case none:
		next, err = openly(p.dir)
	case file != "":
		if next, err = a.secretFile(file); err == nil && len(next) == 0 {
			err = errEmptyFile()
		}
	default:
		next, err = a.newPassphrase(ctx)
	}
	if err != nil {
		return err
	}
	a.progress.Start("changing the passphrase")
	if err := p.ChangePassphrase(ctx, old, next); err != nil {
		if none {
			err = errors.Join(err, os.Remove(open))
		}
		return err
	}
	if !none {
		if err := os.Remove(open); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.say("The passphrase is changed.")
		return nil
	}
	a.say("The profile has no passphrase now: whoever can read its folder can open it.")
	return nil
}

// wrongPassphrase reports whether to ask a person again after a wrong try.
func (a *app) wrongPassphrase(err error, tries int, dir string) bool {
	if !errors.Is(err, client.ErrPassphrase) || a.passFile != "" || tries >= 3 {
		return false
	}
	a.secret = nil
	return !exists(filepath.Join(dir, openName))
}
