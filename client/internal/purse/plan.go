package purse

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Job is one request for tokens that is due.
type Job struct {
	Pin    [32]byte
	Name   string // of the relay
	Puzzle bool   // it is bought with a solution
	Kind   byte
	Epoch  uint32
	Part   byte
}

// Due plans what is to be fetched, sweeps what is over, and returns the request
// that is due now, or nil and when to ask again: zero if there is nothing to wait
// for.
//
// spec: purse.md#when-tokens-are-fetched
func (p *Purse) Due(ctx context.Context) (job *Job, next time.Time, err error) {
	now := p.now().Unix()
	var until int64
	err = p.Store.Update(ctx, func(tx Tx) error {
		job, until = nil, 0
		all, err := tx.PurseRealms()
		if err != nil {
			return err
		}
		for _, r := range all {
			if err := p.plan(tx, r, now); err != nil {
				return err
			}
			for _, b := range r.Batches {
				_, known := r.key(b.Kind, b.Epoch)
				switch {
				case r.Trouble == BadKeys || !known: // nothing could be checked until the descriptor was read again
				case b.At > now:
					if until == 0 || b.At < until {
						until = b.At
					}
				case job == nil:
					job = &Job{Pin: r.Pin, Name: r.Name, Puzzle: !r.Member, Kind: b.Kind, Epoch: b.Epoch, Part: b.Part}
				}
			}
			if r.buys() { // there is always a next day
				if midnight := int64(token.MemberEpoch(now)+1) * token.DaySeconds; until == 0 || midnight < until {
					until = midnight
				}
			}
		}
		return nil
	})
	if until != 0 {
		next = time.Unix(until, 0)
	}
	return job, next, err
}

// buys reports whether batches of this realm can be had.
func (r *Realm) buys() bool { return r.Wants && (r.Member || r.Puzzles) }

// plan makes the batches that a realm's day and week want, and forgets what is
// over. Nothing is written if nothing changed.
func (p *Purse) plan(tx Tx, r *Realm, now int64) error {
	changed := false
	before := len(r.Batches)
	r.Batches = slices.DeleteFunc(r.Batches, func(b Batch) bool {
		return b.Epoch != token.EpochAt(token.Kind(b.Kind), now)
	})
	changed = changed || len(r.Batches) != before
	if n := len(r.Had); n > 0 {
		r.Had = slices.DeleteFunc(r.Had, func(h Had) bool { return token.Ends(token.Kind(h.Kind), h.Epoch) <= now })
		changed = changed || len(r.Had) != n
	}
	if today := token.MemberEpoch(now); r.Swept != today { // epochs end with a day
		if err := drop(tx, r.ID, func(c *Chunk) bool { return token.Ends(token.Kind(c.Kind), c.Epoch) <= now }); err != nil {
			return err
		}
		r.Swept, changed = today, true
	}
	if r.buys() {
		for _, kind := range []token.Kind{token.Member, token.Guest} {
			more, err := p.planKind(tx, r, kind, now)
			if err != nil {
				return err
			}
			changed = changed || more
		}
	}
	if !changed {
		return nil
	}
	return tx.PutPurseRealm(r)
}

// planKind plans the batch of a kind for the present epoch, if there is none yet.
func (p *Purse) planKind(tx Tx, r *Realm, kind token.Kind, now int64) (bool, error) {
	e := token.EpochAt(kind, now)
	if slices.ContainsFunc(r.Had, func(h Had) bool { return h.Kind == byte(kind) && h.Epoch == e }) {
		return false, nil
	}
	if _, known := r.key(byte(kind), e); !known {
		return false, nil // until the descriptor was read again
	}
	parts := byte(1)
	if kind == token.Member {
		r.turn(now)
		parts = r.size()
		r.Parts = parts
	}
	at, err := p.when(tx, r, kind, e, now)
	if err != nil {
		return false, err
	}
	seed, err := p.random()
	if err != nil {
		return false, err
	}
	for part := range parts {
		r.Batches = append(r.Batches, Batch{Kind: byte(kind), Epoch: e, Part: part, Seed: seed, At: at})
	}
	r.Had = append(r.Had, Had{byte(kind), e, parts})
	return true, nil
}

