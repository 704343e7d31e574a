// Package rpc hands work to the process that owns a profile: JSON-RPC 2.0, one
// message a line, over a socket in the profile's folder that only its owner may
// open. Serve answers with a client.Service; Remote is a client.Service.
//
// It adds nothing to what client can do and keeps no state between calls.
package rpc

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/tacet-chat/tacet/client"
)

// SocketName is the socket's name in the profile's folder.
const SocketName = "socket"

const (
	maxLine   = 1 << 20  // one request, in bytes: 64 blocks of text as JSON, and room
	maxAnswer = 64 << 20 // one answer, in bytes: a whole history fits
	maxID     = 64       // the id of a request, in bytes
)

// Codes of JSON-RPC 2.0.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeFirst    = -32001 // and below: the errors of client, in the order of known
)

// Methods of notifications, which have no id.
const (
	methodEvent   = "event"   // one event of a followed conversation
	methodClosing = "closing" // the owner ends: what has no answer by now was not done
)

type request struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // a number or a string
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params,omitempty"`
}

// valid reports whether r is a request that wants an answer.
func (r *request) valid() bool {
	return r.Version == "2.0" && len(r.ID) > 0 && len(r.ID) <= maxID && (r.ID[0] == '"' || r.ID[0] == '-' || r.ID[0] >= '0' && r.ID[0] <= '9')
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

type notification struct {
	Version string        `json:"jsonrpc"`
	Method  string        `json:"method"`
	Params  *client.Event `json:"params,omitempty"`
}

// incoming is any message that a caller gets.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *failure        `json:"error"`
	Method string          `json:"method"`
	Params *client.Event   `json:"params"`
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
	client.ErrNetwork, client.ErrRunning, client.ErrClosed, context.DeadlineExceeded, client.ErrSeveral, client.ErrForeign,
	client.ErrFronted, client.ErrRealmUsed, client.ErrRealmShut, client.ErrNeedInvite, client.ErrNoTokens, client.ErrTokenKeys,
	client.ErrEndpoint, client.ErrNoGateway, client.ErrSameOperator, client.ErrPushService, client.ErrNoWake, client.ErrLinkOlder,
	client.ErrCode, client.ErrCodeNewer, client.ErrCodeUsed, client.ErrCodeOver, client.ErrNoLink, client.ErrLinking, client.ErrDigits,
	client.ErrNotRoot, client.ErrUnlinked, client.ErrGivenUp, client.ErrPack, client.ErrDevices, client.ErrDevice, client.ErrThisDevice,
	client.ErrRootStays,
	client.ErrGroup, client.ErrTwo, client.ErrNoMember, client.ErrLeftGroup, client.ErrRight, client.ErrAsk, client.ErrNoQuestion, client.ErrKeepGroup,
	client.ErrNoGroupChange, client.ErrGroupFull, client.ErrEntering, client.ErrPicture, client.ErrPictureAway,
}

// lines reads lines of at most limit bytes. What no line break ends is no line:
// the other end went away while it wrote.
func lines(r io.Reader, limit int) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4096), limit)
	s.Split(func(data []byte, _ bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		return 0, nil, nil
	})
	return s
}
