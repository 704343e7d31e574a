package client

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// away has no local network: everything goes by the relay.
var away = []netip.Addr{}

// joinNear is join on a network of its own.
func (r *realm) joinNear(t *testing.T, name string, hosts []netip.Addr) *person {
	t.Helper()
	p := &person{t: t, name: name, opt: Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), Network: &way{realm: r, name: name}, WeakVault: true, localHosts: hosts}}
	if _, err := Create(t.Context(), p.opt, NewProfile{Name: name, Relay: realmName}); err != nil {
		t.Fatal(err)
	}
	p.start()
	t.Cleanup(func() { p.stop() })
	return p
}

// remember gives a person a history of n texts with a contact, each of about that
// many bytes.
func (p *person) remember(with string, n, size int) {
	p.t.Helper()
	for done := 0; done < n; {
		err := p.vault.Update(p.t.Context(), func(tx *vault.Tx) error {
			s := vault.Store{Tx: tx}
			r, err := find(s, with)
			if err != nil {
				return err
			}
			for range min(n-done, 500) {
				e := &convo.Event{Contact: r.ID, Kind: convo.Text, Out: done%3 == 0, Text: fmt.Sprintf("text %d: %s", done, strings.Repeat("so it goes. ", size/12)),
					Sent: 1_700_000_000 + int64(done), At: 1_700_000_000 + int64(done), From: r.Sign}
				e.Message[0], e.Message[1], e.Message[2], e.Message[7] = byte(done), byte(done>>8), byte(done>>16), 7
				if e.Out {
					e.State, e.From = convo.OnDevice, p.engine.Self.Name()
				}
				if err := s.PutEvent(e); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			p.t.Fatal(err)
		}
	}
}

// newcomer is a device that joins.
type newcomer struct {
	t      *testing.T
	opt    Options
	opts   JoinOptions
	digits chan string
	done   chan error
	stop   context.CancelFunc

	mu     sync.Mutex
	stages []JoinStage
}

// joining begins to join with a code, in a folder of its own.
func (r *realm) joining(t *testing.T, name, code string) *newcomer {
	n := &newcomer{t: t, opt: Options{Dir: t.TempDir() + "/n", Passphrase: []byte("y"), Network: &way{realm: r, name: name}, WeakVault: true, localHosts: away},
		opts: JoinOptions{Code: code, Name: name}, digits: make(chan string, 100)}
	n.opts.Progress = func(p JoinProgress) {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.stages) == 0 || n.stages[len(n.stages)-1] != p.Stage {
			n.stages = append(n.stages, p.Stage)
		}
		if p.Stage == JoinDigits {
			select {
			case n.digits <- p.Digits:
			default:
			}
		}
	}
	return n
}

func (n *newcomer) start() {
	var ctx context.Context
	ctx, n.stop = context.WithCancel(n.t.Context())
	n.done = make(chan error, 1)
	done := n.done
	go func() { done <- Join(ctx, n.opt, n.opts) }()
	n.t.Cleanup(n.stop)
}

// start makes an offer and returns its code once it is at the relay.
func (p *person) offer() string {
	p.t.Helper()
	if _, err := p.StartLink(p.t.Context(), LinkOptions{}); err != nil {
		p.t.Fatal(err)
	}
	return p.until(func(l Link) bool { return l.Online || l.Stage == LinkEnded }).Code
}

// until waits for the link to come to something.
func (p *person) until(good func(Link) bool) Link {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), 48*time.Hour)
	if !inBubble() {
		ctx, stop = context.WithTimeout(p.t.Context(), 2*time.Minute)
	}
	defer stop()
	for seen := int64(-1); ; {
		l, err := p.AwaitLink(ctx, seen)
		if err != nil {
			p.t.Fatalf("waiting for the link, at %+v: %v", l, err)
		}
		if good(l) {
			return l
		}
		seen = l.Version
	}
}

