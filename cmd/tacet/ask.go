package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/tacet-chat/tacet/ui/text"
)

// maxSecret bounds a passphrase, in bytes.
const maxSecret = 1024

// readSecret asks for something on the terminal, without echo. It works while
// standard input is a pipe, too.
func readSecret(ctx context.Context, prompt string) ([]byte, error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		if tty = os.Stdin; !term.IsTerminal(int(tty.Fd())) {
			return nil, errNoTerminal
		}
	} else {
		defer tty.Close()
	}
	fd := int(tty.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return nil, errNoTerminal
	}
	fmt.Fprint(os.Stderr, prompt)
	type answer struct {
		secret []byte
		err    error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := term.ReadPassword(fd)
		got <- answer{s, err}
	}()
	select {
	case <-ctx.Done():
		term.Restore(fd, before)
		fmt.Fprintln(os.Stderr)
		return nil, ctx.Err()
	case a := <-got:
		fmt.Fprintln(os.Stderr)
		if errors.Is(a.err, io.EOF) {
			return nil, errNoTerminal
		}
		return a.secret, a.err
	}
}

// errNoTerminal: somebody has to be asked, and nobody is there.
var errNoTerminal = errors.New("nobody is there to ask")

// secretFile reads the first line of a file.
func (a *app) secretFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &text.Failure{What: "the passphrase file cannot be read: " + reason(err), Hint: "--passphrase-file FILE, or $TACET_PASSPHRASE_FILE", Err: err}
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		a.say("%s others can read the passphrase file; `chmod 600` it", a.talk.Warn("warning:"))
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxSecret+2))
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(raw, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > maxSecret {
		return nil, &text.Failure{What: fmt.Sprintf("the passphrase is longer than %d bytes", maxSecret)}
	}
	return line, nil
}

// reason is what the system said, without the path.
func reason(err error) string {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// useTerminal makes later questions go to the terminal, if there is one:
// standard input has been read to its end.
func (a *app) useTerminal() {
	if tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		a.in, a.lines = tty, bufio.NewReader(tty)
	}
}

// line asks for a line on standard input.
func (a *app) line(ctx context.Context, prompt string) (string, error) {
	a.progress.Stop()
	fmt.Fprint(a.err, prompt)
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		s, err := a.lines.ReadString('\n')
		got <- answer{s, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.err)
		return "", ctx.Err()
	case r := <-got:
		if r.err != nil && r.line == "" {
			fmt.Fprintln(a.err)
			return "", errNoTerminal
		}
		return strings.TrimSpace(r.line), nil
	}
}

// confirm asks a question that only a clear yes answers.
func (a *app) confirm(ctx context.Context, question string) (bool, error) {
	s, err := a.line(ctx, question+" [y/N] ")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(s) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
