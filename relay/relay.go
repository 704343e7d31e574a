// Package relay is Tacet's server: it carries sealed cells of one size between
// rotating addresses, keeps opaque blobs, and holds nothing that says who talks
// to whom. New makes one from a Config, Handler is its API, Run serves it.
//
// The parts live below internal/: hub (the live path), blob (blobs and their
// receipts), park (cells that wait for who is away), gate (limits,
// members, tokens), wake (tickets that wake sleeping devices), proxy (what a proxy in front says of its
// client), acme (certificates for names), memory, sqlite, postgres and redis (stores), audit (what they
// may keep), archive (the file of a backup). This package
// joins them: configuration, data directory, realm key, TLS, the guard in front
// of every request, the status socket, doctor. It opens no message, and has no
// code that could; pool, shelf, log and front are not in it.
//
// Spec: docs/spec/relay-api.md.
package relay

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/blob"
	"github.com/tacet-chat/tacet/relay/internal/bus"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/hub"
	"github.com/tacet-chat/tacet/relay/internal/memory"
	"github.com/tacet-chat/tacet/relay/internal/proxy"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
	"github.com/tacet-chat/tacet/relay/internal/wake"
)

// labelTime derives the key that signs the second from the realm key.
const labelTime = "tacet/v1/relay/time"

const (
	sweepEvery = 5 * time.Minute
	maxMemory  = 64 << 20 // bytes of blobs where there is no disk

	// Addresses that are watched from everywhere: most devices have 16, and a
	// stranger's 4,096 on each connection would be 2 GiB.
	perConnection = 64
	minAddresses  = 1 << 18
)

// Relay is one relay.
type Relay struct {
	cfg    Config
	log    *slog.Logger
	seldom seldom
	began  time.Time

	realm  key.Sign
	public key.SignPublic
	certs  *certificates // nil without TLS
	gate   *gate.Gate
	hub    *hub.Hub
	mesh   *bus.Mesh     // nil without a cluster
	link   link          // of mesh
	peers  *certificates // for routes to other nodes; nil without
	blobs  *blob.Blobs   // nil if the role is off
	parked parking       // nothing if the role is off
	shared backends      // nothing if nodes share nothing
	disk   *sqlite.Store // nil without a data directory or the role
	keeper *gate.Keeper  // nil if the role token is off
	keeps  gateStores

	gateway   *wake.Gateway   // nil without the role
	forwarder *wake.Forwarder // nil if the role live is off

	says       wire.Descriptor // without what changes with the day
	descriptor atomic.Pointer[announcement]
	handler    http.Handler
	unlock     func() error
	lying      atomic.Int64           // blobs, as of the last sweep
	measured   atomic.Pointer[[]byte] // metrics, as of the last minute
	counted    atomic.Pointer[Totals] // as of the last minute

	trust proxy.Trust

	mu    sync.Mutex   // guards the rest
	ln    net.Listener // nil until Listen
	onion net.Listener // nil until Listen, or if there is none
	used  bool         // ln is somebody else's
}

// New makes a relay: it takes the data directory and reads or makes the realm
// key. Whoever calls New calls Run or Close. Errors that an operator can do
// something about are of type *Problem.
func New(cfg Config) (_ *Relay, err error) {
	cfg.fill()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	r := &Relay{cfg: cfg, log: newLog(cfg.Log), began: time.Now()}
	if r.trust, err = proxy.ParseTrust(cfg.ProxyTrust); err != nil {
		return nil, err // check has looked
	}
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if err := r.openRealm(); err != nil {
		return nil, err
	}
	if r.gate, err = gate.New(gate.Limits{
		Connections: cfg.LimitConnections, Watches: cfg.LimitWatches, Puts: cfg.LimitPuts, Blobs: cfg.LimitBlobs, Reads: cfg.LimitReads,
		Held: cfg.MaxConnections, Sockets: sockets(), Alone: r.alone(),
	}, rand.Reader); err != nil {
		return nil, err
	}
	if err := r.openShared(); err != nil {
		return nil, err
	}
	if err := r.openGate(); err != nil {
		return nil, err
	}
	if r.has(RoleBlob) {
		if err := r.openBlobs(); err != nil {
			return nil, err
		}
	}
	if err := r.openWake(); err != nil {
		return nil, err
	}
	second := key.Derive[key.SignRole](r.realm.Bytes(), labelTime)
	if cfg.secure() {
		if r.certs, err = newCertificates(r.realm, time.Now); err != nil {
			return nil, err
		}
		if r.certs.names, err = names(&r.cfg, r.nameFailed); err != nil {
			return nil, err
		}
	}
	var others bus.Bus
	if cfg.clustered() {
		if err := r.openMesh(); err != nil {
			return nil, err
		}
		others = r.mesh
	}
	r.hub = hub.New(hub.Config{
		Bus:   others,
		Realm: r.public, Time: second, Live: time.Duration(cfg.Period) * time.Second, Ping: time.Duration(cfg.Ping) * time.Second,
		WindowBytes: cfg.WindowMiB << 20, QueueBytes: cfg.QueueMiB << 20, Addresses: max(minAddresses, perConnection*cfg.MaxConnections), Binding: cfg.secure(), Origins: cfg.Origins, Limit: r.gate, Keeper: r.keeper,
	})
	if r.has(RolePark) {
		if err := r.openParking(); err != nil {
			return nil, err
		}
	}
	if err := r.describe(key.SignPublicOf(second)); err != nil {
		return nil, err
	}
	r.handler = r.guard(r.routes())
	return r, nil
}

