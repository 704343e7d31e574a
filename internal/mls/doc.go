// Package mls is the Messaging Layer Security protocol of RFC 9420: what a
// device needs to be a member of groups. It imports nothing of ours.
//
// A [Group] is a value: one member's view of one epoch. It can be cloned for the
// price of a few pointers, written down and read back at every step, and it moves
// to the next epoch only by [Group.Merge] of a commit that was staged before, so
// that a caller can hold a commit back, choose between two, or go back by dropping
// a clone. Nothing reads a clock: time and randomness come in with [Env]. (HPKE
// and ECDSA of the standard library take their own randomness.)
//
// The files, by the sections of RFC 9420 that they follow:
//
//	2      codec.go                         presentation language, limits
//	4.1    treemath.go (and Appendix C)     indices of nodes
//	5.1    suite.go kdf.go sign.go hpke.go  cipher suites and their functions
//	5.3    credential.go
//	6      framing.go auth.go public.go private.go senderdata.go messages.go
//	7      leafnode.go capabilities.go tree*.go treehash.go parenthash.go treekem*.go
//	8      schedule.go psk.go transcript.go
//	9      ratchet.go secretnode.go secrettree.go secretstate.go reservation.go lineage.go past.go
//	10     keypackage.go
//	11     create.go reinit.go branch.go
//	12     proposal.go commit.go proposals.go stage.go process.go
//	12.4.3 welcome.go groupinfo.go join.go external.go
//	13     extension.go capabilities.go
//
// What it does not do: it delivers nothing, keeps nothing, does not order commits,
// and does not say who somebody is: that is [Env.Authenticate], the Authentication
// Service of RFC 9420, Section 5.3.1. Cipher suites 4 and 6 are refused, since the
// standard library has neither X448 nor Ed448; one suite of a private number adds
// X-Wing, a hybrid of ML-KEM-768 and X25519.
//
// Spec: docs/spec/mls.md says what RFC 9420 leaves open.
package mls
