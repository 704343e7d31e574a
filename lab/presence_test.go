package lab

import (
	"bytes"
	"crypto/rand"
	"io"
	"math"
	mrand "math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/wire"
)

// kolmogorov returns the two-sample Kolmogorov–Smirnov statistic: the largest
// distance of the two empirical distributions.
func kolmogorov(a, b []float64) (d float64) {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x := min(a[i], b[j])
		for i < len(a) && a[i] == x {
			i++
		}
		for j < len(b) && b[j] == x {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}

// critical returns the distance that two samples of one distribution pass with
// probability alpha.
func critical(n, m int, alpha float64) float64 {
	return math.Sqrt(-math.Log(alpha/2)/2) * math.Sqrt(float64(n+m)/float64(n*m))
}

// falseAlarm is how often the tests here may fail for no reason, all pairs of
// classes together.
const falseAlarm = 1e-4

// differ returns the pairs of samples that come from different distributions.
func differ(samples map[string][]float64) (pairs [][2]string, d map[[2]string]float64) {
	d = map[[2]string]float64{}
	n := len(samples) * (len(samples) - 1) / 2
	for a, x := range samples {
		for b, y := range samples {
			if a >= b {
				continue
			}
			pair := [2]string{a, b}
			d[pair] = kolmogorov(x, y)
			if d[pair] > critical(len(x), len(y), falseAlarm/float64(n)) {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs, d
}

// TestAnswerTimesTellNothing puts cells to addresses of four sorts, one after
// the other in random order: of a device that is there and echoes, of nobody, of
// one that has blocked the sender and echoes nothing, and of a contact route,
// which is watched alone and never echoed. When the answer comes must not tell
// which it was. Nothing is asked of the time itself.
func TestAnswerTimesTellNothing(t *testing.T) {
	each := 600
	if testing.Short() {
		each = 400
	}
	host := &Host{Data: t.TempDir() + "/relay", log: t.Output()}
	if err := host.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { host.Stop() })
	relay := host.Addr()

	sorts := []string{"online", "offline", "blocked", "contact route"}
	to := map[string]own{}
	for _, s := range sorts {
		to[s] = decoy(t)
	}
	// Sets are padded to 16, as a client's are.
	pad := func(o own) []own {
		set := []own{o}
		for len(set) < 16 {
			set = append(set, decoy(t))
		}
		return set
	}
	watchRaw(t, relay, func(wire.Address) bool { return true }, pad(to["online"])...)
	watchRaw(t, relay, func(wire.Address) bool { return false }, pad(to["blocked"])...)
	watchRaw(t, relay, func(wire.Address) bool { return false }, pad(to["contact route"])...)

	order := make([]string, 0, each*len(sorts))
	for range each {
		order = append(order, sorts...)
	}
	mrand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	p := newPutter(t, relay, len(order))
	ids := make([]uint64, len(order))
	tick := time.NewTicker(1700 * time.Microsecond) // no divisor of anything at the relay
	defer tick.Stop()
	for i, s := range order {
		<-tick.C
		ids[i] = p.put(to[s].address, randomCell())
	}
	p.wait()
	took, delivered := map[string][]float64{}, map[string]int{}
	for i, s := range order {
		a := p.answers[ids[i]]
		took[s] = append(took[s], a.took.Seconds())
		delivered[s] += a.delivered
	}
	if delivered["online"] != each || delivered["offline"]+delivered["blocked"]+delivered["contact route"] != 0 {
		t.Errorf("got counts %v, want %d for online and 0 for the others", delivered, each)
	}
	pairs, d := differ(took)
	t.Logf("distances %v, an alarm needs more than %.3f", d, critical(each, each, falseAlarm/6))
	if len(pairs) != 0 {
		t.Errorf("answer times tell %v apart", pairs)
	}

	// The control: 5 ms more for one sort is seen, and for that sort alone.
	for i := range took["online"] {
		took["online"][i] += 0.005
	}
	if pairs, d := differ(took); len(pairs) != 3 {
		t.Errorf("5 ms more for online: got %v told apart (distances %v), want online from the three others", pairs, d)
	}
}

// TestAnswerTimesTellNothingByPost is the same for puts that come as requests of
// their own, as behind a front.
func TestAnswerTimesTellNothingByPost(t *testing.T) {
	const each = 400
	relay := startRelay(t)
	to := map[string]own{"online": decoy(t), "offline": decoy(t), "blocked": decoy(t)}
	watchRaw(t, relay, func(wire.Address) bool { return true }, to["online"])
	watchRaw(t, relay, func(wire.Address) bool { return false }, to["blocked"])
	var order []string
	for range each {
		for s := range to {
			order = append(order, s)
		}
	}
	mrand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(order)}}
	defer web.CloseIdleConnections()
	took, delivered := make([]float64, len(order)), make([]int, len(order))
	var all sync.WaitGroup
	tick := time.NewTicker(3300 * time.Microsecond)
	defer tick.Stop()
	for i, s := range order {
		<-tick.C
		all.Go(func() {
			body := make([]byte, 0, wire.PostPutSize)
			body = append(body, randomCell()[:wire.ContextSize+wire.PutIDSize]...)
			a := to[s].address
			body = append(append(body, a[:]...), randomCell()[:]...)
			began := time.Now()
			resp, err := web.Post("http://"+relay+"/v1/put", "application/octet-stream", bytes.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			b, err := io.ReadAll(resp.Body)
			took[i] = time.Since(began).Seconds()
			got, perr := wire.ParseAnswer(b)
			if err != nil || perr != nil {
				t.Errorf("got answer %q, %v", b, err)
			}
			delivered[i] = int(got.Delivered)
		})
	}
	all.Wait()
	samples, counts := map[string][]float64{}, map[string]int{}
	for i, s := range order {
		samples[s] = append(samples[s], took[i])
		counts[s] += delivered[i]
	}
	if counts["online"] != each || counts["offline"]+counts["blocked"] != 0 {
		t.Errorf("got counts %v, want %d for online and 0 for the others", counts, each)
	}
	if pairs, d := differ(samples); len(pairs) != 0 {
		t.Errorf("answer times tell %v apart (distances %v)", pairs, d)
	}
}

// TestKolmogorov holds the test of the tests to what is known of it.
func TestKolmogorov(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, 0},
		{[]float64{1, 2}, []float64{3, 4}, 1},
		{[]float64{1, 2, 3, 4}, []float64{3, 4, 5, 6}, 0.5},
		{[]float64{1, 1, 1, 1}, []float64{1, 1, 2, 2}, 0.5},
	} {
		if got := kolmogorov(c.a, c.b); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("got %v for %v and %v, want %v", got, c.a, c.b, c.want)
		}
	}
	// The alarm is as rare as it says: at 1 in 20, of 400 pairs of samples.
	rnd := mrand.New(mrand.NewPCG(1, 2))
	sample := func() (s []float64) {
		for range 300 {
			s = append(s, rnd.Float64())
		}
		return s
	}
	alarms := 0
	for range 400 {
		if kolmogorov(sample(), sample()) > critical(300, 300, 0.05) {
			alarms++
		}
	}
	if alarms == 0 || alarms > 40 {
		t.Errorf("got %d alarms in 400, want about 20", alarms)
	}
}

