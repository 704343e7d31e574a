package client

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/device"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/stream"
)

const (
	joinAsks = 4                // messages after which the other side is told by the relay
	joinIdle = 20 * time.Second // between two signs of life on the local network
	joinBye  = 10 * time.Second // to say that this device works: its sessions say so, too
)

// errLinked ends receiving: the manifest was taken.
var errLinked = errors.New("linked")

// receive takes the pack and the manifest.
//
// spec: link.md#messages
func (j *joiner) receive(ctx context.Context) error {
	s, err := sessionOf(j.state.First, j.state.Root, j.state.Digits)
	if err != nil {
		return err
	}
	defer s.Wipe()
	j.show()
	local := !j.opt.RelayOnly && j.c.opt.Network.Proxy() == ""
	for tries := 0; err == nil || errors.Is(err, ErrNetwork); tries++ {
		if local && tries < 3 {
			if err = j.byNetwork(ctx, s); err != nil && !errors.Is(err, ErrNetwork) {
				break
			}
		}
		if err = j.byRelay(ctx, s); err != nil {
			break
		}
	}
	if errors.Is(err, errLinked) {
		j.c.opt.at(BoundaryJoinLinked)
		j.stage(JoinLinked)
		return nil
	}
	return err
}

// show says the stage that the state is in.
func (j *joiner) show() {
	switch {
	case j.state.Ended:
		j.stage(JoinComplete)
	case j.state.Next > 0:
		j.stage(JoinReceiving)
	default:
		j.tell(func(p *JoinProgress) { p.Stage, p.Digits, p.Trouble, p.Talk = JoinDigits, j.state.Digits, "", "" })
	}
}

func (j *joiner) status() link.Status {
	st := link.Status{Phase: link.Receiving, Next: j.state.Next}
	if j.state.Ended {
		st.Phase = link.Complete
	}
	return st
}

// take deals with message n, whatever way it came. It fails with errLinked once this
// device is linked. Messages that are here already are passed over.
func (j *joiner) take(ctx context.Context, s *link.Session, n uint32, blob []byte) error {
	if n != j.state.Next {
		return nil
	}
	var err error
	linked := false
	switch {
	case len(blob) == link.BlobSize:
		c, openErr := s.OpenDown(n, blob)
		switch {
		case openErr != nil:
			return ErrPack
		case c.Kind == link.Begin && !j.state.Ended: // the other side begins a stream in every process
			err = j.save(ctx, func(_ vault.Store, st *joinState) error {
				st.Header, st.Total, st.Chunk, st.Next = c.Header[:], c.Rows, 0, n+1
				return nil
			})
		case c.Kind == link.Admitted && j.state.Ended:
			linked, err = true, j.adopt(ctx, c.Body)
		default:
			return ErrPack
		}
	case len(j.state.Header) == 0 || j.state.Ended:
		return ErrPack
	default:
		err = j.save(ctx, func(tx vault.Store, st *joinState) error { return j.piece(tx, st, s, blob) })
	}
	switch {
	case errors.Is(err, vault.ErrPack), errors.Is(err, vault.ErrRow), errors.Is(err, vault.ErrDuplicate):
		return ErrPack
	case err != nil:
		return vaultError(err)
	case linked:
		return errLinked
	}
	j.c.opt.at(BoundaryJoinPiece)
	j.show()
	return nil
}

// piece imports a piece.
//
// spec: link.md#pack
func (j *joiner) piece(tx vault.Store, st *joinState, s *link.Session, blob []byte) error {
	k := s.Stream()
	defer k.Wipe()
	o, err := stream.ResumeOpener(k, stream.Header(st.Header), []byte(link.Context), st.Chunk)
	if err != nil {
		return vault.ErrPack
	}
	last := len(blob) == stream.SealedSize
	if !last && len(blob) != linkPieceIn*stream.SealedSize {
		return vault.ErrPack
	}
	var plain []byte
	for len(blob) > 0 {
		if plain, err = o.Open(plain, blob[:stream.SealedSize], last); err != nil {
			return vault.ErrPack
		}
		blob = blob[stream.SealedSize:]
	}
	defer clear(plain)
	rows, err := vault.ParsePiece(plain, packTables()...)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := unpack(tx, r); err != nil {
			return err
		}
	}
	st.Chunk, st.Next, st.Ended, st.Rows = o.Next(), st.Next+1, last, st.Rows+uint64(len(rows))
	return nil
}

