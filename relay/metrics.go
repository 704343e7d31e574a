package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"time"
)

// Metrics are off unless the operator names a place for them, which is never
// the one where clients come. They are totals, rounded as in status and taken
// once a minute: nothing in them is about one peer, and reading them more often
// tells no more. Labels are words of ours alone.
//
// docs/operate.md#metrics lists them.

// metric is one line, and what stands above it for people.
type metric struct{ name, help string }

// The metrics there are.
var (
	mRequests = metric{"tacet_requests", "Connections with requests, rounded down; 0 is fewer than ten."}
	mPutting  = metric{"tacet_putting", "Put contexts, rounded down; 0 is fewer than ten."}
	mWatching = metric{"tacet_watching", "Watch connections, rounded down; 0 is fewer than ten."}
	mBlobs    = metric{"tacet_blobs", "Blobs that lie here, rounded down; 0 is fewer than ten."}
	mParked   = metric{"tacet_parked", "Cells that wait for who is away, rounded down; 0 is fewer than ten."}
	mStore    = metric{"tacet_store_bytes", "Size of a store's file, rounded down to two digits and MiB."}
	mFree     = metric{"tacet_disk_free_bytes", "Room on the disk of the data directory, rounded down to two digits and MiB."}
	mMemory   = metric{"tacet_memory_bytes", "Memory of the process that Go knows of, rounded down to two digits and MiB."}
	mDays     = metric{"tacet_certificate_days", "Days until the first certificate of an authority ends, 0: one is missing."}
	mBackup   = metric{"tacet_backup_days", "Days since the last backup."}
	mNodes    = metric{"tacet_nodes", "Nodes of the realm that this one knows, itself among them."}
	mSilent   = metric{"tacet_nodes_silent", "Of those, without a sign of life."}
)

// measure writes all of them down.
func (r *Relay) measure(t *Totals) *[]byte {
	var b strings.Builder
	line := func(m metric, label string, value int) {
		if head := "# TYPE " + m.name + " gauge\n"; !strings.Contains(b.String(), head) {
			fmt.Fprintf(&b, "# HELP %s %s\n%s", m.name, m.help, head)
		}
		fmt.Fprintf(&b, "%s%s %d\n", m.name, label, value)
	}
	line(mRequests, "", t.Requests)
	line(mPutting, "", t.Putting)
	line(mWatching, "", t.Watching)
	line(mBlobs, "", t.Blobs)
	line(mParked, "", t.Parked)
	for _, file := range allStores {
		if info, err := os.Stat(filepath.Join(r.cfg.Data, file)); err == nil && r.cfg.Data != "" {
			line(mStore, fmt.Sprintf("{store=%q}", strings.TrimSuffix(file, ".db")), mebibytes(uint64(info.Size())))
		}
	}
	if free, ok := room(r.cfg.Data); ok && r.cfg.Data != "" {
		line(mFree, "", mebibytes(free))
	}
	total := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	if metrics.Read(total); total[0].Value.Kind() == metrics.KindUint64 {
		line(mMemory, "", mebibytes(total[0].Value.Uint64()))
	}
	if names := r.nameStatuses(); len(names) > 0 {
		days := names[0].Days
		for _, n := range names {
			days = min(days, n.Days)
		}
		line(mDays, "", days)
	}
	if days, ok := lastBackup(r.cfg.Data, time.Now()); ok && r.cfg.Data != "" {
		line(mBackup, "", days)
	}
	if c := r.clusterStatus(); c != nil {
		line(mNodes, "", c.Nodes)
		line(mSilent, "", c.Silent)
	}
	out := []byte(b.String())
	return &out
}

// mebibytes rounds bytes down to two digits of MiB.
func mebibytes(n uint64) int { return rounded(int(min(n>>20, 1<<40))) << 20 }

// serveMetrics tells whoever can reach ln the metrics, until ctx ends.
func (r *Relay) serveMetrics(ctx context.Context, ln net.Listener) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, req *http.Request) {
		if _, page := req.Header["Origin"]; page {
			http.Error(w, "not for pages", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		w.Header()["Date"] = nil
		if b := r.measured.Load(); b != nil {
			w.Write(*b)
		}
	})
	srv := &http.Server{
		Handler: mux, ReadTimeout: headerTimeout, WriteTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: log.New(io.Discard, "", 0),
	}
	defer context.AfterFunc(ctx, func() { srv.Close() })()
	if err := srv.Serve(ln); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving metrics: %w", err)
	}
	return nil
}
