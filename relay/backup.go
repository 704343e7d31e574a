package relay

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"filippo.io/age"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/relay/internal/archive"
	"github.com/tacet-chat/tacet/relay/internal/sqlite"
)

// A backup holds what a realm cannot do without, and nothing that must not come
// back: no parked cells, whose senders have them; no spent tokens and no key
// that tokens are made from, as a token that was spent since could be spent
// twice; no key for receipts. A store that is put back takes new ones.
//
// docs/operate.md#what-a-backup-holds has the table.

// Backup says what is to be backed up, and how it is locked.
type Backup struct {
	Data   string // the data directory
	Config string // the configuration file, empty: none
	Keys   bool   // realm key, configuration and certificates alone

	Recipients []age.Recipient
}

// Backed says what a backup holds.
type Backed struct {
	Day     string `json:"day"`
	Realm   string `json:"realm"`
	Version string `json:"version"` // of the program that wrote it
	Files   int    `json:"files"`
	Bytes   int64  `json:"bytes"` // of the files in it

	Stores []string `json:"stores"` // that were opened
}

// copyPrefix begins the names of folders in which copies for a backup lie. A
// relay that starts removes what one before it left.
const copyPrefix = "backup-"

// configName is the configuration's name in a backup.
const configName = "relay.toml"

// backupStores are the stores that a backup holds, if they are there.
var backupStores = []string{blobFile, gateFile}

// WriteBackup writes a backup to out. The relay may be running: it then makes
// the copies itself, and goes on meanwhile.
func WriteBackup(ctx context.Context, b Backup, out io.Writer) (Backed, error) {
	dir, done, err := copies(ctx, b.Data, b.Keys)
	if err != nil {
		return Backed{}, err
	}
	defer done()
	l := archive.List{Format: archive.Format, Version: Version(), Day: time.Now().UTC().Format(time.DateOnly)}
	if l.Realm, err = fingerprintIn(b.Data); err != nil {
		return Backed{}, err
	}
	if b.Config != "" {
		text, err := os.ReadFile(b.Config)
		if err != nil {
			return Backed{}, fmt.Errorf("reading configuration: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, configName), text, 0o600); err != nil {
			return Backed{}, advise(err, dir)
		}
	}
	names, err := gather(b.Data, dir)
	if err != nil {
		return Backed{}, advise(err, b.Data)
	}
	if err := l.Scan(dir, names); err != nil {
		return Backed{}, advise(err, b.Data)
	}
	if err := archive.Write(out, &l, dir, b.Recipients); err != nil {
		return Backed{}, fmt.Errorf("writing the backup: %w", err)
	}
	return backed(&l, nil), nil
}

func backed(l *archive.List, stores []string) Backed {
	b := Backed{Day: l.Day, Realm: l.Realm, Version: l.Version, Files: len(l.Files), Stores: stores}
	for _, f := range l.Files {
		b.Bytes += f.Size
	}
	return b
}

// gather copies the small files beside the copies of the stores, and lists all.
func gather(data, dir string) (names []string, err error) {
	small := []string{keyFile}
	err = filepath.WalkDir(filepath.Join(data, acmeDir), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !d.Type().IsRegular() {
			return nil
		}
		name, rerr := filepath.Rel(data, path)
		if err = errors.Join(err, rerr); err == nil && archive.Named(filepath.ToSlash(name)) {
			small = append(small, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, name := range small {
		b, err := os.ReadFile(filepath.Join(data, name))
		if err != nil {
			return nil, err
		}
		to := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, b, 0o600)); err != nil {
			return nil, err
		}
		clear(b)
	}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			name, rerr := filepath.Rel(dir, path)
			names, err = append(names, filepath.ToSlash(name)), rerr
		}
		return err
	})
	return names, err
}

