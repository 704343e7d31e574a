package lab

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/pqxdh"
	"github.com/tacet-chat/tacet/internal/sealed"
	"github.com/tacet-chat/tacet/internal/session"
	"github.com/tacet-chat/tacet/internal/wire"
)

// BenchmarkPutToDeliver measures from writing a put to reading the cell at the
// watching end, over loopback, one at a time, against a relay in a process of
// its own. No client of ours is in it.
func BenchmarkPutToDeliver(b *testing.B) {
	host := &Host{Data: b.TempDir() + "/relay", log: b.Output()}
	if err := host.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { host.Stop() })
	d, _, _, err := wire.ParseDescriptor(get(b, "http://"+host.Addr()+"/v1/realm"))
	if err != nil {
		b.Fatal(err)
	}
	dial := func(path string) *websocket.Conn {
		ws, _, err := websocket.Dial(b.Context(), "ws://"+host.Addr()+path, &websocket.DialOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			b.Fatal(err)
		}
		ws.SetReadLimit(wire.MaxFrame)
		b.Cleanup(func() { ws.CloseNow() })
		return ws
	}
	w := dial("/v1/watch")
	_, g, err := w.Read(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	a, sign, err := addr.Decoy(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	p := wire.Proof{Realm: d.Realm, Nonce: [32]byte(g[1:33]), Address: a, Verb: wire.VerbWatch, Period: presentPeriod()}
	sig, err := sign(p.Append(nil))
	if err != nil {
		b.Fatal(err)
	}
	frame := binary.BigEndian.AppendUint64([]byte{byte(wire.FrameWatch), 0}, p.Period)
	if err := w.Write(b.Context(), websocket.MessageBinary, append(append(frame, a[:]...), sig...)); err != nil {
		b.Fatal(err)
	}
	if _, _, err := w.Read(b.Context()); err != nil {
		b.Fatal(err)
	}
	put := dial("/v1/put")
	go func() {
		for {
			if _, _, err := put.Read(b.Context()); err != nil {
				return
			}
		}
	}()
	cell := make([]byte, wire.PutSize)
	rand.Read(cell)
	copy(cell[wire.PutIDSize:], a[:])
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := put.Write(b.Context(), websocket.MessageBinary, cell); err != nil {
			b.Fatal(err)
		}
		if _, _, err := w.Read(b.Context()); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// party is one device for a session.
type party struct {
	self session.Self
	pre  *pqxdh.Prekeys
	priv *pqxdh.Private
}

func newParty(b *testing.B) *party {
	b.Helper()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	root, err := key.Generate[key.SignRole](rand.Reader)
	must(err)
	sign, err := key.Generate[key.SignRole](rand.Reader)
	must(err)
	dh, err := key.Generate[key.DHRole](rand.Reader)
	must(err)
	xwing, err := key.Generate[key.XWingRole](rand.Reader)
	must(err)
	m := &manifest.Manifest{Sequence: 1, NotAfter: manifest.NotAfter(time.Now()), Devices: []manifest.Device{
		{Sign: key.SignPublicOf(sign), DH: key.DHPublicOf(dh), XWing: manifest.XWingHash(key.XWingPublicOf(xwing))},
	}}
	must(manifest.Sign(root, m))
	priv, pre, err := pqxdh.NewPrekeys(rand.Reader, sign, false)
	must(err)
	return &party{session.Self{Manifest: m, DH: dh}, pre, priv}
}

// BenchmarkMessageWholePath is all the cryptography of one message as a client
// does it, at both ends: the state of the session read from its bytes, the
// block sealed, the state written; the cell sealed; the cell opened; the other
// state read, the block opened, the state written. The two take turns, so each
// message brings a new ratchet key, which is the dear case.
func BenchmarkMessageWholePath(b *testing.B) {
	x, y := newParty(b), newParty(b)
	block := make([]byte, wire.BlockSize)
	s, hello, err := session.Start(rand.Reader, x.self, session.Peer{Manifest: y.self.Manifest, Prekeys: y.pre}, []byte{1}, "", block)
	if err != nil {
		b.Fatal(err)
	}
	o, _, err := session.Accept(rand.Reader, time.Now(), y.self, y.priv, y.pre, [32]byte{}, hello)
	if err != nil {
		b.Fatal(err)
	}
	states := [2][]byte{s.Append(nil), o.Append(nil)}
	for _, c := range []struct {
		name string
		each int // messages before the other end speaks
	}{{"in turns", 1}, {"one way", 1000}} {
		b.Run(c.name, func(b *testing.B) {
			route := benchRoute(b)
			n := c.each // y begins: x has sent its hello
			b.ReportAllocs()
			for b.Loop() {
				from, to := n/c.each%2, (n/c.each+1)%2
				n++
				s, err := session.Parse(states[from])
				if err != nil {
					b.Fatal(err)
				}
				payload, err := s.Seal(rand.Reader, block)
				if err != nil {
					b.Fatal(err)
				}
				states[from] = s.Append(nil)
				s.Wipe()
				cell, err := sealed.SealCell(route.Seal, route.Address, &wire.Body{Kind: wire.KindPair, Count: 1, Payload: payload}, rand.Reader)
				if err != nil {
					b.Fatal(err)
				}
				body, err := sealed.OpenCell(route.Seal, route.Address, cell)
				if err != nil {
					b.Fatal(err)
				}
				if s, err = session.Parse(states[to]); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Open(rand.Reader, time.Now(), body.Payload); err != nil {
					b.Fatal(err)
				}
				states[to] = s.Append(nil)
				s.Wipe()
			}
		})
	}
}

func benchRoute(b *testing.B) *addr.Period {
	b.Helper()
	_, public, err := addr.NewOwner(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	secret, err := key.Generate[key.RouteRole](rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	p, err := addr.NewChain(&addr.Offer{Public: public, Secret: secret, Birth: presentPeriod(), Period: 1800}, addr.Live).At(presentPeriod())
	if err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkFetchOnce opens a profile, catches up with ten messages and closes it,
// as a process does that a phone woke. It reports the time and the largest heap
// beyond what was there, with the passphrase as it ships (Argon2id, 64 MiB) and
// without its cost.
func BenchmarkFetchOnce(b *testing.B) {
	for _, weak := range []bool{true, false} {
		name := map[bool]string{true: "without Argon2id", false: "with Argon2id"}[weak]
		b.Run(name, func(b *testing.B) {
			relay := benchRelay(b)
			ada, _ := benchPerson(b, "Ada", relay, true)
			stop := benchRun(b, ada)
			defer stop()
			bob, o := benchPerson(b, "Bob", relay, weak)
			quit := benchRun(b, bob)
			inv, err := ada.NewInvite(b.Context(), client.InviteOptions{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := bob.Accept(b.Context(), client.AcceptOptions{Link: inv.Link}); err != nil {
				b.Fatal(err)
			}
			for {
				if c, err := bob.Contacts(b.Context()); err == nil && len(c) == 1 && c[0].State == "accepted" {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			quit()
			var peak uint64
			var took time.Duration
			for b.Loop() {
				b.StopTimer()
				for range 10 {
					if _, err := ada.Send(b.Context(), client.Outgoing{To: "bob", Text: "while you were asleep"}); err != nil {
						b.Fatal(err)
					}
				}
				time.Sleep(2 * time.Second) // they are offered, and lie in the window
				runtime.GC()
				var before runtime.MemStats
				runtime.ReadMemStats(&before)
				over := watchHeap()
				b.StartTimer()
				began := time.Now()
				c, err := client.Open(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				got, err := c.FetchOnce(b.Context())
				if err != nil || !got.Connected {
					b.Fatalf("%+v, %v", got, err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
				took = max(took, time.Since(began))
				peak = max(peak, over()-before.HeapInuse)
			}
			b.ReportMetric(took.Seconds(), "s-worst")
			b.ReportMetric(float64(peak)/(1<<20), "MiB-heap-peak")
		})
	}
}

// watchHeap samples the heap in use until the returned function is called, which
// tells the largest.
func watchHeap() func() uint64 {
	quit, result := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
			select {
			case <-quit:
				result <- most
				return
			case <-tick.C:
			}
		}
	}()
	return func() uint64 { close(quit); return <-result }
}

func benchRelay(b *testing.B) string {
	b.Helper()
	host := &Host{Data: b.TempDir() + "/relay", log: b.Output()}
	if err := host.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { host.Stop() })
	return host.Addr()
}

func benchPerson(b *testing.B, name, relay string, weak bool) (*client.Client, client.Options) {
	b.Helper()
	o := client.Options{Dir: b.TempDir() + "/p", Passphrase: []byte("x"), Network: wayFrom(""), WeakVault: weak, AckMean: 100 * time.Millisecond}
	if _, err := client.Create(b.Context(), o, client.NewProfile{Name: name, Relay: relay}); err != nil {
		b.Fatal(err)
	}
	c, err := client.Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	return c, o
}

// benchRun runs a client until the returned function is called.
func benchRun(b *testing.B, c *client.Client) func() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	return func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := c.Close(); err != nil {
			b.Error(err)
		}
	}
}