// alone reports whether only peers on loopback can come.
func (r *Relay) alone() bool {
	return r.cfg.loopback() && r.cfg.front() == frontNone && r.cfg.Onion == "" && r.cfg.Listener == nil
}

func (r *Relay) has(role string) bool { return slices.Contains(r.cfg.Roles, role) }

// openRealm takes the data directory, if there is to be one, and the realm key.
func (r *Relay) openRealm() (err error) {
	made := false
	if r.cfg.Data == "" {
		r.realm, err = key.Generate[key.SignRole](rand.Reader)
	} else {
		if r.unlock, err = openData(r.cfg.Data); err != nil {
			return err
		}
		if err := removeCopies(r.cfg.Data); err != nil {
			return advise(err, r.cfg.Data)
		}
		r.realm, made, err = realmKey(r.cfg.Data)
	}
	if err != nil {
		return err
	}
	if made {
		r.log.Info(eventKey)
	}
	r.public = key.SignPublicOf(r.realm)
	return nil
}

// openBlobs opens the store and puts the feature over it.
func (r *Relay) openBlobs() error {
	var store blob.Store
	room := int64(r.cfg.BlobMiB) << 20
	if r.shared.db != nil {
		store = r.shared.db.Blobs(room)
	} else if r.cfg.Data == "" {
		m, err := memory.NewBlobs(min(room, maxMemory), rand.Reader)
		if err != nil {
			return err
		}
		store = m
	} else {
		d, err := sqlite.Open(sqlite.Options{Path: filepath.Join(r.cfg.Data, blobFile), Max: room, Random: rand.Reader})
		if err != nil {
			return advise(err, r.cfg.Data)
		}
		if d.Renewed() {
			r.log.Warn(eventRenewed)
		}
		store, r.disk = d, d
	}
	r.blobs = blob.New(blob.Config{Store: store, Limit: r.gate, Keeper: r.keeper, Now: r.cfg.Now, Failed: r.storeFailed})
	return nil
}

// storeFailed writes down that the store failed, and the sort of reason.
func (r *Relay) storeFailed(err error) {
	if c := cause(err); r.seldom.allow(eventStore+c, time.Now()) {
		r.log.Error(eventStore, "cause", c)
	}
}

// nameFailed writes down that a certificate could not be had. Status says why.
func (r *Relay) nameFailed() {
	if r.seldom.allow(eventName, time.Now()) {
		r.log.Warn(eventName)
	}
}

// describe makes the descriptor.
//
// spec: relay-api.md#realm
func (r *Relay) describe(second key.SignPublic) error {
	d := wire.Descriptor{
		Version: 1, Realm: r.public, Time: second, Period: uint64(r.cfg.Period), Ping: uint64(r.cfg.Ping), Binding: r.cfg.secure(),
		Roles: r.cfg.Roles, Gate: r.cfg.Gate, Policy: r.cfg.Policy, Proxied: r.cfg.TLS == "proxy",
	}
	if r.has(RoleLive) {
		d.WindowSec, d.WindowMax = uint64(wire.WindowSpan/time.Second), uint64(r.cfg.WindowMiB)<<20
	}
	if r.blobs != nil {
		d.Receipts, d.BlobMax, d.BlobDays = r.blobs.ReceiptKey(), wire.MaxBlob, blob.MaxFileDays
	}
	r.describeParking(&d)
	r.describeWake(&d)
	if r.keeper != nil {
		d.Class = uint64(r.cfg.Class)
	}
	r.says = d
	_, err := r.announced()
	return err
}

// Fingerprint returns the SHA-256 of the realm key: what clients pin.
func (r *Relay) Fingerprint() [32]byte { return sha256.Sum256(r.public[:]) }

// Handler returns the API, for a server of somebody else's. It answers while
// Run runs.
func (r *Relay) Handler() http.Handler { return r.handler }

// Listen takes the address of the configuration, and returns the one it got.
// Run does it too where it was not done before.
func (r *Relay) Listen() (net.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ln != nil {
		return r.ln.Addr(), nil
	}
	ln, err := r.cfg.Listener, error(nil)
	if ln == nil {
		if ln, err = listenAt(r.cfg.Listen); err != nil {
			return nil, advise(err, r.cfg.Data)
		}
	}
	// A name such as localhost is what the system says it is.
	if a, ok := ln.Addr().(*net.TCPAddr); !r.cfg.secure() && r.cfg.TLS != "proxy" && ok && !a.IP.IsLoopback() {
		return nil, errors.Join(errPlain(), ln.Close())
	}
	if r.cfg.Onion != "" {
		if r.onion, err = listenAt(r.cfg.Onion); err != nil {
			return nil, errors.Join(advise(err, r.cfg.Data), ln.Close())
		}
	}
	r.ln = ln
	return ln.Addr(), nil
}

