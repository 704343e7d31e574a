package ws

import (
	"encoding/binary"
	"unicode/utf8"
)

// Code is a status code of a close frame (RFC 6455, Section 7.4); 0 is none.
type Code uint16

// Codes that a relay sends.
const (
	Normal       Code = 1000
	GoingAway    Code = 1001 // the relay stops
	Protocol     Code = 1002 // not RFC 6455
	Unsupported  Code = 1003 // RFC 6455, but not for us: text, fragments
	Inconsistent Code = 1007 // text that is not UTF-8
	Policy       Code = 1008 // a frame that means nothing here
	TooBig       Code = 1009
	TryLater     Code = 1013 // over a bound (IANA's registry of close codes)
)

// AppendClose appends a whole close frame without a reason in words.
func AppendClose(b []byte, c Code) []byte {
	return binary.BigEndian.AppendUint16(AppendHeader(b, Close, 2), uint16(c))
}

// Reply returns the code to answer a close frame's payload with: its own where
// it has a good one, Normal where it has none.
func Reply(payload []byte) Code {
	if len(payload) == 0 {
		return Normal
	}
	if len(payload) == 1 {
		return Protocol
	}
	c := Code(binary.BigEndian.Uint16(payload))
	switch {
	case c >= 1000 && c <= 1003, c >= 1007 && c <= 1014, c >= 3000 && c <= 4999:
	default:
		return Protocol
	}
	if !utf8.Valid(payload[2:]) {
		return Inconsistent
	}
	return c
}
