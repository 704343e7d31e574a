// Package roster has what the members of a group agree on and how it changes:
// the group's state, which stands in the MLS group context; the wishes that
// change it, each signed by the device that wishes; what a leaf says of itself;
// and the one function, Apply, by which whoever makes a commit and whoever
// receives it come to the same next state or the same refusal.
//
// It knows no MLS and seals nothing: a key package is bytes to it. It has no
// clock: no rule here uses the time.
//
// Spec: docs/spec/group.md.
package roster
