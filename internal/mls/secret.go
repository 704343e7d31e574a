package mls

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"runtime"
)

// Secret is a secret of any size: a private key, a pre-shared key, what an exporter
// gave. It does not print, does not marshal and is not compared with ==. A Secret
// has one owner, who wipes it; copies of the struct are the same secret.
type Secret struct {
	_ [0]func()
	p *held
}

// held is a second pointer: fmt does not call Format on unexported fields of other
// structs, and for some verbs prints what one pointer points at.
type held struct{ b *[]byte }

// NewSecret copies b.
func NewSecret(b []byte) Secret {
	c := append(make([]byte, 0, len(b)), b...)
	return Secret{p: &held{&c}}
}

// own makes a Secret of b itself.
func own(b []byte) Secret { return Secret{p: &held{&b}} }

// Bytes are the secret's own bytes, not a copy; nil if it is absent or wiped.
func (s Secret) Bytes() []byte {
	if s.p == nil {
		return nil
	}
	return *s.p.b
}

// Valid reports whether the secret is there.
func (s Secret) Valid() bool { return len(s.Bytes()) > 0 }

// Clone returns an independent copy.
func (s Secret) Clone() Secret {
	if !s.Valid() {
		return Secret{}
	}
	return NewSecret(*s.p.b)
}

// Equal compares in constant time.
func (s Secret) Equal(t Secret) bool { return subtle.ConstantTimeCompare(s.Bytes(), t.Bytes()) == 1 }

// Wipe overwrites the secret, which is then absent, in every copy of the struct.
func (s Secret) Wipe() {
	if s.p == nil {
		return
	}
	clear(*s.p.b)
	runtime.KeepAlive(s.p.b)
	*s.p.b = nil
}

// wipe overwrites all of them.
func wipe(secrets ...Secret) {
	for _, s := range secrets {
		s.Wipe()
	}
}

// Format prints [secret], whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte("[secret]")) }

// MarshalJSON refuses.
func (s Secret) MarshalJSON() ([]byte, error) {
	return nil, errors.New("mls: a secret is not marshalled")
}

// MarshalText refuses.
func (s Secret) MarshalText() ([]byte, error) {
	return nil, errors.New("mls: a secret is not marshalled")
}
