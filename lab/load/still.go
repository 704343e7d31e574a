package load

import (
	"sync"
	"time"
)

// tooStill is for how long the load, or all of the machine, may stand still
// before a relay that ends or refuses connections is in its right: it waits for
// 3 s for the answer to a ping and for 5 s for a request, and some of that is
// gone for other reasons.
const tooStill = 1500 * time.Millisecond

// standing looks for times in which this process did not run.
type standing struct {
	stop chan struct{}
	once sync.Once
	done chan struct{}
	most time.Duration // of the goroutine until done
}

const lookEvery = 50 * time.Millisecond

func newStill() *standing {
	s := &standing{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		t := time.NewTicker(lookEvery)
		defer t.Stop()
		for before := now(); ; {
			select {
			case <-t.C:
			case <-s.stop:
				return
			}
			at := now()
			s.most = max(s.most, time.Duration(at-before)-lookEvery)
			before = at
		}
	}()
	return s
}

// end returns the longest time.
func (s *standing) end() time.Duration {
	s.once.Do(func() { close(s.stop) })
	<-s.done
	return s.most
}
