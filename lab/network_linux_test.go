package lab

import (
	"fmt"
	"regexp"
	"testing"
	"time"
)

// How the ways of a scenario are.
var (
	fine  = weather{delay: 10 * time.Millisecond}
	hole  = weather{delay: 10 * time.Millisecond, mtu: 1280}                // larger packets vanish, and no ICMP says so
	rough = weather{delay: 150 * time.Millisecond, loss: 0.05, twice: 0.01} // 300 ms there and back
)

// TestNetwork runs the real programs on networks of their own. Most of it is
// waiting, so give it room: -parallel 16.
func TestNetwork(t *testing.T) {
	needNetwork(t)
	programs := buildPrograms(t)
	for _, c := range []struct {
		name     string
		ada, bob string // what their homes speak
		weather  weather
	}{
		{"IPv4", "v4", "v4", fine},
		{"IPv6", "v6", "v6", fine},
		{"OneOfEach", "v4", "v6", fine},
		{"Rough", "v4", "v6", rough},
		{"Hole", "v4", "v6", hole},
	} {
		t.Run("FromNothing/"+c.name, func(t *testing.T) {
			t.Parallel()
			fromNothing(newNeighbours(t, programs, c.ada, c.bob, c.weather, ""))
		})
	}
	for _, c := range []struct {
		name string
		play func(*neighbours)
		conf string
	}{
		{"Change", func(w *neighbours) { deviceMoves(w); w.quiet(); lidShuts(w); w.quiet(); routerMoves(w) }, ""},
		{"ChangeInSilence", routerMovesUnnoticed, "ping = 5"},
		{"Hostile/PacketsVanish", packetsVanish, ""},
		{"Hostile/SignInPage", hotel, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newNeighbours(t, programs, "v4", "v4", fine, c.conf)
			fromNothing(w)
			w.bobChats = w.bob.keeps("chat", "--plain", "Ada")
			w.say("to begin with")
			w.quiet()
			c.play(w)
			w.nothingLost()
		})
	}
}

// neighbours are two people at home and a relay.
type neighbours struct {
	t          *testing.T
	net        *internet
	server     *server
	adas, bobs *home
	ada, bob   *somebody
	adaFollows *running
	bobChats   *running
	said       []string // by Bob to Ada
	answered   []string // by Ada to Bob
}

func newNeighbours(t *testing.T, programs, ada, bob string, w weather, conf string) *neighbours {
	t.Helper()
	n := newInternet(t, 1)
	s := newServer(t, n, programs, conf)
	a := newHome(t, n, w, ada, adaPublic, "2001:db8:a")
	b := newHome(t, n, w, bob, "203.0.113.9", "2001:db8:b")
	return &neighbours{
		t: t, net: n, server: s, adas: a, bobs: b,
		ada: newSomebody(t, "Ada", programs, a.host), bob: newSomebody(t, "Bob", programs, b.host),
	}
}

// Addresses of Ada's router, one after the other.
const (
	adaPublic = "198.51.100.7"
	adaNext   = "198.51.100.8"
)

// fromNothing takes two people from nothing to the first message, as docs/use.md says
// it, and counts what they type.
func fromNothing(w *neighbours) {
	t := w.t
	t.Helper()
	began := time.Now()
	w.ada.types("init", "--name", "Ada", "--relay", relayName+":"+relayPort+"#"+w.server.key)
	w.adaFollows = w.ada.keeps("invite", "new", "--follow")
	link, _ := w.ada.shows(w.adaFollows, `^(tacet://\S+)$`)
	w.ada.shows(w.adaFollows, `[Hh]and it over`) // not before it works
	w.bob.types("accept", "--as", "Bob", "--yes", "--timeout", "5m", link)
	accepted := time.Now()
	const first = "hello, it is Bob"
	sent := w.bob.types("send", "Ada", "--wait", "device", "--timeout", "5m", first)
	acked := time.Now()
	_, shown := w.ada.shows(w.adaFollows, `from Bob: `+first+`$`)
	t.Logf("from nothing: %.1f s to an accepted invite, %.1f s to the first message on the other's screen, %.1f s to %q",
		accepted.Sub(began).Seconds(), shown.Sub(began).Seconds(), acked.Sub(began).Seconds(), sent)
	if n := len(w.ada.typed) + len(w.bob.typed); n > 4 {
		t.Errorf("got %d commands, want at most four: %q %q", n, w.ada.typed, w.bob.typed)
	}
	if n := w.ada.has(first); n != 1 {
		t.Errorf("the message is shown %d times, want once", n)
	}
	for name, l := range map[string]*uplink{"Ada": w.adas.line, "Bob": w.bobs.line} {
		if l.count() == 0 {
			t.Errorf("%s's line carried nothing: they spoke over something else", name)
		}
	}
}

