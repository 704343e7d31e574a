package gate

// Hold takes every place to compute a batch until free is called, so that
// requests wait.
func (k *Keeper) Hold() (free func()) {
	for range cap(k.batches) {
		k.batches <- struct{}{}
	}
	return func() {
		for range cap(k.batches) {
			<-k.batches
		}
	}
}

// Waiting returns how many places of requests for a batch are free, how many
// bytes for bodies are, and how many answers wait to be judged.
func (k *Keeper) Waiting() (batches, bodies int64, answers int) {
	k.issuing.mu.Lock()
	batches = k.issuing.free
	k.issuing.mu.Unlock()
	k.bodies.mu.Lock()
	bodies = k.bodies.free
	k.bodies.mu.Unlock()
	k.line.mu.Lock()
	defer k.line.mu.Unlock()
	return batches, bodies, k.line.wait.Len()
}

// Remembered returns how many contexts, tokens and parts are in memory.
func (k *Keeper) Remembered() (contexts, tokens, parts int) {
	k.contexts.mu.Lock()
	contexts = len(k.contexts.all)
	k.contexts.mu.Unlock()
	k.recent.mu.Lock()
	tokens = len(k.recent.known) + len(k.recent.now)
	k.recent.mu.Unlock()
	k.times.mu.Lock()
	defer k.times.mu.Unlock()
	return contexts, tokens, len(k.times.all)
}

// Bounds, for tests of them.
const (
	IssuePlaces = issuePlaces
	BodyRoom    = bodyRoom
	MaxKnown    = maxKnown
	MaxTimes    = maxTimes
)
