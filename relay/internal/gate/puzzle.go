package gate

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tacet-chat/tacet/internal/token"
)

var errBusy = errors.New("too many wait")

// line is where puzzle answers wait to be judged, those first that cost more. The
// requests themselves do the work: who gets one of the few places to judge takes
// the best answer that waits, whosever it is, until his own is judged.
//
// spec: token.md#the-line
type line struct {
	judging chan struct{} // answers that are being judged

	mu   sync.Mutex // guards wait
	wait *token.Line[*waiter]
}

// waiter is an answer in the line.
type waiter struct {
	answer *token.Answer
	ctx    context.Context
	good   func()     // called when it was judged good, also if its asker has gone
	done   chan error // room for one
}

func newLine(places, judging int) line {
	return line{judging: make(chan struct{}, judging), wait: token.NewLine[*waiter](places)}
}

// stamp returns how many bits of a stamp are wanted now.
func (l *line) stamp() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return token.StampBits(l.wait.Len(), l.wait.Places())
}

// judge has a solution judged. It fails with errBusy where the line is full of
// answers with better stamps, and else with the errors of a token.Judge.
func (l *line) judge(ctx context.Context, j *token.Judge, solution []byte, binding [32]byte, now func() time.Time, good func()) error {
	a, err := j.Claim(solution, token.PuzzleTokens, binding, now().Unix())
	if err != nil {
		return err
	}
	w := &waiter{answer: a, ctx: ctx, good: good, done: make(chan error, 1)}
	l.mu.Lock()
	left, out := l.wait.Push(a.Effort, w)
	l.mu.Unlock()
	if out {
		j.Release(left.answer)
		left.done <- errBusy
	}
	for {
		select {
		case err := <-w.done:
			return err
		default:
		}
		select {
		case err := <-w.done:
			return err
		case l.judging <- struct{}{}:
			l.next(j, now)
			<-l.judging
		case <-ctx.Done():
			return errBusy // it stays in the line until it is passed over
		}
	}
}

// next judges the first in the line whose asker still waits.
func (l *line) next(j *token.Judge, now func() time.Time) {
	for {
		l.mu.Lock()
		w, ok := l.wait.Pop()
		l.mu.Unlock()
		if !ok {
			return
		}
		if w.ctx.Err() == nil {
			err := j.Judge(w.answer, now().Unix())
			if err == nil {
				w.good()
			}
			w.done <- err
			return
		}
		j.Release(w.answer)
	}
}
