package relay

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"github.com/tacet-chat/tacet/relay/internal/archive"
	"github.com/tacet-chat/tacet/relay/internal/gate"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// halfDir is where a backup is unpacked in the data directory, and what says
// that a restore was broken off.
const halfDir = "restore-part"

// VerifyBackup reads a backup to its end and opens every store in it, in a
// folder for temporary files that it removes. Nothing else is touched. It
// returns what the backup holds if it can be restored.
func VerifyBackup(in io.Reader, keys []age.Identity) (Backed, error) {
	dir, err := os.MkdirTemp("", "tacet-verify-")
	if err != nil {
		return Backed{}, err
	}
	defer os.RemoveAll(dir)
	return unpack(in, keys, dir)
}

// Restore puts a backup into a data directory, which must be empty or not be
// there. The stores in it have new keys for receipts and tokens, as a copy
// must. A restore that is broken off leaves a directory that no relay starts in.
func Restore(in io.Reader, keys []age.Identity, data string) (b Backed, err error) {
	if _, err := AskStatus(data); err == nil {
		return b, &Problem{ErrLocked, "stop it first; a backup goes into an empty folder"}
	}
	made, err := emptied(data)
	if err != nil {
		return b, err
	}
	half := filepath.Join(data, halfDir)
	if err := os.Mkdir(half, 0o700); err != nil {
		return b, advise(err, data)
	}
	if b, err = unpack(in, keys, half); err != nil {
		err = errors.Join(err, os.RemoveAll(half))
		if made {
			err = errors.Join(err, os.Remove(data))
		}
		return b, err
	}
	return b, advise(settle(half, data), data)
}

// emptied makes the data directory, or looks whether the one there is empty.
func emptied(data string) (made bool, err error) {
	all, err := os.ReadDir(data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, advise(os.MkdirAll(data, 0o700), data)
	case err != nil:
		return false, advise(err, data)
	case slices.ContainsFunc(all, func(e fs.DirEntry) bool { return e.Name() == halfDir }):
		return false, &Problem{ErrHalf, "remove what is in " + data + " and restore the backup again"}
	case len(all) > 0:
		return false, &Problem{fmt.Errorf("%s is not empty", data), "move what is there away first: it may be the only copy of a realm's key"}
	}
	return false, checkMode(data, "chmod 700 "+data)
}

// unpack reads a backup into dir and opens what is in it.
func unpack(in io.Reader, keys []age.Identity, dir string) (Backed, error) {
	l, err := archive.Read(in, keys, dir)
	if err != nil {
		return Backed{}, adviseBackup(err)
	}
	if got, err := fingerprintIn(dir); err != nil {
		return Backed{}, fmt.Errorf("the realm key in the backup: %w", err)
	} else if got != l.Realm {
		return Backed{}, adviseBackup(fmt.Errorf("%w: its realm key is of another realm than it says", archive.ErrDamaged))
	}
	if text, err := os.ReadFile(filepath.Join(dir, configName)); err == nil {
		if _, err := ParseConfig(text); err != nil {
			return Backed{}, fmt.Errorf("the configuration in the backup: %w", err)
		}
	}
	var opened []string
	for _, name := range backupStores {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := open(name, path); err != nil {
			return Backed{}, advise(fmt.Errorf("%s in the backup: %w", name, err), dir)
		}
		opened = append(opened, name)
	}
	return backed(l, opened), nil
}

// open brings a store of a backup to this version, reads it whole and opens it
// once, which gives it new secrets.
func open(name, path string) error {
	if _, err := sqlite.Upgrade(path); err != nil {
		return err
	}
	if err := sqlite.Check(path); err != nil {
		return err
	}
	const room = 1 << 40 // bounds are the relay's business
	var store io.Closer
	var err error
	switch name {
	case blobFile:
		store, err = sqlite.Open(sqlite.Options{Path: path, Max: room, Random: rand.Reader})
	case gateFile:
		store, err = sqlite.OpenGate(path, gate.DayOf(time.Now()), gate.DayOf(time.Now()), rand.Reader)
	}
	if err != nil {
		return err
	}
	return store.Close()
}

// settle moves what was unpacked to its place, the realm key last: without it
// nothing there is a relay's.
func settle(half, data string) error {
	all, err := os.ReadDir(half)
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { // the key to the end
		switch {
		case a.Name() == keyFile:
			return 1
		case b.Name() == keyFile:
			return -1
		}
		return 0
	})
	for _, e := range all {
		if err := os.Rename(filepath.Join(half, e.Name()), filepath.Join(data, e.Name())); err != nil {
			return err
		}
	}
	if err := syncDir(data); err != nil {
		return err
	}
	return errors.Join(os.Remove(half), syncDir(data))
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// adviseBackup says what to do about a backup that cannot be read.
func adviseBackup(err error) error {
	switch {
	case errors.Is(err, archive.ErrKey):
		return &Problem{err, "try another passphrase, or the identity that belongs to the recipient it was made for"}
	case errors.Is(err, archive.ErrNewer):
		return &Problem{fmt.Errorf("%w: %w", ErrNewer, err), "install that version of tacet-relay, or a newer one"}
	case errors.Is(err, archive.ErrDamaged):
		return &Problem{err, "take another copy or an older backup: this one was cut or changed"}
	case errors.Is(err, archive.ErrForeign):
		return &Problem{err, "name a file that `tacet-relay backup` wrote"}
	}
	return err
}

// Migrated is what became of one store.
type Migrated struct {
	Store string `json:"store"`
	From  int64  `json:"from"` // version
	To    int64  `json:"to"`
}

// Migrate brings the stores of a data directory, which no relay has open, to
// this program's version. Each is changed whole or not at all, and none if one
// of them is of a newer version.
func Migrate(data string) (all []Migrated, err error) {
	if _, err := os.Stat(filepath.Join(data, keyFile)); err != nil {
		return nil, &Problem{fmt.Errorf("there is no realm in %s: %w", data, err), "name the folder of one"}
	}
	unlock, err := lock(filepath.Join(data, lockFile))
	if errors.Is(err, ErrLocked) {
		return nil, &Problem{err, "stop it first"}
	} else if err != nil {
		return nil, advise(err, data)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	for _, name := range allStores {
		path := filepath.Join(data, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		is, newest, err := sqlite.Versions(path)
		if err != nil {
			return nil, advise(fmt.Errorf("%s: %w", name, err), data)
		}
		all = append(all, Migrated{name, is, newest})
	}
	for _, m := range all {
		if m.From == m.To {
			continue
		}
		if _, err := sqlite.Upgrade(filepath.Join(data, m.Store)); err != nil {
			return nil, advise(fmt.Errorf("%s: %w", m.Store, err), data)
		}
	}
	return all, nil
}

// allStores are the files of stores in a data directory.
var allStores = []string{blobFile, gateFile, parkFile}
