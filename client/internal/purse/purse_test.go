package purse_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

var pass = []byte("a passphrase for tests")

// vaults is a vault as the purse sees it.
type vaults struct{ *vault.Vault }

func (v vaults) Update(ctx context.Context, f func(purse.Tx) error) error {
	return v.Vault.Update(ctx, func(tx *vault.Tx) error { return f(vault.Store{Tx: tx}) })
}

func (v vaults) View(ctx context.Context, f func(purse.Tx) error) error {
	return v.Vault.View(ctx, func(tx *vault.Tx) error { return f(vault.Store{Tx: tx}) })
}

// device is a purse in a vault that can be opened again, with a clock of its own.
type device struct {
	t   *testing.T
	dir string
	now time.Time
	v   *vault.Vault
	*purse.Purse
}

func newDevice(t *testing.T) *device {
	d := &device{t: t, dir: t.TempDir(), now: time.Date(2026, 5, 4, 9, 30, 0, 0, time.UTC)}
	v, err := vault.Create(d.dir, pass, vault.Params{Memory: 64, Time: 1, Threads: 1, Weak: true})
	if err != nil {
		t.Fatal(err)
	}
	d.start(v)
	t.Cleanup(func() { d.v.Close() })
	return d
}

func (d *device) start(v *vault.Vault) {
	d.v = v
	d.Purse = &purse.Purse{Store: vaults{v}, Now: func() time.Time { return d.now }}
}

// crash opens the vault again, as after a kill.
func (d *device) crash() {
	d.t.Helper()
	if err := d.v.Close(); err != nil {
		d.t.Fatal(err)
	}
	v, err := vault.Open(d.dir, pass)
	if err != nil {
		d.t.Fatal(err)
	}
	d.start(v)
}

// realm issues and takes tokens as a relay should: what it knows of tokens is
// what the purse is tested against.
type realm struct {
	t      *testing.T
	pin    [32]byte
	seed   [32]byte
	since  uint64
	class  uint64
	spent  map[[token.NonceSize]byte]bool
	issued map[string][]byte // request by who, kind, epoch and part
}

func newRealm(t *testing.T) *realm {
	r := &realm{t: t, class: 16384, spent: map[[token.NonceSize]byte]bool{}, issued: map[string][]byte{}, since: 20500}
	rand.Read(r.pin[:])
	rand.Read(r.seed[:])
	return r
}

func (r *realm) issuer(kind token.Kind, epoch uint32) *token.Issuer {
	i, err := token.DeriveIssuer(&r.seed, kind, epoch)
	if err != nil {
		r.t.Fatal(err)
	}
	return i
}

// announcement is what the descriptor says at a time.
func (r *realm) announcement(now time.Time) transport.Announcement {
	a := transport.Announcement{Class: r.class, Since: r.since}
	add := func(kind token.Kind, epoch uint32) {
		a.Issuers = append(a.Issuers, transport.Issuer{Kind: byte(kind), Epoch: epoch, Key: r.issuer(kind, epoch).Public()})
	}
	day, week := token.MemberEpoch(now.Unix()), token.GuestEpoch(now.Unix())
	for e := day - 1; e <= day+1; e++ {
		add(token.Member, e)
	}
	for e := week - 4; e <= week+1; e++ {
		add(token.Guest, e)
	}
	return a
}

// issue answers a request, once for each part.
func (r *realm) issue(body []byte, now time.Time) ([]byte, error) {
	q, err := wire.ParseTokenRequest(body)
	if err != nil {
		return nil, err
	}
	if q.Epoch != token.EpochAt(token.Kind(q.Kind), now.Unix()) {
		return nil, errors.New("not the present epoch")
	}
	name := string(body[:wire.TokenHeadSize]) + string(q.Right)
	if old := r.issued[name]; old != nil && !bytes.Equal(old, body) {
		return nil, transport.ErrLimit
	}
	r.issued[name] = bytes.Clone(body)
	return r.issuer(token.Kind(q.Kind), q.Epoch).Evaluate(q.Blinded, rand.Reader)
}

