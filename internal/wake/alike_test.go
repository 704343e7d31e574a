package wake

import (
	"crypto/rand"
	"fmt"
	"math"
	"math/bits"
	"testing"

	"github.com/tacet-chat/tacet/internal/key"
)

// Tickets of one device, as whoever carries them sees them, must have no more in
// common than tickets of different devices. Three looks, each of which also sees
// a device that is planted: one that seals its tickets in a poorer way.

const (
	ticketsOf = 1500 // of each of two devices
	few       = 300  // of a planted one
	seen      = TicketSize - headSize
)

// device makes tickets. A naive one uses what is not fresh.
func device(t *testing.T, pub key.XWingPublic, n int, spoil func([]byte)) [][]byte {
	t.Helper()
	secret, err := key.Generate[key.WakeRole](rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ticket := Ticket{Expires: 1_800_000_000}
	rand.Read(ticket.Family[:])
	rand.Read(ticket.MAC[:])
	out := make([][]byte, n)
	for i := range out {
		rand.Read(ticket.ID[:])
		private, auth := PushKeys(secret, ticket.ID)
		ticket.Subscription = NewSubscription(fmt.Sprintf("%s%x", endpoint, secret.Bytes()[:4]), private, auth)
		raw, err := Seal(pub, gw, &ticket)
		if err != nil {
			t.Fatal(err)
		}
		if out[i] = raw[headSize:]; spoil != nil {
			spoil(out[i])
		}
	}
	return out
}

// distance is the mean share of bits in which neighbours in a list differ, in
// standard deviations from that of others.
func distance(same, mixed [][2][]byte) float64 {
	mean := func(pairs [][2][]byte) (m, v float64) {
		for _, p := range pairs {
			n := 0
			for i := range p[0] {
				n += bits.OnesCount8(p[0][i] ^ p[1][i])
			}
			m += float64(n)
			v += float64(n) * float64(n)
		}
		k := float64(len(pairs))
		m /= k
		return m, (v/k - m*m) / k
	}
	a, va := mean(same)
	b, vb := mean(mixed)
	return math.Abs(a-b) / math.Sqrt(va+vb)
}

// biased returns the worst deviation of any bit's mean in one device's tickets
// from the other's, in standard deviations.
func biased(a, b [][]byte) (worst float64) {
	for i := range seen * 8 {
		var n [2]float64
		for d, all := range [][][]byte{a, b} {
			for _, x := range all {
				n[d] += float64(x[i/8] >> (i % 8) & 1)
			}
			n[d] /= float64(len(all))
		}
		p := (n[0] + n[1]) / 2
		if v := p * (1 - p) * (1/float64(len(a)) + 1/float64(len(b))); v > 0 {
			worst = max(worst, math.Abs(n[0]-n[1])/math.Sqrt(v))
		}
	}
	return worst
}

// repeats counts runs of 8 bytes, at any place, that two tickets have in common.
func repeats(all [][]byte) (n int) {
	found := map[[8]byte]int{}
	for i, x := range all {
		for at := 0; at+8 <= len(x); at++ {
			k := [8]byte(x[at:])
			if j, ok := found[k]; ok && j != i {
				n++
			}
			found[k] = i
		}
	}
	return n
}

// looks returns what the three looks see of two devices.
func looks(a, b [][]byte) (apart, bias float64, runs int) {
	var same, mixed [][2][]byte
	for i := 1; i < len(a); i++ {
		same = append(same, [2][]byte{a[i-1], a[i]})
		mixed = append(mixed, [2][]byte{a[i], b[i]})
	}
	return distance(same, mixed), biased(a, b), repeats(a[:len(a)/3])
}

// far is where chance ends: among 15,592 bits the worst of six standard
// deviations comes once in some 30,000 runs.
const far = 6

func TestTicketsOfOneDeviceHaveNothingInCommon(t *testing.T) {
	_, pub := gatewayKey(t, 1)
	n := ticketsOf
	if testing.Short() {
		n = few
	}
	a, b := device(t, pub, n, nil), device(t, pub, n, nil)
	apart, bias, runs := looks(a, b)
	t.Logf("%d tickets each of two devices: distance %.2f, worst bit %.2f standard deviations, %d common runs of 8 bytes", n, apart, bias, runs)
	if apart > far || bias > far || runs > 0 {
		t.Errorf("got distance %.2f, worst bit %.2f, %d common runs, want below %d and none", apart, bias, runs, far)
	}
	for name, spoil := range map[string]func([]byte){
		"a mark of one byte in eight bits": func(x []byte) { x[700] = 0x5a },
		"a slightly lopsided byte":         func(x []byte) { x[900] |= x[901] | x[902] },
		"a constant tail":                  func(x []byte) { copy(x[seen-16:], "0123456789abcdef") },
	} {
		apart, bias, runs := looks(device(t, pub, few, spoil), b[:few])
		t.Logf("planted, %s: distance %.2f, worst bit %.2f, %d common runs", name, apart, bias, runs)
		if apart <= far && bias <= far && runs == 0 {
			t.Errorf("%s: was not seen", name)
		}
	}
}
