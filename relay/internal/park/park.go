// Package park keeps cells for devices that are away: put for an address and a
// time, taken by whoever proves to own the address, deleted on their word or when
// the time is over.
//
// It has the calls and the rules; what keeps the rows is a Store. It cannot
// open a cell, knows neither who put it nor who takes it, and writes down no
// time of arrival and no order. A row is a copy: the sender's outbox holds the
// message, so that a lost store loses none.
//
// Spec: docs/spec/park.md.
package park
