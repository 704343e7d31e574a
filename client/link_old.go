package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/stream"
)

// linker is a link on the device that offers.
//
// spec: link.md#how-it-ends
type linker struct {
	c    *Client
	kick chan struct{} // wakes run

	mu      sync.Mutex // guards all below
	version int64
	changed chan struct{} // closed at every change
	way     string
	trouble string
	last    Link      // what it came to, once it is over; set before that is committed
	heardAt time.Time // when the new device last said something new, or the digits were right
	server  *linkServer
	old     []*linkServer // hung up; something of them may still run
}

func newLinker(c *Client) *linker {
	return &linker{c: c, kick: make(chan struct{}, 1), changed: make(chan struct{}), last: Link{Stage: LinkNone}}
}

func (l *linker) wake() {
	select {
	case l.kick <- struct{}{}:
	default:
	}
}

// touch tells everybody who waits that something changed.
func (l *linker) touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.version++
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *linker) changes() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed
}

// start makes an offer.
//
// spec: link.md#offer
func (l *linker) start(ctx context.Context, o LinkOptions) (Link, error) {
	c := l.c
	p := c.home()
	switch {
	case p.Live == 0:
		return Link{}, ErrNoRelay
	case !c.engine.Self.HasRoot():
		return Link{}, ErrNotRoot
	}
	carries, err := l.carries(ctx, p)
	if err != nil {
		return Link{}, err
	}
	if before, err := l.load(ctx); err != nil {
		return Link{}, vaultError(err)
	} else if before != nil && before.goesOn() {
		l.hangUp()
	}
	var ports []string
	if !o.RelayOnly {
		ports = l.listen(nil)
	}
	err = c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		old := &linkState{}
		if found, err := readMeta(tx.Tx, metaLink, old); err != nil {
			return nil, err
		} else if found && old.goesOn() {
			if err := dropMessages(tx.Tx, old.Acked, old.Next); err != nil {
				return nil, err
			}
			if err := part(tx.Tx, &linkState{Realm: old.Realm, Secret: old.Secret, Put: true, Expires: old.Expires}); err != nil {
				return nil, err
			}
		} else if found && old.Phase == phaseEnding {
			if err := part(tx.Tx, old); err != nil {
				return nil, err
			}
		} else if found {
			return nil, ErrLinking
		}
		if !room(c.engine.Self) {
			return nil, ErrDevices
		}
		s, err := c.newOffer(now, p, carries, ports)
		if err != nil {
			return nil, err
		}
		l.note(Link{Stage: LinkNone})
		return nil, writeMeta(tx.Tx, metaLink, s)
	})
	if err != nil {
		if !errors.Is(err, ErrLinking) {
			l.hangUp()
		}
		return Link{}, err
	}
	c.opt.at(BoundaryLinkOffered)
	l.mu.Lock()
	l.way = ""
	l.mu.Unlock()
	l.touch()
	l.wake()
	return l.state(ctx)
}

// room reports whether another device can be listed.
func room(id *device.Identity) bool {
	n := 0
	for _, d := range id.Manifest.Devices {
		if !d.Revoked {
			n++
		}
	}
	return n < 8
}

// carries reports whether the offer must make the new device a member of our realm.
func (l *linker) carries(ctx context.Context, p profile) (bool, error) {
	st, err := l.c.purse.Stands(ctx, p.Realm.Pin)
	switch {
	case err != nil:
		return false, vaultError(err)
	case st.Wants && st.Gate == gateClosed:
		return false, ErrRealmShut
	}
	return st.Member && st.Gate == gateInvite, nil
}

func (c *Client) newOffer(now time.Time, p profile, carries bool, ports []string) (*linkState, error) {
	s := &linkState{Phase: phaseOffered, Realm: p.Realm, Expires: now.Add(link.Life).Unix(), Ports: ports}
	m := c.engine.Self.Manifest
	o := &link.Offer{Realm: p.Realm.Pin, Expiry: uint64(s.Expires), Device: byte(c.engine.Self.Place(m)), Name: p.Name, Manifest: m, Addresses: parsePorts(ports)}
	if _, err := io.ReadFull(c.opt.rand(), o.Salt[:]); err != nil {
		return nil, err
	}
	if carries {
		o.Entry = new([32]byte)
		if _, err := io.ReadFull(c.opt.rand(), o.Entry[:]); err != nil {
			return nil, err
		}
		h := purse.InviteHash(*o.Entry)
		s.Entry = h[:]
	}
	keep, err := link.NewOffering(c.opt.rand(), o)
	if err != nil {
		return nil, err
	}
	s.Secret = link.SecretOf(m.Root, o.Salt)
	s.Ephemeral, s.Nonce = keep.Ephemeral.Bytes(), keep.Nonce
	s.Offer, err = o.Seal(c.opt.rand(), s.code(), c.engine.Self.Sign)
	return s, err
}

