package load

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// nats is core NATS over TCP, TLS or WebSocket: a subject for each address. With
// echo, the sender puts its inbox as the reply subject and the receiver
// publishes 8 bytes there, which is the nearest to a receipt echo.
type nats struct{ webSocket bool }

func (n nats) open(s *server, subjects []string) (net.Conn, []byte, error) {
	c, err := s.dial()
	if err != nil {
		return nil, nil, err
	}
	if n.webSocket {
		early, err := upgrade(c, "/", nil)
		if err != nil {
			c.Close()
			return nil, nil, err
		}
		c = newFramed(c, early)
	}
	say := []byte("CONNECT {\"verbose\":false,\"pedantic\":false,\"echo\":false,\"lang\":\"load\",\"version\":\"1\"}\r\n")
	for i, subject := range subjects {
		say = fmt.Appendf(say, "SUB %s %d\r\n", subject, i+1)
	}
	r := bufio.NewReaderSize(c, 1024)
	early, err := func() ([]byte, error) {
		if line, err := r.ReadString('\n'); err != nil || !strings.HasPrefix(line, "INFO ") {
			return nil, fmt.Errorf("nats-server did not greet: %.40q, %w", line, err)
		}
		if _, err := c.Write(append(say, "PING\r\n"...)); err != nil {
			return nil, err
		}
		for {
			line, err := r.ReadString('\n')
			switch {
			case err != nil:
				return nil, err
			case strings.HasPrefix(line, "PONG"):
				early, err := r.Peek(r.Buffered())
				return bytes.Clone(early), err
			case strings.HasPrefix(line, "-ERR"):
				return nil, fmt.Errorf("nats-server refused: %.80q", line)
			}
		}
	}()
	if err != nil {
		c.Close()
	}
	return c, early, err
}

func (n nats) watch(s *server, boxes []*mailbox, echo bool) (*line, error) {
	var subjects []string
	for _, b := range boxes {
		subjects = append(subjects, b.name)
	}
	c, early, err := n.open(s, subjects)
	if err != nil {
		return nil, err
	}
	return ready(c, early, &natsTalk{echo: echo})
}

func (n nats) put(s *server, inbox *mailbox, echo bool) (*line, error) {
	var subjects []string
	t := &natsTalk{}
	if echo {
		t.inbox = "i" + inbox.name
		subjects = append(subjects, t.inbox)
	}
	c, early, err := n.open(s, subjects)
	if err != nil {
		return nil, err
	}
	return ready(c, early, t)
}

type natsTalk struct {
	echo    bool
	inbox   string // empty without echoes
	replies []byte
}

func (t *natsTalk) parse(b []byte, on *events) ([]byte, error) {
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 1 {
			return b, nil
		}
		head := b[:end-1]
		switch {
		case bytes.HasPrefix(head, []byte("MSG ")): // subject sid [reply] size
			last := bytes.LastIndexByte(head, ' ')
			size, err := strconv.Atoi(text(head[last+1:]))
			if err != nil || size < 0 || size > maxRead {
				return b, errFrame
			}
			if len(b) < end+1+size+2 {
				return b, nil
			}
			payload := b[end+1 : end+1+size]
			if t.inbox != "" {
				if on.answer != nil && len(payload) == 8 {
					on.answer(binary.BigEndian.Uint64(payload), 1, true)
				}
			} else {
				on.cell(payload)
				if t.echo && size >= stampSize {
					head = head[:last]
					t.replies = append(append(append(t.replies, "PUB "...), head[bytes.LastIndexByte(head, ' ')+1:]...), " 8\r\n"...)
					t.replies = append(append(t.replies, payload[stampSize-8:stampSize]...), "\r\n"...) // the number of the cell
				}
			}
			b = b[end+1+size+2:]
			continue
		case bytes.Equal(head, []byte("PING")):
			t.replies = append(t.replies, "PONG\r\n"...)
		case bytes.HasPrefix(head, []byte("-ERR")):
			return b, fmt.Errorf("nats-server: %.80q", head)
		}
		b = b[end+1:]
	}
}

func (t *natsTalk) owed(out []byte) []byte {
	out = append(out, t.replies...)
	t.replies = t.replies[:0]
	return out
}

func (t *natsTalk) appendPut(out []byte, to *mailbox, _ uint64, cell []byte) []byte {
	out = append(append(append(out, "PUB "...), to.name...), ' ')
	if t.inbox != "" {
		out = append(append(out, t.inbox...), ' ')
	}
	out = append(strconv.AppendInt(out, int64(len(cell)), 10), "\r\n"...)
	return append(append(out, cell...), "\r\n"...)
}
