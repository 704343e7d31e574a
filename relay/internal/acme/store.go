package acme

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/caddyserver/certmagic"
)

// store keeps what certmagic wants kept, a file for each key. It is ours because
// certmagic's own writes names of files to a log, and waits for lock files that
// a killed process left: the data directory has one process anyway.
type store struct {
	dir string

	mu    sync.Mutex // guards locks
	locks map[string]chan struct{}
}

var _ certmagic.Storage = (*store)(nil)

func newStore(dir string) *store { return &store{dir: dir, locks: map[string]chan struct{}{}} }

// path returns where a key is kept.
func (s *store) path(key string) (string, error) {
	local := filepath.FromSlash(key)
	if !filepath.IsLocal(local) {
		return "", &fs.PathError{Op: "open", Path: "key", Err: fs.ErrInvalid}
	}
	return filepath.Join(s.dir, local), nil
}

// Store writes a file whole or not at all.
func (s *store) Store(_ context.Context, key string, value []byte) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".part-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(value)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// Load reads a file.
func (s *store) Load(_ context.Context, key string) ([]byte, error) {
	path, err := s.path(key)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Delete removes a file, or a directory with all that is in it.
func (s *store) Delete(_ context.Context, key string) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	return os.RemoveAll(path)
}

// Exists reports whether there is a file or directory.
func (s *store) Exists(_ context.Context, key string) bool {
	path, err := s.path(key)
	if err != nil {
		return false
	}
	_, err = os.Stat(path)
	return err == nil
}

// List returns the keys in a directory, with those below it if that is wanted.
func (s *store) List(_ context.Context, key string, recursive bool) ([]string, error) {
	root, err := s.path(key)
	if err != nil {
		return nil, err
	}
	var keys []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		if strings.HasPrefix(d.Name(), ".part-") {
			return nil
		}
		rel, err := filepath.Rel(s.dir, path)
		if err != nil {
			return err
		}
		keys = append(keys, filepath.ToSlash(rel))
		if d.IsDir() && !recursive {
			return fs.SkipDir
		}
		return nil
	})
	return keys, err
}

// Stat tells about a file or directory.
func (s *store) Stat(_ context.Context, key string) (certmagic.KeyInfo, error) {
	path, err := s.path(key)
	if err != nil {
		return certmagic.KeyInfo{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return certmagic.KeyInfo{}, err
	}
	return certmagic.KeyInfo{Key: key, Modified: info.ModTime(), Size: info.Size(), IsTerminal: !info.IsDir()}, nil
}

// Lock waits until nobody else has the lock of that name.
func (s *store) Lock(ctx context.Context, name string) error {
	s.mu.Lock()
	l := s.locks[name]
	if l == nil {
		l = make(chan struct{}, 1)
		s.locks[name] = l // names are those of our certificates: few
	}
	s.mu.Unlock()
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unlock gives a lock back.
func (s *store) Unlock(_ context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.locks[name]:
		return nil
	default:
		return errors.New("this lock is not held")
	}
}