// quiet waits until nobody has anything to send, acks neither.
func (w *neighbours) quiet() {
	w.t.Helper()
	for _, text := range w.said {
		w.seen(text)
	}
	for _, text := range w.answered {
		w.arrives(text)
	}
	asking(w.t, "nothing to wait", func() bool { return w.ada.status().Waiting+w.bob.status().Waiting == 0 })
}

// say has Bob say something.
func (w *neighbours) say(text string) {
	w.said = append(w.said, text)
	w.bobChats.enter(text)
}

// seen waits until Ada sees what Bob said, and says when.
func (w *neighbours) seen(text string) time.Time {
	w.t.Helper()
	_, at := w.ada.shows(w.adaFollows, `from Bob: `+regexp.QuoteMeta(text)+`$`)
	return at
}

// answer has Ada write to Bob, and does not wait for more than her own device.
func (w *neighbours) answer(text string) {
	w.t.Helper()
	w.answered = append(w.answered, text)
	w.ada.types("send", "Bob", "--wait", "queued", text)
}

// arrives waits until Bob sees what Ada wrote.
func (w *neighbours) arrives(text string) time.Time {
	w.t.Helper()
	_, at := w.bob.shows(w.bobChats, `from Ada: `+regexp.QuoteMeta(text)+`$`)
	return at
}

// nothingLost waits until nothing waits anywhere, and counts.
func (w *neighbours) nothingLost() {
	t := w.t
	t.Helper()
	w.quiet()
	for _, text := range w.said {
		if n := w.ada.has(text); n != 1 {
			t.Errorf("Ada sees %q %d times, want once", text, n)
		}
	}
	for _, text := range w.answered {
		if n := w.bob.has(text); n != 1 {
			t.Errorf("Bob sees %q %d times, want once", text, n)
		}
	}
}

// deviceMoves takes Ada's device from one network to another, as from wifi to
// mobile: its address is gone, and it says nothing itself.
func deviceMoves(w *neighbours) {
	began := time.Now()
	w.adas.host.do("ip addr del " + host4 + "/24 dev eth0\nip addr add " + next4 + "/24 dev eth0\nip route replace default via " + router4)
	for n := range 5 {
		w.say(fmt.Sprint("on the train ", n))
	}
	w.t.Logf("a device with another address: reachable again after %.1f s", w.seen("on the train 0").Sub(began).Seconds())
	w.answer("I am on a train")
	w.t.Logf("and a message of its own after %.1f s more", w.arrives("I am on a train").Sub(w.seen("on the train 4")).Seconds())
}

// renumber gives Ada's router another public address; its table of translations
// is empty then.
func (w *neighbours) renumber() {
	w.adas.line.reach(adaNext + "/32")
	w.adas.router.do("ip addr del " + adaPublic + "/32 dev wan\nip addr add " + adaNext + "/32 dev wan\nip route replace default dev wan")
}

// routerMoves changes the address of Ada's router while she writes.
func routerMoves(w *neighbours) {
	w.answer("just before")
	w.arrives("just before")
	began := time.Now()
	w.renumber()
	for n := range 5 {
		w.say(fmt.Sprint("by another door ", n))
	}
	w.answer("is anybody there?")
	w.t.Logf("a router with another address, its device talking: own message through after %.1f s, reachable again after %.1f s",
		w.arrives("is anybody there?").Sub(began).Seconds(), w.seen("by another door 0").Sub(began).Seconds())
}

// routerMovesUnnoticed changes it while she is silent: nothing tells but that
// the relay's pings stay away, here every 5 s instead of every 60.
func routerMovesUnnoticed(w *neighbours) {
	began := time.Now()
	w.renumber()
	for n := range 5 {
		w.say(fmt.Sprint("by another door ", n))
	}
	w.t.Logf("a router with another address, its device silent, pings of 5 s: reachable again after %.1f s", w.seen("by another door 0").Sub(began).Seconds())
	w.answer("I was away")
}
