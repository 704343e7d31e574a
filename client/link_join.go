package client

import (
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/fetch"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// LinkPreview is what a linking code leads to, before anything is made.
type LinkPreview struct {
	Name     string // of the person whose device this would be, by their own word
	Relay    string
	RelayKey string // fingerprint of its key
	Devices  int    // that the person has now
}

// JoinOptions are for Join.
type JoinOptions struct {
	Code string
	Name string // what the person calls this device; may be empty
	// Realm is an invite to the relay's realm, for a relay that wants one and whose
	// members may not invite; may be empty.
	Realm string
	// RelayOnly does not use the local network.
	RelayOnly bool
	// Progress is told how it goes; may be nil.
	Progress func(JoinProgress)
}

// JoinStage says how far a link is, on the device that joins.
type JoinStage string

// Stages, in their order.
const (
	JoinEntering  JoinStage = "entering"  // becoming a member of the realm
	JoinWaiting   JoinStage = "waiting"   // for the other device to take the answer
	JoinDigits    JoinStage = "digits"    // they are to be typed on the other device
	JoinReceiving JoinStage = "receiving" // the pack comes
	JoinComplete  JoinStage = "complete"  // all is here; the other device is to put this one on the list
	JoinLinked    JoinStage = "linked"
)

// JoinProgress is how far a link is.
type JoinProgress struct {
	Stage   JoinStage
	Digits  string // in JoinDigits
	Rows    uint64 // here, of about Total
	Total   uint64
	Way     string // "relay" or "network"
	Trouble string // why it does not go on just now
	Talk    string // what else is done, in words
}

// joinState is a link on the device that joins. Its vault is no profile before
// Adopt; what came is in its place already.
type joinState struct {
	Code      string        `cbor:"1,keyasint"`
	Offer     []byte        `cbor:"2,keyasint"` // the blob
	Realm     contact.Realm `cbor:"3,keyasint"`
	Keys      [3][]byte     `cbor:"4,keyasint"` // of this device: signing, X25519, X-Wing
	Name      string        `cbor:"5,keyasint"`
	Answer    []byte        `cbor:"6,keyasint"` // the blob
	Ephemeral []byte        `cbor:"7,keyasint"` // until the reveal
	Hash      [32]byte      `cbor:"8,keyasint"`
	First     []byte        `cbor:"9,keyasint"`
	Root      []byte        `cbor:"10,keyasint"` // from the reveal on
	Digits    string        `cbor:"11,keyasint"`
	Next      uint32        `cbor:"12,keyasint"` // number of the next message
	Header    []byte        `cbor:"13,keyasint"`
	Chunk     uint32        `cbor:"14,keyasint"`
	Ended     bool          `cbor:"15,keyasint"` // the last piece is here
	Rows      uint64        `cbor:"16,keyasint"`
	Total     uint64        `cbor:"17,keyasint"`
	Up        uint32        `cbor:"18,keyasint"` // number of the next state by the relay
	Put       bool          `cbor:"19,keyasint"` // the relay has the answer
	Until     int64         `cbor:"20,keyasint"` // unix seconds when it is given up, unless it is complete
}

// identity returns the keys of this device, which nobody has vouched for yet.
func (s *joinState) identity() (*device.Identity, error) {
	id := &device.Identity{}
	var errs [3]error
	id.Sign, errs[0] = key.New[key.SignRole](s.Keys[0])
	id.DH, errs[1] = key.New[key.DHRole](s.Keys[1])
	id.XWing, errs[2] = key.New[key.XWingRole](s.Keys[2])
	if errors.Join(errs[:]...) != nil {
		return nil, vault.ErrDamaged
	}
	return id, nil
}

// Joining reports whether the profile in dir is one that is still being linked. The
// passphrase must be right.
func Joining(ctx context.Context, o Options) (bool, error) {
	v, err := vault.Open(o.Dir, o.Passphrase)
	if err != nil {
		return false, vaultError(err)
	}
	defer v.Close()
	joining := false
	err = v.View(ctx, func(tx *vault.Tx) (err error) {
		_, joining, err = tx.Get(vault.Meta, metaJoin)
		return err
	})
	return joining, vaultError(err)
}

// CheckCode says whether a text can be a linking code, without asking anybody.
func CheckCode(code string) error { _, err := link.ParseCode(code); return codeError(err) }

// IsCode reports whether a text means a linking code, and not an invite.
func IsCode(text string) bool { return link.IsCode(text) }

func codeError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, link.ErrVersion):
		return ErrCodeNewer
	case errors.Is(err, link.ErrCode), errors.Is(err, wire.ErrRelayName):
		return ErrCode
	case errors.Is(err, link.ErrExpired), errors.Is(err, transport.ErrNothing), errors.Is(err, fetch.ErrNotFound):
		return ErrCodeOver
	case errors.Is(err, link.ErrForged), errors.Is(err, link.ErrMessage):
		return ErrForged
	}
	return err
}

