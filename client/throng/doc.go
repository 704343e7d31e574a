// Package throng plays the other members of a large group, for tacet-lab: many devices
// in one process, each with its own connection to a real relay, beside one profile of
// the SDK that is measured.
//
// All of them prove their own addresses, get what is sent there, and answer by cells of
// their own. The first few are whole: an engine of groups with real MLS, on a store in
// memory. The others are ears. They have a leaf with a real key package and its route,
// and take the secrets of an epoch from a whole member, as all members have the same:
// with those they open the seal on each cell, read and write whispers, and read the slot
// when they are told that a commit lies there. They do not open what MLS sealed, and
// check no commit.
//
// It is no part of what people run.
//
// Spec: docs/spec/group.md.
package throng
