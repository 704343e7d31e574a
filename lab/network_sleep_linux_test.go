package lab

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// lidShuts puts Ada's computer to sleep, with something to send, and wakes it.
// All its programs stop and its network is down. The clock on the wall does not
// jump, as it would: for that see slept in client/transport/relay.
func lidShuts(w *neighbours) {
	w.adas.host.do("ip link set eth0 down")
	w.answer("written under way")
	w.adaFollows.signal(syscall.SIGSTOP)
	var asleep []string
	for n := range 3 {
		asleep = append(asleep, fmt.Sprint("while you sleep ", n))
		w.say(asleep[n])
	}
	w.uncounted(asleep)
	// Whether or not the relay had noticed by the first try, it has now.
	asleep = append(asleep, "are you there?")
	w.say(asleep[3])
	w.uncounted(asleep)
	began := time.Now()
	w.adas.host.do("ip link set eth0 up\nip route replace default via " + router4)
	w.adaFollows.signal(syscall.SIGCONT)
	w.t.Logf("a computer that wakes: shows what came after %.1f s, its own message through after %.1f s",
		w.seen(asleep[0]).Sub(began).Seconds(), w.arrives("written under way").Sub(began).Seconds())
}

// uncounted waits until the relay has answered for messages that Bob sent, and
// wants it to have counted nobody.
func (w *neighbours) uncounted(texts []string) {
	w.t.Helper()
	var states map[client.State]int
	asking(w.t, "all to be offered", func() bool {
		states = map[client.State]int{}
		for _, e := range w.bob.history() {
			if e.Out && slices.Contains(texts, e.Text) {
				states[e.State]++
			}
		}
		return states[client.Offered]+states[client.Live]+states[client.OnDevice] == len(texts)
	})
	if states[client.Offered] != len(texts) {
		w.t.Errorf("got states %v of %d messages to a device that sleeps, want all offered and none counted", states, len(texts))
	}
}
