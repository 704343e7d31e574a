package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tacet-chat/tacet/client"
)

func TestSocketIsForItsOwnerOnly(t *testing.T) {
	o := serve(t, &fake{})
	dialed(t, o)
	info, err := os.Stat(filepath.Join(o.dir, SocketName))
	if err != nil || info.Mode().Perm() != 0o600 || info.Mode().Type() != os.ModeSocket {
		t.Errorf("got %v, %v, want a socket with 0600", info.Mode(), err)
	}
	if err := o.end(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.dir, SocketName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after the end: got %v, want the socket to be gone", err)
	}
	if _, err := Dial(t.Context(), o.dir); !errors.Is(err, ErrNobody) {
		t.Errorf("dialing nobody: got %v, want %v", err, ErrNobody)
	}
}

func TestStaleSocketIsReplaced(t *testing.T) {
	dir := t.TempDir()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, SocketName)})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close() // as a killed process leaves it
	if _, err := Dial(t.Context(), dir); !errors.Is(err, ErrNobody) {
		t.Errorf("dialing a stale socket: got %v, want %v", err, ErrNobody)
	}
	r := dialed(t, serveIn(t, dir, &fake{}))
	if _, err := r.Status(t.Context()); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
}

func TestLongPathsReachToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 30))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, done, err := reach(dir); err != nil {
		t.Skip("SKIPPED 1 test: this system has no way to a socket with a long path")
	} else {
		done()
	}
	r := dialed(t, serveIn(t, dir, &fake{}))
	if _, err := r.Status(t.Context()); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
}

// TestOwnerFinishesWhatItBegan ends the owner in the middle of a call.
func TestOwnerFinishesWhatItBegan(t *testing.T) {
	f := &fake{hold: make(chan struct{}), held: make(chan struct{}), awaited: make(chan struct{}, 1)}
	o := serve(t, f)
	r := dialed(t, o)
	sent := make(chan error, 1)
	go func() {
		_, err := r.Send(t.Context(), client.Outgoing{})
		sent <- err
	}()
	<-f.held
	waited := make(chan error, 1)
	go func() {
		_, err := r.Await(t.Context(), 7, client.OnDevice)
		waited <- err
	}()
	<-f.awaited
	ended := make(chan error, 1)
	go func() { ended <- o.end() }()
	// Calls that only wait are given up, and nothing is lost by that.
	if err := <-waited; !errors.Is(err, client.ErrClosed) {
		t.Errorf("Await: got %v, want %v", err, client.ErrClosed)
	}
	close(f.hold)
	if err := <-sent; err != nil {
		t.Errorf("Send: got %v, want it to be finished", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Serve: got %v, want nil", err)
	}
	if _, err := r.Status(t.Context()); !errors.Is(err, client.ErrClosed) {
		t.Errorf("afterwards: got %v, want %v", err, client.ErrClosed)
	}
}

// TestOrderlyEndSaysThatNothingWasDone sends calls while the owner ends: each
// is either done and answered, or not done and told so.
func TestOrderlyEndSaysThatNothingWasDone(t *testing.T) {
	for range 20 {
		f := &fake{}
		o := serve(t, f)
		r := dialed(t, o)
		var wg sync.WaitGroup
		var mu sync.Mutex
		answered := 0
		for range 8 {
			wg.Go(func() {
				for {
					_, err := r.Send(t.Context(), client.Outgoing{})
					if errors.Is(err, client.ErrClosed) {
						return
					}
					if err != nil {
						t.Errorf("got %v, want done or %v", err, client.ErrClosed)
						return
					}
					mu.Lock()
					answered++
					mu.Unlock()
				}
			})
		}
		for len(f.notes()) == 0 {
		}
		if err := o.end(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if done := len(f.notes()); done != answered {
			t.Fatalf("got %d calls done and %d answered, want the same", done, answered)
		}
	}
}

func TestLostOwnerIsNotAnOrderlyEnd(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(c).ReadString('\n')
			c.Close() // killed in the middle
		}
	}()
	r, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Send(t.Context(), client.Outgoing{}); err != ErrLost {
		t.Errorf("Send: got %v, want %v", err, ErrLost)
	}
	if err := r.Follow(t.Context(), 0, nil); err != ErrLost {
		t.Errorf("Follow: got %v, want %v", err, ErrLost)
	}
}

func TestOwnersThatTalkNonsense(t *testing.T) {
	for _, answer := range []string{"\n", "x\n", "{}\n", `{"id":"1"}` + "\n", `{"id":1,"result":5}` + "\n", `{"id":99,"result":{}}` + "\n", `{"id":1,"result":{}}`, "[]\n"} {
		dir := t.TempDir()
		l, err := net.Listen("unix", filepath.Join(dir, SocketName))
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(c).ReadString('\n')
			io.WriteString(c, answer)
			c.Close()
		}()
		r, err := Dial(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Status(t.Context()); err == nil {
			t.Errorf("answer %q: got no error, want one", answer)
		}
		l.Close()
	}
}