// TestLinkIsNeverGoneBeforeItsEnd: who looks at the moment at which the link ends sees
// how it ended, and not that there is none.
func TestLinkIsNeverGoneBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		ada.stop()
		seen := make(chan Link, 1)
		ada.opt.Boundary = func(name string) {
			if name == BoundaryLinkDone {
				l, _ := ada.LinkState(t.Context())
				seen <- l
			}
		}
		ada.start()
		n := r.joining(t, "telephone", ada.offer())
		n.start()
		ada.until(stageIs(LinkCompare))
		if _, err := ada.ConfirmLink(t.Context(), <-n.digits); err != nil {
			t.Fatal(err)
		}
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		if l := <-seen; l.Stage != LinkDone {
			t.Errorf("got %+v at the end, want that it is linked", l)
		}
	})
}

// inBubble reports whether time is virtual: then it begins in the year 2000.
func inBubble() bool { return time.Now().Year() < 2020 }

func stageIs(s LinkStage) func(Link) bool { return func(l Link) bool { return l.Stage == s } }

// said is everything that a profile shows, without what is of one device.
func said(t *testing.T, c *Client) (lines []string) {
	t.Helper()
	all, err := c.Read(t.Context(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		lines = append(lines, fmt.Sprintf("%s %v %s %d %s", e.Contact, e.Out, e.Text, e.Sent.Unix(), e.ID))
	}
	return lines
}

// open opens what was joined, without running it.
func (n *newcomer) open() *Client {
	n.t.Helper()
	c, err := Open(n.t.Context(), n.opt)
	if err != nil {
		n.t.Fatalf("opening what was linked: %v", err)
	}
	return c
}

// nothingLeft wants the old device as it was before.
func (p *person) nothingLeft() {
	p.t.Helper()
	devices, err := p.Devices(p.t.Context())
	if err != nil || len(devices) != 1 {
		p.t.Errorf("got devices %+v, %v, want one", devices, err)
	}
	err = p.vault.View(p.t.Context(), func(tx *vault.Tx) error {
		if own, err := (vault.Store{Tx: tx}).OwnDevices(); err != nil || len(own) > 0 {
			p.t.Errorf("got %d records of own devices, %v, want none", len(own), err)
		}
		if _, found, err := tx.Get(vault.Meta, metaLink); err != nil || found {
			p.t.Errorf("the link is still there: %v, %v", found, err)
		}
		n, a := 0, int64(columnLink)
		err := tx.Each(vault.Meta, vault.Query{A: &a}, func(vault.Row) error { n++; return nil })
		if n > 0 || err != nil {
			p.t.Errorf("got %d pieces left, %v, want none", n, err)
		}
		return nil
	})
	if err != nil {
		p.t.Error(err)
	}
}

// gone wants nothing of a link on the device that joined.
func (n *newcomer) gone() {
	n.t.Helper()
	if Exists(n.opt.Dir) {
		n.t.Error("the new device still has a vault")
	}
	if left, err := os.ReadDir(n.opt.Dir + "/vault"); err == nil {
		n.t.Errorf("the new device still has %d files", len(left))
	}
}

// result waits for the end of a join.
func (n *newcomer) result() error {
	n.t.Helper()
	within := 100 * time.Hour
	if !inBubble() {
		within = 3 * time.Minute
	}
	select {
	case err := <-n.done:
		return err
	case <-time.After(within):
		n.mu.Lock()
		defer n.mu.Unlock()
		n.t.Fatalf("joining does not end; stages %v", n.stages)
		return nil
	}
}

// passes gives what runs a moment.
func passes(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestLinkCarriesEverythingByTheRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada, bob := r.joinNear(t, "Ada", away), r.joinNear(t, "Bob", away)
		meet(t, ada, bob)
		ada.remember("Bob", 2500, 60)
		if _, err := ada.Rename(t.Context(), "Bob", "Bob from work"); err != nil {
			t.Fatal(err)
		}
		if _, err := ada.SetVerified(t.Context(), "Bob from work", true); err != nil {
			t.Fatal(err)
		}
		code := ada.offer()
		v, err := PreviewLink(t.Context(), ada.opt.Network, code)
		if err != nil || v.Name != "Ada" || v.Devices != 1 || v.Relay != realmName {
			t.Errorf("got %+v, %v, want Ada's with one device", v, err)
		}
		n := r.joining(t, "telephone", code)
		n.start()
		if l := ada.until(stageIs(LinkCompare)); l.Device != "telephone" || l.Tries != 3 {
			t.Errorf("got %+v, want the telephone and three tries", l)
		}
		digits := <-n.digits
		if _, err := Open(t.Context(), n.opt); !errors.Is(err, ErrLocked) {
			t.Errorf("opening while it is linked: got %v, want ErrLocked", err)
		}
		if _, err := ada.ConfirmLink(t.Context(), digits[:3]+" "+digits[3:]); err != nil {
			t.Fatal(err)
		}
		ada.until(stageIs(LinkDone))
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		want := []JoinStage{JoinEntering, JoinWaiting, JoinDigits, JoinReceiving, JoinComplete, JoinLinked}
		if !slices.Equal(n.stages, want) {
			t.Errorf("got stages %v, want %v", n.stages, want)
		}
		c := n.open()
		defer c.Close()
		if got, want := said(t, c), said(t, ada.Client); !slices.Equal(got, want) || len(got) < 2500 {
			t.Errorf("got %d lines on the new device, want the %d of the old one", len(got), len(want))
		}
		people, err := c.Contacts(t.Context())
		if err != nil || len(people) != 1 || people[0].Name != "Bob from work" || !people[0].Verified || people[0].State != "accepted" {
			t.Errorf("got contacts %+v, %v, want Bob from work, verified", people, err)
		}
		st, err := c.Status(t.Context())
		if err != nil || st.Name != "Ada" || st.Relay != realmName || st.Contacts != 1 {
			t.Errorf("got %+v, %v, want Ada's profile", st, err)
		}
		devices, err := c.Devices(t.Context())
		if err != nil || len(devices) != 2 || devices[0].This || !devices[1].This || devices[1].Name != "telephone" || devices[1].Root {
			t.Errorf("got devices %+v, %v, want this one second, without the root", devices, err)
		}
		if devices, err = ada.Devices(t.Context()); err != nil || len(devices) != 2 || !devices[0].Root || devices[1].Name != "telephone" {
			t.Errorf("got devices %+v, %v, want the telephone second", devices, err)
		}
		if _, err := c.StartLink(t.Context(), LinkOptions{}); !errors.Is(err, ErrNotRoot) {
			t.Errorf("linking from the new device: got %v, want ErrNotRoot", err)
		}
		// Nothing of the old device alone went over.
		secrets := 0
		c.vault.View(t.Context(), func(tx *vault.Tx) error {
			s := vault.Store{Tx: tx}
			all, err := s.Devices()
			for _, d := range all {
				secrets += len(d.Given)
				if sessions, _ := s.SessionsOf(d.ID); len(sessions) > 0 {
					secrets++
				}
			}
			return err
		})
		if secrets != 0 {
			t.Errorf("got %d prekeys and sessions of the old device", secrets)
		}
		if left := r.blobsLeft(); left > 2 {
			t.Errorf("the relay still has %d blobs", left)
		}
	})
}

