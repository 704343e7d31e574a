// Package load measures the live path of a relay from outside: it starts the
// relay in a process of its own, drives it over real sockets on loopback, and
// says what a delivery took and what it cost the relay. The same work is given
// to other brokers in interleaved rounds, so that a figure is a ratio between
// two servers on one machine within a minute, and not a number of one machine.
//
// A cell is 1,280 bytes to a 32-byte address everywhere. Only the relay is asked
// for ownership proofs, receipt echoes and answers; "nats+reply" has NATS do the
// nearest thing. The clients here are the least that speaks each protocol: they
// hold no keys of people and open nothing, and none is meant for use elsewhere.
//
// Apart from that it measures internal/mls, beside other libraries for groups.
//
// How to run it, and what it gave: docs/perf.md.
package load
