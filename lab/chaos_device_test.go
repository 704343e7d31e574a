package lab

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// tabletAt is the network address of Ada's second device.
const tabletAt = "127.0.0.5"

// TestChaosOfTwoDevices gives Ada a second device, with both of them killed while the
// history goes over, and then kills, freezes and cuts off either, or both, at random
// moments while each of them and Bob talk. Everything that anybody says is in all three
// vaults, once.
func TestChaosOfTwoDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED 1 chaos of two devices: short")
	}
	if !here(adaFrom) || !here(tabletAt) {
		t.Skip("SKIPPED 1 chaos of two devices: loopback has one network address here, so one device cannot be cut off alone")
	}
	d := raise(t, StageOptions{AckMean: 100 * time.Millisecond}, whole(20, 40), time.Duration(whole(50, 100))*time.Millisecond)
	tablet := d.joinTablet()
	d.everywhere(tablet, nil)

	k := &talk{from: tablet, to: d.Bob, who: "bob", every: d.talks[0].every}
	for n := range len(d.talks[0].texts) {
		k.texts = append(k.texts, fmt.Sprintf("2: message %d", n))
	}
	talks := []*talk{d.talks[0], d.talks[1], k}
	for _, k := range talks {
		k.begin(d.ctx)
	}
	devices := []*talk{talks[0], k}
	for range whole(4, 10) {
		d.pause(d.upTo(800 * time.Millisecond))
		victims := devices[d.dice.IntN(2):][:1]
		if d.dice.IntN(4) == 0 {
			victims = devices
		}
		switch what, long := d.dice.IntN(3), d.upTo(800*time.Millisecond); what {
		case 0:
			d.killAll(victims, long)
		case 1:
			for _, v := range victims {
				if err := v.from.Freeze(); err != nil {
					t.Fatal(err)
				}
			}
			d.pause(long)
			for _, v := range victims {
				if err := v.from.Thaw(); err != nil {
					t.Fatal(err)
				}
			}
		case 2:
			for _, v := range victims {
				d.Tap.Shut(v.from.order.From, true)
			}
			d.pause(long)
			for _, v := range victims {
				d.Tap.Shut(v.from.order.From, false)
			}
		}
	}
	for _, k := range talks {
		if err := <-k.done; err != nil {
			t.Fatalf("%s talking: %v", k.from.Name, err)
		}
	}
	var all []string
	for _, k := range talks {
		all = append(all, k.texts...)
	}
	d.everywhere(tablet, all)
	wrong := 0
	for _, p := range []*Person{d.Ada, tablet, d.Bob} {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
		events := d.vault(p)
		for i, k := range talks {
			out, state := i == 1 == (p == d.Bob), client.Received
			if out {
				state = client.OnDevice
			}
			for _, text := range k.texts {
				if n := count(events, text, out, state); n != 1 {
					if wrong++; wrong <= 10 {
						t.Errorf("%q: %d times in the vault of %s, want once", text, n, p.order.Dir)
					}
				}
			}
		}
	}
	t.Logf("%d messages on three devices, %d wrong, %d kills, %.1f s", len(all), wrong, d.kills, time.Since(d.began).Seconds())
}

// joinTablet links a second device of Ada's. Either side kills itself once while the
// history goes over, and goes on.
func (d *drama) joinTablet() *Person {
	d.t.Helper()
	check := func(err error) {
		d.t.Helper()
		if err != nil {
			d.t.Fatal(err)
		}
	}
	for i := range 30 {
		_, err := d.Bob.Send(d.ctx, "ada", fmt.Sprintf("history %d", i))
		check(err)
	}
	a, err := d.Ada.ask(d.ctx, ask{Do: "link"})
	check(err)
	tablet := d.person("tablet", "tablet", tabletAt, StageOptions{AckMean: 100 * time.Millisecond})
	tablet.order.Join = a.Text
	d.t.Cleanup(func() { tablet.Stop() })
	started := make(chan error, 1)
	go func() { started <- tablet.Start(d.ctx, Fall{Boundary: client.BoundaryJoinPiece, Nth: 2}) }()
	digits, err := tablet.Digits(d.ctx, homeWithin)
	check(err)
	check(d.Ada.Fall(d.ctx, Fall{Boundary: client.BoundaryLinkPiece, Nth: 1}))
	if _, err := d.Ada.ask(d.ctx, ask{Do: "confirm", Text: digits}); err != nil && !errors.Is(err, errEnded) {
		d.t.Fatal(err)
	}
	d.over(d.Ada, client.BoundaryLinkPiece)
	check(d.Ada.Start(d.ctx, Fall{}))
	check(<-started)
	d.over(tablet, client.BoundaryJoinPiece)
	d.kills += 2
	check(tablet.Start(d.ctx, Fall{}))
	return tablet
}

// killAll kills some at once, leaves them dead for a moment, and starts them again.
func (d *drama) killAll(victims []*talk, dead time.Duration) {
	d.t.Helper()
	for _, v := range victims {
		d.kills++
		v.from.Kill()
	}
	for _, v := range victims {
		if err := <-v.done; err == nil {
			v.said = true
		}
	}
	d.pause(dead)
	for _, v := range victims {
		if err := v.from.Start(d.ctx, Fall{}); err != nil {
			d.t.Fatal(err)
		}
		v.begin(d.ctx)
	}
}

// everywhere waits until Ada's devices and Bob have the history and some texts, and
// nothing waits to be sent.
func (d *drama) everywhere(tablet *Person, texts []string) {
	d.t.Helper()
	texts = append(slices.Clone(texts), "history 0", "history 29")
	d.Tap.Cut() // an ack that was lost is asked for again on new connections, else after ten minutes
	from := time.Now()
	for told := from; ; d.pause(200 * time.Millisecond) {
		left := ""
		for _, p := range []*Person{d.Ada, tablet, d.Bob} {
			st, err := p.Status(d.ctx)
			if err != nil {
				d.t.Fatal(err)
			}
			events, err := p.Read(d.ctx)
			if err != nil {
				d.t.Fatal(err)
			}
			has := map[string]bool{}
			for _, e := range events {
				has[e.Text] = has[e.Text] || e.State == client.Received || e.State == client.OnDevice
			}
			missing := 0
			for _, text := range texts {
				if !has[text] {
					missing++
				}
			}
			if missing > 0 || st.Waiting > 0 {
				left += fmt.Sprintf("%s lacks %d of %d, and %d wait there; ", p.order.Dir, missing, len(texts), st.Waiting)
			}
		}
		if left == "" {
			return
		}
		if time.Since(from) > homeWithin {
			d.t.Fatal(left)
		}
		if time.Since(told) > time.Minute {
			told = time.Now()
			d.t.Log(left)
		}
	}
}