// readOffer gets and checks what a code leads to.
func readOffer(ctx context.Context, n Network, text string) (c link.Code, blob []byte, o *link.Offer, err error) {
	if c, err = link.ParseCode(text); err != nil {
		return c, nil, nil, codeError(err)
	}
	if n == nil {
		return c, nil, nil, ErrNoRelay
	}
	blob, pin, err := n.FetchUnpinned(ctx, c.Relay, c.Offer())
	if errors.Is(err, transport.ErrNothing) || errors.Is(err, fetch.ErrNotFound) {
		return c, nil, nil, ErrCodeOver
	}
	if err != nil {
		return c, nil, nil, networkError(err)
	}
	if o, err = link.OpenOffer(c, blob, time.Now()); err != nil {
		return c, nil, nil, codeError(err)
	}
	if o.Realm != pin {
		return c, nil, nil, ErrRelayKey
	}
	return c, blob, o, nil
}

// PreviewLink says what a linking code leads to. The relay sees that an offer is
// read; nothing is made.
func PreviewLink(ctx context.Context, n Network, code string) (LinkPreview, error) {
	c, _, o, err := readOffer(ctx, n, code)
	if err != nil {
		return LinkPreview{}, err
	}
	p := LinkPreview{Name: contact.CleanName(o.Name), Relay: c.Relay, RelayKey: KeyText(o.Realm)}
	for _, d := range o.Manifest.Devices {
		if !d.Revoked {
			p.Devices++
		}
	}
	return p, nil
}

// Join makes this device another one of the person whose device shows the code. It
// returns when it is done; then Open opens the profile. A link that was cut off goes
// on when Join is called again with the same folder; the code may be empty then. If
// the link is over, the folder's vault is removed: nothing half-made stays.
func Join(ctx context.Context, o Options, j JoinOptions) error {
	if j.Progress == nil {
		j.Progress = func(JoinProgress) {}
	}
	if !Exists(o.Dir) {
		if err := beginJoin(ctx, o, j); err != nil {
			return err
		}
		o.at(BoundaryJoinBegun)
	}
	joiner, err := openJoin(ctx, o, j)
	if errors.Is(err, errNothing) && j.Code != "" { // killed before anything was in it
		if err := removeVault(o.Dir); err != nil {
			return err
		}
		return Join(ctx, o, j)
	}
	if err != nil {
		return err
	}
	over, err := joiner.run(ctx)
	closeErr := joiner.close()
	if over && err != nil {
		return errors.Join(err, removeVault(o.Dir))
	}
	return errors.Join(err, closeErr)
}

// AbandonJoin gives up a link on the device that joins: the other side is told, and
// the vault is removed.
func AbandonJoin(ctx context.Context, o Options) error {
	j, err := openJoin(ctx, o, JoinOptions{Progress: func(JoinProgress) {}})
	if errors.Is(err, errNothing) {
		return removeVault(o.Dir)
	}
	if err != nil {
		return err
	}
	told, stop := context.WithTimeout(ctx, uploadWithin)
	defer stop()
	j.giveUp(told, link.Cancelled) // if nobody hears it, the link ends by itself
	return errors.Join(j.close(), removeVault(o.Dir))
}

