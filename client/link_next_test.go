package client

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/link"
	"github.com/tacet-chat/tacet/internal/wire"
)

// meanwhile lets f run once, in the middle of the call number after, from 0, about
// blobs that a device makes while good holds.
func (r *realm) meanwhile(name string, after int, good func() bool, f func()) {
	inside := false // calls of one device may come while f runs
	r.lie(func() {
		r.blobFails = func(by string) error {
			if by != name || inside {
				return nil
			}
			inside = true
			r.mu.Unlock()
			defer r.mu.Lock()
			if !good() {
			} else if after--; after < 0 {
				f()
				r.lie(func() { r.blobFails = nil })
			}
			inside = false
			return nil
		}
	})
}

// TestNextLinkOutlivesTheLast: what is still to be done for a link that is over leaves
// alone the one that was begun meanwhile.
func TestNextLinkOutlivesTheLast(t *testing.T) {
	ends := map[string]func(t *testing.T, r *realm, ada *person, n *newcomer, digits string){
		"linked": func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
				t.Fatal(err)
			}
		},
		"taken back": func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			if err := ada.CancelLink(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
		"wrong digits": func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			for range linkTries {
				ada.ConfirmLink(t.Context(), "12")
			}
		},
		"given up there": func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
			n.stop()
			n.result()
			if err := AbandonJoin(t.Context(), n.opt); err != nil {
				t.Fatal(err)
			}
		},
		"late": func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) { time.Sleep(11 * time.Minute) },
	}
	for i := range 2 * len(ends) {
		name := slices.Sorted(maps.Keys(ends))[i/2]
		after, end := i%2, ends[name]
		t.Run(fmt.Sprintf("%s, call %d", name, after), func(t *testing.T) {
			unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
				before, err := link.ParseCode(n.opts.Code)
				if err != nil {
					t.Fatal(err)
				}
				var first Link
				over := func() bool {
					first, err = ada.LinkState(t.Context())
					return err != nil || first.Stage == LinkDone || first.Stage == LinkEnded
				}
				began := make(chan struct{})
				r.meanwhile("Ada", after, over, func() {
					_, startErr := ada.StartLink(t.Context(), LinkOptions{})
					err = errors.Join(err, startErr)
					close(began)
				})
				end(t, r, ada, n, digits)
				<-began
				if err != nil {
					t.Fatal(err)
				}
				if want := name == "linked"; (first.Stage == LinkDone) != want {
					t.Errorf("the first link ended as %+v", first)
				}
				code := ada.until(func(l Link) bool { return l.Online || l.Stage == LinkNone || l.Stage == LinkEnded }).Code
				passes(time.Minute)
				if l, err := ada.LinkState(t.Context()); err != nil || l.Stage != LinkOffered || l.Code != code {
					t.Fatalf("got %+v, %v, want the next link, which waits for its device", l, err)
				}
				// What was still to be done for the first one was done.
				for _, where := range []func() wire.BlobID{before.Offer, before.Answer} {
					if r.blob(where()) != nil {
						t.Error("what lay at the relay for the first one is there still")
					}
				}
				if name != "given up there" {
					if err := n.result(); name == "linked" && err != nil || name != "linked" && !errors.Is(err, ErrGivenUp) {
						t.Errorf("the first device: got %v, want that it heard the end", err)
					}
				}
				m := r.joining(t, "pad", code)
				m.start()
				ada.until(stageIs(LinkCompare))
				if _, err := ada.ConfirmLink(t.Context(), <-m.digits); err != nil {
					t.Fatal(err)
				}
				if err := m.result(); err != nil {
					t.Fatal(err)
				}
				if l := ada.until(func(l Link) bool { return l.Stage != LinkSending && l.Stage != LinkAdmit }); l.Stage != LinkDone {
					t.Errorf("got %+v, want that it is linked", l)
				}
				ada.stop()
			})
		})
	}
}

// TestEndOfALinkComesInTheMiddle: the local network may bring the end of a link just
// before the relay is asked about it, and that is no fault of the vault.
func TestEndOfALinkComesInTheMiddle(t *testing.T) {
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		n.stop()
		n.result()
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		passes(10 * time.Second)
		l := ada.linker
		of, err := l.load(t.Context())
		if err != nil || of == nil || of.Phase != phaseSending {
			t.Fatalf("got %+v, %v, want that the pack goes over", of, err)
		}
		err = l.update(t.Context(), of, func(tx vault.Store, _ time.Time, s *linkState) (*convo.Change, error) { return nil, l.done(tx, s) })
		if err != nil {
			t.Fatal(err)
		}
		relay, err := ada.realms.relay(of.Realm)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.moving(t.Context(), relay, of); !errors.Is(err, ErrNoLink) {
			t.Errorf("got %v, want that the link is over", err)
		}
		if st, err := ada.LinkState(t.Context()); err != nil || st.Stage != LinkDone {
			t.Errorf("got %+v, %v, want that it is linked", st, err)
		}
		ada.stop()
	})
}