// TestNobodyButAContactReadsPresence: whoever holds an invite, and whoever was
// blocked, never reads a count above zero of a device that is there. An accepted
// contact does, or the test would show nothing.
func TestNobodyButAContactReadsPresence(t *testing.T) {
	t.Parallel()
	const adaFrom, bobFrom = "127.0.0.2", "127.0.0.3"
	tap := startTapped(t)
	ada, bob := guestOf(t, "Ada", tap.Name(), adaFrom), guestOf(t, "Bob", tap.Name(), bobFrom)

	// A stranger with an invite: everything that its bundle allows.
	inv, err := ada.NewInvite(t.Context(), client.InviteOptions{Uses: 5})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "Ada to watch", func() bool { st, err := ada.Status(t.Context()); return err == nil && st.Connected })
	strange(t, tap.Name(), inv.Link)
	if err := ada.RevokeInvite(t.Context(), inv.ID); err != nil {
		t.Fatal(err)
	}

	// Bob's hello, by a real client, is not counted either.
	since := time.Now()
	acquaint(t, ada, bob, "hello")
	until(t, "the answers to a hello", func() bool { return len(counted(tap, bobFrom, since)) >= wire.HelloCells })
	hello := counted(tap, bobFrom, since)
	if slices.Max(hello[:wire.HelloCells]) != 0 {
		t.Errorf("got counts %v for the cells of a hello, want 0", hello)
	}

	// The control: now he is accepted.
	since = time.Now()
	write(t, bob, "ada", "are you there?", client.OnDevice)
	until(t, "the answer to a put", func() bool { return len(counted(tap, bobFrom, since)) > 0 })
	if got := counted(tap, bobFrom, since); len(got) == 0 || slices.Max(got) != 1 {
		t.Errorf("got counts %v for an accepted contact, want 1", got)
	}

	if _, err := ada.Answer(t.Context(), "bob", client.AnswerBlock); err != nil {
		t.Fatal(err)
	}
	since = time.Now()
	for _, text := range []string{"hello?", "are you there?", "why do you not answer?"} {
		write(t, bob, "ada", text, client.Offered)
	}
	until(t, "Bob to try again", func() bool { return len(counted(tap, bobFrom, since)) > 3 })
	if got := counted(tap, bobFrom, since); slices.Max(got) != 0 {
		t.Errorf("got counts %v after a block, want 0", got)
	}
}

// strange puts all sorts of cells to the contact route of an invite.
func strange(t *testing.T, relay, link string) {
	t.Helper()
	l, err := invite.ParseLink(link)
	if err != nil {
		t.Fatal(err)
	}
	id := l.ID()
	b, err := invite.Open(l, get(t, "http://"+relay+"/v1/blob/"+hexOf(id[:])), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	r := &route{offer: b.Route}
	r.chain = newChain(&b.Route)
	period := presentPeriod()
	body := func(kind wire.Kind, payload []byte, index, count byte) *wire.Cell {
		var id wire.MessageID
		rand.Read(id[:])
		return r.cell(t, period, &wire.Body{Kind: kind, ID: id, Index: index, Count: count, Payload: payload})
	}
	noise := func(n int) []byte { p := make([]byte, n); rand.Read(p); return p }
	repeated := body(wire.KindPair, noise(wire.PairSize), 0, 1)
	got := putAll(t, relay, r.at(t, period).Address,
		randomCell(), randomCell(),
		body(wire.KindPair, noise(wire.PairSize), 0, 1), repeated, repeated,
		body(wire.KindDrop, nil, 0, 1),
		body(wire.KindHello, noise(wire.PayloadSize), 0, 4), body(wire.KindHello, noise(wire.PayloadSize), 1, 4),
	)
	if slices.Max(got) != 0 {
		t.Errorf("got counts %v for a stranger, want 0", got)
	}
}
