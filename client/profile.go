package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
)

// Rows of the vault's meta table.
const (
	metaIdentity = 1  // device.Identity
	metaProfile  = 2  // profile
	metaBack     = 4  // how often this device said today that it is back
	metaTaken    = 5  // taken
	metaWake     = 6  // wakeState
	metaReceipts = 16 // roster.Home
)

// profile is what a person set.
type profile struct {
	Name  string        `cbor:"1,keyasint"`
	Realm contact.Realm `cbor:"2,keyasint"` // where we are reached
	Live  uint16        `cbor:"3,keyasint"` // its live period in seconds; 0: no relay yet
}

// NewProfile is what a new profile starts with.
type NewProfile struct {
	Name  string // what contacts see; may be empty
	Relay string // host[:port]; empty: the relay of the first invite that is accepted
	// RelayKey is the SHA-256 of the relay's key. Zero: whatever it shows now is
	// pinned, so somebody should compare it.
	RelayKey [32]byte
}

// Create makes a new person in Options.Dir and returns the 24 recovery words:
// they are shown once and stored nowhere.
func Create(ctx context.Context, o Options, p NewProfile) (words []string, err error) {
	id, err := device.New(o.rand(), time.Now())
	if err != nil {
		return nil, err
	}
	defer id.Wipe()
	if words, err = id.Words(); err != nil {
		return nil, err
	}
	return words, create(ctx, o, p, id)
}

// Recover makes a new device of a person from the recovery words. Contacts and
// history are not in the words.
func Recover(ctx context.Context, o Options, p NewProfile, words []string) error {
	id, err := device.Recover(o.rand(), time.Now(), words)
	if errors.Is(err, device.ErrWords) {
		return ErrWords
	}
	if err != nil {
		return err
	}
	defer id.Wipe()
	return create(ctx, o, p, id)
}

// Exists reports whether there is a profile in dir, without opening it.
func Exists(dir string) bool { return vault.Exists(dir) }

// ReadWords finds recovery words in what a person typed or pasted.
func ReadWords(text string) []string { return device.ReadWords(text) }

func create(ctx context.Context, o Options, p NewProfile, id *device.Identity) error {
	prof := profile{Name: contact.CleanName(p.Name)}
	if p.Relay != "" {
		if err := prof.setRelay(ctx, o.Network, p.Relay, p.RelayKey); err != nil {
			return err
		}
	}
	params := vault.Default
	if o.WeakVault {
		params = vault.Params{Memory: 64, Time: 1, Threads: 1, Weak: true}
	}
	v, err := vault.Create(o.Dir, o.Passphrase, params)
	if err != nil {
		return vaultError(err)
	}
	defer v.Close()
	return vaultError(v.Update(ctx, func(tx *vault.Tx) error {
		raw, err := id.Append(nil)
		if err != nil {
			return err
		}
		if err := tx.Put(vault.Meta, vault.Row{ID: metaIdentity, V: raw}); err != nil {
			return err
		}
		return putProfile(tx, &prof)
	}))
}

// setRelay pins a relay and asks it for its period.
func (p *profile) setRelay(ctx context.Context, n Network, name string, pin [32]byte) error {
	if n == nil {
		return ErrNetwork
	}
	if pin == [32]byte{} {
		var err error
		if pin, err = n.Identify(ctx, name); err != nil {
			return networkError(err)
		}
	}
	r, err := openRelay(n, name, pin)
	if err != nil {
		return networkError(err)
	}
	defer r.Close()
	d, err := r.Descriptor(ctx)
	if err != nil {
		return networkError(err)
	}
	p.Realm, p.Live = contact.Realm{Name: name, Pin: pin}, uint16(d.Period)
	return nil
}

func putProfile(tx *vault.Tx, p *profile) error {
	raw, err := cbor.Marshal(p)
	if err != nil {
		return fmt.Errorf("writing profile: %w", err)
	}
	return tx.Put(vault.Meta, vault.Row{ID: metaProfile, V: raw})
}

// load reads identity and profile.
func (c *Client) load(ctx context.Context) error {
	return c.vault.View(ctx, func(tx *vault.Tx) error {
		row, found, err := tx.Get(vault.Meta, metaIdentity)
		if err != nil {
			return err
		}
		if !found {
			if _, joining, err := tx.Get(vault.Meta, metaJoin); err != nil || joining {
				return errors.Join(err, ErrUnlinked)
			}
			return vault.ErrDamaged
		}
		id, err := device.Parse(row.V)
		if err != nil {
			return vault.ErrDamaged
		}
		if row, found, err = tx.Get(vault.Meta, metaProfile); err != nil {
			return err
		}
		if !found || cbor.Unmarshal(row.V, &c.profile) != nil {
			return vault.ErrDamaged
		}
		c.root, c.stands = id.Manifest.Root, id.Manifest.Hash()
		c.engine = &convo.Engine{Self: id, Rand: c.opt.rand(), Name: c.profile.Name}
		c.engine.Online, c.engine.Gifts, c.engine.Keep = c.connected, gifts{c}, c.keepIdentity
		c.engine.Home = convo.Home{Realm: c.profile.Realm, Live: c.profile.Live}
		c.engine.Groups = c.groups
		if _, err := c.groups.setHome(tx); err != nil {
			return err
		}
		st, err := readWake(tx)
		if err != nil {
			return err
		}
		if err := c.setWaking(&st); err != nil {
			return err
		}
		return nil
	})
}

// keepIdentity stores who we are, whose manifest changed.
func (c *Client) keepIdentity(tx convo.Tx) error {
	return keepIdentity(tx.(vault.Store).Tx, c.engine.Self)
}

// sure begins a transaction with the manifest that is in the vault: the last one may
// have had another and not been committed.
func (c *Client) sure(tx *vault.Tx) error {
	if c.engine.Self.Manifest.Hash() == c.stands {
		return nil
	}
	row, found, err := tx.Get(vault.Meta, metaIdentity)
	if err != nil {
		return err
	}
	if !found {
		return vault.ErrDamaged
	}
	id, err := device.Parse(row.V)
	if err != nil {
		return vault.ErrDamaged
	}
	c.engine.Self.Manifest, c.engine.Self.Past = id.Manifest, id.Past
	c.stands = id.Manifest.Hash()
	id.Wipe()
	return nil
}
