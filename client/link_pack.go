package client

import (
	"errors"
	"math"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
)

// packTables are what goes over to a device that is being linked, in this order: what
// our devices agree on, the groups, what was said, who is spoken with, how they are
// reached. People come late: what they say of their devices while the rest goes over is
// in it.
func packTables() []vault.Table {
	return []vault.Table{vault.Shared, vault.Group, vault.GroupLine, vault.Event, vault.Contact, vault.Route}
}

// packing decides what of each row goes over. to is the device that it goes to.
type packing struct {
	tx vault.Store
	to key.SignPublic
	of map[int64]bool // contacts of whom something goes over
	// last is the newest event that goes over: what came after has other numbers there.
	last int64

	groups groupEngine
	now    time.Time
}

// goes reports whether what belongs to a contact goes over.
func (p *packing) goes(id int64) (bool, error) {
	ok, known := p.of[id]
	if known {
		return ok, nil
	}
	r, err := p.tx.Contact(id)
	if err != nil && !errors.Is(err, contact.ErrUnknown) {
		return false, err
	}
	ok = err == nil && r.Packs() && !(r.Own && r.Sign == p.to)
	p.of[id] = ok
	return ok, nil
}

// keep implements what vault.Pack asks.
//
// spec: link.md#pack
func (p *packing) keep(t vault.Table, row *vault.Row) (ok bool, err error) {
	switch t {
	case vault.Contact:
		if ok, err := p.goes(row.ID); err != nil || !ok {
			return false, err
		}
		r := &contact.Record{}
		if err := cbor.Unmarshal(row.V, r); err != nil {
			return false, vault.ErrDamaged
		}
		out := r.Packed()
		out.Read = min(out.Read, p.last)
		return rewrite(row, out)
	case vault.Route:
		r := &contact.RouteRecord{}
		if err := cbor.Unmarshal(row.V, r); err != nil {
			return false, vault.ErrDamaged
		}
		if r.Mine || r.Invite != 0 || r.Retire != 0 || row.A == 0 {
			return false, nil
		}
		return p.goes(row.A)
	case vault.Group:
		if len(row.H) != len(group.ID{}) {
			return false, vault.ErrDamaged
		}
		r, err := p.groups.Handover(p.tx, p.now, group.ID(row.H))
		if err != nil || r == nil {
			return false, err
		}
		return rewrite(row, r)
	case vault.GroupLine:
		return true, nil
	case vault.Event:
		if ok, err := p.goes(row.A); row.A >= 0 && (err != nil || !ok) { // those of groups are below zero
			return false, err
		}
		e := &convo.Event{}
		if err := cbor.Unmarshal(row.V, e); err != nil {
			return false, vault.ErrDamaged
		}
		e.Left, e.Copies, e.Parked, e.Rest = 0, nil, 0, 0
		if left, runs, err := p.tx.TimerLeft(row.ID); err != nil {
			return false, err
		} else if runs {
			e.Rest = 1 + uint32(min(left, math.MaxUint32-1))
		}
		if e.Out && e.Kind == convo.Text && e.State < convo.OnDevice {
			e.State = convo.Copied // this device tells what becomes of it
		}
		return rewrite(row, e)
	case vault.Shared:
		return row.A != 1, nil
	}
	return false, nil
}

func rewrite(row *vault.Row, v any) (bool, error) {
	raw, err := cbor.Marshal(v)
	row.V = raw
	return true, err
}

// unpack checks a row of a pack and writes it. It fails with vault.ErrPack for what
// no pack has.
func unpack(tx vault.Store, r vault.PackedRow) error {
	good := false
	switch r.Table {
	case vault.Contact:
		c := &contact.Record{}
		good = cbor.Unmarshal(r.V, c) == nil && (c.Unpacked() || c.Person != 0 && len(c.Given) == 0)
	case vault.Route:
		c := &contact.RouteRecord{}
		good = cbor.Unmarshal(r.V, c) == nil && !c.Mine && len(c.Owner) == 0 && r.A > 0
	case vault.Event:
		e := &convo.Event{}
		good = cbor.Unmarshal(r.V, e) == nil && (r.A > 0 || r.A < 0 && e.Group != nil) && len(e.Copies) == 0
		if e.Seq = r.ID; good {
			if err := tx.UnpackTimer(e); err != nil {
				return err
			}
			e.Rest = 0
			if _, err := rewrite(&r.Row, e); err != nil {
				return err
			}
		}
	case vault.Group:
		g := &group.Record{}
		good = cbor.Unmarshal(r.V, g) == nil && g.HandedOver() && len(r.H) == len(group.ID{})
	case vault.GroupLine:
		good = cbor.Unmarshal(r.V, &vault.Line{}) == nil && len(r.H) == len(group.ID{})
	case vault.Shared:
		good = r.A != 1
	}
	if !good {
		return vault.ErrPack
	}
	return tx.Tx.Put(r.Table, r.Row)
}
