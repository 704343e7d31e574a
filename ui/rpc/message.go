// Package rpc hands work to the process that owns a profile: JSON-RPC 2.0, one
// message a line, over a socket in the profile's folder that only its owner may
// open. Server answers with a client.Service; Remote is a client.Service.
//
// It adds nothing to what client can do and keeps no state between calls.
package rpc

import (
	"encoding/json"
	"errors"

	"github.com/tacet-chat/tacet/client"
)

// SocketName is the socket's name in the profile's folder.
const SocketName = "socket"

// maxLine bounds one message, in bytes: 64 blocks of text as JSON, and room.
const maxLine = 1 << 20

// maxAnswer bounds one answer, in bytes: a whole history fits.
const maxAnswer = 64 << 20

// Codes of JSON-RPC 2.0.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeFirst    = -32001 // and below: the errors of client, in the order of known
)

type request struct {
	Version string          `json:"jsonrpc"`
	ID      *uint64         `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      *uint64         `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// notification is one event of a followed conversation.
type notification struct {
	Version string       `json:"jsonrpc"`
	Method  string       `json:"method"` // "event"
	Params  client.Event `json:"params"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// known lists the errors that keep their identity over the socket. The order is
// the protocol: new ones go to the end.
var known = []error{
	client.ErrExists, client.ErrMissing, client.ErrPassphrase, client.ErrDamaged, client.ErrNewer, client.ErrFull, client.ErrLocked,
	client.ErrContact, client.ErrName, client.ErrNoInvite, client.ErrLink, client.ErrLinkTypo, client.ErrLinkNewer, client.ErrUsed,
	client.ErrForged, client.ErrRelayKey, client.ErrOwnInvite, client.ErrKnown, client.ErrStopped, client.ErrNotYet, client.ErrRefusedTo,
	client.ErrGone, client.ErrSent, client.ErrEmpty, client.ErrLong, client.ErrState, client.ErrWords, client.ErrNoRelay,
	client.ErrNetwork, client.ErrRunning, client.ErrClosed, errDeadline, client.ErrSeveral,
}

// errDeadline stands for a caller's deadline: the answer still has a result.
var errDeadline = errors.New("deadline passed")

func failureOf(err error) *failure {
	for i, k := range known {
		if errors.Is(err, k) {
			return &failure{Code: codeFirst - i, Message: err.Error()}
		}
	}
	return &failure{Code: codeInternal, Message: err.Error()}
}

// remoteError is a failure that came over the socket.
type remoteError struct {
	text string
	is   error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }

func (f *failure) err() error {
	if i := codeFirst - f.Code; i >= 0 && i < len(known) {
		return &remoteError{f.Message, known[i]}
	}
	return &remoteError{f.Message, nil}
}
