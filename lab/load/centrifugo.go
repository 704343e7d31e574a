package load

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// centrifugo is Centrifugo's client protocol v2 in Protobuf over WebSocket: a
// channel for each address. Messages are varint length ‖ Command or Reply, of
// github.com/centrifugal/protocol, definitions/client.proto. It has no echo.
type centrifugo struct{}

// Fields of Command and Reply.
const (
	fieldID        = 1
	fieldError     = 2 // of a reply
	fieldConnect   = 4 // of a command
	fieldSubscribe = 5
	fieldPublish   = 7
	fieldPush      = 4 // of a reply
	fieldPub       = 4 // of a push
	fieldData      = 4 // of a publication
)

// appendField appends a field of bytes (wire type 2).
func appendField(b []byte, number int, v []byte) []byte {
	b = binary.AppendUvarint(b, uint64(number)<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(v))), v...)
}

// field finds the last field with the number; n is its value if it is a number.
func field(b []byte, number int) (v []byte, n uint64, err error) {
	for len(b) > 0 {
		tag, k := binary.Uvarint(b)
		if k <= 0 {
			return nil, 0, errFrame
		}
		value, j := binary.Uvarint(b[k:])
		b = b[k+max(j, 0):]
		switch {
		case j <= 0:
			return nil, 0, errFrame
		case tag&7 == 0:
			if int(tag>>3) == number {
				n = value
			}
		case tag&7 == 2 && value <= uint64(len(b)):
			if int(tag>>3) == number {
				v = b[:value:value]
			}
			b = b[value:]
		default:
			return nil, 0, errFrame
		}
	}
	return v, n, nil
}

// command is a message to the server.
func command(id uint64, number int, body []byte) []byte {
	c := binary.AppendUvarint([]byte{fieldID << 3}, id)
	c = appendField(c, number, body)
	return append(binary.AppendUvarint(nil, uint64(len(c))), c...)
}

func (centrifugo) open(s *server, boxes []*mailbox) (*line, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	early, err := upgrade(c, "/connection/websocket?format=protobuf", nil)
	if err != nil {
		c.Close()
		return nil, err
	}
	stream := newFramed(c, early)
	r := bufio.NewReaderSize(stream, 1024)
	ask := func(id uint64, number int, body []byte) error {
		if _, err := stream.Write(command(id, number, body)); err != nil {
			return err
		}
		for {
			n, err := binary.ReadUvarint(r)
			if err != nil {
				return err
			}
			reply := make([]byte, min(n, maxRead))
			if _, err := io.ReadFull(r, reply); err != nil {
				return err
			}
			_, got, err := field(reply, fieldID)
			if err != nil {
				return err
			}
			if got == id {
				return refusal(reply)
			}
		}
	}
	err = ask(1, fieldConnect, nil)
	for i, b := range boxes {
		if err == nil {
			err = ask(uint64(i+2), fieldSubscribe, appendField(nil, 1, []byte(b.name)))
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	rest, err := r.Peek(r.Buffered())
	if err != nil {
		return nil, err
	}
	return ready(stream, append([]byte(nil), rest...), &centrifugoTalk{})
}

// refusal is the error in a reply, if there is one.
func refusal(reply []byte) error {
	v, _, err := field(reply, fieldError)
	if err == nil && v != nil {
		err = fmt.Errorf("centrifugo refused: %.80q", v)
	}
	return err
}

func (c centrifugo) watch(s *server, boxes []*mailbox, _ bool) (*line, error) {
	return c.open(s, boxes)
}

func (c centrifugo) put(s *server, _ *mailbox, _ bool) (*line, error) { return c.open(s, nil) }

type centrifugoTalk struct{ pongs []byte }

var errPush = errors.New("centrifugo ended a subscription, or sent something else than a publication")

func (t *centrifugoTalk) parse(b []byte, on *events) ([]byte, error) {
	for {
		length, n := binary.Uvarint(b)
		if n < 0 || length > maxRead {
			return b, errFrame
		}
		if n == 0 || uint64(len(b)-n) < length {
			return b, nil
		}
		reply := b[n : n+int(length)]
		b = b[n+int(length):]
		if len(reply) == 0 { // a ping; the answer to it is the same
			t.pongs = append(t.pongs, 0)
			continue
		}
		if err := refusal(reply); err != nil {
			return b, err
		}
		push, _, err := field(reply, fieldPush)
		if err != nil {
			return b, err
		}
		if push == nil { // the answer to a publish
			continue
		}
		pub, _, err := field(push, fieldPub)
		if err != nil || pub == nil {
			return b, errors.Join(errPush, err)
		}
		data, _, err := field(pub, fieldData)
		if err != nil || len(data) < stampSize {
			return b, errors.Join(errPush, err)
		}
		on.cell(data)
	}
}

func (t *centrifugoTalk) owed(out []byte) []byte {
	out = append(out, t.pongs...)
	t.pongs = t.pongs[:0]
	return out
}

func (t *centrifugoTalk) appendPut(out []byte, to *mailbox, id uint64, cell []byte) []byte {
	body := appendField(make([]byte, 0, len(cell)+len(to.name)+8), 1, []byte(to.name))
	return append(out, command(id&0x7fffffff, fieldPublish, appendField(body, 2, cell))...)
}
