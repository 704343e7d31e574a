// Package commits is the simulator of groups: it drives the real engine of groups
// over a world of its own, with virtual time, a network that delays, loses, doubles
// and reorders, relays that lie, forget and vanish, devices that crash between any
// two steps, and members and former members who cheat. A run is drawn from one
// number and looks, all the way and at its end, for what must never happen: two
// lines of one group, a message lost or shown twice, a text that was opened by who
// was not in the roster that its author saw, somebody who was removed and is back,
// a change that never comes.
//
// MLS is the real one, or an abstract one of hash chains that obeys the same rules
// and is quick enough for thousands of runs and for Explore, which goes through
// all orders of few events.
//
// It is in the client's tree because only code there can reach the engine. It is
// no part of the SDK: tacet-lab and tests use it, and nothing else may.
//
// Not simulated: routes (an epoch's address is its number and leaf), the outbox and
// pair sessions (each is a list that keeps what was not acked), and time that runs
// backwards.
//
// Spec: docs/spec/group-proofs.md.
package commits
