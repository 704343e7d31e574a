package lab

import (
	"fmt"
	"strings"
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
		text := fmt.Sprint("while you sleep ", n)
		asleep = append(asleep, text)
		w.say(text)
	}
	patiently(w.t, "all to be offered", func() bool { return w.states(asleep)[client.Offered] == len(asleep) })
	// The relay may not have noticed at the first try: it has now.
	w.say("are you there?")
	asleep = append(asleep, "are you there?")
	patiently(w.t, "that to be offered", func() bool { return w.states(asleep)[client.Offered] == len(asleep) })
	for _, text := range asleep {
		if strings.Contains(w.bobChats.out.String(), text+" (live") {
			w.t.Errorf("a device that sleeps was counted for %q", text)
		}
	}
	began := time.Now()
	w.adas.host.do("ip link set eth0 up\nip route replace default via " + router4)
	w.adaFollows.signal(syscall.SIGCONT)
	w.t.Logf("a computer that wakes: shows what came after %.1f s, its own message through after %.1f s",
		w.seen(asleep[0]).Sub(began).Seconds(), w.arrives("written under way").Sub(began).Seconds())
}

// states counts the states of messages that Bob sent.
func (w *neighbours) states(texts []string) map[client.State]int {
	w.t.Helper()
	n := map[client.State]int{}
	for _, e := range w.bob.history() {
		for _, text := range texts {
			if e.Out && e.Text == text {
				n[e.State]++
			}
		}
	}
	return n
}
