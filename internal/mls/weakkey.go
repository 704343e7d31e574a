package mls

// X25519 takes any 32 bytes for a public key. With the few of them that are points of
// small order it then refuses to work, so nothing can be encrypted to such a key: a
// member that had one in its leaf, or in a parent of its path, would keep all others
// from committing. So they are no keys here (RFC 9420, Section 5.1.1, leaves to the
// suite what is a valid one).

// weakEight are the two of order 8; the others are 0, 1 and -1 modulo 2^255-19.
var weakEight = [2][32]byte{
	{
		0x5f, 0x9c, 0x95, 0xbc, 0xa3, 0x50, 0x8c, 0x24, 0xb1, 0xd0, 0xb1, 0x55, 0x9c, 0x83, 0xef, 0x5b,
		0x04, 0x44, 0x5c, 0xc4, 0x58, 0x1c, 0x8e, 0x86, 0xd8, 0x22, 0x4e, 0xdd, 0xd0, 0x9f, 0x11, 0x57,
	},
	{
		0xe0, 0xeb, 0x7a, 0x7c, 0x3b, 0x41, 0xb8, 0xae, 0x16, 0x56, 0xe3, 0xfa, 0xf1, 0x9f, 0xc4, 0x6a,
		0xda, 0x09, 0x8d, 0xeb, 0x9c, 0x32, 0xb1, 0xfd, 0x86, 0x62, 0x05, 0x16, 0x5f, 0x49, 0xb8, 0x00,
	},
}

// weakX25519 reports whether a public key of 32 bytes has a small order. The top bit
// does not count, and numbers from 2^255-19 on are the small ones again (RFC 7748,
// Section 5).
func weakX25519(public []byte) bool {
	var u [32]byte
	copy(u[:], public)
	u[31] &= 0x7f
	if u == weakEight[0] || u == weakEight[1] {
		return true
	}
	rest, top := byte(0), byte(0) // of a small number
	if u[31] == 0x7f {
		rest, top = 0xff, 0x7f
	}
	for _, b := range u[1:31] {
		if b != rest {
			return false
		}
	}
	if u[31] != top {
		return false
	}
	if top == 0 {
		return u[0] <= 1 // 0, 1
	}
	return u[0] >= 0xec && u[0] <= 0xee // -1, 0, 1
}
