package park

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/ws"
)

// Times of a take connection.
const (
	firstWithin = 5 * time.Second  // the first frame begins
	frameWithin = 30 * time.Second // a frame that has begun is whole
	idleWithin  = 60 * time.Second // the next frame begins, once all was sent
	writeWithin = 30 * time.Second // the peer takes the next writeChunk
)

const (
	writeChunk = 16 << 10
	maxWaiting = 8 // frames that have come and are not handled: the reader then waits
	// What a page takes while it is on its way: the rows, and their frames.
	pageSize = PageRows * (2*wire.ParkedSize + ws.MaxHeader)
)

// session is one take connection. Its goroutine, serve, handles frames and sends
// rows; another reads.
type session struct {
	p       *Parking
	nc      net.Conn
	remote  string // whom it is for, as net/http or a proxy that is believed has it
	release func() // of the limiter
	ctx     context.Context
	cancel  context.CancelFunc
	frames  chan []byte // what was read; closed at the end
	born    time.Time
	busy    atomic.Int32 // frames that have come and are not answered
	done    atomic.Int64 // when the last was, as nanoseconds since born
	out     writer

	proof     wire.Proof // all but address and verb
	day       uint64     // of all its addresses; 0: none yet
	addresses int        // that it has asked for
	waiting   [][]byte   // take frames that came while another was served
}

// ServeTake is GET /v1/take.
//
// spec: park.md#take
func (p *Parking) ServeTake(w http.ResponseWriter, r *http.Request) {
	accept, err := ws.Accept(r)
	switch {
	case err != nil:
		w.Header().Set("Sec-Websocket-Version", "13") // RFC 6455, Section 4.2.2
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case p.cfg.Binding && r.TLS == nil:
		http.Error(w, "this relay binds takes to TLS", http.StatusBadRequest)
		return
	}
	release, ok := p.cfg.Limit.Allow(gate.Peer(r.RemoteAddr), gate.Watch)
	if !ok {
		http.Error(w, "over a limit, try again later", http.StatusTooManyRequests)
		return
	}
	if p.cfg.AdmitTake != nil {
		if status := p.cfg.AdmitTake(r); status != 0 {
			release()
			http.Error(w, refusals[status], status)
			return
		}
	}
	s, ok := p.hijack(w, accept)
	if !ok {
		release()
		return
	}
	s.remote, s.release = r.RemoteAddr, release
	go s.serve() // and what net/http holds is let go
}

// hijack takes the connection of a request over and answers the handshake.
func (p *Parking) hijack(w http.ResponseWriter, accept string) (*session, bool) {
	nc, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, ws.ErrHandshake.Error(), http.StatusBadRequest)
		return nil, false
	}
	s := &session{p: p, nc: nc, frames: make(chan []byte, maxWaiting), born: time.Now()}
	s.out.nc = nc
	s.proof.Realm = p.cfg.Realm
	rand.Read(s.proof.Nonce[:])
	nc.SetDeadline(time.Time{})
	if rw.Reader.Buffered() > 0 || !s.bind() || s.out.write(ws.AppendSwitching(nil, accept)) != nil || !p.add(s) {
		nc.Close() // a client waits for our answer before it says more
		return nil, false
	}
	return s, true
}

// bind takes the channel binding of the connection into the proof.
func (s *session) bind() bool {
	if !s.p.cfg.Binding {
		return true
	}
	t, ok := s.nc.(*tls.Conn)
	if !ok {
		return false
	}
	state := t.ConnectionState()
	b, err := state.ExportKeyingMaterial(wire.ExporterLabel, nil, wire.BindingSize)
	copy(s.proof.Binding[:], b)
	return err == nil
}

// add counts a session among those that Run ends.
func (p *Parking) add(s *session) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return false
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	p.sessions[s] = struct{}{}
	p.open.Add(1)
	return true
}

// serve is the life of a session, on a goroutine of its own.
func (s *session) serve() {
	defer s.p.open.Done()
	defer s.end()
	second := s.p.cfg.Proofs.Second()
	greeting := append(append([]byte{byte(wire.FrameGreeting)}, s.proof.Nonce[:]...), second[:]...)
	if s.out.frame(greeting) != nil {
		close(s.frames) // nobody reads: end waits for that
		return
	}
	go s.read()
	for f := range s.frames {
		code := s.handle(f)
		s.answered()
		for code == 0 && len(s.waiting) > 0 {
			f, s.waiting = s.waiting[0], s.waiting[1:]
			code = s.take(f)
			s.answered()
		}
		if code != 0 {
			s.out.close(code)
			return
		}
	}
}

// answered counts a frame as done with: the reader's patience begins.
func (s *session) answered() {
	s.done.Store(int64(time.Since(s.born)))
	s.busy.Add(-1)
}

func (s *session) end() {
	s.cancel()
	s.nc.Close()
	for range s.frames { // the reader ends with the connection, and closes it
	}
	s.p.mu.Lock()
	delete(s.p.sessions, s)
	s.p.mu.Unlock()
	s.release()
}

// handle handles a frame. A code ends the connection.
func (s *session) handle(f []byte) ws.Code {
	if len(f) > 0 && wire.FrameKind(f[0]) == wire.FrameParkAck {
		return s.ack(f)
	}
	return s.take(f)
}

