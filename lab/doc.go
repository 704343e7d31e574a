// Package lab is the proof: a story that anybody can watch, people and relays
// that are frozen, killed and cut off, and searches of all that a relay kept or
// saw. It starts real programs where a person would have real programs.
//
// It holds both client and relay, which nothing else may, and is no part of
// what people run.
package lab
