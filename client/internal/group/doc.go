// Package group is the conversations of many: MLS groups of devices that no
// server knows, whose commits are ordered by slots. It makes groups, changes them
// by wishes and commits, says and hears messages, and finds its way back when
// realms, members or its own disk failed.
//
// It belongs to the sealing half of the client: it sees plaintext and never the
// network, has no clock and keeps nothing outside the transaction that its caller
// opened. What it wants done outside (a cell for a leaf, a word to a device in a
// pair session, a slot read or put) it returns as a Change, and derives it again
// from what is stored after a crash: see Engine.Due.
//
// Spec: docs/spec/group.md.
package group
