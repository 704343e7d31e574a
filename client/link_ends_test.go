package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

// completed brings a link to where the new device has everything, has said so, and is
// off; the other device has put it on the list.
func completed(t *testing.T, f func(t *testing.T, r *realm, ada *person, n *newcomer)) {
	t.Helper()
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		all := make(chan struct{}, 1)
		progress := n.opts.Progress
		n.opts.Progress = func(p JoinProgress) {
			progress(p)
			if p.Stage == JoinComplete {
				ada.stop()
				select {
				case all <- struct{}{}:
				default:
				}
			}
		}
		n.stop()
		n.result()
		n.start()
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		<-all
		passes(10 * time.Second)
		n.stop()
		n.result()
		n.opts.Progress = progress
		ada.start()
		ada.until(stageIs(LinkAdmit))
		f(t, r, ada, n)
		ada.stop()
	})
}

// A device that has everything, and is on everybody's list, does not destroy itself
// because it slept for long and the network is not there at once.
func TestCompleteDeviceOutlivesADayAndABrokenNetwork(t *testing.T) {
	completed(t, func(t *testing.T, r *realm, ada *person, n *newcomer) {
		time.Sleep(50 * time.Hour)
		r.lie(func() {
			r.blobFails = func(by string) error {
				if by == n.opts.Name {
					return errors.New("the network is not up yet")
				}
				return nil
			}
		})
		n.start()
		passes(time.Minute)
		r.lie(func() { r.blobFails = nil })
		if err := n.result(); err != nil {
			t.Fatalf("got %v, want that it is linked", err)
		}
		ada.until(stageIs(LinkDone))
		n.open().Close()
	})
}

// A device that is given up after it was put on the list, and does not know, is taken
// off it again.
func TestDeviceGivenUpAfterItWasListedIsRevoked(t *testing.T) {
	completed(t, func(t *testing.T, r *realm, ada *person, n *newcomer) {
		if err := AbandonJoin(t.Context(), n.opt); err != nil {
			t.Fatal(err)
		}
		n.gone()
		if l := ada.until(stageIs(LinkEnded)); !strings.Contains(l.Reason, "off the list") {
			t.Errorf("got %+v, want the reason", l)
		}
		devices, err := ada.Devices(t.Context())
		if err != nil || len(devices) != 2 || !devices[1].Revoked {
			t.Errorf("got devices %+v, %v, want the second one revoked", devices, err)
		}
	})
}

// A device that says nothing for long does not keep another one from being linked.
func TestAnotherLinkWhileADeviceHasNotSpoken(t *testing.T) {
	completed(t, func(t *testing.T, r *realm, ada *person, n *newcomer) {
		passes(time.Minute)
		m := r.joining(t, "pad", ada.offer())
		m.start()
		ada.until(stageIs(LinkCompare))
		if _, err := ada.ConfirmLink(t.Context(), <-m.digits); err != nil {
			t.Fatal(err)
		}
		if err := m.result(); err != nil {
			t.Fatal(err)
		}
		ada.until(stageIs(LinkDone))
		n.start()
		if err := n.result(); err != nil {
			t.Fatalf("the first one: got %v, want that it is linked", err)
		}
		if devices, err := ada.Devices(t.Context()); err != nil || len(devices) != 3 {
			t.Errorf("got devices %+v, %v, want three", devices, err)
		}
	})
}

// If the word of the new device that it works is lost, its first session says so.
func TestLinkEndsByASession(t *testing.T) {
	unhappy(t, func(t *testing.T, r *realm, ada *person, n *newcomer, digits string) {
		r.lie(func() {
			r.readBlob = func(by string, _ wire.BlobID, b []byte) []byte {
				if devices := len(ada.engine.Self.Manifest.Devices); by == n.opts.Name && devices == 2 {
					r.blobFails = func(by string) error {
						if by == n.opts.Name {
							return errors.New("the connection broke")
						}
						return nil
					}
				}
				return b
			}
		})
		if _, err := ada.ConfirmLink(t.Context(), digits); err != nil {
			t.Fatal(err)
		}
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		passes(time.Minute)
		if l, err := ada.LinkState(t.Context()); err != nil || l.Stage != LinkAdmit {
			t.Errorf("got %+v, %v, want that its word is missing", l, err)
		}
		r.lie(func() { r.blobFails, r.readBlob = nil, nil })
		c := n.open()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		ada.until(stageIs(LinkDone))
		stop()
		<-done
		c.Close()
	})
}

// A vault that was made, and in which nothing was written before the process ended, is
// in nobody's way.
func TestJoinThatWasKilledAtItsFirstMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRealm(600)
		ada := r.joinNear(t, "Ada", away)
		n := r.joining(t, "telephone", ada.offer())
		empty := func() {
			v, err := createVault(n.opt)
			if err != nil {
				t.Fatal(err)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
		}
		empty()
		if err := AbandonJoin(t.Context(), n.opt); err != nil {
			t.Errorf("giving it up: %v", err)
		}
		n.gone()
		empty()
		n.start()
		ada.until(stageIs(LinkCompare))
		if _, err := ada.ConfirmLink(t.Context(), <-n.digits); err != nil {
			t.Fatal(err)
		}
		if err := n.result(); err != nil {
			t.Fatal(err)
		}
		ada.stop()
	})
}
