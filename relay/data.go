package relay

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/tacet-chat/tacet/internal/key"
)

// Files in the data directory.
const (
	lockFile  = "lock"
	keyFile   = "realm.key"
	parkFile  = "park.db"    // with companion -wal
	blobFile  = "blobs.db"   // with companions -wal and -mark
	gateFile  = "gate.db"    // likewise
	dayFile   = "issuer.day" // on which the issuer's seed began, where the seed is lost with gate.db
	socketUse = "status.sock"
)

// maxSocketPath is the longest path of a unix socket that every system takes, in bytes.
const maxSocketPath = 103

// keyHeader begins the one line of the realm key's file.
const keyHeader = "tacet-realm-key-1 "

// openData makes the data directory or checks the one there is, and locks it.
func openData(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, advise(fmt.Errorf("making data directory: %w", err), dir)
	}
	if err := checkMode(dir, "chmod 700 "+dir); err != nil {
		return nil, err
	}
	if len(filepath.Join(dir, socketUse)) > maxSocketPath {
		return nil, &Problem{
			Err:  errors.New("the path of the data directory is too long for a unix socket"),
			Hint: fmt.Sprintf("choose one of at most %d bytes", maxSocketPath-len(socketUse)-1),
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, halfDir)); err == nil {
		return nil, &Problem{ErrHalf, "remove what is in " + dir + " and restore the backup again"}
	}
	unlock, err = lock(filepath.Join(dir, lockFile))
	if errors.Is(err, ErrLocked) {
		return nil, &Problem{err, "`tacet-relay status` shows it; stop it first, or choose another directory with --data"}
	}
	return unlock, advise(err, dir)
}

// checkMode refuses what others on this machine can read.
func checkMode(path, repair string) error {
	info, err := os.Stat(path)
	if err != nil {
		return advise(err, filepath.Dir(path))
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return &Problem{fmt.Errorf("%s %w", path, ErrOpen), repair}
	}
	return nil
}

// realmKey reads the realm key, or makes one where there is none.
func realmKey(dir string) (k key.Sign, made bool, err error) {
	path := filepath.Join(dir, keyFile)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = makeRealmKey(path)
		return k, err == nil, advise(err, dir)
	}
	if err != nil {
		return k, false, advise(fmt.Errorf("reading realm key: %w", err), dir)
	}
	defer clear(b)
	if err := checkMode(path, "chmod 600 "+path); err != nil {
		return k, false, err
	}
	if k, err = parseRealmKey(b); err != nil {
		return k, false, &Problem{fmt.Errorf("reading %s: %w", path, err), "put the file back from a backup: a new key would be a new realm, which no invite fits"}
	}
	return k, false, nil
}

// makeRealmKey makes a key and returns once it is on disk.
func makeRealmKey(path string) (key.Sign, error) {
	k, err := key.Generate[key.SignRole](rand.Reader)
	if err != nil {
		return k, fmt.Errorf("making realm key: %w", err)
	}
	line := appendRealmKey(nil, k)
	defer clear(line)
	if err := writeNew(path, line); err != nil {
		return key.Sign{}, fmt.Errorf("writing realm key: %w", err)
	}
	return k, nil
}

// writeNew writes a file of mode 0600 that is there whole or not at all.
func writeNew(path string, b []byte) error {
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(part))
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// appendRealmKey appends header ‖ base64url of the seed 32 ‖ newline.
func appendRealmKey(b []byte, k key.Sign) []byte {
	b = append(b, keyHeader...)
	b = base64.RawURLEncoding.AppendEncode(b, k.Bytes())
	return append(b, '\n')
}

// parseRealmKey reads what appendRealmKey wrote, and nothing else.
func parseRealmKey(b []byte) (key.Sign, error) {
	text, ok := bytes.CutPrefix(b, []byte(keyHeader))
	if !ok {
		return key.Sign{}, ErrRealmKey
	}
	text, ok = bytes.CutSuffix(text, []byte("\n"))
	if !ok {
		return key.Sign{}, ErrRealmKey
	}
	var seed [32]byte
	defer clear(seed[:])
	if len(text) != base64.RawURLEncoding.EncodedLen(len(seed)) || bytes.ContainsAny(text, "\r\n") {
		return key.Sign{}, ErrRealmKey
	}
	if _, err := base64.RawURLEncoding.Strict().Decode(seed[:], text); err != nil {
		return key.Sign{}, ErrRealmKey
	}
	k, err := key.New[key.SignRole](seed[:])
	if err != nil {
		return key.Sign{}, ErrRealmKey
	}
	return k, nil
}

// listenStatus makes the socket that `tacet-relay status` asks. The lock is
// held, so one that lies there is a dead relay's.
func listenStatus(dir string) (net.Listener, error) {
	path := filepath.Join(dir, socketUse)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, advise(err, dir)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, advise(err, dir)
	}
	// Before this the directory's own mode keeps others away.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
