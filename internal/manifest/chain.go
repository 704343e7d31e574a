package manifest

import (
	"errors"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/pad"
)

// Errors of a step from one manifest to another. ErrRollback and ErrFork mean
// that somebody shows a different past: they block, and a person is told.
var (
	// ErrRollback: an older manifest than the one that was seen.
	ErrRollback = errors.New("manifest is older than the one seen before")
	// ErrFork: another manifest at the same place, or one that follows another past.
	ErrFork = errors.New("manifest belongs to another chain of the same root")
	// ErrGap: the manifests between are missing. Get them, then use CheckChain.
	ErrGap = errors.New("manifests in between are missing")
	// ErrNewer: the other side names a newer manifest than the one held.
	ErrNewer = errors.New("a newer manifest exists")
	// ErrRevoked: a revoked device is active again.
	ErrRevoked = errors.New("manifest brings back a revoked device")
	// ErrRemoved: a device is gone from its place in the list without need.
	ErrRemoved = errors.New("manifest drops or moves a device")
	// ErrChanged: a device's keys are not what they were.
	ErrChanged = errors.New("manifest changes the keys of a device")
)

// Signed reports whether the manifest is well-formed and signed by the root that
// it names, whoever that is and whatever its age.
func (m *Manifest) Signed() bool { return m.genuine(m.Root) == nil }

// Verify checks one manifest on its own: root, form, signature, age. It fails
// with ErrRoot, ErrManifest, ErrSignature or ErrExpired, in this order, so that
// ErrExpired is only said of a manifest that was once good.
func (m *Manifest) Verify(root key.SignPublic, now time.Time) error {
	if err := m.genuine(root); err != nil {
		return err
	}
	return m.fresh(now)
}

// genuine is Verify without a clock.
func (m *Manifest) genuine(root key.SignPublic) error {
	if m.Root != root {
		return ErrRoot
	}
	if err := m.check(); err != nil {
		return err
	}
	if !key.VerifyAgain(root, m.Sig, labelSign, m.appendBody(nil)) {
		return ErrSignature
	}
	return nil
}

func (m *Manifest) fresh(now time.Time) error {
	if now.Unix() > 0 && uint64(now.Unix()) > m.NotAfter {
		return ErrExpired
	}
	return nil
}

// CheckNext checks that next follows old, which the caller holds and believes.
// The same manifest again is no error, if it has not expired.
//
// A fork or a rollback is only ever said of what the root signed, so it is
// evidence; ErrExpired comes last of all, so it never hides them.
//
// spec: manifest.md#checks
func CheckNext(old, next *Manifest, now time.Time) error {
	if err := step(old, next); err != nil {
		return err
	}
	return next.fresh(now)
}

// CheckChain checks that next follows old step by step. Those in between may
// have expired; the last must not have. Without any, old itself must be fresh.
func CheckChain(old *Manifest, next []*Manifest, now time.Time) error {
	for _, m := range next {
		if err := step(old, m); err != nil {
			return err
		}
		old = m
	}
	return old.fresh(now)
}

func step(old, next *Manifest) error {
	if err := next.genuine(old.Root); err != nil {
		return err
	}
	switch hash := old.Hash(); {
	case next.Sequence < old.Sequence:
		return ErrRollback
	case next.Sequence == old.Sequence:
		if next.Hash() != hash {
			return ErrFork
		}
		return nil
	case next.Sequence-old.Sequence > 1:
		return ErrGap
	case next.Previous != hash:
		return ErrFork
	}
	return checkDevices(old.Devices, next.Devices)
}

// checkDevices walks both lists side by side: the old ones come first, in their
// order, then those that joined. A revoked device stays and stays revoked; it
// may go only to make room, that is where next is full.
func checkDevices(old, next []Device) error {
	full := len(next) == MaxDevices
	i := 0
	for _, was := range old {
		if i == len(next) || next[i].Sign != was.Sign {
			if was.Revoked && full {
				continue
			}
			return ErrRemoved
		}
		is := next[i]
		switch {
		case is.DH != was.DH, is.XWing != was.XWing:
			return ErrChanged
		case was.Revoked && !is.Revoked:
			return ErrRevoked
		}
		i++
	}
	// What joined has nothing of a device that just left: neither the device
	// itself nor one that took over some of its keys.
	for _, is := range next[i:] {
		for _, was := range old {
			if is.Sign == was.Sign || is.DH == was.DH || is.XWing == was.XWing {
				return ErrRevoked
			}
		}
	}
	return nil
}

// CheckRevoked fails with ErrRevoked if a device that old has as revoked is active
// in next, or if one that is active there has a key of it. It is what can be asked
// of a manifest when those between are missing.
//
// spec: manifest.md#checks
func CheckRevoked(old, next *Manifest) error {
	for _, was := range old.Devices {
		if !was.Revoked {
			continue
		}
		for _, is := range next.Devices {
			if !is.Revoked && (is.Sign == was.Sign || is.DH == was.DH || is.XWing == was.XWing) {
				return ErrRevoked
			}
		}
	}
	return nil
}

// CheckRef compares what the other side names in a content block with what is
// held: of the sender's own manifest, or of ours as the sender knows it. It
// fails with ErrRollback, ErrFork, or ErrNewer if the held one is to be
// replaced. Blocks may arrive late: the caller asks this of a block that was
// sent after the newest one so far, and only of those.
//
// spec: manifest.md#references
func CheckRef(held, seen pad.Ref) error {
	switch {
	case seen.Sequence < held.Sequence:
		return ErrRollback
	case seen.Sequence > held.Sequence:
		return ErrNewer
	case seen.Hash != held.Hash:
		return ErrFork
	}
	return nil
}
