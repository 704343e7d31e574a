package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/term"

	"github.com/tacet-chat/tacet/ui/text"
)

// maxTyped bounds a line that is typed, in bytes; the client takes less.
const maxTyped = 64 << 10

// console is where a chat is typed and shown.
type console interface {
	lines() <-chan string // what is typed; closed at the end
	print(s string)       // an event
	tell(s string)        // what the program itself says
	fail(err error)
	turn(name string) // whom lines go to
	echoes() bool     // what is typed can be seen
	person() bool     // the end of input is a wish to end
	style() text.Style
	close()
}

// plain is a console that writes lines and moves no cursor.
type plain struct {
	a     *app
	typed chan string
	wants atomic.Bool     // the next line is a passphrase
	got   chan secretLine // and goes here
	mu    sync.Mutex      // held while writing
}

type secretLine struct {
	line string
	err  error
}

// console makes the console for a chat.
func (a *app) console(quiet bool) (console, error) {
	if !quiet {
		return a.newEditor()
	}
	c := &plain{a: a, typed: make(chan string), got: make(chan secretLine)}
	a.progress.Stop()
	a.progress, a.askSecret, a.note = nil, c.secret, c.tell
	go c.read()
	return c, nil
}

func (c *plain) read() {
	defer close(c.typed)
	for {
		s, err := readLine(c.a.lines)
		switch {
		case c.wants.CompareAndSwap(true, false):
			c.got <- secretLine{s, err}
		case err == nil || s != "":
			c.typed <- s
		}
		if err != nil {
			return
		}
	}
}

// readLine reads a line of at most maxTyped bytes; what is longer is cut into
// lines, so that nothing is lost.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for len(line) < maxTyped {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(string(line), "\r\n"), err
		}
	}
	return string(line), nil
}

// secret has the next line typed without echo.
func (c *plain) secret(ctx context.Context, prompt string) ([]byte, error) {
	if !isTerminal(c.a.in) {
		return nil, errNoTerminal
	}
	restore, err := silence(c.a.in)
	if err != nil {
		return nil, errNoTerminal
	}
	defer restore()
	c.wants.Store(true)
	fmt.Fprint(c.a.err, prompt)
	defer fmt.Fprintln(c.a.err)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-c.got:
		if got.err != nil {
			return nil, errNoTerminal
		}
		return []byte(got.line), nil
	}
}

func (c *plain) lines() <-chan string { return c.typed }
func (c *plain) turn(string)          {}
func (c *plain) echoes() bool         { return isTerminal(c.a.in) }
func (c *plain) person() bool         { return isTerminal(c.a.in) }
func (c *plain) style() text.Style    { return text.Style{} }
func (c *plain) close()               { c.a.askSecret, c.a.note = readSecret, c.a.remark }
func (c *plain) print(s string)       { c.write(c.a.out, s+"\n") }
func (c *plain) tell(s string)        { c.write(c.a.err, "tacet: "+s+"\n") }
func (c *plain) fail(err error)       { c.write(c.a.err, text.Explain(err).Text(text.Style{})) }

func (c *plain) write(w io.Writer, s string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	io.WriteString(w, s)
}

// editor is a console that keeps the line being typed below what comes.
type editor struct {
	a      *app
	t      *term.Terminal
	before *term.State
	typed  chan string
	wants  atomic.Bool
	got    chan secretLine
}

// newEditor takes the terminal.
func (a *app) newEditor() (console, error) {
	fd := int(a.in.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("preparing the terminal: %w", err)
	}
	c := &editor{a: a, before: before, typed: make(chan string), got: make(chan secretLine)}
	c.t = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.in, os.Stdout}, "> ")
	c.resize()
	a.progress.Stop()
	a.progress, a.askSecret, a.note, a.err = nil, c.secret, c.tell, c.t
	go c.read()
	return c, nil
}

// resize follows the size of the terminal.
func (c *editor) resize() {
	if w, h, err := term.GetSize(int(c.a.in.Fd())); err == nil && w > 0 {
		c.t.SetSize(w, h)
	}
}

func (c *editor) read() {
	defer close(c.typed)
	for {
		s, err := c.t.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			if c.wants.CompareAndSwap(true, false) {
				c.got <- secretLine{err: err}
			}
			return
		}
		if s != "" {
			c.typed <- s
		}
		c.resize()
		if c.wants.CompareAndSwap(true, false) {
			secret, err := c.t.ReadPassword("Passphrase: ")
			c.got <- secretLine{secret, err}
		}
	}
}

// secret waits for Enter, since a line is being typed, and asks then.
func (c *editor) secret(ctx context.Context, _ string) ([]byte, error) {
	c.wants.Store(true)
	c.tell("press Enter to type the passphrase")
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case got := <-c.got:
		if got.err != nil {
			return nil, context.Canceled
		}
		return []byte(got.line), nil
	}
}

func (c *editor) lines() <-chan string { return c.typed }
func (c *editor) turn(name string)     { c.t.SetPrompt(name + "> ") }
func (c *editor) echoes() bool         { return true }
func (c *editor) person() bool         { return true }
func (c *editor) style() text.Style    { return c.a.style }
func (c *editor) print(s string)       { c.write(s + "\n") }
func (c *editor) tell(s string)        { c.write(c.a.style.Dim(s) + "\n") }
func (c *editor) fail(err error)       { c.write(text.Explain(err).Text(c.a.talk)) }

// write goes to the beginning of the line itself: the terminal of package term
// takes every character for one column wide.
func (c *editor) write(s string) { io.WriteString(c.t, "\r\x1b[K"+s) }

func (c *editor) close() {
	c.a.askSecret, c.a.note = readSecret, c.a.remark
	term.Restore(int(c.a.in.Fd()), c.before)
	c.a.err = os.Stderr
	fmt.Fprint(c.a.err, "\r\x1b[K")
}
