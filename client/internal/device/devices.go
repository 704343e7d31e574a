package device

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
)

// NewDevice makes the keys of a device that is to be linked. It has no root and
// no manifest: it is nobody's before Adopt.
func NewDevice(rand io.Reader) (*Identity, error) {
	id := &Identity{}
	var err error
	if id.Sign, err = key.Generate[key.SignRole](rand); err != nil {
		return nil, err
	}
	if id.DH, err = key.Generate[key.DHRole](rand); err != nil {
		return nil, err
	}
	if id.XWing, err = key.Generate[key.XWingRole](rand); err != nil {
		return nil, err
	}
	return id, nil
}

// HasRoot reports whether this device can sign manifests.
func (id *Identity) HasRoot() bool { return id.Root.Valid() }

// Name is the name of this device: its public signing key.
func (id *Identity) Name() key.SignPublic { return key.SignPublicOf(id.Sign) }

// Place is where a manifest lists this device, or -1.
func (id *Identity) Place(m *manifest.Manifest) int {
	if i, ok := m.Find(id.Name()); ok {
		return i
	}
	return -1
}

// Active reports whether a manifest lists this device, not revoked.
func (id *Identity) Active(m *manifest.Manifest) bool {
	_, ok := m.Active(id.Place(m))
	return ok
}

// WithRoot puts the root, as recovery words, on this device too. It fails with
// ErrWords if they are no words or another person's.
func (id *Identity) WithRoot(words []string) error {
	root, err := RootOf(words)
	if err != nil {
		return err
	}
	if key.SignPublicOf(root) != id.Manifest.Root {
		root.Wipe()
		return ErrWords
	}
	id.Root.Wipe()
	id.Root = root
	return nil
}

// Admit signs the manifest in which a device joins. Nothing is changed: the
// caller shows it to whoever must have it, and then calls Adopt. Of a list that is
// full the oldest revoked device makes room. It fails with ErrNoRoot, ErrFull,
// or manifest.ErrManifest if some key of the device is listed already.
//
// spec: manifest.md#changes
func (id *Identity) Admit(now time.Time, d manifest.Device) (*manifest.Manifest, error) {
	list := slices.Clone(id.Manifest.Devices)
	if len(list) == manifest.MaxDevices {
		i := slices.IndexFunc(list, func(d manifest.Device) bool { return d.Revoked })
		if i < 0 {
			return nil, ErrFull
		}
		if was := list[i]; was.Sign == d.Sign || was.DH == d.DH || was.XWing == d.XWing {
			return nil, manifest.ErrManifest
		}
		list = slices.Delete(list, i, i+1)
	}
	d.Revoked = false
	return id.sign(now, append(list, d))
}

// Revoke signs the manifest in which the device at a place is revoked, for good.
// Nothing is changed before Adopt. It fails with ErrNoRoot, and with ErrPlace for
// a place without an active device and for this device itself.
//
// spec: manifest.md#changes
func (id *Identity) Revoke(now time.Time, place int) (*manifest.Manifest, error) {
	if d, ok := id.Manifest.Active(place); !ok || d.Sign == id.Name() {
		return nil, ErrPlace
	}
	list := slices.Clone(id.Manifest.Devices)
	list[place].Revoked = true
	return id.sign(now, list)
}

// sign makes the manifest after the present one.
func (id *Identity) sign(now time.Time, list []manifest.Device) (*manifest.Manifest, error) {
	if !id.HasRoot() {
		return nil, ErrNoRoot
	}
	next := &manifest.Manifest{
		Sequence: id.Manifest.Sequence + 1, Previous: id.Manifest.Hash(), NotAfter: manifest.NotAfter(now), Devices: list,
	}
	if err := manifest.Sign(id.Root, next); err != nil {
		return nil, fmt.Errorf("signing manifest: %w", err)
	}
	return next, nil
}

// Adopt takes a manifest that follows the present one, or the first one. One in
// which this device is revoked is taken too, and Active tells. The same again is
// no error. It fails with the errors of manifest.CheckNext, and with ErrNotOurs if
// the manifest is another person's or does not list this device. One that skips
// some is taken: what lies between was signed by the same root.
func (id *Identity) Adopt(now time.Time, m *manifest.Manifest) error {
	if id.Place(m) < 0 || m.Devices[id.Place(m)].DH != id.Public().DH {
		return ErrNotOurs
	}
	if id.Manifest == nil {
		if err := m.Verify(m.Root, now); err != nil {
			return err
		}
		if !id.Active(m) {
			return ErrNotOurs
		}
		id.Manifest = m
		return nil
	}
	if m.Root != id.Manifest.Root {
		return ErrNotOurs
	}
	err := manifest.CheckNext(id.Manifest, m, now)
	if errors.Is(err, manifest.ErrGap) {
		if err = m.Verify(m.Root, now); err == nil {
			err = manifest.CheckRevoked(id.Manifest, m)
		}
	}
	if err != nil {
		return err
	}
	if m.Hash() != id.Manifest.Hash() {
		id.next(m)
	}
	return nil
}

// next puts a manifest in the place of the present one, which becomes a past one.
// The list is made anew: whoever holds the old one keeps it.
func (id *Identity) next(m *manifest.Manifest) {
	id.Past = append([]*manifest.Manifest{id.Manifest}, id.Past[:min(len(id.Past), MaxPast-1)]...)
	id.Manifest = m
}