// take redeems a presented token.
func (r *realm) take(b []byte, use transport.Purpose, binding []byte, now time.Time) error {
	p, err := token.ParsePresented(b)
	if err != nil {
		return err
	}
	if !token.Accepts(p.Kind, p.Epoch, now.Unix()) {
		return errors.New("another epoch")
	}
	if err := r.issuer(p.Kind, p.Epoch).Check(&p, token.RequestHash(token.Purpose(use), binding)); err != nil {
		return err
	}
	if r.spent[p.Nonce] {
		return errors.New("spent twice")
	}
	r.spent[p.Nonce] = true
	return nil
}

// fetch does all that is due now and returns how many requests that were.
func (d *device) fetch(r *realm) (n int) {
	d.t.Helper()
	for {
		j, _, err := d.Due(d.t.Context())
		if err != nil {
			d.t.Fatal(err)
		}
		if j == nil {
			return n
		}
		n++
		body, err := d.Request(d.t.Context(), j, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		answer, err := r.issue(body, d.now)
		if err != nil {
			d.t.Fatal(err)
		}
		if err := d.Finish(d.t.Context(), j, answer); err != nil {
			d.t.Fatal(err)
		}
	}
}

func (d *device) announce(r *realm) error {
	return d.Of(r.pin).Announced(d.t.Context(), r.announcement(d.now))
}

// member makes a device a member, with its first tokens.
func (d *device) member(r *realm) {
	d.t.Helper()
	if err := d.announce(r); err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.Join(d.t.Context(), r.pin, "relay.example", [32]byte{1}); err != nil {
		d.t.Fatal(err)
	}
	if err := d.Joined(d.t.Context(), r.pin); err != nil {
		d.t.Fatal(err)
	}
	d.fetch(r)
}

// pay pays once and has the realm take it.
func (d *device) pay(r *realm, use transport.Purpose) error {
	d.t.Helper()
	var binding [16]byte
	rand.Read(binding[:])
	b, err := d.Of(r.pin).Pay(d.t.Context(), use, binding[:])
	if err != nil {
		return err
	}
	if err := r.take(b, use, binding[:], d.now); err != nil {
		d.t.Fatalf("the realm does not take it: %v", err)
	}
	return nil
}

func (d *device) status(r *realm) purse.Status {
	d.t.Helper()
	all, err := d.Status(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	for _, s := range all {
		if s.Pin == r.pin {
			return s
		}
	}
	return purse.Status{}
}

// long leaves a test out where the race detector makes a batch take seconds.
func long(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 test of the purse: short")
	}
}

func TestNewMemberPaysAtOnceAndIsNamedLinkable(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	if err := d.Of(r.pin).Ready(t.Context(), transport.PayPut); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("before: got %v, want %v", err, transport.ErrEmpty)
	}
	d.member(r)
	st := d.status(r)
	if st.Left != 2*token.Part || st.Reserve != token.Part || !st.Linkable || !st.Member {
		t.Errorf("got %+v, want 2,048 tokens, 1,024 of guests, linkable", st)
	}
	if err := d.pay(r, transport.PayPut); err != nil {
		t.Error(err)
	}
	d.now = d.now.Add(time.Hour)
	if st := d.status(r); st.Linkable || st.Left != 2*token.Part-1 {
		t.Errorf("an hour later: got %+v, want one less, not linkable", st)
	}
}

func TestTokenIsOutOfTheVaultBeforeItIsShown(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	var shown [][]byte
	for range 3 {
		d.Boundary = func(name string) {
			if name == purse.BoundaryTaken {
				panic("killed")
			}
		}
		func() {
			defer func() { recover() }()
			b, _ := d.Of(r.pin).Pay(t.Context(), transport.PayWatch, make([]byte, 16))
			shown = append(shown, b)
		}()
		d.crash()
	}
	if len(shown) != 0 {
		t.Fatal("a token was shown though the process was killed before")
	}
	// Every token that is left is good, once.
	left := d.status(r).Left
	if left != 2*token.Part-3 {
		t.Errorf("got %d tokens left, want those that were taken to be gone", left)
	}
	for range 20 {
		if err := d.pay(r, transport.PayWatch); err != nil {
			t.Fatal(err)
		}
		d.crash()
	}
}