// adopt takes the manifest: from here on this is a profile like any other.
func (j *joiner) adopt(ctx context.Context, body []byte) error {
	var a admission
	if cbor.Unmarshal(body, &a) != nil {
		return ErrPack
	}
	m, err := manifest.Parse(a.Manifest)
	if err != nil || m.Root != j.offer.Manifest.Root || a.Profile.Realm != j.state.Realm || a.Profile.Live == 0 {
		return ErrPack
	}
	id, err := j.state.identity()
	if err != nil {
		return err
	}
	defer id.Wipe()
	e := &convo.Engine{Self: id, Rand: j.c.opt.rand(), Name: a.Profile.Name, Home: convo.Home{Realm: a.Profile.Realm, Live: a.Profile.Live}}
	e.Keep = func(tx convo.Tx) error { return keepIdentity(tx.(vault.Store).Tx, id) }
	err = j.c.vault.Update(ctx, func(tx *vault.Tx) error {
		now, s := time.Now(), vault.Store{Tx: tx}
		id.Manifest = nil
		if _, err := e.Adopt(s, now, m); err != nil {
			if isVault(err) {
				return err
			}
			return errors.Join(vault.ErrPack, err)
		}
		if _, err := e.TakeCard(s, now, a.Card); err != nil {
			return errors.Join(vault.ErrPack, err)
		}
		if _, err := e.Agree(s, now, deviceKey(id.Name()), []byte(j.state.Name)); err != nil {
			return err
		}
		if err := putProfile(tx, &a.Profile); err != nil {
			return err
		}
		return tx.Delete(vault.Meta, metaJoin)
	})
	return err
}

// keepIdentity stores who we are.
func keepIdentity(tx *vault.Tx, id *device.Identity) error {
	raw, err := id.Append(nil)
	if err != nil {
		return err
	}
	return tx.Put(vault.Meta, vault.Row{ID: metaIdentity, V: raw})
}

// byRelay takes messages from the relay. It returns an error of the network to be
// tried again, or with errLinked.
func (j *joiner) byRelay(ctx context.Context, s *link.Session) error {
	j.told.Way = "relay"
	said := j.state.Next
	first, heard := true, time.Now()
	for {
		n := j.state.Next
		blob, err := j.relay.GetBlob(ctx, s.Down(n))
		switch {
		case err == nil:
			err := j.take(ctx, s, n, blob)
			if errors.Is(err, errLinked) {
				j.bye(ctx, s)
			}
			if err != nil {
				return err
			}
			heard = time.Now()
			j.relay.DeleteBlob(ctx, s.Down(n), s.Capability()) // it ends by itself, too
			if j.state.Next-said < joinAsks && !j.state.Ended {
				continue
			}
		case !errors.Is(err, transport.ErrNothing):
			return networkError(err)
		}
		if j.state.Next != said || first && j.state.Next > 0 {
			if err := j.sayByRelay(ctx, s, j.status()); err != nil {
				return err
			}
			said, first = j.state.Next, false
		}
		if err != nil { // nothing more is there
			if err := j.left(ctx); err != nil {
				return err
			}
			wait := slower(time.Since(heard))
			if j.state.Next == 0 {
				wait = max(wait, linkPoll)
			}
			if err := j.late(); err != nil {
				return err
			}
			if err := pause(ctx, wait); err != nil {
				return err
			}
		}
	}
}

