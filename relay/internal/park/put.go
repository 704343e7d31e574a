package park

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// bodyWithin is how long a body may take: it is 21 KiB at the most.
const bodyWithin = 10 * time.Second

// ServePut is POST /v1/park.
//
// spec: park.md#put
func (p *Parking) ServePut(w http.ResponseWriter, r *http.Request) {
	size := r.ContentLength
	switch {
	case r.ProtoMajor != 1: // it keeps what it read in places of its own
		http.Error(w, "HTTP/1.1 is wanted", http.StatusHTTPVersionNotSupported)
		return
	case size < 0:
		http.Error(w, "a length must be given", http.StatusLengthRequired)
		return
	case wire.ParkItems(size) == 0:
		http.Error(w, "the body has another size", http.StatusRequestEntityTooLarge)
		return
	}
	release, ok := p.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), gate.Put)
	if !ok {
		http.Error(w, "over a limit, try again later", http.StatusTooManyRequests)
		return
	}
	defer release()
	give, ok := p.room.Take(r.RemoteAddr, 3*size) // the body and two copies
	if !ok {
		busy(w)
		return
	}
	defer give()
	Scour()
	defer Scour()
	body := make([]byte, size)
	defer clear(body)
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyWithin))
	if err := receive(w, r.Body, body); err != nil {
		http.Error(w, "the body ended early", http.StatusBadRequest)
		return
	}
	name, items, err := wire.ParsePark(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer clear(items)
	now := p.clock.time()
	if status := p.admitPut(r, name, len(items), now); status != 0 {
		http.Error(w, refusals[status], status)
		return
	}
	verdicts, err := p.put(r, items, now)
	if err != nil {
		p.fail(w, err)
		return
	}
	answer := make([]byte, len(verdicts))
	for i, v := range verdicts {
		answer[i] = byte(v)
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(answer)
}

// receive reads a body, and overwrites all but the last byte of it in the buffers
// through which it came: piece by piece, since a buffer that has to grow is left
// behind as it is, and not at the last byte, where net/http begins to read on
// its own.
func receive(w http.ResponseWriter, from io.Reader, body []byte) error {
	for rest := body[:len(body)-1]; len(rest) > 0; {
		n, err := from.Read(rest)
		wipe(w)
		if rest = rest[n:]; err != nil && len(rest) > 0 {
			return err
		}
	}
	_, err := io.ReadFull(from, body[len(body)-1:])
	return err
}

// refusals are the texts of what a gate may say.
var refusals = map[int]string{
	http.StatusUnauthorized: "a good token is wanted", http.StatusForbidden: "this realm is closed to you",
	http.StatusTooManyRequests: "over a limit, try again later", http.StatusServiceUnavailable: "too busy, try again later",
	http.StatusBadRequest: "a header is malformed",
}

func (p *Parking) admitPut(r *http.Request, name [wire.ContextSize]byte, rows int, now time.Time) (status int) {
	if p.cfg.AdmitPut != nil {
		return p.cfg.AdmitPut(r, name, rows)
	}
	if !p.admitted(name, rows, now) {
		return http.StatusTooManyRequests
	}
	return 0
}

// put keeps what the peer's share has room for.
func (p *Parking) put(r *http.Request, items []wire.ParkItem, now time.Time) ([]wire.ParkVerdict, error) {
	n, whole, hours := p.allowed(r.RemoteAddr, len(items), now)
	verdicts := make([]wire.ParkVerdict, n, len(items))
	if n > 0 {
		rows := make([]Row, n)
		defer clear(rows)
		for i := range rows {
			most := p.cfg.Hours
			if i >= whole {
				most = hours
			}
			rows[i] = Row{Address: items[i].Address, Until: Until(now, items[i].Hours, most), Cell: items[i].Cell}
		}
		if err := p.enter(r.Context()); err != nil {
			return nil, err
		}
		Scour() // before others run on this thread
		got, err := p.cfg.Store.Put(r.Context(), rows, now)
		p.leave()
		switch {
		case errors.Is(err, ErrFull): // the disk is: nothing of it was kept
			p.cfg.Failed(err)
			for i := range verdicts {
				verdicts[i] = wire.ParkNoRoom
			}
		case err != nil:
			return nil, err
		default:
			copy(verdicts, got)
		}
		for _, v := range verdicts {
			if v == wire.ParkKept {
				p.rows.Add(1) // also for one that was there: the next sweep counts
			}
		}
	}
	for len(verdicts) < len(items) {
		verdicts = append(verdicts, wire.ParkNoRoom)
	}
	return verdicts, nil
}

// errBusy: no place to call the store came free.
var errBusy = errors.New("too busy")

// enter takes one of the places to call the store, which are free soon as long
// as the store works, or fails with errBusy.
func (p *Parking) enter(ctx context.Context) error {
	select {
	case p.calls <- struct{}{}:
		return nil
	default:
	}
	patience := time.NewTimer(2 * time.Second)
	defer patience.Stop()
	select {
	case p.calls <- struct{}{}:
		return nil
	case <-patience.C:
	case <-ctx.Done():
	}
	return errBusy
}

func (p *Parking) leave() { <-p.calls }

func busy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "10") // seconds
	http.Error(w, "too busy, try again later", http.StatusServiceUnavailable)
}

// fail answers with what a store's error means.
//
// spec: relay-api.md#errors
func (p *Parking) fail(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errBusy):
		busy(w)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrStopped):
		http.Error(w, "stopping, try again later", http.StatusServiceUnavailable)
	case errors.Is(err, gate.ErrAway):
		p.cfg.Failed(err)
		busy(w)
	default:
		p.cfg.Failed(err)
		http.Error(w, "the relay failed", http.StatusInternalServerError)
	}
}
