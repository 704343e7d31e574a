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
//	2       codec.go bounds.go                     presentation language, limits
//	4.1, C  treemath.go                            indices of nodes
//	5.1     suite.go kdf.go sign.go hpke.go weakkey.go aead.go    cipher suites and their functions
//	5.3     credential.go env.go                   who somebody is
//	6       message.go framing.go auth.go public.go private.go senderdata.go messages.go
//	7       leafnode.go leafmake.go leafcheck.go credentialtypes.go node.go keyset.go
//	        tree.go treeparse.go treedetach.go treeops.go treeresolution.go treeverify.go
//	        treehash.go parenthash.go treekem.go treekemseal.go treekemopen.go privatetree.go
//	8       schedule.go psk.go psklookup.go transcript.go
//	9       ratchet.go secretnode.go secrettree.go secretstate.go reservation.go lineage.go past.go
//	10      keypackage.go packagesecrets.go
//	11      create.go succession.go successor.go
//	12      proposal.go commit.go propose.go pending.go proposalcheck.go proposallist.go
//	        proposalapply.go stage.go staged.go process.go processcommit.go outside.go
//	12.4.3  welcome.go welcomemake.go groupinfo.go infosign.go join.go external.go
//	13      extension.go capabilities.go
//	none    group.go clone.go pairs.go groupstate.go stagedstate.go secret.go errors.go    the value, and what is stored
//
// What it does not do: it delivers nothing, keeps nothing, does not order commits,
// and does not say who somebody is: that is [Env.Authenticate], the Authentication
// Service of RFC 9420, Section 5.3.1. Cipher suites 4 and 6 are refused, since the
// standard library has neither X448 nor Ed448; one suite of a private number adds
// X-Wing, a hybrid of ML-KEM-768 and X25519.
//
// Spec: docs/spec/mls.md says what RFC 9420 leaves open.
package mls