// size is how many parts the next day's batch has: the next larger public class
// when yesterday's use came near the present one, and the next smaller one when
// it was far from that.
func (r *Realm) size() byte {
	n, used := max(r.Parts, 1), r.Before
	switch {
	case n < token.MaxParts && uint64(n)*4*token.Part <= r.Class && used*4 >= uint32(n)*token.Part*3:
		n *= 4
	case n > 1 && (used*4 < uint32(n)/4*token.Part || uint64(n)*token.Part > r.Class):
		n /= 4
	}
	return n
}

// when says when a batch is fetched: the first one at once, one whose absence is
// felt within minutes, any other at a random moment of what is left of the day, or
// of the first two days of a week, whatever was used.
func (p *Purse) when(tx Tx, r *Realm, kind token.Kind, e uint32, now int64) (int64, error) {
	if r.First&byte(kind) == 0 {
		return now, nil
	}
	covered := false // by tokens of an epoch before
	for i := uint32(1); i <= 4 && i <= e && !covered; i++ {
		if !token.Accepts(kind, e-i, now) {
			break
		}
		err := tx.Chunks(r.ID, byte(kind), e-i, func(c *Chunk) (bool, error) {
			covered = covered || !c.Given
			return !covered, nil
		})
		if err != nil {
			return 0, err
		}
	}
	within := lateFor
	if covered {
		end := int64(token.MemberEpoch(now)+1) * token.DaySeconds
		if kind == token.Guest {
			end += token.DaySeconds
		}
		within = max(time.Duration(end-now)*time.Second-beforeEnd, lateFor)
	}
	off, err := p.upTo(within)
	return now + off, err
}

// Request returns the body of the request for a job: what is asked for is the
// same every time. solve solves a puzzle that is bound to it; members need none.
// It fails with ErrStale, and with the error of solve.
func (p *Purse) Request(ctx context.Context, j *Job, solve func(binding [32]byte) (solution []byte, err error)) ([]byte, error) {
	r, b, err := p.find(ctx, j)
	if err != nil {
		return nil, err
	}
	defer clear(b.Seed)
	made, err := token.NewBatch((*[32]byte)(b.Seed), token.Kind(j.Kind), j.Epoch, j.Part)
	if err != nil {
		return nil, err
	}
	defer made.Wipe()
	q := wire.TokenRequest{How: wire.ByCredential, Kind: j.Kind, Epoch: j.Epoch, Part: j.Part, Right: r.Credential, Blinded: made.Blinded()}
	p.at(BoundaryAsked)
	if j.Puzzle {
		q.How = wire.ByPuzzle
		if q.Right, err = solve(token.BuyBinding(token.Kind(j.Kind), j.Epoch, j.Part, q.Blinded)); err != nil {
			return nil, err
		}
	}
	return q.Append(nil)
}

// find reads a job's realm and batch.
func (p *Purse) find(ctx context.Context, j *Job) (r *Realm, b Batch, err error) {
	err = p.Store.View(ctx, func(tx Tx) (err error) {
		if r, err = tx.PurseRealm(j.Pin); err != nil {
			return err
		}
		i := r.batch(j)
		if i < 0 {
			return ErrStale
		}
		b = r.Batches[i]
		return nil
	})
	return r, b, err
}

// batch returns the place of a job's batch, −1 if it is not wanted any more.
func (r *Realm) batch(j *Job) int {
	if r == nil {
		return -1
	}
	return slices.IndexFunc(r.Batches, func(b Batch) bool {
		return b.Kind == j.Kind && b.Epoch == j.Epoch && b.Part == j.Part && len(b.Seed) == 32
	})
}