// removeVault removes a vault that was no profile yet.
func removeVault(dir string) error {
	err := os.Remove(filepath.Join(dir, "vault", "key")) // without it the rest is noise
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(filepath.Join(dir, "vault")))
}

// beginJoin reads the offer and makes the vault.
func beginJoin(ctx context.Context, o Options, j JoinOptions) error {
	c, blob, offer, err := readOffer(ctx, o.Network, j.Code)
	if err != nil {
		return err
	}
	id, err := device.NewDevice(o.rand())
	if err != nil {
		return err
	}
	defer id.Wipe()
	s := joinState{Code: c.String(), Offer: blob, Realm: contact.Realm{Name: c.Relay, Pin: offer.Realm}, Name: contact.CleanName(j.Name),
		Until: time.Now().Add(link.Life + linkWithin).Unix()}
	s.Keys = [3][]byte{id.Sign.Bytes(), id.DH.Bytes(), id.XWing.Bytes()}
	v, err := createVault(o)
	if err != nil {
		return vaultError(err)
	}
	defer v.Close()
	return vaultError(v.Update(ctx, func(tx *vault.Tx) error { return writeMeta(tx, metaJoin, &s) }))
}

func createVault(o Options) (*vault.Vault, error) {
	params := vault.Default
	if o.WeakVault {
		params = vault.Params{Memory: 64, Time: 1, Threads: 1, Weak: true}
	}
	return vault.Create(o.Dir, o.Passphrase, params)
}

// joiner is a link under way on the device that joins.
type joiner struct {
	c     *Client // without an identity
	opt   JoinOptions
	code  link.Code
	offer *link.Offer
	relay Relay
	state joinState
	told  JoinProgress
}

// openJoin opens a vault that is being linked. It fails with ErrExists for one that
// is a profile, and with ErrLinking for another code than the one that it began with.
func openJoin(ctx context.Context, o Options, opt JoinOptions) (_ *joiner, err error) {
	c, err := openParts(o)
	if err != nil {
		return nil, err
	}
	j := &joiner{c: c, opt: opt}
	defer func() {
		if err != nil {
			j.close()
		}
	}()
	found := false
	err = c.vault.View(ctx, func(tx *vault.Tx) (err error) {
		found, err = readMeta(tx, metaJoin, &j.state)
		return err
	})
	if err != nil {
		return nil, vaultError(err)
	}
	if !found {
		return nil, c.unfounded(ctx)
	}
	if j.code, err = link.ParseCode(j.state.Code); err != nil {
		return nil, ErrDamaged
	}
	if opt.Code != "" {
		if again, err := link.ParseCode(opt.Code); err != nil || again != j.code {
			return nil, ErrLinking
		}
	}
	if j.offer, err = link.OpenOffer(j.code, j.state.Offer, time.Unix(0, 0)); err != nil {
		return nil, ErrDamaged
	}
	if j.relay, err = c.realms.relay(j.state.Realm); err != nil {
		return nil, err
	}
	return j, nil
}

// errNothing: a vault that was made, and in which nothing was put: no profile, and no
// link that could go on.
var errNothing = errors.New("nothing was begun in this profile")

// unfounded says what a vault is in which no device is being linked.
func (c *Client) unfounded(ctx context.Context) error {
	is := ErrExists
	err := c.vault.View(ctx, func(tx *vault.Tx) error {
		_, found, err := tx.Get(vault.Meta, metaIdentity)
		if err == nil && !found {
			is = errNothing
		}
		return err
	})
	if err != nil {
		return vaultError(err)
	}
	return is
}

func (j *joiner) close() error {
	return errors.Join(j.c.realms.close(), j.c.vault.Close(), j.c.lock.Release())
}

// save commits a change of the state.
func (j *joiner) save(ctx context.Context, f func(tx vault.Store, s *joinState) error) error {
	next := j.state
	err := j.c.vault.Update(ctx, func(tx *vault.Tx) error {
		next = j.state
		if err := f(vault.Store{Tx: tx}, &next); err != nil {
			return err
		}
		return writeMeta(tx, metaJoin, &next)
	})
	if err == nil {
		j.state = next
	}
	return err
}

