package purse

import (
	"context"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
)

// announced compares what a realm says of its keys with what it said before.
// Another key for an epoch is what a relay would show that wants to know one of
// us again; it is refused, unless the realm began a new seed, which is taken
// once in seven days and told.
//
// spec: purse.md#keys-that-were-announced
func (p *Purse) announced(ctx context.Context, pin [32]byte, a transport.Announcement) error {
	var old *Realm
	now := p.now()
	err := p.Store.View(ctx, func(tx Tx) (err error) {
		old, err = tx.PurseRealm(pin)
		return err
	})
	if err != nil {
		return err
	}
	if old == nil && len(a.Issuers) == 0 {
		return nil
	}
	if old != nil && !old.judge(a, now).differs(old) {
		return refusal(old)
	}
	err = p.Store.Update(ctx, func(tx Tx) error {
		r, err := tx.PurseRealm(pin)
		if err != nil {
			return err
		}
		if r == nil {
			if r, err = newRealm(tx, pin); r == nil || err != nil {
				return err
			}
		}
		next := r.judge(a, now)
		if next.Since > r.Since && r.Since > 0 && next.Trouble == NewSeed {
			// Tokens of the old seed are of no use, and no row of them stays.
			if err := drop(tx, r.ID, func(c *Chunk) bool { return true }); err != nil {
				return err
			}
		}
		old = next
		return tx.PutPurseRealm(next)
	})
	if err != nil || old == nil {
		return err
	}
	return refusal(old)
}

// newRealm returns a record for a realm that the purse did not know, or nil if
// it knows too many.
func newRealm(tx Tx, pin [32]byte) (*Realm, error) {
	all, err := tx.PurseRealms()
	if err != nil || len(all) >= maxRealms {
		return nil, err
	}
	return &Realm{Pin: pin, Parts: 1}, nil
}

func refusal(r *Realm) error {
	if r.Trouble == BadKeys {
		return transport.ErrIssuer
	}
	return nil
}

// judge returns the record as it is after an announcement.
func (r *Realm) judge(a transport.Announcement, now time.Time) *Realm {
	next := *r
	next.Wants, next.Class, next.Gate = len(a.Issuers) > 0, a.Class, a.Gate
	if !next.Wants {
		return &next
	}
	if next.Parts == 0 {
		next.Parts = 1
	}
	if next.Since == 0 {
		next.Since = a.Since
	}
	other := slices.ContainsFunc(a.Issuers, func(i transport.Issuer) bool {
		k, ok := r.key(i.Kind, i.Epoch)
		return ok && k != i.Key
	})
	switch {
	case other && a.Since > r.Since && now.Unix()-r.Renewed >= seedsEvery*token.DaySeconds:
		next.Keys, next.Batches, next.Had, next.First = nil, nil, nil, 0
		next.Since, next.Renewed, next.Trouble = a.Since, now.Unix(), NewSeed
	case other:
		next.Trouble = BadKeys
		return &next
	case a.Since > r.Since:
		next.Since = a.Since // of what we knew nothing is good any more anyway
		if r.Trouble == BadKeys {
			next.Trouble = Fine
		}
	case r.Trouble == BadKeys:
		next.Trouble = Fine // it shows again what it showed before
	}
	today := int64(token.MemberEpoch(now.Unix()))
	next.Keys = slices.DeleteFunc(slices.Clone(next.Keys), func(k Known) bool {
		return token.Ends(token.Kind(k.Kind), k.Epoch) < (today-1)*token.DaySeconds
	})
	for _, i := range a.Issuers {
		if far(i, now.Unix()) {
			continue
		}
		if _, ok := next.key(i.Kind, i.Epoch); !ok {
			next.Keys = append(next.Keys, Known{i.Kind, i.Epoch, i.Key})
		}
	}
	return &next
}

// far reports whether an epoch lies so far from the present one that no honest
// relay announces it: what is remembered of a realm must stay small.
func far(i transport.Issuer, now int64) bool {
	k := token.Kind(i.Kind)
	if k != token.Member && k != token.Guest {
		return true
	}
	return i.Epoch > token.EpochAt(k, now)+keysAhead || token.Ends(k, i.Epoch) < (int64(token.MemberEpoch(now))-1)*token.DaySeconds
}

// differs reports whether there is something to write.
func (r *Realm) differs(old *Realm) bool {
	return r.Wants != old.Wants || r.Class != old.Class || r.Gate != old.Gate || r.Since != old.Since || r.Trouble != old.Trouble || !slices.Equal(r.Keys, old.Keys)
}

// key returns a key that was announced.
func (r *Realm) key(kind byte, epoch uint32) ([32]byte, bool) {
	for _, k := range r.Keys {
		if k.Kind == kind && k.Epoch == epoch {
			return k.Key, true
		}
	}
	return [32]byte{}, false
}

// drop deletes the chunks of a realm for which which says so.
func drop(tx Tx, realm int64, which func(*Chunk) bool) error {
	var ids []int64
	err := tx.Chunks(realm, 0, 0, func(c *Chunk) (bool, error) {
		if which(c) {
			ids = append(ids, c.ID)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := tx.DeleteChunk(id); err != nil {
			return err
		}
	}
	return nil
}
