// Package budget is a model of what one device costs in a day: cells, tokens,
// bytes, connections, radio, and its share of a relay. It says for each preset and
// each sort of person whether that can live.
//
// It is a model: trust its factors, not its digits. It runs no client and no
// relay; its tests do, on a virtual clock, and hold the model against what they
// really spend. What is not built yet (groups, several devices, pace, the pool) is
// in it as designed, and nothing holds that against anything.
//
// Spec: docs/budget.md.
package budget
