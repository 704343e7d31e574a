// Package leak measures what a live relay can learn. A small population of real
// clients talks over a real relay on a virtual clock; a recorder stands where the
// relay reads and writes and keeps exactly what the relay could log; attacks from
// the literature try to learn from that who is who. Every attack has a score, the
// score of guessing and an interval, and first has to break a client that is
// built to be broken.
//
// It measures and promises nothing: docs/leaks.md has the figures and what is not
// in them (round-trip times, TLS, clocks that are wrong, a relay that interferes).
// It holds both client and relay, and is no part of what people run.
package leak
