package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client/transport"
)

// fault is an error whose text names neither hosts nor addresses. The standard
// library's do: they are taken apart by plain.
type fault struct {
	text string
	kind error // a sentinel of package transport or of this one; nil: temporary
}

func (f *fault) Error() string { return f.text }
func (f *fault) Unwrap() error { return f.kind }

// Faults without a kind are temporary.
var (
	errSlow   = &fault{text: "the relay took too long"}
	errBroken = &fault{text: "the connection broke"}
	errSilent = &fault{text: "the relay has fallen silent"}
	errBusy   = &fault{text: "too many puts are waiting for this connection"}
	foreign   = &fault{text: transport.ErrForeign.Error(), kind: transport.ErrForeign}
)

// broken is a fault of the relay: it does not keep to the protocol.
func broken(how string) error { return &fault{text: "the relay does not keep to the protocol: " + how} }

// refused is a refusal for good.
func refused(why string) error {
	return &fault{text: "refused by the relay: " + why, kind: transport.ErrRefused}
}

// stranger is a relay that is not the one that was pinned.
func stranger(how string) error {
	return &fault{text: how + ": " + transport.ErrIdentity.Error(), kind: transport.ErrIdentity}
}

// wrongTime is a time that is not to be believed.
func wrongTime(how string) error {
	return &fault{text: how + ": " + transport.ErrTime.Error(), kind: transport.ErrTime}
}

// plain turns an error of the network into one that names nobody. What ended
// ctx goes before what that did to the connection.
func plain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var (
		own     *fault
		code    syscall.Errno
		dns     *net.DNSError
		network net.Error
		alert   tls.AlertError
		record  tls.RecordHeaderError
	)
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(cause, &own):
		return own
	case errors.Is(cause, transport.ErrClosed):
		return transport.ErrClosed
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns):
		return &fault{text: "the relay's name was not found"}
	case errors.As(err, &record): // a web page, for one
		return foreign
	case errors.As(err, &alert):
		return &fault{text: "the other end does not speak TLS as a relay does"}
	case errors.As(err, &code):
		return &fault{text: "connecting: " + code.Error()}
	case errors.Is(err, websocket.ErrMessageTooBig):
		return broken("a message that is too long")
	case websocket.CloseStatus(err) != -1:
		return &fault{text: "the relay closed the connection"}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return errSlow
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return errBroken
	}
	return &fault{text: "the connection failed"}
}
