package vault

import (
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/ncruces/go-sqlite3/util/vfsutil"
	"github.com/ncruces/go-sqlite3/vfs"
)

// disk is a file system that remembers what was written and synced, and that
// can be told to fail.
type disk struct {
	vfs.VFS

	lazy bool // syncs return at once

	mu     sync.Mutex
	record bool
	ops    []op
	syncs  int
	// failWrite fails the write of that number, counted down, and all after it.
	failWrite int
	writeErr  error
	syncErr   error
}

// op is one call, or (with file "") a note between calls.
type op struct {
	file string // rows.db or rows.db-wal
	kind opKind
	off  int64
	data []byte
	note any
}

type opKind byte

const (
	opWrite opKind = iota
	opTruncate
	opSync
)

func newDisk() *disk { return &disk{VFS: vfs.Find(""), failWrite: -1} }

// newLazyDisk is for what is thrown away: its syncs return at once.
func newLazyDisk() *disk {
	d := newDisk()
	d.lazy = true
	return d
}

func (d *disk) OpenFilename(name *vfs.Filename, flags vfs.OpenFlag) (vfs.File, vfs.OpenFlag, error) {
	f, flags, err := vfsutil.WrapOpenFilename(d.VFS, name, flags)
	if err != nil {
		return nil, flags, err
	}
	short := rowsName
	if strings.HasSuffix(name.String(), logSuffix) {
		short += logSuffix
	}
	return &diskFile{File: f, disk: d, name: short}, flags, nil
}

type diskFile struct {
	vfs.File
	disk *disk
	name string
}

func (f *diskFile) note(o op) {
	o.file = f.name
	if f.disk.record {
		o.data = slices.Clone(o.data)
		f.disk.ops = append(f.disk.ops, o)
	}
}

func (f *diskFile) WriteAt(p []byte, off int64) (int, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if f.disk.failWrite >= 0 {
		if f.disk.failWrite == 0 {
			return 0, &os.PathError{Op: "write", Path: "/secret/path", Err: f.disk.writeErr}
		}
		f.disk.failWrite--
	}
	f.note(op{kind: opWrite, off: off, data: p})
	return f.File.WriteAt(p, off)
}

func (f *diskFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.note(op{kind: opTruncate, off: size})
	return f.File.Truncate(size)
}

func (f *diskFile) Sync(flags vfs.SyncFlag) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.disk.syncs++
	if f.disk.syncErr != nil {
		return f.disk.syncErr
	}
	f.note(op{kind: opSync})
	if f.disk.lazy {
		return nil
	}
	return f.File.Sync(flags)
}

// failWrites lets n more writes through and fails all after them.
func (d *disk) failWrites(n int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failWrite, d.writeErr = n, err
}

func (d *disk) failSyncs(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncErr = err
}

func (d *disk) heal() { d.failWrites(-1, nil); d.failSyncs(nil) }

func (d *disk) say(note any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.record {
		d.ops = append(d.ops, op{note: note})
	}
}

// powerCut returns what the disk may hold when the power goes after the calls
// in ops: everything up to each file's last sync, and of what came later any
// choice of sectors.
func powerCut(before map[string][]byte, ops []op, rng *rand.Rand) map[string][]byte {
	files := maps.Clone(before)
	for name, b := range files {
		files[name] = slices.Clone(b)
	}
	last := map[string]int{}
	for i, o := range ops {
		if o.kind == opSync && o.file != "" {
			last[o.file] = i
		}
	}
	for i, o := range ops {
		if o.file == "" || o.kind == opSync {
			continue
		}
		synced, ok := last[o.file]
		apply(files, o, !ok || i > synced, rng)
	}
	return files
}

const sector = 512

func apply(files map[string][]byte, o op, chance bool, rng *rand.Rand) {
	b := files[o.file]
	if o.kind == opTruncate {
		if !chance || rng.IntN(2) == 0 {
			b = append(b[:min(len(b), int(o.off))], make([]byte, max(0, int(o.off)-len(b)))...)
		}
		files[o.file] = b
		return
	}
	// Mostly all or nothing, sometimes sector by sector.
	mode := rng.IntN(3)
	for at := 0; at < len(o.data); at += sector {
		if chance && (mode == 0 || mode == 1 && rng.IntN(2) == 0) {
			continue
		}
		piece := o.data[at:min(at+sector, len(o.data))]
		from := int(o.off) + at
		if n := from + len(piece); n > len(b) {
			b = append(b, make([]byte, n-len(b))...)
		}
		copy(b[from:], piece)
	}
	files[o.file] = b
}

func openOn(t testing.TB, dir string, d *disk) *Vault {
	t.Helper()
	v, err := openWith(dir, pass, d)
	if err != nil {
		t.Fatalf("opening: %v", err)
	}
	t.Cleanup(func() { v.Close() })
	return v
}

var errIO = error(syscall.EIO)
