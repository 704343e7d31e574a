package lab

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// listen opens a port in a namespace: a socket stays where it was made.
func (p *place) listen(address string) net.Listener {
	p.t.Helper()
	var l net.Listener
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var ns int
		if ns, err = unix.Open("/run/netns/"+p.name, unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(ns)
		if err = unix.Setns(ns, unix.CLONE_NEWNET); err == nil {
			l, err = net.Listen("tcp", address)
		}
	}()
	<-done
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { l.Close() })
	return l
}

// signIn is what a hotel answers with, whatever is asked.
func signIn(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	io.WriteString(w, "<html><body>Welcome to the hotel. Please sign in.</body></html>")
}

// certificate is one that any web server might have.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{relayName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// packetsVanish puts a box into Ada's way that drops what is for the relay and
// resets nothing, and takes it away again.
func packetsVanish(w *neighbours) {
	t := w.t
	w.adas.router.do("iptables -I FORWARD -p tcp --dport " + relayPort + " -j DROP\niptables -I FORWARD -p tcp --sport " + relayPort + " -j DROP")
	began := time.Now()
	w.answer("into the void")
	w.say("from outside")
	w.troubled("the relay cannot be reached; messages wait here and nothing is lost")
	t.Logf("a way that swallows everything: said after %.1f s", time.Since(began).Seconds())
	out, _, err := w.ada.ask("doctor")
	if err == nil || !strings.Contains(out, "fail  relay") || !strings.Contains(out, "hint: is the relay running") {
		t.Errorf("doctor ends with %v and says:\n%s", err, out)
	}
	began = time.Now()
	w.adas.router.do("iptables -D FORWARD -p tcp --dport " + relayPort + " -j DROP\niptables -D FORWARD -p tcp --sport " + relayPort + " -j DROP")
	t.Logf("and it is open again: own message through after %.1f s, reachable after %.1f s",
		w.arrives("into the void").Sub(began).Seconds(), w.seen("from outside").Sub(began).Seconds())
}

// hotel puts Ada behind a sign-in page that answers in the relay's place, first
// in plain HTTP, then with TLS of its own, and has her sign in at last.
func hotel(w *neighbours) {
	t := w.t
	plain := w.adas.router.listen(router4 + ":8080")
	secure := w.adas.router.listen(router4 + ":8443")
	cert, err := certificate()
	if err != nil {
		t.Fatal(err)
	}
	page := &http.Server{Handler: http.HandlerFunc(signIn), ErrorLog: log.New(io.Discard, "", 0)}
	go page.Serve(plain)
	go page.Serve(tls.NewListener(secure, &tls.Config{Certificates: []tls.Certificate{cert}}))
	t.Cleanup(func() { page.Close() })
	redirect := func(verb, port string) {
		w.adas.router.do("iptables -t nat " + verb + " PREROUTING -i lan -p tcp --dport " + relayPort + " -j REDIRECT --to-ports " + port)
	}

	// She closes her program, goes to the hotel and opens it there.
	w.adaFollows.signal(syscall.SIGINT)
	w.adaFollows.Wait()
	redirect("-A", "8080")
	w.adaFollows = w.ada.keeps("read", "--follow", "--limit", "0")
	w.ada.shows(w.adaFollows, `^Following`)
	w.answer("from the hotel")
	w.say("to the hotel")
	w.troubled("no relay, perhaps a sign-in page of this network")
	out, _, err := w.ada.ask("doctor")
	if err == nil || !strings.Contains(out, "sign-in page") {
		t.Errorf("doctor ends with %v and says:\n%s", err, out)
	}
	_, said, err := newSomebody(t, "Zoe", w.ada.programs, w.adas.host).ask("init", "--name", "Zoe", "--relay", relayName+":"+relayPort)
	if err == nil || !strings.Contains(said, "No profile was made") || !strings.Contains(said, "sign-in page") {
		t.Errorf("init ends with %v and says:\n%s", err, said)
	}

	redirect("-D", "8080")
	redirect("-A", "8443")
	w.troubled("does not have the key that was pinned")
	_, said, err = newSomebody(t, "Zoe", w.ada.programs, w.adas.host).ask("init", "--name", "Zoe", "--trust-relay", "--relay", relayName+":"+relayPort)
	if err == nil || !strings.Contains(said, "No profile was made") || !strings.Contains(said, "sign-in page") {
		t.Errorf("init with TLS of somebody else ends with %v and says:\n%s", err, said)
	}

	redirect("-D", "8443")
	began := time.Now()
	t.Logf("a sign-in page that is gone: own message through after %.1f s, reachable after %.1f s",
		w.arrives("from the hotel").Sub(began).Seconds(), w.seen("to the hotel").Sub(began).Seconds())
}

// troubled waits until Ada is told what is the matter.
func (w *neighbours) troubled(with string) {
	w.t.Helper()
	asking(w.t, "Ada to be told: "+with, func() bool { return strings.Contains(w.ada.status().Trouble, with) })
}
