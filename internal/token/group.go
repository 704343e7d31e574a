package token

import (
	"bytes"

	"github.com/cloudflare/circl/group"
	"github.com/cloudflare/circl/oprf"
	"github.com/cloudflare/circl/zk/dleq"
)

// suite is VOPRF(ristretto255, SHA-512), RFC 9497, Section 4.1. Its operations
// on secrets take constant time.
var suite = oprf.SuiteRistretto255

// proofs is where proofs of this suite are made and checked (RFC 9497, Section
// 2.2): the domain is the context string of mode 1.
var proofs = dleq.Params{G: group.Ristretto255, H: suite.Hash(), DST: []byte("OPRFV1-\x01-ristretto255-SHA512")}

// parseElement reads the one encoding of an element that is not the identity
// (RFC 9497, Section 2.1, DeserializeElement).
func parseElement(b []byte) (group.Element, bool) {
	e := group.Ristretto255.NewElement()
	if len(b) != ElementSize || e.UnmarshalBinary(b) != nil || e.IsIdentity() {
		return nil, false
	}
	// The library says that other suites take several encodings of an element.
	// For this one it does not; nothing of ours should hang on that.
	again, err := e.MarshalBinaryCompress()
	return e, err == nil && bytes.Equal(again, b)
}

// parseElements reads elements that stand side by side, n of them.
func parseElements(b []byte, n int) ([]group.Element, bool) {
	if len(b) != n*ElementSize {
		return nil, false
	}
	list := make([]group.Element, n)
	for i := range list {
		var ok bool
		if list[i], ok = parseElement(b[i*ElementSize : (i+1)*ElementSize]); !ok {
			return nil, false
		}
	}
	return list, true
}

// appendElements writes elements side by side.
func appendElements(b []byte, list []group.Element) []byte {
	for _, e := range list {
		one, err := e.MarshalBinaryCompress()
		if err != nil {
			panic("token: " + err.Error()) // an element of this group always has an encoding
		}
		b = append(b, one...)
	}
	return b
}

// wipe overwrites a scalar.
func wipe(s group.Scalar) {
	if s != nil {
		s.SetUint64(0)
	}
}
