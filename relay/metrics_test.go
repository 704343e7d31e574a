package relay

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// readMetrics asks at a socket file.
func readMetrics(t *testing.T, sock string, header ...string) (status int, text string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sock)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://relay/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(header) == 2 {
		req.Header.Set(header[0], header[1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// metricLine is all that a line may be.
var metricLine = regexp.MustCompile(`^(tacet_[a-z_]+)(?:\{store="(?:blobs|gate|park)"\})? (\d+)$`)

// judgeMetrics says what is wrong with metrics: a line of another form, one that
// the page does not list, or a sharp number.
func judgeMetrics(text, page string) (wrong []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# HELP tacet_") || strings.HasPrefix(line, "# TYPE tacet_") {
			continue
		}
		m := metricLine.FindStringSubmatch(line)
		if m == nil {
			wrong = append(wrong, "a line of another form: "+line)
			continue
		}
		if !strings.Contains(page, "`"+m[1]+"`") {
			wrong = append(wrong, "docs/operate.md does not list "+m[1])
		}
		n, err := strconv.Atoi(m[2])
		if strings.HasSuffix(m[1], "_bytes") {
			if n%(1<<20) != 0 {
				wrong = append(wrong, "sharp: "+line)
			}
			n >>= 20
		}
		if days := strings.HasSuffix(m[1], "_days") || strings.HasPrefix(m[1], "tacet_nodes"); err != nil || !days && n != rounded(n) {
			wrong = append(wrong, "sharp: "+line)
		}
	}
	return wrong
}

func TestMetricsTellNothingSharp(t *testing.T) {
	page, err := os.ReadFile("../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	d := dir(t)
	sock := filepath.Join(d, "metrics.sock")
	s := start(t, Config{Data: filepath.Join(d, "data"), Metrics: "unix:" + sock, Roles: []string{RoleLive, RoleBlob, RolePark}})
	realm := s.realm(t)
	for n := range byte(13) {
		_, body, _ := blobPut(t, n)
		s.do(t, "POST", "/v1/blob", body)
	}
	until(t, "the first minute", func() bool { return s.measured.Load() != nil })
	var counts *Totals
	until(t, "nobody else to count", func() bool { // the sweeps of the start do
		s.lying.Store(13)
		s.parked.waiting.Store(1234)
		counts = s.totals()
		return counts.Blobs == 10 && counts.Parked == 1200
	})
	s.measured.Store(s.measure(counts))

	status, text := readMetrics(t, sock)
	if status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	for _, want := range []string{"\ntacet_blobs 10\n", "\ntacet_parked 1200\n", "\ntacet_requests 0\n", "\ntacet_store_bytes{store=\"blobs\"} 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("got no %q in\n%s", want, text)
		}
	}
	for _, wrong := range judgeMetrics(text, string(page)) {
		t.Error(wrong)
	}
	fingerprint := s.Fingerprint()
	for what, secret := range map[string]string{"the realm's key": string(realm.Realm[:]), "the address": strings.TrimPrefix(s.url, "http://"), "the realm": string(fingerprint[:]), "the folder": d} {
		if strings.Contains(text, secret) {
			t.Errorf("metrics tell %s", what)
		}
	}
	if status, _ := readMetrics(t, sock, "Origin", "https://evil.example"); status != http.StatusForbidden {
		t.Errorf("a page: got %d, want 403", status)
	}
	// The judge sees what it is to see.
	for _, bad := range []string{"tacet_blobs 13\n", "tacet_blobs{peer=\"192.0.2.7\"} 10\n", "tacet_store_bytes{store=\"blobs\"} 1234567\n", "tacet_put_total 10\n", "192.0.2.7\n"} {
		if len(judgeMetrics(bad, string(page))) == 0 {
			t.Errorf("%q passes", bad)
		}
	}
	// They are not where clients come, and not between two minutes.
	if resp, _ := s.do(t, "GET", "/metrics", nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("on the public listener: got %d, want 404", resp.StatusCode)
	}
	s.lying.Store(99)
	if _, again := readMetrics(t, sock); again != text {
		t.Error("they changed within a minute")
	}
}

func TestMetricsAreOffAndNeverPublic(t *testing.T) {
	if Default().Metrics != "" {
		t.Error("metrics are on")
	}
	for _, at := range []string{":9100", "0.0.0.0:9100", "192.0.2.7:9100", "127.0.0.1:7117", "unix:", "9100"} {
		if _, err := ParseConfig([]byte("listen = \"127.0.0.1:7117\"\nmetrics = \"" + at + "\"")); err == nil {
			t.Errorf("%s: got no error", at)
		}
	}
	for _, at := range []string{"127.0.0.1:9100", "[::1]:9100", "unix:/run/tacet-relay/metrics.sock"} {
		if _, err := ParseConfig([]byte("metrics = \"" + at + "\"")); err != nil {
			t.Errorf("%s: got %v", at, err)
		}
	}
}
