package relay

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/relay/internal/audit"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
	"github.com/tacet-chat/tacet/relay/internal/wake"
)

// AuditReport is the outcome of an audit.
type AuditReport = audit.Report

// AuditOptions say what is searched beside the stores and the data directory.
type AuditOptions struct {
	Logs    []string  // files or folders of what the relay said
	Backups []string  // files or folders
	Memory  bool      // of the running process; needs the rights to read it
	Needles io.Reader // what must not be found, see ParseNeedles; nil: nothing is known
	Talk    func(string)
}

// errNeedles is returned for a list of needles that is none.
var errNeedles = errors.New("list of needles is malformed")

const (
	maxNeedles    = 64 << 20 // bytes of their list
	askAudit      = "audit"
	auditPatience = 2 * time.Minute
)

// storeFacts is a store that can say what it keeps.
type storeFacts interface {
	Facts(ctx context.Context, now time.Time) (audit.Facts, error)
}

// auditAnswer is what a running relay tells an audit.
type auditAnswer struct {
	Stores []audit.Facts `json:"stores"`
	Roles  []string      `json:"roles"`
	PID    int           `json:"pid"`

	Metrics string `json:"metrics,omitempty"` // as they are served, where they are
}

// facts asks every store of this relay.
func (r *Relay) facts(ctx context.Context) auditAnswer {
	a := auditAnswer{Roles: r.cfg.Roles, PID: os.Getpid()}
	if b := r.measured.Load(); b != nil {
		a.Metrics = string(*b)
	}
	for name, s := range r.audited() {
		f, err := s.Facts(ctx, time.Now())
		if err != nil {
			f = audit.Facts{Store: name, Trouble: cause(err)}
		}
		a.Stores = append(a.Stores, f)
	}
	slices.SortFunc(a.Stores, func(a, b audit.Facts) int { return strings.Compare(a.Store, b.Store) })
	return a
}

// audited returns the stores that outlive the process, by name.
func (r *Relay) audited() map[string]storeFacts {
	all := map[string]storeFacts{}
	if r.disk != nil {
		all["blobs"] = r.disk
	}
	if r.parked.disk != nil {
		all["park"] = r.parked.disk
	}
	if r.keeps.disk != nil {
		all["gate"] = r.keeps.disk
	}
	if r.gateway != nil && r.gateway.Kept() {
		all["wake"] = r.gateway
	}
	if r.shared.db != nil {
		all["PostgreSQL"] = r.shared.db
	}
	if r.shared.redis != nil {
		all["Redis"] = r.shared.redis
	}
	return all
}

// Audit holds all that a relay keeps against what it may keep. It asks the relay
// that runs on cfg.Data, or opens the stores itself if none does. It changes nothing.
func Audit(ctx context.Context, cfg Config, o AuditOptions) (*AuditReport, error) {
	cfg.fill()
	talk := o.Talk
	if talk == nil {
		talk = func(string) {}
	}
	needles, err := ParseNeedles(o.Needles)
	if err != nil {
		return nil, err
	}
	a, err := asFacts(ctx, cfg, talk)
	if err != nil {
		return nil, err
	}
	r := &AuditReport{Version: Version(), Day: time.Now().UTC().Format(time.DateOnly), Infer: audit.Infer(a.Roles)}
	r.Check(a.Stores)
	own := []string{keyHeader}
	for _, s := range a.Stores {
		own = append(own, s.Schema)
	}
	for _, schema := range sqlite.Schemas() { // the role of a store may be off now
		own = append(own, schema)
	}
	search, err := r.NewSearch(needles.Kept, own...)
	if err != nil {
		return nil, &Problem{err, "a needle has at least four bytes"}
	}
	if cfg.Data != "" {
		talk("searching " + cfg.Data)
		if err := search.Files(os.DirFS(cfg.Data), sortOf); err != nil {
			return nil, auditFailed(err)
		}
	}
	if a.Metrics != "" {
		search.Text("metrics", []byte(a.Metrics))
	}
	for _, place := range o.Logs {
		talk("searching " + place)
		if err := search.Files(under(place), func(string) audit.Sort { return audit.Said }); err != nil {
			return nil, auditFailed(err)
		}
	}
	for _, place := range o.Backups {
		talk("searching " + place)
		if err := search.Files(under(place), sortOf); err != nil {
			return nil, auditFailed(err)
		}
	}
	if o.Memory {
		talk("searching the memory of the relay")
		if err := searchMemory(r, a.PID, needles); err != nil {
			return nil, err
		}
	}
	if cfg.Data != "" {
		talk("proving the search")
		if err := search.Control(os.DirFS(cfg.Data), sortOf, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))); err != nil {
			return nil, auditFailed(err)
		}
	}
	return r, nil
}

func auditFailed(err error) error {
	return &Problem{fmt.Errorf("searching: %w", err), "run the audit as root or as the relay's user"}
}

// asFacts asks the running relay, or a relay of ours that serves nobody.
func asFacts(ctx context.Context, cfg Config, talk func(string)) (a auditAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	talk("asking the stores")
	c, err := ask(ctx, cfg.Data, askAudit, nil, &a)
	if err == nil {
		return a, c.Close()
	}
	if !errors.Is(err, ErrNotRunning) {
		return a, err
	}
	err = withStores(ctx, cfg, func(ctx context.Context, r *Relay) error {
		a = r.facts(ctx)
		a.PID = 0
		return nil
	})
	return a, err
}