// Use has the relay serve on a listener of somebody else's, as a lab's network in
// memory has one. It is called before Run, in place of Listen. There is then no
// status socket: virtual time stands still while anybody waits for the system.
func (r *Relay) Use(ln net.Listener) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ln, r.used = ln, true
}

// Run serves until ctx ends or a part of the relay fails, then stops all of it
// and closes the relay. It is called once.
func (r *Relay) Run(ctx context.Context) error {
	err := r.run(ctx)
	return errors.Join(err, r.Close())
}

func (r *Relay) run(ctx context.Context) error {
	if _, err := r.Listen(); err != nil {
		return err
	}
	// Parts below the server outlive it: its last requests still need them.
	parts := newGroup(context.WithoutCancel(ctx))
	defer parts.cancel()
	front := newGroup(ctx)
	defer front.cancel()
	parts.run(r.gate.Run)
	parts.run(r.hub.Run)
	r.runStores(parts)
	if r.certs != nil {
		front.run(r.certs.run)
		if at, ok := r.ln.Addr().(*net.TCPAddr); ok && r.certs.names != nil {
			front.run(func(ctx context.Context) error { return r.certs.names.Run(ctx, at) })
		}
	}
	if r.blobs != nil {
		front.run(r.sweep)
	}
	r.runParking(front)
	r.runWake(parts)
	if r.keeper != nil {
		front.run(r.keeper.Run)
	}
	if r.mesh != nil {
		parts.run(r.runMesh)
	}
	if r.peers != nil {
		parts.run(r.peers.run)
	}
	front.run(r.keepTotals)
	if r.cfg.Metrics != "" {
		ln, err := listenAt(r.cfg.Metrics)
		if err != nil {
			parts.cancel()
			front.cancel()
			return errors.Join(advise(fmt.Errorf("metrics: %w", err), r.cfg.Data), front.wait(), parts.wait())
		}
		front.run(func(ctx context.Context) error { return r.serveMetrics(ctx, ln) })
	}
	if r.cfg.Data != "" && !r.used {
		ln, err := listenStatus(r.cfg.Data)
		if err != nil {
			parts.cancel()
			return errors.Join(err, parts.wait())
		}
		front.run(func(ctx context.Context) error { return r.serveControl(ctx, ln) })
	}
	front.run(func(ctx context.Context) error {
		r.meet(ctx)
		return r.serve(ctx)
	})
	front.run(func(ctx context.Context) error { // a part that fails takes the front down
		select {
		case <-parts.ctx.Done():
		case <-ctx.Done():
		}
		return nil
	})
	r.log.Info(eventReady, "version", Version(), "tls", onOff(r.certs != nil), "store", r.storeWord())

	err := front.wait()
	r.log.Info(eventStopping)
	if parts.ctx.Err() == nil {
		r.part(parts.ctx)
	}
	parts.cancel()
	err = errors.Join(parts.wait(), err)
	r.log.Info(eventStopped)
	return err
}

// runStores starts what stores need to answer.
func (r *Relay) runStores(parts *group) {
	r.runShared(parts)
	if r.disk != nil {
		parts.run(r.disk.Run)
	}
	if r.parked.disk != nil {
		parts.run(r.parked.disk.Run)
	}
	if r.keeps.disk != nil {
		parts.run(r.keeps.disk.Run)
	}
}

// sweep deletes blobs that have reached their end, at the start and then every
// sweepEvery. A failure is written down; the next one may work.
func (r *Relay) sweep(ctx context.Context) error {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if left, err := r.blobs.Sweep(ctx); err == nil {
			r.lying.Store(int64(left))
		} else if ctx.Err() == nil {
			r.storeFailed(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Close gives back what New took. After Run it does nothing.
func (r *Relay) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, ln := range []*net.Listener{&r.ln, &r.onion} {
		if *ln != nil {
			if err := (*ln).Close(); !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
			*ln = nil
		}
	}
	if r.link != nil {
		errs = append(errs, r.link.Close())
		r.link = nil
	}
	if r.disk != nil {
		errs = append(errs, advise(r.disk.Close(), r.cfg.Data))
		r.disk = nil
	}
	errs = append(errs, r.closeParking())
	errs = append(errs, r.keeps.close(r.cfg.Data), r.closeWake(), r.closeShared())
	if r.unlock != nil {
		errs = append(errs, r.unlock())
		r.unlock = nil
	}
	r.realm.Wipe()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing: %w", err)
	}
	return nil
}