// blobsLeft counts what the relay keeps.
func (r *realm) blobsLeft() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.blobs)
}

func TestLinkByTheLocalNetwork(t *testing.T) {
	r := newRealm(600)
	ada := r.joinNear(t, "Ada", []netip.Addr{netip.MustParseAddr("127.0.0.1")})
	if _, err := ada.NewInvite(t.Context(), InviteOptions{}); err != nil {
		t.Fatal(err)
	}
	code := ada.offer()
	n := r.joining(t, "telephone", code)
	n.start()
	ada.until(stageIs(LinkCompare))
	digits := <-n.digits // by the reveal, the last blob that a link on the local network needs
	for found := false; !found; time.Sleep(10 * time.Millisecond) {
		ada.linker.mu.Lock()
		s := ada.linker.server
		ada.linker.mu.Unlock()
		s.mu.Lock()
		found = s.known > 0
		s.mu.Unlock()
	}
	before, began := r.counted("put blob"), time.Now()
	if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
		t.Fatal(err)
	}
	l := ada.until(stageIs(LinkDone))
	if err := n.result(); err != nil {
		t.Fatal(err)
	}
	// Where nothing new comes by the network for long the relay's way is used, too.
	if got := r.counted("put blob"); got != before && time.Since(began) < localQuiet {
		t.Errorf("got %d blobs put after the digits, want none: all goes by the local network (%+v)", got-before, l)
	}
	n.open().Close()
}

