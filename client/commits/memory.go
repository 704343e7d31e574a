package commits

import (
	"sync"

	"github.com/tacet-chat/tacet/client/internal/group"
)

// Memory is the store of one device that somebody else drives: package throng. It keeps
// records as they are, so that the trees of many devices take no time to be read. What
// an engine undoes by itself (group.Tx.Try) stays: its engine must end the call with any
// error.
type Memory struct {
	mu sync.Mutex
	s  *store
}

// NewMemory is an empty one.
func NewMemory() *Memory { return &Memory{s: newStore()} }

// Update runs f in a transaction: what it put counts when it returns nil.
func (m *Memory) Update(f func(group.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.s.begin()
	if err := f(t); err != nil {
		return err
	}
	t.commit()
	return nil
}