func TestSameRequestAfterACrash(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	first, err := d.Join(t.Context(), r.pin, "relay.example", [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	d.crash()
	if again, err := d.Join(t.Context(), r.pin, "relay.example", [32]byte{7}); err != nil || !bytes.Equal(first, again) {
		t.Errorf("joining again: got another request, %v", err)
	}
	if err := d.Joined(t.Context(), r.pin); err != nil {
		t.Fatal(err)
	}
	j, _, err := d.Due(t.Context())
	if err != nil || j == nil {
		t.Fatalf("got %v, %v, want a batch that is due", j, err)
	}
	body, err := d.Request(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.issue(body, d.now); err != nil { // the answer is lost
		t.Fatal(err)
	}
	d.crash()
	if j, _, err = d.Due(t.Context()); err != nil || j == nil {
		t.Fatalf("got %v, %v, want the batch to be due still", j, err)
	}
	again, err := d.Request(t.Context(), j, nil)
	if err != nil || !bytes.Equal(body, again) {
		t.Errorf("got another request, %v", err)
	}
	if d.fetch(r) != 2 || d.status(r).Left != 2*token.Part {
		t.Errorf("got %+v, want a batch of each kind", d.status(r))
	}
	if again, err := d.Join(t.Context(), r.pin, "", [32]byte{7}); err != nil || again != nil {
		t.Errorf("a member joins: got %x, %v", again, err)
	}
}

// A device that is there every day always has tokens that have rested, and
// fetches once a day, at an hour that differs.
func TestTokensAreThereAheadOfNeed(t *testing.T) {
	long(t)
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	d.now = d.now.Add(time.Hour)
	hours := map[int]int{}
	const days = 8
	for range days * 16 { // 90 minutes at a time
		d.now = d.now.Add(90 * time.Minute)
		if err := d.announce(r); err != nil {
			t.Fatal(err)
		}
		if n := d.fetch(r); n > 0 {
			hours[d.now.Hour()] += n
		}
		if err := d.pay(r, transport.PayPut); err != nil {
			t.Fatalf("at %s: %v, %+v", d.now, err, d.status(r))
		}
	}
	if len(hours) < 2 {
		t.Errorf("got batches fetched at the hours %v, want them anywhere in the day", hours)
	}
	n := 0
	for _, k := range hours {
		n += k
	}
	if n < days || n > days+3 {
		t.Errorf("got %d requests in %d days, want one a day and one a week", n, days)
	}
}

func TestFreshTokensRest(t *testing.T) {
	long(t)
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	d.now = d.now.Add(36 * time.Hour) // the second day
	d.announce(r)
	before := d.status(r).Left
	for d.fetch(r) == 0 {
		d.now = d.now.Add(10 * time.Minute)
	}
	if st := d.status(r); st.Resting != token.Part || st.Left != before || st.Next.Before(d.now.Add(time.Hour-time.Second)) {
		t.Errorf("got %+v, want 1,024 more that rest for an hour", st)
	}
}

// Who was away for days has guest tokens of its own to come back with; without
// them it waits for the hour, and says until when.
func TestComingBackAfterDays(t *testing.T) {
	long(t)
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	d.now = d.now.Add(5 * 24 * time.Hour)
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	if err := d.pay(r, transport.PayWatch); err != nil {
		t.Errorf("with a reserve: %v", err)
	}
	if err := d.pay(r, transport.PayInvite); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("an invite costs a member's token: got %v", err)
	}
	d.now = d.now.Add(60 * 24 * time.Hour)
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	if err := d.pay(r, transport.PayWatch); !errors.Is(err, transport.ErrEmpty) {
		t.Fatalf("after two months: got %v, want %v", err, transport.ErrEmpty)
	}
	for d.fetch(r) == 0 {
		d.now = d.now.Add(5 * time.Second) // within two minutes
	}
	if err := d.pay(r, transport.PayWatch); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("fresh tokens: got %v, want them to rest", err)
	}
	next := d.status(r).Next
	if wait := next.Sub(d.now); wait <= 0 || wait > time.Hour {
		t.Errorf("got %s until there are tokens, want an hour at most", wait)
	}
	d.now = next
	if err := d.pay(r, transport.PayWatch); err != nil {
		t.Errorf("then: %v", err)
	}
	if st := d.status(r); st.Left+st.Resting > 2*token.Part {
		t.Errorf("got %+v, want what is over to be gone", st)
	}
}

func TestOtherKeysAreRefused(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	alone := newRealm(t) // keys for this device alone
	alone.pin, alone.since = r.pin, r.since
	if err := d.announce(alone); !errors.Is(err, transport.ErrIssuer) || !errors.Is(err, transport.ErrIdentity) {
		t.Fatalf("got %v, want %v", err, transport.ErrIssuer)
	}
	if err := d.pay(r, transport.PayPut); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("got %v, want nothing to be paid there", err)
	}
	if d.status(r).Trouble != purse.BadKeys {
		t.Errorf("got %+v, want it to be told", d.status(r))
	}
	d.crash() // it is remembered
	if err := d.pay(r, transport.PayPut); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("after a crash: got %v, want nothing to be paid there", err)
	}
	if err := d.announce(r); err != nil {
		t.Errorf("the right keys again: %v", err)
	}
	if err := d.pay(r, transport.PayPut); err != nil {
		t.Errorf("the right keys again: %v", err)
	}
}