// TestLinkSurvivesCrashes cuts off either side at each of its commits, and starts it
// again: it goes on, and ends with everything in its place.
func TestLinkSurvivesCrashes(t *testing.T) {
	for _, at := range LinkBoundaries() {
		t.Run(at, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRealm(600)
				ada, bob := r.joinNear(t, "Ada", away), r.joinNear(t, "Bob", away)
				meet(t, ada, bob)
				ada.remember("Bob", 90, 6000)
				ada.stop()
				crash := make(chan struct{}, 100)
				hits := 0
				var mu sync.Mutex
				hook := func(stop func()) func(string) {
					return func(name string) {
						mu.Lock()
						defer mu.Unlock()
						if name != at {
							return
						}
						if hits++; hits <= 2 {
							stop()
							crash <- struct{}{}
						}
					}
				}
				cut := func() {}
				ada.opt.Boundary = hook(func() { cut() })
				old := func() {
					c, err := Open(t.Context(), ada.opt)
					if err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithCancel(context.Background())
					cut = cancel
					ada.Client = c
					done := make(chan error, 1)
					go func() { done <- c.Run(ctx) }()
					ada.stop = sync.OnceFunc(func() { cancel(); <-done; c.Close() })
				}
				mu.Lock()
				old()
				mu.Unlock()
				if _, err := ada.StartLink(t.Context(), LinkOptions{}); err != nil {
					t.Fatal(err)
				}
				again := func() {
					select {
					case <-crash:
						ada.stop()
						mu.Lock()
						old()
						mu.Unlock()
					default:
					}
				}
				oldSide := strings.HasPrefix(at, "link:")
				if oldSide {
					passes(time.Second)
					again()
				}
				code := ada.until(func(l Link) bool { return l.Online }).Code
				n := r.joining(t, "telephone", code)
				if !oldSide {
					n.opt.Boundary = hook(func() { n.stop() })
					ada.opt.Boundary = nil
				}
				n.start()
				confirmed := false
				var result error
				for range 200 {
					passes(2 * time.Second)
					if oldSide {
						again()
					} else {
						select {
						case <-crash:
							<-n.done
							n.start()
						default:
						}
					}
					if l, err := ada.LinkState(t.Context()); err == nil && l.Stage == LinkCompare && !confirmed {
						select {
						case d := <-n.digits:
							if _, err := ada.ConfirmLink(t.Context(), d); err != nil {
								t.Fatal(err)
							}
							confirmed = true
						default:
						}
					}
					select {
					case result = <-n.done:
						if !errors.Is(result, context.Canceled) {
							n.done <- result
						}
					default:
						continue
					}
					if len(crash) == 0 && !errors.Is(result, context.Canceled) {
						break
					}
				}
				if at == BoundaryJoinLinked && errors.Is(result, ErrExists) {
					result = nil // it was done, and is a profile
				}
				if result != nil {
					t.Fatalf("joining ended with %v", result)
				}
				if hits == 0 {
					t.Fatal("the boundary was never crossed")
				}
				c := n.open()
				defer c.Close()
				if got, want := said(t, c), said(t, ada.Client); !slices.Equal(got, want) || len(got) < 90 {
					t.Errorf("got %d lines on the new device, want the %d of the old one", len(got), len(want))
				}
				if devices, err := ada.Devices(t.Context()); err != nil || len(devices) != 2 {
					t.Errorf("got devices %+v, %v, want two", devices, err)
				}
				ada.stop()
			})
		})
	}
}

