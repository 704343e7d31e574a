package load

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed corecrypto.js
var corecrypto []byte

const mlsPage = `<!doctype html><meta charset="utf-8"><title>bench</title><link rel="icon" href="data:,"><script type="module" src="/bench.js"></script>`

// coreCryptoHint says how to get it. It is GPL-3.0 and no part of this project: we
// neither fetch nor contain it, and it is linked with nothing of ours.
const coreCryptoHint = "it is not ours to install (GPL-3.0): `npm install --ignore-scripts @wireapp/core-crypto@10.3.0` in a directory of its own, and give that with --core-crypto DIR"

// browser is core-crypto in a page of Chromium, which asks for one order after the
// other.
type browser struct {
	cmd    *exec.Cmd
	dir    string // its profile
	said   *tail
	server *http.Server
	orders chan mlsOrder
	words  chan mlsWord
	gone   chan struct{} // closed when Chromium has ended
}

func mlsStartBrowser(ctx context.Context, o *MLSOptions) (_ *mlsSubject, err error) {
	files := filepath.Join(o.CoreCrypto, "node_modules", "@wireapp", "core-crypto", "dist", "browser")
	if _, err := os.Stat(filepath.Join(files, "corecrypto.js")); o.CoreCrypto == "" || err != nil {
		return nil, &Problem{errors.New("there is no core-crypto"), coreCryptoHint}
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		return nil, &Problem{errors.New("there is no chromium on this machine"), "on Debian: apt-get install chromium; or leave core-crypto out of --vs"}
	}
	b := &browser{said: &tail{}, orders: make(chan mlsOrder), words: make(chan mlsWord), gone: make(chan struct{})}
	if b.dir, err = os.MkdirTemp("", "tacet-load"); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	b.server = &http.Server{Handler: b.pages(files)}
	go b.server.Serve(ln)
	b.cmd = exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0", "--user-data-dir="+b.dir, "http://"+ln.Addr().String()+"/")
	b.cmd.Stderr = b.said
	apart(b.cmd)
	if err := b.cmd.Start(); err != nil {
		b.server.Close()
		return nil, errors.Join(err, os.RemoveAll(b.dir))
	}
	go func() { defer close(b.gone); b.cmd.Wait() }()
	return &mlsSubject{
		tell: func(o mlsOrder, w *mlsWord) error { return b.tell(ctx, o, w) },
		cpu:  func() float64 { return float64(groupTime(b.cmd.Process.Pid).Microseconds()) },
		end:  b.end,
	}, nil
}

// pages serve the page, core-crypto's own files, and what is said to and fro. With
// the two headers the browser's clock has steps of 5 µs in place of 100.
func (b *browser) pages(files string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(mlsPage)) })
	mux.HandleFunc("GET /bench.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(corecrypto)
	})
	mux.Handle("GET /core-crypto/", http.StripPrefix("/core-crypto/", http.FileServer(http.Dir(files))))
	mux.HandleFunc("GET /next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case o := <-b.orders:
			json.NewEncoder(w).Encode(o)
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("POST /answer", func(_ http.ResponseWriter, r *http.Request) {
		var word mlsWord
		if err := json.NewDecoder(r.Body).Decode(&word); err != nil {
			word.Err = err.Error()
		}
		select {
		case b.words <- word:
		case <-r.Context().Done():
		}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		mux.ServeHTTP(w, r)
	})
}

// pageWithin is how long a page may take for one order.
const pageWithin = 15 * time.Minute

func (b *browser) tell(ctx context.Context, o mlsOrder, w *mlsWord) error {
	late := time.NewTimer(pageWithin)
	defer late.Stop()
	orders, words := b.orders, (chan mlsWord)(nil)
	for {
		select {
		case orders <- o:
			orders, words = nil, b.words
		case *w = <-words:
			return nil
		case <-b.gone:
			return fmt.Errorf("chromium has ended; it said: %s", b.said)
		case <-late.C:
			return fmt.Errorf("the page says nothing; chromium said: %s", b.said)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end ends Chromium with all that it has started, some of which write into its
// profile until they are gone.
func (b *browser) end() {
	b.server.Close()
	killGroup(b.cmd)
	<-b.gone
	for range 600 {
		if os.RemoveAll(b.dir) == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}
