//go:build race

package lab

// raceDetector: memory is several times what it is without.
const raceDetector = true
