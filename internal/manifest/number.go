package manifest

import (
	"crypto/sha512"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/tacet-chat/tacet/internal/key"
)

// Shape of a safety number.
const (
	numberRounds = 5_200 // SHA-512 evaluations for each root
	numberGroups = 6     // of 5 digits, for each root
)

// SafetyNumber returns the number that two people compare aloud: 60 digits in
// 12 groups of 5 with one space between, 71 bytes. It is the same whichever
// root comes first. Each person's half is made from their root alone, so that
// passing for somebody means hitting 30 given digits, at numberRounds hashes a
// try.
//
// spec: manifest.md#safety-number
func SafetyNumber(a, b key.SignPublic) string {
	if b.Less(a) {
		a, b = b, a
	}
	return half(a) + " " + half(b)
}

// half returns the 30 digits of one root.
func half(root key.SignPublic) string {
	h := sha512.Sum512(key.Info(nil, labelNumber, root[:]))
	var space [sha512.Size + key.SignPublicSize]byte
	for range numberRounds - 1 {
		h = sha512.Sum512(append(append(space[:0], h[:]...), root[:]...))
	}
	groups := make([]string, numberGroups)
	for i := range groups {
		// 5 bytes, so that no remainder is favoured by more than 1 in 10 million.
		n := uint64(h[5*i])<<32 | uint64(binary.BigEndian.Uint32(h[5*i+1:]))
		groups[i] = fmt.Sprintf("%05d", n%100_000)
	}
	return strings.Join(groups, " ")
}