// Finish takes the answer to a job's request. Its proof is checked against the
// key that was announced to everybody; with ErrProof nothing of it is kept, and
// no more is asked of that epoch.
func (p *Purse) Finish(ctx context.Context, j *Job, answer []byte) error {
	r, b, err := p.find(ctx, j)
	if err != nil {
		return err
	}
	public, ok := r.key(j.Kind, j.Epoch)
	if !ok {
		return ErrStale
	}
	seed := bytes.Clone(b.Seed)
	defer clear(seed)
	made, err := token.NewBatch((*[32]byte)(seed), token.Kind(j.Kind), j.Epoch, j.Part)
	if err != nil {
		return err
	}
	defer made.Wipe()
	raws, err := made.Finish(public, answer)
	if err != nil {
		return errors.Join(ErrProof, p.settle(ctx, j, func(tx Tx, r *Realm, i int, _ int64) error {
			r.Trouble = BadProof
			r.Batches = slices.DeleteFunc(r.Batches, func(b Batch) bool { return b.Kind == j.Kind && b.Epoch == j.Epoch })
			return nil
		}))
	}
	err = p.settle(ctx, j, func(tx Tx, r *Realm, i int, now int64) error {
		if !bytes.Equal(r.Batches[i].Seed, seed) {
			return ErrStale
		}
		if known, _ := r.key(j.Kind, j.Epoch); known != public {
			return ErrStale
		}
		from := now + int64(restFor/time.Second)
		if r.First&j.Kind == 0 {
			from, r.Linkable = now, from
		}
		for at := 0; at < len(raws); at += chunkTokens {
			c := &Chunk{Realm: r.ID, Kind: j.Kind, Epoch: j.Epoch, From: from}
			for k := range raws[at:min(at+chunkTokens, len(raws))] {
				c.Raw = append(c.Raw, raws[at+k][:]...)
			}
			if err := tx.PutChunk(c); err != nil {
				return err
			}
		}
		r.Batches = slices.Delete(r.Batches, i, i+1)
		if !slices.ContainsFunc(r.Batches, func(b Batch) bool { return b.Kind == j.Kind && b.Epoch == j.Epoch }) {
			r.First |= j.Kind
		}
		r.Trouble = Fine
		return nil
	})
	for i := range raws {
		raws[i].Wipe()
	}
	if err == nil {
		p.at(BoundaryStored)
	}
	return err
}

// settle changes a job's realm.
func (p *Purse) settle(ctx context.Context, j *Job, f func(tx Tx, r *Realm, i int, now int64) error) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		r, err := tx.PurseRealm(j.Pin)
		if err != nil {
			return err
		}
		i := r.batch(j)
		if i < 0 {
			return ErrStale
		}
		if err := f(tx, r, i, p.now().Unix()); err != nil {
			return err
		}
		return tx.PutPurseRealm(r)
	})
}

// Failed notes that a job's request was not answered as it should be: it is made
// again later, ever less often, and the very same.
func (p *Purse) Failed(ctx context.Context, j *Job, why error) error {
	off, err := p.upTo(retryAfter)
	if err != nil {
		return err
	}
	err = p.settle(ctx, j, func(tx Tx, r *Realm, _ int, now int64) error {
		switch {
		case errors.Is(why, transport.ErrOutside):
			r.Trouble = Outside
		case errors.Is(why, transport.ErrLimit):
			r.Trouble = NotIssued
		}
		for i := range r.Batches { // the other parts wait, too
			b := &r.Batches[i]
			if b.Kind != j.Kind || b.Epoch != j.Epoch {
				continue
			}
			wait := retryMost
			if b.Tries < 5 {
				wait = min(retryAfter<<b.Tries, retryMost)
				b.Tries++
			}
			b.At = now + int64(wait/time.Second)/2 + off
		}
		return nil
	})
	if errors.Is(err, ErrStale) {
		return nil
	}
	return err
}

// Lacks lists the realms that sell us tokens and whose key of the present day or
// week is not known: their descriptors are to be read.
func (p *Purse) Lacks(ctx context.Context) (all []Realm, err error) {
	now := p.now().Unix()
	err = p.Store.View(ctx, func(tx Tx) error {
		all = nil
		realms, err := tx.PurseRealms()
		for _, r := range realms {
			_, day := r.key(byte(token.Member), token.MemberEpoch(now))
			_, week := r.key(byte(token.Guest), token.GuestEpoch(now))
			if r.Name != "" && (r.Member || r.Puzzles) && (!day || !week) && r.Wants {
				all = append(all, Realm{Pin: r.Pin, Name: r.Name})
			}
		}
		return err
	})
	return all, err
}

// Again has what failed tried at once, as after the network came back.
func (p *Purse) Again(ctx context.Context) error {
	return p.Store.Update(ctx, func(tx Tx) error {
		all, err := tx.PurseRealms()
		if err != nil {
			return err
		}
		now := p.now().Unix()
		for _, r := range all {
			changed := false
			for i := range r.Batches {
				if b := &r.Batches[i]; b.Tries > 0 && b.At > now && r.Trouble == Fine {
					b.At, changed = now, true
				}
			}
			if changed {
				if err := tx.PutPurseRealm(r); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
