package load

import (
	"bytes"
	"crypto/ed25519"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/tacet-chat/tacet/internal/wire"
)

// tacet is our own relay: a proof for each address, an echo for each cell, an
// answer for each put.
//
// spec: relay-api.md#watch
type tacet struct{ realm wire.Descriptor }

// newTacet asks the relay what it is.
func newTacet(s *server) (dialect, error) {
	client := &http.Client{Timeout: dialTimeout, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS13}, DisableKeepAlives: true,
	}}
	scheme := "http"
	if s.tls {
		scheme = "https"
	}
	res, err := client.Get(scheme + "://" + s.addr + "/v1/realm")
	if err != nil {
		return nil, fmt.Errorf("asking the relay for its descriptor: %w", err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, wire.MaxDescriptor+64))
	if err != nil {
		return nil, fmt.Errorf("asking the relay for its descriptor: %w", err)
	}
	d, _, _, err := wire.ParseDescriptor(b)
	return &tacet{realm: d}, err
}

func (t *tacet) open(s *server, path string) (net.Conn, []byte, error) {
	c, err := s.dial()
	if err != nil {
		return nil, nil, err
	}
	early, err := upgrade(c, path, nil)
	if err != nil {
		c.Close()
	}
	return c, early, err
}

func (t *tacet) watch(s *server, boxes []*mailbox, echo bool) (*line, error) {
	c, early, err := t.open(s, "/v1/watch")
	if err != nil {
		return nil, err
	}
	l, err := t.prove(c, early, boxes, echo)
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("watching: %w", err)
	}
	return l, nil
}

// prove says which addresses are ours, and waits until all are watched.
func (t *tacet) prove(c net.Conn, b []byte, boxes []*mailbox, echo bool) (*line, error) {
	w := &tacetTalk{echo: echo}
	greeted := false
	for {
		op, payload, size, err := parseFrame(b)
		switch {
		case err != nil:
			return nil, err
		case size == 0:
			b = append(b, make([]byte, 1024)...)
			n, err := c.Read(b[len(b)-1024:])
			if err != nil {
				return nil, err
			}
			b = b[:len(b)-1024+n]
			continue
		case op == opPing:
			_, err = c.Write(appendFrame(nil, opPong, payload))
		case op == opBinary && !greeted && len(payload) == wire.GreetingSize && payload[0] == byte(wire.FrameGreeting):
			greeted = true
			var frames []byte
			if frames, err = t.proofs(c, [wire.ServerNonceSize]byte(payload[1:]), boxes); err == nil {
				_, err = c.Write(frames)
			}
		case op == opBinary && greeted && len(payload) == wire.WatchedSize && payload[0] == byte(wire.FrameWatched):
			if int(binary.BigEndian.Uint16(payload[1:])) == len(boxes) {
				return ready(c, bytes.Clone(b[size:]), w)
			}
		case op == opBinary && len(payload) == wire.RefusedSize && payload[0] == byte(wire.FrameRefused):
			return nil, fmt.Errorf("refused: %v", wire.Reason(payload[1]))
		default:
			return nil, errFrame
		}
		if err != nil {
			return nil, err
		}
		b = b[size:]
	}
}

// proofs are the watch frames.
//
// spec: relay-api.md#proof
func (t *tacet) proofs(c net.Conn, nonce [wire.ServerNonceSize]byte, boxes []*mailbox) ([]byte, error) {
	p := wire.Proof{Realm: t.realm.Realm, Nonce: nonce, Verb: wire.VerbWatch, Period: uint64(now() / int64(t.realm.Live()))}
	if secure, ok := c.(*tls.Conn); ok && t.realm.Binding {
		state := secure.ConnectionState()
		b, err := state.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
		if err != nil {
			return nil, err
		}
		p.Binding = [wire.BindingSize]byte(b)
	}
	var frames, say []byte
	for len(boxes) > 0 {
		some := boxes[:min(wire.MaxWatch, len(boxes))]
		boxes = boxes[len(some):]
		frame := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), 0}, p.Period)
		for _, box := range some {
			p.Address = box.address
			say = p.Append(say[:0])
			frame = append(append(frame, box.address[:]...), ed25519.Sign(box.private, say)...)
		}
		frames = appendFrame(frames, opBinary, frame)
	}
	return frames, nil
}

func (t *tacet) put(s *server, _ *mailbox, _ bool) (*line, error) {
	c, early, err := t.open(s, "/v1/put")
	if err != nil {
		return nil, fmt.Errorf("opening a put connection: %w", err)
	}
	return ready(c, early, &tacetTalk{})
}

// tacetTalk is a watch connection or a put connection.
type tacetTalk struct {
	echo    bool
	pongs   []byte
	nonces  []byte // of cells that are to be echoed
	frame   []byte
	putting [wire.PutSize]byte
}

var errRefused = errors.New("the relay refused a watch, or closed")

func (w *tacetTalk) parse(b []byte, on *events) ([]byte, error) {
	for {
		op, p, size, err := parseFrame(b)
		if err != nil || size == 0 {
			return b, err
		}
		b = b[size:]
		switch {
		case op == opPing:
			w.pongs = appendFrame(w.pongs, opPong, p)
		case op == opBinary && len(p) == wire.DeliverSize && p[0] == byte(wire.FrameDeliver):
			on.cell(p[wire.DeliverSize-wire.CellSize:])
			if w.echo {
				w.nonces = append(w.nonces, p[1:1+wire.EchoNonceSize]...)
			}
		case op == opBinary && len(p)%wire.AnswerSize == 0 && len(p) > 0:
			for ; len(p) > 0; p = p[wire.AnswerSize:] {
				a, err := wire.ParseAnswer(p[:wire.AnswerSize])
				if err != nil {
					return b, err
				}
				if on.answer != nil {
					on.answer(binary.BigEndian.Uint64(a.ID[:]), a.Delivered, a.Complete)
				}
			}
		default:
			return b, errRefused
		}
	}
}

// owed is one frame for all echoes of a read.
//
// spec: relay-api.md#receipt-echo
func (w *tacetTalk) owed(out []byte) []byte {
	out = append(out, w.pongs...)
	w.pongs = w.pongs[:0]
	for n := w.nonces; len(n) > 0; {
		some := n[:min(len(n), wire.MaxEchoes*wire.EchoNonceSize)]
		n = n[len(some):]
		w.frame = append(append(w.frame[:0], byte(wire.FrameEcho)), some...)
		out = appendFrame(out, opBinary, w.frame)
	}
	w.nonces = w.nonces[:0]
	return out
}

// spec: relay-api.md#put
func (w *tacetTalk) appendPut(out []byte, to *mailbox, id uint64, cell []byte) []byte {
	p := w.putting[:0]
	p = binary.BigEndian.AppendUint64(p, id)
	p = append(append(p, to.address[:]...), cell...)
	return appendFrame(out, opBinary, p)
}