func TestLostStoreIsTakenOnceInSevenDays(t *testing.T) {
	long(t)
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	lost := newRealm(t)
	lost.pin, lost.since = r.pin, r.since+1
	d.now = d.now.Add(time.Minute)
	if err := d.announce(lost); err != nil {
		t.Fatalf("got %v, want it to be taken", err)
	}
	if st := d.status(r); st.Left != 0 || st.Renewed.IsZero() || st.Trouble != purse.NewSeed {
		t.Errorf("got %+v, want no token of the old seed, and that it is told", st)
	}
	if d.fetch(lost) != 2 {
		t.Error("got no new batch of each kind")
	}
	if err := d.pay(lost, transport.PayPut); err != nil {
		t.Errorf("the first key of a realm: %v", err)
	}
	again := newRealm(t)
	again.pin, again.since = r.pin, lost.since+1
	d.now = d.now.Add(3 * 24 * time.Hour)
	if err := d.announce(again); !errors.Is(err, transport.ErrIssuer) {
		t.Errorf("three days later: got %v, want %v", err, transport.ErrIssuer)
	}
	d.now = d.now.Add(4 * 24 * time.Hour)
	if err := d.announce(again); err != nil {
		t.Errorf("seven days later: %v", err)
	}
}

func TestForgedProofIsNotUsed(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	d.Join(t.Context(), r.pin, "relay.example", [32]byte{1})
	d.Joined(t.Context(), r.pin)
	alone := newRealm(t)
	var forged []byte
	j, _, err := d.Due(t.Context())
	if err != nil || j == nil {
		t.Fatal(j, err)
	}
	body, err := d.Request(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	if forged, err = alone.issue(body, d.now); err != nil { // a proof that is right, for another key
		t.Fatal(err)
	}
	if err := d.Finish(t.Context(), j, forged); !errors.Is(err, purse.ErrProof) {
		t.Fatalf("got %v, want %v", err, purse.ErrProof)
	}
	if st := d.status(r); st.Left+st.Resting != 0 || st.Trouble != purse.BadProof {
		t.Errorf("got %+v, want no token, and that it is told", st)
	}
	if next, _, _ := d.Due(t.Context()); next != nil && next.Kind == j.Kind {
		t.Error("got the same batch asked for again")
	}
}

func TestGuestsAreGivenTokensAndOwnReserveStays(t *testing.T) {
	long(t)
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	friend := newDevice(t)
	give := func(n int) (g purse.Gift) {
		t.Helper()
		err := vaults{d.v}.Update(t.Context(), func(tx purse.Tx) (err error) {
			g, err = d.Give(tx, r.pin, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	g := give(16)
	if len(g.Tokens) != 16 {
		t.Fatalf("got %d tokens, want 16", len(g.Tokens))
	}
	keep := func(g purse.Gift) {
		t.Helper()
		err := vaults{friend.v}.Update(t.Context(), func(tx purse.Tx) error { return friend.Keep(tx, "relay.example", g) })
		if err != nil {
			t.Fatal(err)
		}
	}
	keep(g)
	if err := friend.announce(r); err != nil {
		t.Fatal(err)
	}
	for i := range 16 {
		if err := friend.pay(r, transport.PayPut); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := friend.pay(r, transport.PayPut); !errors.Is(err, transport.ErrEmpty) {
		t.Errorf("got %v, want %v", err, transport.ErrEmpty)
	}
	for range 100 { // a flood of gifts is bounded
		keep(give(9))
	}
	if n := friend.status(r).Left; n > 256 || n < 200 {
		t.Errorf("got %d tokens kept of a flood, want 256 at most", n)
	}
	for len(give(16).Tokens) > 0 {
	}
	if n := d.status(r).Reserve; n != 64 {
		t.Errorf("got %d guest tokens left to come back with, want 64", n)
	}
	old := purse.Gift{Pin: sha256.Sum256([]byte("another")), Epoch: g.Epoch - 5, Tokens: make([]token.Raw, 3)}
	keep(old)
	if all, _ := friend.Status(t.Context()); slices.ContainsFunc(all, func(s purse.Status) bool { return s.Pin == old.Pin }) {
		t.Error("got tokens kept that are over")
	}
}

// TestFarEpochsAreNotRemembered: a relay that announces keys without end makes no
// record of it grow.
func TestFarEpochsAreNotRemembered(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	size := func() (n int) {
		err := d.Store.View(t.Context(), func(tx purse.Tx) error {
			rec, err := tx.PurseRealm(r.pin)
			n = len(rec.Keys)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	before := size()
	a := r.announcement(d.now)
	for e := range uint32(100) {
		for k := range byte(5) {
			a.Issuers = append(a.Issuers, transport.Issuer{Kind: k, Epoch: 1_000_000 + e, Key: [32]byte{1}}, transport.Issuer{Kind: k, Epoch: e, Key: [32]byte{1}})
		}
	}
	if err := d.Of(r.pin).Announced(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if n := size(); n != before {
		t.Errorf("got %d keys remembered, want %d as before", n, before)
	}
}

// TestMembershipThatWasForgotten: a new invite makes a device a member again of a
// realm that does not know it any more.
func TestMembershipThatWasForgotten(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	d.member(r)
	if again, err := d.Join(t.Context(), r.pin, "relay.example", [32]byte{2}); err != nil || again != nil {
		t.Fatalf("got %d bytes, %v, want a member to use up no invite", len(again), err)
	}
	d.now = d.now.Add(24 * time.Hour)
	if err := d.announce(r); err != nil {
		t.Fatal(err)
	}
	_, next, err := d.Due(t.Context()) // at some hour of the day
	if err != nil {
		t.Fatal(err)
	}
	d.now = next
	j, _, err := d.Due(t.Context())
	if err != nil || j == nil {
		t.Fatalf("got %v, %v, want a batch to be due", j, err)
	}
	before, err := d.Request(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Failed(t.Context(), j, transport.ErrOutside); err != nil {
		t.Fatal(err)
	}
	if st, err := d.Stands(t.Context(), r.pin); err != nil || !st.Lost {
		t.Errorf("got %+v, %v, want it to be known", st, err)
	}
	request, err := d.Join(t.Context(), r.pin, "relay.example", [32]byte{2})
	if err != nil || len(request) != purse.JoinSize {
		t.Fatalf("got %d bytes, %v, want a request to become a member again", len(request), err)
	}
	if err := d.Joined(t.Context(), r.pin); err != nil {
		t.Fatal(err)
	}
	if st := d.status(r); st.Trouble != purse.Fine || !st.Member {
		t.Errorf("got %+v, want a member without trouble", st)
	}
	if j, _, err = d.Due(t.Context()); err != nil || j == nil {
		t.Fatalf("got %v, %v, want the batch to be due at once", j, err)
	}
	if after, err := d.Request(t.Context(), j, nil); err != nil || !bytes.Equal(before, after) {
		t.Errorf("got another request, %v, want the very same", err)
	}
}

// TestOthersRealmsLeaveRoom: however many realms contacts made a device know, it
// enters one of its own.
func TestOthersRealmsLeaveRoom(t *testing.T) {
	d, r := newDevice(t), newRealm(t)
	err := d.Store.Update(t.Context(), func(tx purse.Tx) error {
		for i := range 300 {
			g := purse.Gift{Pin: [32]byte{1, byte(i), byte(i >> 8)}, Epoch: token.GuestEpoch(d.now.Unix()), Tokens: make([]token.Raw, 1)}
			if err := d.Keep(tx, "elsewhere.example", g); err != nil {
				return err
			}
		}
		all, err := tx.PurseRealms()
		if len(all) >= 300 {
			t.Errorf("got %d realms, want a bound", len(all))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Join(t.Context(), r.pin, "relay.example", [32]byte{1}); err != nil {
		t.Errorf("got %v, want to enter it", err)
	}
}
