package rpc

import "errors"

func failureOf(err error) *failure {
	for i := len(known) - 1; i >= 0; i-- { // a newer one may be a sort of an older one
		if errors.Is(err, known[i]) {
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