// answered takes the answer that lies at the relay.
//
// spec: link.md#reveal
func (l *linker) answered(ctx context.Context, of *linkState, blob []byte) error {
	c := l.c
	bad := false
	err := l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase != phaseOffered {
			return nil, nil
		}
		o, err := s.offer()
		if err != nil {
			return nil, vault.ErrDamaged
		}
		keep := &link.Offering{Nonce: s.Nonce}
		if keep.Ephemeral, err = key.New[key.XWingRole](s.Ephemeral); err != nil {
			return nil, vault.ErrDamaged
		}
		defer keep.Ephemeral.Wipe()
		session, d, reveal, err := keep.Accept(c.opt.rand(), s.code(), o, blob)
		if err == nil {
			_, err = c.engine.Self.Admit(now, d.Device)
		}
		if err != nil {
			bad = true
			return nil, nil
		}
		clear(s.Ephemeral)
		*s = linkState{
			Phase: phaseAnswered, Realm: s.Realm, Secret: s.Secret, Expires: now.Add(link.Life).Unix(), Ports: s.Ports,
			First: session.First.Bytes(), Root: session.Root.Bytes(), Digits: session.Digits, Reveal: reveal,
			Sign: d.Sign, DH: d.DH, XWing: d.XWing, Name: d.Name,
		}
		return nil, nil
	})
	if bad {
		return l.end(ctx, of, link.Failed, "what answered the code is no device of this version, or is on the list already")
	}
	if err == nil {
		c.opt.at(BoundaryLinkAnswered)
	}
	return err
}

// confirm compares digits, and begins the pack if they are right.
//
// spec: link.md#pack
func (l *linker) confirm(ctx context.Context, digits string) error {
	c := l.c
	wrong, over := false, false
	of, err := l.load(ctx)
	if err != nil {
		return vaultError(err)
	}
	if of == nil {
		return ErrNoLink
	}
	err = l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase != phaseAnswered {
			return nil, ErrNoLink
		}
		session, err := s.session()
		if err != nil {
			return nil, err
		}
		defer session.Wipe()
		if s.Tries >= linkTries || !session.SameDigits(digits) {
			s.Tries++ // the end of a link that was wrong often enough may have been cut off
			wrong, over = true, s.Tries >= linkTries
			return nil, nil
		}
		// Before the commit: who looks after it must not take the local network, which is
		// given a moment from now on, for silent.
		l.begun()
		l.progress()
		return l.begin(tx, now, s, session)
	})
	switch {
	case err != nil:
		return err
	case over:
		err = l.end(ctx, of, link.Mismatch, "the digits were wrong three times: another device than yours may have answered")
		return errors.Join(ErrDigits, err)
	case wrong:
		return ErrDigits
	}
	c.opt.at(BoundaryLinkBegun)
	l.wakeServer()
	l.wake()
	return nil
}

// begin notes what belongs to the pack. From here on what is said is told to the new
// device in the session to come.
func (l *linker) begin(tx vault.Store, now time.Time, s *linkState, session *link.Session) (*convo.Change, error) {
	c := l.c
	card, ch, err := c.engine.Welcome(tx, now, s.device())
	if err != nil {
		return nil, err
	}
	if _, err := c.engine.Cards(tx); err != nil { // so that changes are told from now on
		return nil, err
	}
	if s.Pack, err = tx.BeginPack(packTables()...); err != nil {
		return nil, err
	}
	s.Phase, s.Card, s.Expires = phaseSending, card, now.Add(linkWithin).Unix()
	blob, err := l.stream(s, session)
	if err != nil {
		return nil, err
	}
	s.Next = 1
	return ch, putMessage(tx.Tx, 0, blob)
}

// fill makes pieces as long as there is room among those under way.
func (l *linker) fill(ctx context.Context, of *linkState) error {
	for {
		more := false
		err := l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
			if s.Phase != phaseSending || s.Sealed || s.Next-s.Acked >= linkWindow {
				return nil, nil
			}
			more = true
			return nil, l.piece(tx, now, s)
		})
		if err != nil || !more {
			return err
		}
		l.c.opt.at(BoundaryLinkPiece)
		l.wakeServer()
	}
}

