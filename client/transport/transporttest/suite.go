// Package transporttest has the suite that every live transport of Tacet
// passes: what package transport promises, checked from outside with Ed25519
// keys as addresses. It imports package transport alone, so that a transport
// written elsewhere can be held to the same promises.
//
// It does not test what a transport may do differently: order, duplicates, how
// long an answer takes beyond the least, what is kept for those who are away.
package transporttest

import (
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// World is one network with nobody on it yet.
type World struct {
	// Live is the length of a live period.
	Live time.Duration
	// Join returns a transport for one more party. The suite closes it.
	Join func(t *testing.T) transport.Transport
	// Break ends a party's connections as they are; new ones work at once.
	Break func(party transport.Transport)
	// PutLinks counts the connections that a party opened so far for its puts
	// and everything around them. nil: nobody can tell.
	PutLinks func(party transport.Transport) int
}

// Suite is the suite, told what it runs against.
type Suite struct {
	// New makes a network of its own for every test.
	New func(t *testing.T) *World
	// Around runs one test: synctest.Test makes the time virtual. nil runs it.
	Around func(t *testing.T, test func(t *testing.T))
	// Parallel is how many tests run side by side, for transports with a real
	// clock: most of a test is waiting. 0 is one after the other.
	Parallel int
	// Answer is the constant time after which a put is answered, 0 for none.
	Answer time.Duration
	// Window is how far back a replay reaches at the most, 0 for none.
	Window time.Duration
}

// Run runs every test of the suite as a subtest of t.
func (s Suite) Run(t *testing.T) {
	around := s.Around
	if around == nil {
		around = func(t *testing.T, test func(*testing.T)) { test(t) }
	}
	// Not t.Parallel: that counts processors, and these tests wait.
	turns := make(chan struct{}, max(1, s.Parallel))
	var all sync.WaitGroup
	defer all.Wait()
	for _, test := range []struct {
		name string
		run  func(*party)
	}{
		{"CellArrivesAndIsCounted", cellArrivesAndIsCounted},
		{"UnseenCellIsNotCounted", unseenCellIsNotCounted},
		{"NobodyIsCountedWhereNobodyWatches", nobodyIsCounted},
		{"TwoDevicesAreCountedTwice", twoDevicesAreCounted},
		{"SeenTwiceCountsOnce", seenTwiceCountsOnce},
		{"SeenAfterTheEndDoesNothing", seenAfterTheEnd},
		{"AnswerComesAfterTheConstantTime", answerIsConstant},
		{"ManyPutsAtOnce", manyPutsAtOnce},
		{"SamePutAtOnceIsOnePut", samePutAtOnce},
		{"SamePutLaterIsHarmless", samePutLater},
		{"CellBelongsToTheCallee", cellBelongsToTheCallee},
		{"DeliverIsNeverConcurrent", deliverIsNeverConcurrent},
		{"WrongProofIsRefused", wrongProofIsRefused},
		{"SigningErrorEndsTheWatch", signingError},
		{"WrongPeriodIsRefused", wrongPeriodIsRefused},
		{"NeighbouringPeriodsAreServed", neighbouringPeriods},
		{"EmptySetIsRefused", emptySetIsRefused},
		{"TooManyAddressesAreRefused", tooManyAddresses},
		{"BigSetIsWatched", bigSetIsWatched},
		{"MoreAddressesAreWatched", moreIsWatched},
		{"ClosedMoreIsNoMore", closedMore},
		{"MoreWithWrongProofEndsTheWatch", moreWithWrongProof},
		{"MoreBeyondTheBoundEndsTheWatch", moreBeyondTheBound},
		{"ReplayBringsWhatWasMissed", replayBringsWhatWasMissed},
		{"NoReplayUnasked", noReplayUnasked},
		{"TimeIsTold", timeIsTold},
		{"CancelEndsPut", cancelEndsPut},
		{"CancelEndsWatch", cancelEndsWatch},
		{"CloseEndsEverything", closeEndsEverything},
		{"ClosedTransportStaysClosed", closedStaysClosed},
		{"BrokenConnectionIsAnErrorAndNoReceipt", brokenPut},
		{"BrokenConnectionEndsTheWatch", brokenWatch},
		{"PutsWithOneNameShareAConnection", putsShareByName},
		{"AckOfNothingIsHarmless", ackOfNothing},
	} {
		run := func() {
			t.Run(test.name, func(t *testing.T) {
				around(t, func(t *testing.T) { test.run(&party{T: t, suite: s, world: s.New(t)}) })
			})
		}
		if s.Parallel == 0 {
			run()
			continue
		}
		turns <- struct{}{}
		all.Go(func() { defer func() { <-turns }(); run() })
	}
}
