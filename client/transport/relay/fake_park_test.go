package relay_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"io"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/internal/wire"
)

// fakePark is the part of the fake relay that parks, as docs/spec/park.md says.
type fakePark struct {
	f *fake

	mu       sync.Mutex // guards all below
	rows     map[wire.RowID]wire.ParkItem
	bodies   []int                          // items of every request that was taken
	contexts map[[wire.ContextSize]byte]int // cells parked in each
	open     map[[wire.ContextSize]byte]bool
	tokens   int              // that opened a context or a take
	verdict  wire.ParkVerdict // of every item
	deaf     bool             // reads nothing while it sends
	acks     []int            // rows of every ack frame
	days     []uint64         // of every take frame
	sets     []int            // addresses of every take frame
}

// parks turns the role on.
func (f *fake) parks(hours uint64) *fakePark {
	p := &fakePark{f: f, rows: map[wire.RowID]wire.ParkItem{}, contexts: map[[wire.ContextSize]byte]int{}, open: map[[wire.ContextSize]byte]bool{}}
	f.mu.Lock()
	f.descriptor.Roles = append(f.descriptor.Roles, wire.RolePark)
	f.descriptor.ParkHours = hours
	f.mu.Unlock()
	f.replace("/v1/park", p.servePark)
	f.replace("/v1/take", p.serveTake)
	return p
}

func (p *fakePark) left() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.rows)
}

func (p *fakePark) servePark(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(io.LimitReader(r.Body, wire.MaxParkSize+1))
	context, items, err := wire.ParsePark(body)
	if err != nil || r.ContentLength != int64(len(body)) {
		p.f.t.Errorf("got a body of %d bytes, %v", len(body), err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.f.descriptor.Has(wire.RoleToken) {
		if token, _ := base64.RawURLEncoding.DecodeString(r.Header.Get("Tacet-Token")); len(token) > 0 {
			p.tokens++
			p.open[context] = true
		}
		if !p.open[context] {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
	}
	if p.contexts[context] += len(items); p.contexts[context] > wire.MaxContextRows {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	p.bodies = append(p.bodies, len(items))
	for _, it := range items {
		if p.verdict == wire.ParkKept {
			var id wire.RowID
			rand.Read(id[:])
			p.rows[id] = it
		}
		w.Write([]byte{byte(p.verdict)})
	}
}

func (p *fakePark) serveTake(w http.ResponseWriter, r *http.Request) {
	ws := p.f.upgrade(w, r)
	defer ws.CloseNow()
	proof := wire.Proof{Realm: p.f.descriptor.Realm}
	rand.Read(proof.Nonce[:])
	if p.f.descriptor.Binding {
		b, err := r.TLS.ExportKeyingMaterial(wire.ExporterLabel, nil, 32)
		if err != nil {
			p.f.t.Error(err)
			return
		}
		proof.Binding = [32]byte(b)
	}
	second := p.f.second(timeNow())
	ws.Write(p.f.stop, websocket.MessageBinary, append(append([]byte{byte(wire.FrameGreeting)}, proof.Nonce[:]...), second...))
	frames := make(chan []byte, 1024)
	p.mu.Lock()
	deaf := p.deaf
	p.mu.Unlock()
	if !deaf {
		go func() {
			defer close(frames)
			for {
				_, b, err := ws.Read(p.f.stop)
				if err != nil {
					return
				}
				frames <- b
			}
		}()
	}
	for {
		var b []byte
		var ok bool
		if deaf {
			var err error
			_, b, err = ws.Read(p.f.stop)
			ok = err == nil
		} else {
			b, ok = <-frames
		}
		if !ok || len(b) == 0 {
			return
		}
		out, reason := p.frame(&proof, b)
		if reason != 0 {
			out = [][]byte{{byte(wire.FrameRefused), byte(reason)}}
		}
		for _, o := range out {
			if ws.Write(p.f.stop, websocket.MessageBinary, o) != nil {
				return
			}
		}
	}
}

// frame answers a frame of a take connection.
func (p *fakePark) frame(proof *wire.Proof, b []byte) (out [][]byte, _ wire.Reason) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch wire.FrameKind(b[0]) {
	case wire.FrameTake:
		day, proofs, err := wire.ParseTake(b)
		if err != nil || len(proofs)/wire.ProofSize < 16 {
			return nil, wire.ReasonFrame
		}
		if proof.Period != 0 && proof.Period != day {
			return nil, wire.ReasonPeriod
		}
		proof.Period, proof.Verb = day, wire.VerbTake
		n := len(proofs) / wire.ProofSize
		p.days, p.sets = append(p.days, day), append(p.sets, n)
		for ; len(proofs) > 0; proofs = proofs[wire.ProofSize:] {
			proof.Address = wire.Address(proofs)
			if !ed25519.Verify(proof.Address[:], proof.Append(nil), proofs[32:96]) {
				return nil, wire.ReasonProof
			}
			for id, it := range p.rows {
				if it.Address == proof.Address {
					out = append(out, (&wire.Parked{ID: id, Address: it.Address, Cell: it.Cell}).Append(nil))
				}
			}
		}
		return append(out, wire.AppendTaken(nil, uint16(n))), 0
	case wire.FrameParkAck:
		a, err := wire.ParseParkAck(b)
		if err != nil {
			return nil, wire.ReasonFrame
		}
		proof.Address, proof.Verb = a.Address, wire.VerbAck
		if !ed25519.Verify(a.Address[:], proof.AppendAck(nil, a.Rows), a.Sig[:]) {
			return nil, wire.ReasonProof
		}
		for _, id := range a.Rows {
			if p.rows[id].Address == a.Address {
				delete(p.rows, id)
			}
		}
		p.acks = append(p.acks, len(a.Rows))
		return [][]byte{wire.AppendAcked(nil, uint16(len(a.Rows)))}, 0
	}
	return nil, wire.ReasonFrame
}
