package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// mqtt is MQTT 3.1.1 with QoS 0: a topic for each address. It has no echo.
type mqtt struct{}

// Packet types of MQTT 3.1.1, Section 2.2.1, with the flags that they must have.
const (
	mqttConnect   = 0x10
	mqttConnack   = 0x20
	mqttPublish   = 0x30
	mqttSubscribe = 0x82
	mqttSuback    = 0x90
)

// appendLength appends a remaining length (Section 2.2.3).
func appendLength(b []byte, n int) []byte { return binary.AppendUvarint(b, uint64(n)) }

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(s))), s...)
}

func (mqtt) open(s *server) (net.Conn, error) {
	c, err := s.dial()
	if err != nil {
		return nil, err
	}
	// Version 4, clean session, no keep-alive, and an id that the server makes.
	body := append(appendText(nil, "MQTT"), 4, 2, 0, 0, 0, 0)
	if _, err = c.Write(append(appendLength([]byte{mqttConnect}, len(body)), body...)); err == nil {
		var ack [4]byte
		if _, err = io.ReadFull(c, ack[:]); err == nil && (ack[0] != mqttConnack || ack[3] != 0) {
			err = fmt.Errorf("the MQTT server refused with code %d", ack[3])
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (m mqtt) watch(s *server, boxes []*mailbox, _ bool) (*line, error) {
	c, err := m.open(s)
	if err != nil {
		return nil, err
	}
	body := []byte{0, 1}
	for _, b := range boxes {
		body = append(appendText(body, b.name), 0)
	}
	if _, err = c.Write(append(appendLength([]byte{mqttSubscribe}, len(body)), body...)); err == nil {
		ack := make([]byte, 4+len(boxes)) // the load asks for fewer than 124, so that the length is one byte
		if _, err = io.ReadFull(c, ack); err == nil && ack[0] != mqttSuback {
			err = errors.New("the MQTT server did not answer a subscription")
		}
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return ready(c, nil, mqttTalk{})
}

func (m mqtt) put(s *server, _ *mailbox, _ bool) (*line, error) {
	c, err := m.open(s)
	if err != nil {
		return nil, err
	}
	return ready(c, nil, mqttTalk{})
}

type mqttTalk struct{}

func (mqttTalk) parse(b []byte, on *events) ([]byte, error) {
	for len(b) >= 2 {
		length, n := binary.Uvarint(b[1:])
		if n < 0 || length > maxRead {
			return b, errFrame
		}
		if n == 0 || uint64(len(b)) < 1+uint64(n)+length {
			break
		}
		body := b[1+n : 1+n+int(length)]
		if b[0] == mqttPublish {
			if len(body) < 2 || len(body) < 2+int(binary.BigEndian.Uint16(body)) {
				return b, errFrame
			}
			on.cell(body[2+int(binary.BigEndian.Uint16(body)):])
		}
		b = b[1+n+int(length):]
	}
	return b, nil
}

func (mqttTalk) owed(out []byte) []byte { return out }

func (mqttTalk) appendPut(out []byte, to *mailbox, _ uint64, cell []byte) []byte {
	out = appendLength(append(out, mqttPublish), 2+len(to.name)+len(cell))
	return append(appendText(out, to.name), cell...)
}
