package relay

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/relay/internal/hub"
)

//go:embed testdata/chromium.html
var page []byte

// foreignPage tries the relay from an origin that is not listed.
const foreignPage = `<!doctype html><script>
const ws = new WebSocket(new URLSearchParams(location.search).get("relay").replace("http", "ws") + "/v1/watch");
ws.onopen = () => parent.postMessage("opened", "*");
ws.onclose = e => parent.postMessage(String(e.code), "*");
</script>`

// TestABrowserIsAPeer: Chromium's WebSocket, of yet another make, watches, puts,
// echoes and closes from a page whose origin the operator listed; plain, and over
// TLS of Chromium's making.
func TestABrowserIsAPeer(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED 1 test: there is no chromium on this machine")
	}
	saw := make(chan []string, 1)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("GET /foreign", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, foreignPage) })
	mux.HandleFunc("POST /saw", func(_ http.ResponseWriter, r *http.Request) {
		var s []string
		if err := json.NewDecoder(r.Body).Decode(&s); err != nil {
			t.Error(err)
		}
		saw <- s
	})
	pages := httptest.NewServer(mux)
	t.Cleanup(pages.Close)

	s := start(t, Config{Origins: []string{pages.URL}, WindowMiB: 64})
	for name, at := range map[string]string{"plain": s.url, "tls": s.secure(t)} {
		t.Run(name, func(t *testing.T) {
			q := url.Values{
				"relay": {at}, "realm": {hex.EncodeToString(s.public[:])}, "period": {fmt.Sprint(time.Now().Unix() / int64(s.cfg.Period))},
				"foreign": {strings.Replace(pages.URL, "127.0.0.1", "localhost", 1)},
			}
			browse(t, browser, pages.URL+"/page?"+q.Encode())
			var got []string
			select {
			case got = <-saw:
			case <-time.After(5 * time.Minute):
				t.Fatal("the page said nothing")
			}
			want := []string{
				"descriptor 200 true", "greeting 1, 105", "watched 3, 1", "delivered 2", "answers 1/1 0/1", "delivered 400", "delivered 420", "answered 480",
				"greeting 1, 105", "replayed 420, then 3", "greeting 1, 105", "bad proof: 4,1 1008 clean", "text: 1003 clean", "short put: 1008 clean",
				"empty put: 1008 clean", "huge: 1009 clean", "own close: 4000 clean", "put connection: 1", "foreign: 1006",
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// browse opens a page in a browser that ends with the test.
func browse(t *testing.T, browser, at string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "tacet-browser")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--ignore-certificate-errors",
		"--remote-debugging-port=0", "--user-data-dir="+dir, at)
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop()
		cmd.Wait()
		for range 600 { // some of whom it started take a moment to die, and write meanwhile
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Errorf("%s cannot be removed", dir)
	})
}

// secure serves the relay over TLS with a certificate of the sort that browsers
// take, on the listener that the relay itself uses.
func (s *running) secure(t *testing.T) string {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.Public(), k)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: s.Handler()}
	go srv.Serve(hub.Listen(ln, &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: k}}}))
	t.Cleanup(func() { srv.Close() })
	return "https://" + ln.Addr().String()
}