// unhappy runs a link up to the digits and hands over.
func unhappy(t *testing.T, f func(t *testing.T, r *realm, ada *person, n *newcomer, digits string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		n := r.joining(t, "telephone", ada.offer())
		n.start()
		ada.until(stageIs(LinkCompare))
		f(t, r, ada, n, <-n.digits)
	})
}

func TestWrongDigitsLinkNobody(t *testing.T) {
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		wrong := "000000"
		if digits == wrong {
			wrong = "000001"
		}
		for i := range 3 {
			if l, err := ada.ConfirmLink(t.Context(), wrong); !errors.Is(err, ErrDigits) || i < 2 && l.Tries != 2-i {
				t.Errorf("try %d: got %+v, %v, want ErrDigits and %d tries left", i, l, err, 2-i)
			}
		}
		if _, err := ada.ConfirmLink(t.Context(), digits); !errors.Is(err, ErrNoLink) {
			t.Errorf("the right ones too late: got %v, want ErrNoLink", err)
		}
		err := n.result()
		var g *GaveUp
		if !errors.As(err, &g) || !g.Mismatch {
			t.Errorf("the new device: got %v, want that the digits were wrong", err)
		}
		passes(time.Minute)
		if l, _ := ada.LinkState(t.Context()); l.Stage != LinkEnded || !strings.Contains(l.Reason, "digits") {
			t.Errorf("got %+v, want the reason", l)
		}
		ada.nothingLeft()
		n.gone()
	})
}

// TestOneWrongTryIsForgiven: people mistype.
func TestOneWrongTryIsForgiven(t *testing.T) {
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		if _, err := ada.ConfirmLink(t.Context(), "12"); !errors.Is(err, ErrDigits) {
			t.Errorf("got %v, want ErrDigits", err)
		}
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		if devices, err := ada.Devices(t.Context()); err != nil || len(devices) != 2 {
			t.Errorf("got %+v, %v, want two devices", devices, err)
		}
	})
}

func TestLinkIsTakenBackOnEitherSide(t *testing.T) {
	t.Run("old, before an answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRealm(600)
			ada := r.joinNear(t, "Ada", away)
			code := ada.offer()
			if _, err := ada.StartLink(t.Context(), LinkOptions{}); !errors.Is(err, ErrLinking) {
				t.Errorf("a second one: got %v, want ErrLinking", err)
			}
			if err := ada.CancelLink(t.Context()); err != nil {
				t.Fatal(err)
			}
			passes(time.Minute)
			ada.nothingLeft()
			n := r.joining(t, "telephone", code)
			n.start()
			if err := n.result(); !errors.Is(err, ErrCodeOver) {
				t.Errorf("got %v, want ErrCodeOver", err)
			}
			n.gone()
			if err := ada.CancelLink(t.Context()); !errors.Is(err, ErrNoLink) {
				t.Errorf("again: got %v, want ErrNoLink", err)
			}
		})
	})
	t.Run("old, before the digits", func(t *testing.T) {
		unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			if err := ada.CancelLink(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := n.result(); !errors.Is(err, ErrGivenUp) {
				t.Errorf("got %v, want ErrGivenUp", err)
			}
			passes(time.Minute)
			ada.nothingLeft()
			n.gone()
		})
	})
	t.Run("new, before the digits", func(t *testing.T) {
		unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			n.stop()
			n.result()
			if _, err := Open(t.Context(), n.opt); !errors.Is(err, ErrUnlinked) {
				t.Errorf("opening it half-linked: got %v, want ErrUnlinked", err)
			}
			if joining, err := Joining(t.Context(), n.opt); err != nil || !joining {
				t.Errorf("got %v, %v, want that it is being linked", joining, err)
			}
			if err := AbandonJoin(t.Context(), n.opt); err != nil {
				t.Fatal(err)
			}
			n.gone()
			if l := ada.until(stageIs(LinkEnded)); !strings.Contains(l.Reason, "new device") {
				t.Errorf("got %+v, want the reason", l)
			}
			passes(time.Minute)
			ada.nothingLeft()
		})
	})
	t.Run("new, while the pack goes over", func(t *testing.T) {
		unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			n.stop()
			n.result()
			if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
				t.Fatal(err)
			}
			passes(time.Minute)
			if err := AbandonJoin(t.Context(), n.opt); err != nil {
				t.Fatal(err)
			}
			ada.until(stageIs(LinkEnded))
			passes(time.Minute)
			ada.nothingLeft()
			n.gone()
		})
	})
	t.Run("old, while the pack goes over", func(t *testing.T) {
		unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			n.stop()
			n.result()
			if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
				t.Fatal(err)
			}
			passes(time.Minute)
			if err := ada.CancelLink(t.Context()); err != nil {
				t.Fatal(err)
			}
			passes(time.Minute)
			n.start()
			if err := n.result(); !errors.Is(err, ErrGivenUp) {
				t.Errorf("got %v, want ErrGivenUp", err)
			}
			ada.nothingLeft()
			n.gone()
		})
	})
}

func TestCodeAndDigitsEndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		code := ada.offer()
		passes(11 * time.Minute)
		if l, _ := ada.LinkState(t.Context()); l.Stage != LinkEnded {
			t.Errorf("after eleven minutes: got %+v, want that it ended", l)
		}
		ada.nothingLeft()
		n := r.joining(t, "telephone", code)
		n.start()
		if err := n.result(); !errors.Is(err, ErrCodeOver) {
			t.Errorf("got %v, want ErrCodeOver", err)
		}
		n.gone()
	})
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		passes(11 * time.Minute)
		ada.nothingLeft()
		var g *GaveUp
		if err := n.result(); !errors.As(err, &g) || !g.Late {
			t.Errorf("got %v, want that it took too long", err)
		}
		n.gone()
	})
	// The pack does not come to its end: after a day nothing is left, also where no
	// process ran meanwhile.
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		n.stop()
		n.result()
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		passes(10 * time.Second)
		ada.stop()
		time.Sleep(25 * time.Hour)
		ada.start()
		ada.until(stageIs(LinkEnded))
		passes(30 * time.Second)
		ada.nothingLeft()
		n.start()
		if err := n.result(); !errors.Is(err, ErrGivenUp) && !errors.Is(err, ErrCodeOver) {
			t.Errorf("got %v, want that it is over", err)
		}
		n.gone()
		ada.stop()
	})
}

// TestCodeIsForOneDevice: two devices with one code. One is linked at most, and the
// other is told.
func TestCodeIsForOneDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		code := ada.offer()
		eve := r.joining(t, "eve", code)
		eve.start()
		ada.until(stageIs(LinkCompare))
		n := r.joining(t, "telephone", code)
		n.start()
		if err := n.result(); !errors.Is(err, ErrCodeUsed) {
			t.Errorf("got %v, want that the code was used", err)
		}
		n.gone()
		if l, err := ada.LinkState(t.Context()); err != nil || l.Device != "eve" {
			t.Errorf("got %+v, %v, want that eve's device is named", l, err)
		}
		// The person's device shows no digits, so there are none to type.
		ada.ConfirmLink(t.Context(), "")
		if err := ada.CancelLink(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := eve.result(); !errors.Is(err, ErrGivenUp) {
			t.Errorf("eve: got %v, want ErrGivenUp", err)
		}
		passes(time.Minute)
		ada.nothingLeft()
	})
	// Both have read the offer before either answers.
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		code := ada.offer()
		n := r.joining(t, "telephone", code)
		n.opt.Boundary = func(at string) {
			if at == BoundaryJoinBegun {
				eve := r.joining(t, "eve", code)
				eve.start()
				passes(5 * time.Second)
			}
		}
		n.start()
		if err := n.result(); !errors.Is(err, ErrCodeUsed) {
			t.Errorf("got %v, want ErrCodeUsed", err)
		}
		n.gone()
	})
}

