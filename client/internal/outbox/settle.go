package outbox

import (
	"context"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
)

// verdict is what one try came to.
type verdict byte

const (
	taken    verdict = iota // a live device has it
	stored                  // the transport keeps it for the device
	nobody                  // answered, and nobody took it
	refused                 // this copy was refused for good
	broke                   // no answer: the link, or whom we found at its end
	noRoute                 // there is nowhere to put it yet
	noRow                   // there is nothing to put any more
	noSeal                  // the store is in trouble
	noResult                // we are stopping, or it was taken back in time
)

// outcome is a verdict and what goes with it.
type outcome struct {
	verdict verdict
	sure    bool // nobody: the transport's count was complete
	counts  bool // nobody: and it counts for this kind of copy
	err     error
}

// judge makes an outcome of what a transport answered. The cells of a hello go
// to a contact route, which is never echoed: its count says nothing, and a
// count above zero would be a lie.
//
// spec: delivery.md#what-an-answer-means
func (o *Outbox) judge(cells int, r transport.Receipt, err error) outcome {
	counts := cells == 1 && o.live
	switch {
	case errors.Is(err, transport.ErrRefused):
		return outcome{verdict: refused, err: err}
	case err != nil:
		return outcome{verdict: broke, err: err}
	case counts && r.Delivered > 0:
		return outcome{verdict: taken}
	case r.Stored:
		return outcome{verdict: stored}
	}
	return outcome{verdict: nobody, sure: r.Complete, counts: counts}
}

// settle takes a row back from its flight. It reports whether the trouble in
// the outcome is news, to be told, and whether it concerns the whole device.
func (o *Outbox) settle(r *row, out outcome, now time.Time) (news, whole bool) {
	p := r.peer
	o.flying--
	p.flying--
	if p.probe == r {
		p.probe = nil
	}
	if p.trial == r {
		p.trial = nil
	}
	switch out.verdict {
	case taken, stored, nobody, refused:
		o.answer(r, now)
	}
	r.phase = idle // not before: answer leaves alone what flies
	switch out.verdict {
	case taken:
		o.alive(p, r.start, now)
		o.restUntil(r, now.Add(o.rest()))
	case stored:
		o.restUntil(r, now.Add(o.rest()))
	case nobody:
		o.missed(r, out, now)
	case refused:
		news, r.refused = !r.refused, true
		o.restUntil(r, now.Add(o.jitter(heldFor)))
	case broke:
		news, whole = o.broke(r, out.err, now), true
	case noRoute:
		if !r.gone {
			r.phase = unrouted
		}
	case noSeal:
		news = r.seals == 0
		r.seals++
		o.restUntil(r, now.Add(o.jitter(min(silence(r.seals-1), linkMax))))
	case noResult:
		o.ready(r)
	case noRow:
		if !r.gone {
			o.detach(r)
		}
	}
	o.rearm(p, now)
	o.forget(p)
	o.kick()
	o.landed()
	return news, whole
}

// answer says that the way to the device worked when the put was made. If that
// was after it broke, it is mended. What rests goes on resting: whether acks got
// lost is a question for the other direction, and Reconnected answers it.
func (o *Outbox) answer(r *row, now time.Time) {
	p := r.peer
	r.fails, r.seals = 0, 0
	if (p.mode == blocked || p.mode == trying) && r.start.After(p.broken) {
		o.mend(p)
		o.flush(p, now)
	}
	if r.start.After(p.answered) {
		p.answered = r.start
	}
}

// missed deals with a copy that was offered and not taken.
func (o *Outbox) missed(r *row, out outcome, now time.Time) {
	p := r.peer
	if !r.start.After(p.seen) {
		// The device has shown itself since: this says nothing about now.
		o.again(r, now)
		return
	}
	if p.mode == open {
		p.mode, p.tries, p.known, p.since, p.told = silent, 0, false, r.start, false
	}
	o.slept(p, out)
	if out.counts {
		p.known = out.sure
	}
	if r.repeat && r.Born.Before(p.since) && r.Born.After(p.seen) {
		p.since = r.Born // it was offered in vain before this process began
	}
	switch {
	case r.gone:
	case now.Before(r.Kept):
		o.keepUntil(r, r.Kept)
	default:
		r.phase = missed
		p.missed++
	}
}

// broke deals with a put without an answer. It reports whether that is news
// that no later answer contradicts and that trying again will not mend.
func (o *Outbox) broke(r *row, err error, now time.Time) (news bool) {
	p := r.peer
	r.fails++
	o.ready(r)
	if p.mode == blocked || !r.start.After(p.answered) {
		return false // known already, or a put made later got its answer
	}
	held := errors.Is(err, transport.ErrIdentity) || errors.Is(err, transport.ErrTime)
	news = held && !p.held
	wait := heldFor
	if !held {
		wait = min(silence(p.fails), linkMax)
	}
	p.fails++
	p.mode, p.held, p.blame, p.broken, p.probe = blocked, held, err, now, nil
	o.alarms.set(&p.alarm, now.Add(o.jitter(wait)))
	return news
}

// stopping reports whether an error is only the end of Run.
func stopping(ctx context.Context, err error) bool { return err != nil && ctx.Err() != nil }