// refuse tells a reason. The caller closes with the code.
func (s *session) refuse(reason wire.Reason) ws.Code {
	s.out.frame([]byte{byte(wire.FrameRefused), byte(reason)})
	return ws.Policy
}

// take sends what waits at the addresses of a frame.
func (s *session) take(f []byte) ws.Code {
	day, proofs, err := wire.ParseTake(f)
	if err != nil {
		return s.refuse(wire.ReasonFrame)
	}
	today := uint64(max(0, s.p.cfg.Now().Unix())) / 86_400
	if day+wire.ParkDaysBack < today || day > today+wire.ParkDaysForward || day == 0 || s.day != 0 && day != s.day {
		return s.refuse(wire.ReasonPeriod)
	}
	n := len(proofs) / wire.ProofSize
	if s.addresses += n; s.addresses > wire.MaxTaken {
		return s.refuse(wire.ReasonLimit)
	}
	s.day, s.proof.Period, s.proof.Verb = day, day, wire.VerbTake
	if !s.p.cfg.Proofs.Prove(s.proof, nil, proofs) {
		return s.refuse(wire.ReasonProof)
	}
	addresses := make([]wire.Address, 0, n)
	for ; len(proofs) > 0; proofs = proofs[wire.ProofSize:] {
		addresses = append(addresses, wire.Address(proofs))
	}
	slices.SortFunc(addresses, func(a, b wire.Address) int { return bytes.Compare(a[:], b[:]) })
	give, ok := s.p.room.Take(s.remote, pageSize)
	if !ok {
		return s.refuse(wire.ReasonLimit)
	}
	code := s.deliver(slices.Compact(addresses))
	give()
	if code == 0 && s.out.frame(wire.AppendTaken(nil, uint16(n))) != nil {
		code = ws.GoingAway
	}
	return code
}

// deliver sends page after page. Between two it handles the acks that have come,
// so that a client can ack as it goes.
func (s *session) deliver(addresses []wire.Address) ws.Code {
	Scour()
	defer Scour()
	frames := make([]byte, 0, PageRows*(wire.ParkedSize+4))
	defer func() { clear(frames[:cap(frames)]) }()
	var after Mark
	for {
		page, code := s.page(addresses, after)
		if code != 0 {
			return code
		}
		frames = frames[:0]
		for i := range page {
			frames = ws.AppendHeader(frames, ws.Binary, wire.ParkedSize)
			frames = page[i].Append(frames)
		}
		more := len(page) == PageRows
		if more {
			after = Mark{page[PageRows-1].Address, page[PageRows-1].ID}
		}
		clear(page)
		Scour()
		if s.out.write(frames) != nil {
			return ws.GoingAway
		}
		if code := s.between(); code != 0 || !more {
			return code
		}
	}
}

// page asks the store for the next page.
func (s *session) page(addresses []wire.Address, after Mark) ([]wire.Parked, ws.Code) {
	if s.p.enter(s.ctx) != nil {
		return nil, ws.TryLater
	}
	defer s.p.leave()
	page, err := s.p.cfg.Store.Take(s.ctx, addresses, after, s.p.clock.time())
	if err != nil {
		return nil, s.failed(err)
	}
	return page, 0
}

// failed tells of a store that failed, and ends the connection: the client comes
// back, and nothing is lost.
func (s *session) failed(err error) ws.Code {
	if s.ctx.Err() == nil && !errors.Is(err, ErrStopped) {
		s.p.cfg.Failed(err)
	}
	return ws.TryLater
}

// between handles the acks that have come, and keeps other frames for later: a
// few, then the client has to wait with what it says.
func (s *session) between() ws.Code {
	for len(s.waiting) < maxWaiting {
		select {
		case f, on := <-s.frames:
			switch {
			case !on:
				return ws.GoingAway
			case len(f) > 0 && wire.FrameKind(f[0]) == wire.FrameParkAck:
				code := s.ack(f)
				s.answered()
				if code != 0 {
					return code
				}
			default:
				s.waiting = append(s.waiting, f)
			}
		default:
			return 0
		}
	}
	return 0
}

// ack deletes rows, and answers once that is committed.
//
// spec: park.md#ack
func (s *session) ack(f []byte) ws.Code {
	a, err := wire.ParseParkAck(f)
	switch {
	case err != nil:
		return s.refuse(wire.ReasonFrame)
	case s.day == 0:
		return s.refuse(wire.ReasonPeriod)
	}
	s.proof.Verb = wire.VerbAck
	if !s.p.cfg.Proofs.Prove(s.proof, f[wire.ParkAckHeader:], f[1:wire.ParkAckHeader]) {
		return s.refuse(wire.ReasonProof)
	}
	if s.p.enter(s.ctx) != nil {
		return ws.TryLater
	}
	// Not s.ctx: a client that hangs up after its ack has said it all the same.
	gone, err := s.p.cfg.Store.Ack(context.WithoutCancel(s.ctx), a.Address, a.Rows)
	s.p.leave()
	if err != nil {
		return s.failed(err)
	}
	if gone > 0 {
		s.p.rows.Add(-int64(gone))
		s.p.gone.Store(true)
	}
	if s.out.frame(wire.AppendAcked(nil, uint16(len(a.Rows)))) != nil {
		return ws.GoingAway
	}
	return 0
}
