package group

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// MaxMeeting bounds an introduction as it goes through a group, in bytes.
const MaxMeeting = 8 << 10

// Unmet is a member's device with which there is no pair session.
type Unmet struct {
	Group  ID
	Device Device
	Root   key.SignPublic
}

// Unmet returns the devices of members with which this one should have a pair session,
// and has none by what met says: each once. In a large group those are admins' devices,
// who let somebody in again, and all of them for an admin's; in others everybody, since
// what is said when a realm failed goes from each to each.
//
// spec: group.md#introductions
func (e *Engine) Unmet(tx Tx, met func(root key.SignPublic, d Device) (bool, error)) ([]Unmet, error) {
	all, err := tx.Groups()
	if err != nil {
		return nil, err
	}
	var out []Unmet
	asked := map[Device]bool{}
	for _, r := range all {
		if r.State != Active && r.State != Stopped {
			continue
		}
		h, err := tx.Epoch(r.ID, r.Head)
		if err != nil {
			return nil, err
		}
		s, err := roster.ParseState(h.State)
		if err != nil {
			return nil, err
		}
		_, admin := s.Rank(e.Self.Manifest.Root)
		for _, l := range h.Roster {
			if l.Root == e.Self.Manifest.Root || asked[l.Device] {
				continue
			}
			if _, theirs := s.Rank(l.Root); len(h.Roster) > roster.SharedAbove && !admin && !theirs {
				continue
			}
			asked[l.Device] = true
			if ok, err := met(l.Root, l.Device); err != nil {
				return nil, err
			} else if !ok {
				out = append(out, Unmet{Group: r.ID, Device: l.Device, Root: l.Root})
			}
		}
	}
	return out, nil
}

// Shown is the manifest that a member's device shows in a group, and its place there.
// It fails with ErrUnknown for a device that is no member of any group of ours.
func (e *Engine) Shown(tx Tx, root key.SignPublic, d Device) (*manifest.Manifest, int, error) {
	all, err := tx.Groups()
	if err != nil {
		return nil, 0, err
	}
	for _, r := range all {
		if r.State == Out || r.State == Replaced || r.State == Entering {
			continue
		}
		h, err := tx.Epoch(r.ID, r.Head)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if l, ok := leafOf(h.Roster, d); !ok || l.Root != root {
			continue
		}
		f, err := h.Fixed(e.Crypto.Fixed)
		if err != nil {
			return nil, 0, err
		}
		t, err := e.Crypto.Parse(f, h.Secret)
		if err != nil {
			return nil, 0, err
		}
		for _, m := range t.Members() {
			if m.Device != d || m.Root != root {
				continue
			}
			if at, ok := m.Credential.Manifest.Find(d); ok {
				return m.Credential.Manifest, at, nil
			}
		}
	}
	return nil, 0, ErrUnknown
}

// Introduce gives a member's device an introduction, through the group: only its leaf
// gets it, and it knows by the leaf from whom it is. It is not kept until it is acked:
// the caller gives it again until there is a session. It fails with ErrUnknown and
// ErrLeft, with ErrBusy while this device is behind, and with ErrLong.
//
// spec: group.md#introductions
func (e *Engine) Introduce(tx Tx, now time.Time, id ID, to Device, introduction []byte) (*Change, error) {
	g, err := e.work(tx, now).member(id)
	if err != nil {
		return nil, err
	}
	switch {
	case g.r.State != Active && g.r.State != Stopped:
		return nil, ErrBusy
	case len(introduction) > MaxMeeting:
		return nil, ErrLong
	}
	h, err := g.head()
	if err != nil {
		return nil, err
	}
	l, ok := leafOf(h.Roster, to)
	if !ok || to == g.me() {
		return nil, ErrUnknown
	}
	if err := g.sayObject(h, append([]byte{byte(ObjectMeet)}, introduction...), []roster.Leaf{l}); err != nil {
		return nil, err
	}
	return g.ch, g.save()
}
