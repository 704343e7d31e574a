package mls

import (
	"fmt"
	"io"
)

// MaxPSKs is how many pre-shared keys one commit or Welcome may name.
const MaxPSKs = 256

// resolvePSKs finds the pre-shared keys of ids, copies that the caller wipes: those
// of the own group in own, all others at env.PSK (RFC 9420, Section 8.4). It fails
// with ErrInvalid and with a *PSKError.
func resolvePSKs(env Env, p *suiteParams, own []resumptionPSK, groupID []byte, ids []PreSharedKeyID) ([]Secret, error) {
	if len(ids) > MaxPSKs {
		return nil, invalid("8.4", "too many pre-shared keys")
	}
	var out []Secret
	for _, id := range ids {
		s, err := lookupPSK(env, own, groupID, id)
		if err == nil && len(id.Nonce) != p.nh {
			err = invalid("8.4", "nonce of a pre-shared key")
		}
		if err != nil {
			wipe(out...)
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func lookupPSK(env Env, own []resumptionPSK, groupID []byte, id PreSharedKeyID) (Secret, error) {
	if id.Type == PSKResumption && equal(id.GroupID, groupID) {
		for _, r := range own {
			if r.epoch == id.Epoch {
				return r.psk.Clone(), nil
			}
		}
	}
	if env.PSK != nil {
		s, err := env.PSK(id)
		if err != nil {
			return Secret{}, err
		}
		if s.Valid() {
			return s.Clone(), nil
		}
	}
	return Secret{}, &PSKError{ID: id}
}

// newPSKID fills in a fresh nonce.
func (p *suiteParams) newPSKID(rand io.Reader, id PreSharedKeyID) (PreSharedKeyID, error) {
	id.Nonce = make([]byte, p.nh)
	if _, err := io.ReadFull(rand, id.Nonce); err != nil {
		return id, fmt.Errorf("drawing a nonce: %w", err)
	}
	return id, nil
}

// combinePSKs is the psk_secret of ids (RFC 9420, Section 8.4).
func combinePSKs(env Env, p *suiteParams, own []resumptionPSK, groupID []byte, ids []PreSharedKeyID) (Secret, error) {
	psks, err := resolvePSKs(env, p, own, groupID, ids)
	if err != nil {
		return Secret{}, err
	}
	defer wipe(psks...)
	return p.pskSecret(ids, psks)
}

// ResumptionPSK is the resumption PSK of an epoch of this group (RFC 9420, Section
// 8.6), for use in another. It stays the group's. It fails with a *PSKError for an
// epoch that is not known (any more).
func (g *Group) ResumptionPSK(epoch uint64) (Secret, error) {
	for _, r := range g.resumption {
		if r.epoch == epoch {
			return r.psk, nil
		}
	}
	return Secret{}, &PSKError{ID: PreSharedKeyID{
		Type: PSKResumption, Usage: UsageApplication, GroupID: g.context.GroupID, Epoch: epoch,
	}}
}