// tell says how far it is.
func (j *joiner) tell(f func(p *JoinProgress)) {
	f(&j.told)
	j.told.Rows, j.told.Total = j.state.Rows, max(j.state.Total, j.state.Rows)
	j.opt.Progress(j.told)
}

// stage says that another stage is reached, and that nothing is in its way.
func (j *joiner) stage(s JoinStage) {
	j.tell(func(p *JoinProgress) { p.Stage, p.Trouble, p.Talk = s, "", "" })
}

// run brings the link to its end. over says that it is: done, or given up for good.
func (j *joiner) run(ctx context.Context) (over bool, err error) {
	for _, step := range []func(context.Context) error{j.enter, j.answer, j.reveal, j.receive} {
		if err := j.patiently(ctx, step); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			return j.ends(ctx, err), err
		}
	}
	return true, nil
}

// ends reports whether an error is the end of the link. The other side is told of
// every end that is this device's own.
func (j *joiner) ends(ctx context.Context, err error) bool {
	why := link.Failed
	switch {
	case errors.Is(err, ErrGivenUp), errors.Is(err, ErrCodeUsed):
		return true
	case errors.Is(err, ErrCodeOver), errors.Is(err, ErrLinkLate):
		why = link.Late
	case errors.Is(err, ErrPack), errors.Is(err, ErrForged):
	default:
		return false // the disk, the relay's gate: it can go on later
	}
	told, stop := context.WithTimeout(ctx, uploadWithin)
	defer stop()
	j.giveUp(told, why)
	return true
}

// late fails with ErrLinkLate for a link that was not done in its time. One that is
// complete never ends by itself: this device may be on the list, and then it has all
// that it needs but the list. Only the other device, or a person, ends it.
//
// spec: link.md#how-it-ends
func (j *joiner) late() error {
	if j.state.Ended || time.Now().Unix() <= j.state.Until {
		return nil
	}
	return ErrLinkLate
}