// copies has copies of the stores made in a folder of the data directory, by
// the relay if one runs. done removes them.
func copies(ctx context.Context, data string, keysOnly bool) (dir string, done func() error, err error) {
	c, err := ask(ctx, data, "backup", keysOnly, &dir)
	if err == nil {
		return dir, c.Close, nil
	}
	if !errors.Is(err, ErrNotRunning) {
		return "", nil, err
	}
	if _, err := os.Stat(filepath.Join(data, keyFile)); err != nil {
		return "", nil, &Problem{fmt.Errorf("there is no realm in %s: %w", data, err), "name its folder with --data, or its configuration with --config"}
	}
	unlock, err := lock(filepath.Join(data, lockFile))
	if err != nil {
		return "", nil, advise(err, data)
	}
	dir, err = os.MkdirTemp(data, copyPrefix)
	remove := func() error { return errors.Join(os.RemoveAll(dir), unlock()) }
	if err != nil {
		return "", nil, errors.Join(advise(err, data), unlock())
	}
	for _, name := range backupStores {
		from, to := filepath.Join(data, name), filepath.Join(dir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) || keysOnly {
			continue
		}
		if _, _, err = sqlite.Versions(from); err == nil { // a newer one might hold what we cannot take out
			err = sqlite.CopyFile(from, to)
		}
		if err == nil {
			err = sqlite.Lighten(to)
		}
		if err != nil {
			return "", nil, errors.Join(advise(fmt.Errorf("copying %s: %w", name, err), data), remove())
		}
	}
	return dir, remove, nil
}

// copier is a store that can be copied while it goes on.
type copier interface {
	Copy(ctx context.Context, path string) error
}

// copiers are the stores of this relay that a backup holds, by file name.
func (r *Relay) copiers() map[string]copier {
	all := map[string]copier{}
	if r.disk != nil {
		all[blobFile] = r.disk
	}
	if r.keeps.disk != nil {
		all[gateFile] = r.keeps.disk
	}
	return all
}

// answerBackup makes the copies for an asker, who reads them while he stays.
func (r *Relay) answerBackup(ctx context.Context, with json.RawMessage) (says any, after func(), err error) {
	var keysOnly bool
	if err := json.Unmarshal(with, &keysOnly); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(r.cfg.Data, copyPrefix)
	if err != nil {
		return nil, nil, advise(err, r.cfg.Data)
	}
	after = func() { os.RemoveAll(dir) }
	for name, store := range r.copiers() {
		if keysOnly {
			break
		}
		to := filepath.Join(dir, name)
		err := store.Copy(ctx, to)
		if err == nil {
			err = sqlite.Lighten(to)
		}
		if err != nil {
			after()
			return nil, nil, advise(fmt.Errorf("copying %s: %w", name, err), r.cfg.Data)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		after()
		return nil, nil, err
	}
	return dir, after, nil
}

// removeCopies removes copies that a relay before this one left.
func removeCopies(data string) error {
	left, err := filepath.Glob(filepath.Join(data, copyPrefix+"*"))
	for _, dir := range left {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return err
}

// fingerprintIn reads the realm key of a folder and returns its fingerprint.
func fingerprintIn(data string) (string, error) {
	b, err := os.ReadFile(filepath.Join(data, keyFile))
	if err != nil {
		return "", advise(err, data)
	}
	defer clear(b)
	k, err := parseRealmKey(b)
	if err != nil {
		return "", err
	}
	defer k.Wipe()
	public := key.SignPublicOf(k)
	sum := sha256.Sum256(public[:])
	return hex.EncodeToString(sum[:]), nil
}

// backupDay is the file that says when the last backup was made: one day.
const backupDay = "backed-up"

// NoteBackup writes down that a backup was made today, for doctor.
func NoteBackup(data string) error {
	path := filepath.Join(data, backupDay)
	if err := writeNew(path, []byte(time.Now().UTC().Format(time.DateOnly)+"\n")); err != nil {
		return err
	}
	return giveAs(path, data)
}

// lastBackup says how many days ago the last backup was made.
func lastBackup(data string, now time.Time) (days int, ok bool) {
	b, err := os.ReadFile(filepath.Join(data, backupDay))
	if err != nil {
		return 0, false
	}
	day, err := time.Parse(time.DateOnly, strings.TrimSpace(string(b)))
	return int(now.Sub(day) / (24 * time.Hour)), err == nil
}
