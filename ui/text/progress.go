package text

import (
	"io"
	"sync"
	"time"
)

// progressAfter is how long work may take before it is talked about.
const progressAfter = 700 * time.Millisecond

// Progress tells on a terminal what a program is at, in one line that is
// gone afterwards. The zero Progress tells nothing.
type Progress struct {
	W     io.Writer // nil: nobody looks
	Style Style

	mu    sync.Mutex // guards the rest, and writing
	label string     // what is being done; empty: nothing
	shown bool
	timer *time.Timer
}

// Start says what begins now. It is shown if it takes a while, until Stop or
// the next Start.
func (p *Progress) Start(label string) {
	if p == nil || p.W == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label = label
	switch {
	case p.shown:
		p.show()
	case p.timer == nil:
		p.timer = time.AfterFunc(progressAfter, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.show()
		})
	}
}

// show writes the line. Callers hold mu.
func (p *Progress) show() {
	if p.label == "" {
		return
	}
	io.WriteString(p.W, "\r\x1b[K"+p.Style.Dim(Line(p.label)+" …"))
	p.shown = true
}

// Stop takes the line away. It may be called again.
func (p *Progress) Stop() {
	if p == nil || p.W == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label = ""
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if p.shown {
		io.WriteString(p.W, "\r\x1b[K")
		p.shown = false
	}
}