// piece makes the next piece. It is committed with the place that it ends at, so
// that no chunk is ever sealed twice.
func (l *linker) piece(tx vault.Store, now time.Time, s *linkState) error {
	session, err := s.session()
	if err != nil {
		return err
	}
	defer session.Wipe()
	chunks := linkPieceIn
	p := packing{tx: tx, to: s.Sign, of: map[int64]bool{}, last: s.Pack.Of(vault.Event), groups: l.c.groups.engine, now: now}
	plain, err := tx.Pack(s.Pack, make([]byte, 0, chunks*stream.ChunkSize), chunks*stream.ChunkSize, p.keep)
	if err != nil {
		return err
	}
	if s.Pack.Done() && len(plain) <= stream.ChunkSize {
		chunks, s.Sealed = 1, true
	}
	k := session.Stream()
	defer k.Wipe()
	sealer, err := stream.ResumeSealer(k, stream.Header(s.Header), []byte(link.Context), s.Chunk)
	if err != nil {
		return vault.ErrDamaged
	}
	plain = append(plain, make([]byte, chunks*stream.ChunkSize-len(plain))...)
	defer clear(plain)
	blob := make([]byte, 0, chunks*stream.SealedSize)
	for i := range chunks {
		if blob, err = sealer.Seal(blob, plain[i*stream.ChunkSize:(i+1)*stream.ChunkSize], s.Sealed); err != nil {
			return err
		}
	}
	if err := putMessage(tx.Tx, s.Next, blob); err != nil {
		return err
	}
	s.Next, s.Chunk = s.Next+1, sealer.Next()
	return nil
}

// heard takes a state of the new device, by whatever way it came.
func (l *linker) heard(ctx context.Context, of *linkState, st link.Status, byRelay bool) error {
	c := l.c
	admitted, done, moved := false, false, false
	err := l.update(ctx, of, func(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
		if byRelay {
			s.Up++
		}
		if s.Phase != phaseSending && s.Phase != phaseAdmitted || st.Next > s.Next {
			return nil, nil
		}
		if st.Next > s.Acked {
			moved = true
			if err := dropMessages(tx.Tx, s.Acked, st.Next); err != nil {
				return nil, err
			}
			s.Acked = st.Next
		}
		switch {
		case st.Phase == link.Linked && s.Phase == phaseAdmitted:
			done = true
			return nil, l.done(tx, s)
		case st.Phase == link.Complete && s.Phase == phaseSending && s.Sealed && s.Acked == s.Next:
			admitted = true
			return l.admit(tx, now, s)
		}
		return nil, nil
	})
	switch {
	case err != nil:
		return err
	case admitted:
		c.opt.at(BoundaryLinkAdmitted)
		c.wake()
	case done:
		c.opt.at(BoundaryLinkDone)
		l.over()
	}
	if moved || admitted {
		l.progress()
	}
	l.wakeServer()
	l.wake()
	return nil
}

// again begins another stream for what is left of the pack, once in every process: a
// disk that was put back to an earlier state must not seal two texts under one nonce.
//
// spec: link.md#pack
func (l *linker) again(ctx context.Context) error {
	of, err := l.load(ctx)
	if err != nil || of == nil {
		return err
	}
	return l.update(ctx, of, func(tx vault.Store, _ time.Time, s *linkState) (*convo.Change, error) {
		if s.Phase != phaseSending || s.Sealed || s.Chunk == 0 {
			return nil, nil
		}
		session, err := s.session()
		if err != nil {
			return nil, err
		}
		defer session.Wipe()
		blob, err := l.stream(s, session)
		if err != nil {
			return nil, err
		}
		s.Next++
		return nil, putMessage(tx.Tx, s.Next-1, blob)
	})
}

// stream begins a stream for the pack, and makes the message that says so.
func (l *linker) stream(s *linkState, session *link.Session) ([]byte, error) {
	k := session.Stream()
	defer k.Wipe()
	_, h, err := stream.NewSealer(l.c.opt.rand(), k, []byte(link.Context))
	if err != nil {
		return nil, err
	}
	s.Header, s.Chunk = h[:], 0
	return session.SealDown(l.c.opt.rand(), s.Next, link.Control{Kind: link.Begin, Header: h, Rows: s.Pack.Total})
}

// progress notes that the new device said something new.
func (l *linker) progress() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.heardAt = time.Now()
}

// admit signs the manifest in which the new device stands: it has the whole pack.
func (l *linker) admit(tx vault.Store, now time.Time, s *linkState) (*convo.Change, error) {
	c := l.c
	m, err := c.engine.Self.Admit(now, s.device())
	if err != nil {
		return nil, err
	}
	ch, err := c.engine.Adopt(tx, now, m)
	if err != nil {
		return nil, err
	}
	if err := c.nameDevice(tx, now, s.Sign, s.Name, ch); err != nil {
		return nil, err
	}
	session, err := s.session()
	if err != nil {
		return nil, err
	}
	defer session.Wipe()
	body, err := cbor.Marshal(admission{m.Append(nil), s.Card, c.home()})
	if err != nil {
		return nil, err
	}
	blob, err := session.SealDown(c.opt.rand(), s.Next, link.Control{Kind: link.Admitted, Body: body})
	if err != nil {
		return nil, err
	}
	if err := putMessage(tx.Tx, s.Next, blob); err != nil {
		return nil, err
	}
	s.Next++
	s.Phase, s.Expires = phaseAdmitted, now.Add(linkKept*24*time.Hour).Unix()
	return ch, nil
}