// withStores opens the stores of a relay that does not run, and closes them again.
func withStores(ctx context.Context, cfg Config, do func(context.Context, *Relay) error) error {
	if _, err := os.Stat(filepath.Join(cfg.Data, keyFile)); err != nil {
		return &Problem{fmt.Errorf("there is no relay in %s", cfg.Data), "name its directory with --data"}
	}
	r, err := New(cfg)
	if err != nil {
		return err
	}
	parts := newGroup(context.WithoutCancel(ctx))
	r.runStores(parts)
	err = do(ctx, r)
	parts.cancel()
	return errors.Join(err, parts.wait(), r.Close(), giveAll(cfg.Data))
}

// under makes a file system of a file or a folder.
func under(place string) fs.FS {
	if info, err := os.Stat(place); err == nil && !info.IsDir() {
		return oneFile{place}
	}
	return os.DirFS(place)
}

// oneFile is a file system with one file in it.
type oneFile struct{ path string }

// Open opens the file, by its name, or the folder that it is in.
func (o oneFile) Open(name string) (fs.File, error) {
	if name == "." {
		return os.Open(filepath.Dir(o.path))
	}
	if name != filepath.Base(o.path) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return os.Open(o.path)
}

// ReadDir lists the one file.
func (o oneFile) ReadDir(string) ([]fs.DirEntry, error) {
	info, err := os.Stat(o.path)
	if err != nil {
		return nil, err
	}
	return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
}

// sortOf says what a file in the data directory may hold.
func sortOf(name string) audit.Sort {
	if base, _, _ := strings.Cut(filepath.Base(name), "-"); strings.HasSuffix(base, ".db") || base == wake.SpentFile {
		return audit.Stored // with -wal and -shm; or hashes
	}
	return audit.Kept
}

// Needles are byte strings that an audit looks for.
type Needles struct {
	Never []hunt.Needle // nowhere at all, memory included
	Kept  []hunt.Needle // not in what is kept or said; those of Never are among them
	Now   []hunt.Needle // must be in memory: they prove that it was searched
}

// ParseNeedles reads a list of needles, one on a line: where, what and the bytes
// in hex, separated by tabs. Where is "never" (it must be nowhere), "kept" (it may
// be in memory while it is under way) or "now" (it must be in memory now).
func ParseNeedles(in io.Reader) (n Needles, err error) {
	if in == nil {
		return n, nil
	}
	lines := bufio.NewScanner(io.LimitReader(in, maxNeedles))
	lines.Buffer(nil, 1<<20)
	for i := 1; lines.Scan(); i++ {
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 3 || f[1] == "" {
			return n, badNeedle(i, "it has three parts with tabs between: where, what and hex")
		}
		b, err := hex.DecodeString(f[2])
		if err != nil {
			return n, badNeedle(i, "the third part is hex")
		}
		needle := hunt.Needle{What: f[1], Bytes: b}
		switch f[0] {
		case "never":
			n.Never, n.Kept = append(n.Never, needle), append(n.Kept, needle)
		case "kept":
			n.Kept = append(n.Kept, needle)
		case "now":
			n.Kept, n.Now = append(n.Kept, needle), append(n.Now, needle)
		default:
			return n, badNeedle(i, `the first part is "never", "kept" or "now"`)
		}
	}
	if err := lines.Err(); err != nil {
		return n, fmt.Errorf("reading needles: %w", err)
	}
	return n, nil
}

func badNeedle(line int, hint string) error {
	return &Problem{fmt.Errorf("%w in line %d", errNeedles, line), hint}
}

// searchMemory searches the memory of a running relay.
func searchMemory(r *AuditReport, pid int, n Needles) error {
	if pid == 0 {
		return &Problem{errors.New("no relay runs, so it has no memory to be searched"), "start it, or leave --memory out"}
	}
	search, err := r.NewSearch(n.Never)
	if err != nil {
		return &Problem{err, "a needle has at least four bytes"}
	}
	var now *hunt.Hunt
	if len(n.Now) > 0 {
		if now, err = hunt.New(n.Now); err != nil {
			return &Problem{err, "a needle has at least four bytes"}
		}
	}
	err = processMemory(pid, func(b []byte) {
		search.Memory(b)
		if now != nil {
			now.Search("memory", b)
		}
	})
	if err != nil {
		return &Problem{fmt.Errorf("searching memory: %w", err), "run the audit as root"}
	}
	r.Facts++
	if now != nil { // one of them is enough: periods turn
		r.Hunted.Planted++
		r.Hunted.Found += min(1, len(now.Hits))
	}
	return nil
}

// Inventory returns docs/inventory.md.
func Inventory() string { return audit.Page(sqlite.Schemas()) }

// answerAudit is the question "audit".
func (r *Relay) answerAudit(ctx context.Context, _ json.RawMessage) (any, func(), error) {
	return r.facts(ctx), nil, nil
}
