// Package archive is the file of a relay's backup: a tar of a list and the files
// that it names, encrypted with age (age-encryption.org/v1) to a passphrase or
// to recipients.
//
// The list, which comes first, has the size and the SHA-256 of every file, so
// that a backup is known to be whole only once all of it was read: age tells a
// changed or cut one, the list one whose files do not belong together. Names
// are from a closed list. The package knows nothing of what the files hold.
//
// Spec: docs/operate.md#what-a-backup-holds.
package archive

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
)

// Format is the version of the file. A newer one is refused.
const Format = 1

// Bounds of what is read.
const (
	maxList  = 1 << 20 // bytes of the list
	maxFiles = 4096
	listName = "list.json"
)

// Errors.
var (
	// ErrKey: the passphrase or identity does not open it.
	ErrKey = errors.New("this passphrase or identity does not open the backup")
	// ErrDamaged: it is not as it was written.
	ErrDamaged = errors.New("the backup is damaged")
	// ErrForeign: it is no backup of a relay.
	ErrForeign = errors.New("the file is no backup of a relay")
	// ErrNewer: a newer version wrote it.
	ErrNewer = errors.New("a newer version wrote the backup")
)

// List says what a backup holds.
type List struct {
	Format  int    `json:"format"`
	Version string `json:"version"` // of the program that wrote it
	Day     string `json:"day"`     // 2006-01-02, UTC
	Realm   string `json:"realm"`   // fingerprint of the realm key, hex
	Files   []File `json:"files"`
}

// File is one of them.
type File struct {
	Name   string `json:"name"` // slashes; of the closed list
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Named reports whether a backup may hold a file of a name: the realm key, the
// configuration, stores, certificates.
func Named(name string) bool {
	switch name {
	case "realm.key", "relay.toml", "blobs.db", "gate.db":
		return true
	}
	return strings.HasPrefix(name, "acme/") && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) && len(name) <= 512
}

// Scan fills in the files of a list from a folder.
func (l *List) Scan(dir string, names []string) error {
	l.Files = nil
	for _, name := range names {
		if !Named(name) {
			return fmt.Errorf("%s: %w", name, ErrForeign)
		}
		f, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		h := sha256.New()
		n, err := io.Copy(h, f)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
		l.Files = append(l.Files, File{name, n, hex.EncodeToString(h.Sum(nil))})
	}
	return nil
}

// Write writes the files of a list, which lie in dir, encrypted to recipients.
func Write(out io.Writer, l *List, dir string, to []age.Recipient) error {
	sealed, err := age.Encrypt(out, to...)
	if err != nil {
		return fmt.Errorf("encrypting: %w", err)
	}
	t := tar.NewWriter(sealed)
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	head := tar.Header{Name: listName, Size: int64(len(b)), Mode: 0o600, Format: tar.FormatPAX, ModTime: time.Unix(0, 0)}
	if err := t.WriteHeader(&head); err != nil {
		return err
	}
	if _, err := t.Write(b); err != nil {
		return err
	}
	for _, file := range l.Files {
		if err := add(t, file, dir); err != nil {
			return fmt.Errorf("adding %s: %w", file.Name, err)
		}
	}
	return errors.Join(t.Close(), sealed.Close())
}

func add(t *tar.Writer, file File, dir string) error {
	f, err := os.Open(filepath.Join(dir, filepath.FromSlash(file.Name)))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := t.WriteHeader(&tar.Header{Name: file.Name, Size: file.Size, Mode: 0o600, Format: tar.FormatPAX, ModTime: time.Unix(0, 0)}); err != nil {
		return err
	}
	h := sha256.New()
	if _, err := io.Copy(io.MultiWriter(t, h), f); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != file.SHA256 {
		return errors.New("it changed while it was read")
	}
	return nil
}

// Read reads a backup to its end and puts the files below dir, which is the
// caller's to remove after an error. Nothing of it is to be used before Read
// has returned.
func Read(in io.Reader, keys []age.Identity, dir string) (*List, error) {
	plain, err := age.Decrypt(in, keys...)
	if no := (*age.NoIdentityMatchError)(nil); errors.As(err, &no) {
		return nil, ErrKey
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeign, err)
	}
	t := tar.NewReader(plain)
	l, err := readList(t)
	if err != nil {
		return nil, err
	}
	for _, want := range l.Files {
		head, err := t.Next()
		if err != nil || head.Name != want.Name || head.Size != want.Size || head.Typeflag != tar.TypeReg {
			return nil, errors.Join(fmt.Errorf("%w: %s is missing", ErrDamaged, want.Name), err)
		}
		if err := unpack(t, want, filepath.Join(dir, filepath.FromSlash(want.Name))); err != nil {
			return nil, err
		}
	}
	if _, err := t.Next(); !errors.Is(err, io.EOF) {
		return nil, errors.Join(fmt.Errorf("%w: it goes on after its end", ErrDamaged), err)
	}
	if _, err := io.Copy(io.Discard, plain); err != nil { // to age's own end
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return l, nil
}

func readList(t *tar.Reader) (*List, error) {
	head, err := t.Next()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if head.Name != listName || head.Size > maxList {
		return nil, ErrForeign
	}
	b, err := io.ReadAll(t)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	var l List
	if err := json.Unmarshal(b, &l); err != nil || l.Format < 1 {
		return nil, ErrForeign
	}
	if l.Format > Format {
		return nil, fmt.Errorf("%w (%s)", ErrNewer, l.Version)
	}
	if len(l.Files) > maxFiles {
		return nil, ErrForeign
	}
	for i, f := range l.Files {
		if !Named(f.Name) || f.Size < 0 || slices.ContainsFunc(l.Files[:i], func(g File) bool { return g.Name == f.Name }) {
			return nil, ErrForeign
		}
	}
	return &l, nil
}

// unpack writes one file and compares it with the list.
func unpack(in io.Reader, want File, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), reading{in})
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("unpacking %s: %w", want.Name, err)
	}
	if hex.EncodeToString(h.Sum(nil)) != want.SHA256 {
		return fmt.Errorf("%w: %s is not what the list says", ErrDamaged, want.Name)
	}
	return nil
}

// reading tells errors of the backup from those of the disk that it goes to.
type reading struct{ io.Reader }

func (r reading) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return n, err
}