// TestRelayLiesAboutALink: whatever the relay does to the blobs, nobody is linked.
func TestRelayLiesAboutALink(t *testing.T) {
	for name, lie := range map[string]func(b []byte) []byte{
		"a bit":      func(b []byte) []byte { b = slices.Clone(b); b[100] ^= 1; return b },
		"random":     func(b []byte) []byte { return slices.Repeat([]byte{7}, len(b)) },
		"other size": func(b []byte) []byte { return make([]byte, 16384) },
	} {
		t.Run(name, func(t *testing.T) {
			unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
				r.lie(func() {
					r.readBlob = func(by string, id wire.BlobID, b []byte) []byte {
						if by == "telephone" && len(b) != 0 {
							return lie(b)
						}
						return b
					}
				})
				if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
					t.Fatal(err)
				}
				if err := n.result(); !errors.Is(err, ErrPack) {
					t.Errorf("got %v, want ErrPack", err)
				}
				n.gone()
				ada.until(stageIs(LinkEnded))
				passes(time.Minute)
				ada.nothingLeft()
			})
		})
	}
	t.Run("another offer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRealm(600)
			ada, eve := r.joinNear(t, "Ada", away), r.joinNear(t, "Eve", away)
			code, eves := ada.offer(), eve.offer()
			a, _ := parseCode(t, code)
			e, _ := parseCode(t, eves)
			r.lie(func() { r.blobs[a] = r.blobs[e] })
			n := r.joining(t, "telephone", code)
			n.start()
			if err := n.result(); !errors.Is(err, ErrForged) {
				t.Errorf("got %v, want ErrForged", err)
			}
			n.gone()
		})
	})
}

// TestRelayIsAwayInTheMiddle: the link waits, says so, and goes on.
func TestRelayIsAwayInTheMiddle(t *testing.T) {
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		down := errors.New("the connection broke")
		r.lie(func() { r.blobFails = func(string) error { return down } })
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		passes(2 * time.Minute)
		if l, err := ada.LinkState(t.Context()); err != nil || l.Stage != LinkSending || l.Trouble == "" {
			t.Errorf("got %+v, %v, want that it goes on, and the trouble", l, err)
		}
		r.lie(func() { r.blobFails = nil })
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		ada.until(stageIs(LinkDone))
		n.open().Close()
	})
}

// parseCode returns where offer and answer of a code lie.
func parseCode(t *testing.T, text string) (offer, answer wire.BlobID) {
	c, err := link.ParseCode(text)
	if err != nil {
		t.Fatal(err)
	}
	return c.Offer(), c.Answer()
}

func TestSomethingElseIsNoCode(t *testing.T) {
	r := newRealm(600)
	w := &way{realm: r, name: "x"}
	for _, in := range []string{"", "hello", "tacet://relay.test/i#AeG1ZMgfBnMYu8KAuvuctDpK", "tacet://relay.test/d#AeG1ZMgfBnMYu8KAuvuctDpK"} {
		if _, err := PreviewLink(t.Context(), w, in); !errors.Is(err, ErrCode) {
			t.Errorf("%q: got %v, want ErrCode", in, err)
		}
	}
	dir := t.TempDir() + "/n"
	err := Join(t.Context(), Options{Dir: dir, Passphrase: []byte("y"), Network: w, WeakVault: true}, JoinOptions{Code: "hello"})
	if !errors.Is(err, ErrCode) || Exists(dir) {
		t.Errorf("got %v, want ErrCode and no vault", err)
	}
}