// conversation writes lines to a session and returns what it answers until it
// closes, or until there are as many answers as want.
func conversation(t testing.TB, f client.Service, input string, want int) []string {
	near, far := net.Pipe()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { (&session{conn: far, table: methods(f), service: f}).serve(ctx) })
	wg.Go(func() { io.WriteString(near, input) })
	var out []string
	in := lines(near, maxAnswer)
	for (want < 0 || len(out) < want) && in.Scan() {
		out = append(out, in.Text())
	}
	near.Close()
	stop()
	wg.Wait()
	return out
}

func TestHostileLines(t *testing.T) {
	const ok = `{"jsonrpc":"2.0","id":1,"method":"Status"}` + "\n"
	for _, c := range []struct{ name, in, want string }{
		{"not JSON", "hello\n", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}`},
		{"an array", "[]\n", `"code":-32700`},
		{"a batch", "[" + strings.TrimSpace(ok) + "]\n", `"code":-32700`},
		{"null", "null\n", `"code":-32600`},
		{"no version", `{"id":1,"method":"Status"}` + "\n", `"code":-32600`},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"Status"}` + "\n", `"code":-32600`},
		{"a notification", `{"jsonrpc":"2.0","method":"Status"}` + "\n", `"code":-32600`},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"Status"}` + "\n", `"code":-32600`},
		{"id object", `{"jsonrpc":"2.0","id":{},"method":"Status"}` + "\n", `"code":-32600`},
		{"id too long", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 64) + `","method":"Status"}` + "\n", `"code":-32600`},
		{"no method", `{"jsonrpc":"2.0","id":1}` + "\n", `"code":-32601`},
		{"method in lower case", `{"jsonrpc":"2.0","id":1,"method":"status"}` + "\n", `"code":-32601`},
		{"unknown parameter", `{"jsonrpc":"2.0","id":1,"method":"Send","params":{"too":"bob"}}` + "\n", `"code":-32602`},
		{"parameters of another sort", `{"jsonrpc":"2.0","id":1,"method":"Send","params":["bob"]}` + "\n", `"code":-32602`},
		{"a number that does not fit", `{"jsonrpc":"2.0","id":1,"method":"Unsend","params":{"seq":1e30}}` + "\n", `"code":-32602`},
		{"text id", `{"jsonrpc":"2.0","id":"a\"b","method":"Status"}` + "\n", `{"jsonrpc":"2.0","id":"a\"b","result":{`},
		{"without parameters", ok, `{"jsonrpc":"2.0","id":1,"result":{`},
		{"null parameters", `{"jsonrpc":"2.0","id":-1,"method":"Status","params":null}` + "\n", `{"jsonrpc":"2.0","id":-1,"result":{`},
	} {
		got := conversation(t, &fake{}, c.in, 1)
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) && !strings.Contains(got[0], c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLinesAreBounded(t *testing.T) {
	near, far := net.Pipe()
	done := make(chan struct{})
	f := &fake{}
	go func() {
		defer close(done)
		(&session{conn: far, table: methods(f), service: f}).serve(t.Context())
	}()
	n, err := io.Copy(near, io.LimitReader(endless{}, 4*maxLine))
	if err == nil || n > 2*maxLine {
		t.Errorf("got %d bytes read and %v, want the connection closed after %d", n, err, maxLine)
	}
	<-done
	if got := f.notes(); len(got) != 0 {
		t.Errorf("got calls %q, want none", got)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// TestHalfALineIsNotACall: a caller that dies while it writes wants nothing.
func TestHalfALineIsNotACall(t *testing.T) {
	f := &fake{}
	o := serve(t, f)
	dialed(t, o)
	c, err := net.Dial("unix", filepath.Join(o.dir, SocketName))
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(c, `{"jsonrpc":"2.0","id":1,"method":"Doctor"}`)
	c.Close()
	if err := o.end(); err != nil {
		t.Fatal(err)
	}
	if got := f.notes(); len(got) != 0 {
		t.Errorf("got calls %q, want none", got)
	}
}

func TestManyCallersAtOnce(t *testing.T) {
	f := &fake{}
	o := serve(t, f)
	var wg sync.WaitGroup
	for i := range 8 {
		r := dialed(t, o)
		for j := range 8 {
			wg.Go(func() {
				text := fmt.Sprint(i, j)
				if _, err := r.Preview(t.Context(), text); err != nil {
					t.Errorf("got %v, want an answer", err)
				}
			})
		}
	}
	wg.Wait()
	if got := len(f.notes()); got != 64 {
		t.Errorf("got %d calls, want 64", got)
	}
}

func FuzzSession(f *testing.F) {
	for name := range all {
		f.Add(`{"jsonrpc":"2.0","id":1,"method":"` + name + `","params":{}}` + "\n")
	}
	f.Add(`{"jsonrpc":"2.0","id":1,"method":"Send","params":{"to":"bob","text":"x","keep":5}}` + "\n" + `{"jsonrpc":"2.0","id":"x","method":"Follow"}` + "\n")
	f.Fuzz(func(t *testing.T, input string) {
		if strings.Contains(input, "Await") || strings.Contains(input, "Follow") {
			return // they answer when something happens
		}
		// Every line is answered, or ends the connection with an answer.
		for _, answer := range conversation(t, &fake{}, input+"\nend\n", -1) {
			if !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":`) || strings.Contains(answer, "\n") {
				t.Errorf("input %q: got %q, want an answer", input, answer)
			}
		}
	})
}
