package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/client"
)

var (
	// ErrNobody is returned by Dial when no process answers for the profile.
	ErrNobody = errors.New("no process answers for this profile")
	// ErrLost is returned when the owner went away without a word: whether a
	// call was done is not known. An owner that ends in order gives
	// client.ErrClosed, and then it was not.
	ErrLost = errors.New("the process that owns this profile ended before it answered")
)

// writeWithin is how long an owner may take to read a request.
const writeWithin = 10 * time.Second

// Remote is a profile that another process owns.
type Remote struct {
	dir  string
	conn net.Conn

	writing sync.Mutex // held while a request is written

	mu     sync.Mutex // guards all below
	next   uint64
	wait   map[uint64]chan incoming
	broken error
}

var _ client.Service = (*Remote)(nil)

// Dial connects to the owner of the profile in dir.
func Dial(ctx context.Context, dir string) (*Remote, error) {
	conn, err := dial(ctx, dir)
	if err != nil {
		return nil, err
	}
	r := &Remote{dir: dir, conn: conn, wait: map[uint64]chan incoming{}}
	go r.read()
	return r, nil
}

func dial(ctx context.Context, dir string) (net.Conn, error) {
	path, done, err := reach(dir)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	defer done()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNobody, err)
	}
	return conn, nil
}

// Close ends the connection; the owner goes on.
func (r *Remote) Close() error { return r.conn.Close() }

// read hands answers to who waits for them until the connection ends.
func (r *Remote) read() {
	end := ErrLost
	in := lines(r.conn, maxAnswer)
	for end == ErrLost && in.Scan() {
		var m incoming
		if json.Unmarshal(in.Bytes(), &m) != nil {
			break
		}
		if m.Method == methodClosing {
			end = client.ErrClosed
			continue
		}
		id, err := strconv.ParseUint(string(m.ID), 10, 64)
		if err != nil {
			break
		}
		r.mu.Lock()
		c := r.wait[id]
		delete(r.wait, id)
		r.mu.Unlock()
		if c != nil {
			c <- m
		}
	}
	r.conn.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = end
	for id, c := range r.wait {
		close(c)
		delete(r.wait, id)
	}
}

// call makes one call and reads its result into out.
func (r *Remote) call(ctx context.Context, method string, params, out any) error {
	answer := make(chan incoming, 1)
	r.mu.Lock()
	if r.broken != nil {
		defer r.mu.Unlock()
		return r.broken
	}
	r.next++
	id := r.next
	r.wait[id] = answer
	r.mu.Unlock()
	line, err := encode(id, method, params)
	if err != nil {
		return err
	}
	if r.write(line) != nil {
		r.mu.Lock()
		delete(r.wait, id)
		r.mu.Unlock()
		return client.ErrClosed // no owner does half a request
	}
	select {
	case <-ctx.Done():
		r.mu.Lock()
		delete(r.wait, id)
		r.mu.Unlock()
		return ctx.Err()
	case m, ok := <-answer:
		switch {
		case !ok:
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.broken
		case m.Error != nil:
			return m.Error.err()
		}
		return json.Unmarshal(m.Result, out)
	}
}

func (r *Remote) write(line []byte) error {
	r.writing.Lock()
	defer r.writing.Unlock()
	r.conn.SetWriteDeadline(time.Now().Add(writeWithin))
	_, err := r.conn.Write(line)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		r.conn.Close() // nothing may follow the half
	}
	return err // else the other end closed, and read finds out how
}

// encode writes a request as a line.
func encode(id uint64, method string, params any) ([]byte, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(request{"2.0", strconv.AppendUint(nil, id, 10), method, raw})
	return append(line, '\n'), err
}