// sayByRelay puts a state. One that a crash kept from being noted lies there
// already: the next number takes this one.
func (j *joiner) sayByRelay(ctx context.Context, s *link.Session, st link.Status) error {
	for {
		n := j.state.Up
		blob, err := s.SealUp(j.c.opt.rand(), n, st)
		if err != nil {
			return err
		}
		p := linkBlob(s.Up(n), s.Capability(), blob, 1)
		receipt, err := j.relay.PutBlob(ctx, p)
		there := occupied(receipt, p, err)
		if err != nil && !there {
			return networkError(err)
		}
		if st.Phase == link.Linked {
			j.state.Up++ // the state is gone from the vault
		} else if err := j.save(ctx, func(_ vault.Store, js *joinState) error { js.Up = n + 1; return nil }); err != nil {
			return vaultError(err)
		}
		if !there {
			return nil
		}
		// A relay that has every place taken is not to be asked without end.
		if err := pause(ctx, linkBusy); err != nil {
			return err
		}
	}
}

// bye says that this device works, if that can be said quickly.
func (j *joiner) bye(ctx context.Context, s *link.Session) {
	ctx, stop := context.WithTimeout(ctx, joinBye)
	defer stop()
	st := link.Status{Phase: link.Linked, Next: j.state.Next + 1}
	for j.sayByRelay(ctx, s, st) != nil && pause(ctx, linkRetry) == nil {
	}
}

// byNetwork takes messages by the local network, if the other device is there. It
// returns nil or ErrNetwork when it is not, or not any more.
func (j *joiner) byNetwork(ctx context.Context, s *link.Session) error {
	conn := j.dial(ctx)
	if conn == nil {
		return nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	hello, err := s.Hello(j.c.opt.rand())
	if err != nil {
		return err
	}
	if _, err := conn.Write(hello[:]); err != nil {
		return nil
	}
	j.told.Way = "network"
	var mu sync.Mutex // one writer at a time; guards st
	st := j.status()
	say := func(now *link.Status) error {
		mu.Lock()
		defer mu.Unlock()
		if now != nil {
			st = *now
		}
		blob, err := s.SealUp(j.c.opt.rand(), 0, st)
		if err != nil {
			return err
		}
		return writeFrame(conn, 0, blob)
	}
	alive, stop := context.WithCancel(ctx)
	var beat sync.WaitGroup
	defer beat.Wait()
	defer stop()
	beat.Go(func() {
		for pause(alive, joinIdle) == nil && say(nil) == nil {
		}
	})
	for err = say(nil); err == nil; {
		n, blob, readErr := readFrame(conn, localQuiet)
		if errors.Is(readErr, errQuiet) {
			// Nothing may be there, or nothing may come through.
			_, at := j.relay.GetBlob(ctx, s.Down(j.state.Next))
			if errors.Is(at, transport.ErrNothing) {
				if err := j.left(ctx); err != nil && !errors.Is(err, ErrNetwork) {
					return err
				}
			}
			if at != nil && ctx.Err() == nil {
				continue
			}
			break
		}
		if readErr != nil {
			break
		}
		if err = j.take(ctx, s, n, blob); errors.Is(err, errLinked) {
			say(&link.Status{Phase: link.Linked, Next: j.state.Next + 1})
			return err
		} else if errors.Is(err, ErrPack) {
			break // somebody else's bytes: the relay's way goes on
		} else if err != nil {
			return err
		}
		now := j.status()
		err = say(&now)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return j.left(ctx)
}

// dial tries the addresses in the offer, all at once.
func (j *joiner) dial(ctx context.Context) net.Conn {
	ctx, stop := context.WithTimeout(ctx, localWithin)
	defer stop()
	got := make(chan net.Conn, len(j.offer.Addresses))
	var all []netip.AddrPort
	for _, a := range j.offer.Addresses {
		// Others than those of a private network nobody offers in good faith.
		if a.Addr().Unmap().IsPrivate() || j.c.opt.localHosts != nil {
			all = append(all, a)
		}
	}
	for _, a := range all {
		go func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", a.String())
			if err != nil {
				conn = nil
			}
			got <- conn
		}()
	}
	var first net.Conn
	for range all {
		conn := <-got
		switch {
		case conn == nil:
		case first == nil:
			first = conn
			stop() // the others
		default:
			conn.Close()
		}
	}
	return first
}