// patiently repeats a step as long as only the network fails.
func (j *joiner) patiently(ctx context.Context, step func(context.Context) error) error {
	for {
		err := step(ctx)
		if !errors.Is(err, ErrNetwork) {
			return err
		}
		if late := j.late(); late != nil {
			return errors.Join(late, err)
		}
		j.tell(func(p *JoinProgress) { p.Trouble = plain(err) })
		if err := pause(ctx, linkRetry); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// enter makes this device a member of the realm.
func (j *joiner) enter(ctx context.Context) error {
	if j.state.Put {
		return nil
	}
	j.stage(JoinEntering)
	secret := j.offer.Entry
	if j.opt.Realm != "" {
		l, found, err := realmLink(j.opt.Realm)
		if err != nil || !found {
			return ErrLink
		}
		secret = (*[32]byte)(l.Secret[:])
	}
	return j.c.enter(ctx, entry{realm: j.state.Realm, secret: secret, home: true}, func(s string) {
		j.tell(func(p *JoinProgress) { p.Talk = s })
	})
}

// answer makes the answer, once, and puts it.
//
// spec: link.md#answer
func (j *joiner) answer(ctx context.Context) error {
	if len(j.state.Answer) == 0 {
		err := j.save(ctx, func(_ vault.Store, s *joinState) error {
			id, err := s.identity()
			if err != nil {
				return err
			}
			defer id.Wipe()
			a, blob, err := link.Answer(j.c.opt.rand(), j.code, j.offer, id.Sign, link.Device{Device: id.Public(), Name: s.Name})
			if err != nil {
				return err
			}
			s.Answer, s.Ephemeral, s.Hash, s.First = blob, a.Ephemeral.Bytes(), a.Hash, a.First.Bytes()
			return nil
		})
		if err != nil {
			return vaultError(err)
		}
		j.c.opt.at(BoundaryJoinAnswered)
	}
	if j.state.Put {
		return nil
	}
	j.stage(JoinWaiting)
	p := linkBlob(j.code.Answer(), j.code.Capability(), j.state.Answer, 1)
	receipt, err := j.relay.PutBlob(ctx, p)
	switch {
	case occupied(receipt, p, err) && receipt.Hash != sha256.Sum256(p.Content):
		return ErrCodeUsed // else it is ours, which was put before a crash, and taken
	case occupied(receipt, p, err):
	case err != nil:
		return networkError(err)
	}
	return vaultError(j.save(ctx, func(_ vault.Store, s *joinState) error { s.Put = true; return nil }))
}

func (j *joiner) answering() (*link.Answering, error) {
	a := &link.Answering{Hash: j.state.Hash}
	var err error
	if a.First, err = key.New[key.LinkRole](j.state.First); err != nil {
		return nil, ErrDamaged
	}
	if len(j.state.Ephemeral) > 0 {
		if a.Ephemeral, err = key.New[key.XWingRole](j.state.Ephemeral); err != nil {
			return nil, ErrDamaged
		}
	}
	return a, nil
}

// reveal waits until the other device has taken the answer.
//
// spec: link.md#reveal
func (j *joiner) reveal(ctx context.Context) error {
	if len(j.state.Root) > 0 {
		return nil
	}
	j.stage(JoinWaiting)
	a, err := j.answering()
	if err != nil {
		return err
	}
	defer a.First.Wipe()
	started := time.Now()
	for {
		blob, err := j.relay.GetBlob(ctx, a.Reveal())
		if err == nil {
			s, err := a.Finish(j.offer, blob)
			if err != nil {
				return ErrForged
			}
			err = j.save(ctx, func(_ vault.Store, st *joinState) error {
				clear(st.Ephemeral)
				st.Ephemeral, st.Root, st.Digits = nil, s.Root.Bytes(), s.Digits
				// The other device counts from the digits, which come later: it ends first.
				st.Until = time.Now().Add(link.Life + linkWithin).Unix()
				return nil
			})
			if err == nil {
				j.c.opt.at(BoundaryJoinAgreed)
			}
			return vaultError(err)
		}
		if !errors.Is(err, transport.ErrNothing) {
			return networkError(err)
		}
		if err := j.left(ctx); err != nil {
			return err
		}
		if time.Since(started) > link.Life {
			return ErrCodeOver
		}
		if err := pause(ctx, linkPoll); err != nil {
			return err
		}
	}
}

// left fails with ErrGivenUp if the other device gave the link up.
func (j *joiner) left(ctx context.Context) error {
	a, err := j.answering()
	if err != nil {
		return err
	}
	defer a.First.Wipe()
	blob, err := j.relay.GetBlob(ctx, a.GaveUp(true))
	switch {
	case errors.Is(err, transport.ErrNothing):
		return nil
	case err != nil:
		return networkError(err)
	}
	why, err := link.OpenGaveUp(a.First, true, blob)
	if err != nil {
		return nil
	}
	return &GaveUp{Mismatch: why == link.Mismatch, Late: why == link.Late}
}

// GaveUp is ErrGivenUp with a reason.
type GaveUp struct {
	Mismatch bool // the digits typed there were wrong
	Late     bool // it took too long
}

func (g *GaveUp) Error() string {
	switch {
	case g.Mismatch:
		return ErrGivenUp.Error() + ": the digits were wrong"
	case g.Late:
		return ErrGivenUp.Error() + ": it took too long"
	}
	return ErrGivenUp.Error()
}

// Is makes it ErrGivenUp.
func (g *GaveUp) Is(target error) bool { return target == ErrGivenUp }

// giveUp tells the other device that this one gave up.
func (j *joiner) giveUp(ctx context.Context, why link.Why) error {
	if len(j.state.First) == 0 {
		return nil
	}
	a, err := j.answering()
	if err != nil {
		return err
	}
	defer a.First.Wipe()
	blob, err := link.SealGaveUp(j.c.opt.rand(), a.First, false, why)
	if err != nil {
		return err
	}
	s := &link.Session{First: a.First}
	_, err = j.relay.PutBlob(ctx, linkBlob(a.GaveUp(false), s.Capability(), blob, 1))
	return err
}
