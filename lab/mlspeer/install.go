package mlspeer

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// ErrAbsent: Node or the packages are not installed here.
var ErrAbsent = errors.New("is not installed; scripts/test setup installs it")

// The oldest Node that the packages run on.
const nodeMajor, nodeMinor = 20, 19

//go:embed *.mjs package-lock.json node/package-lock.json
var source embed.FS

// Packages is the folder whose node_modules has ts-mls at the locked versions.
// scripts/test makes it, under the hash of the lock file.
func Packages() (string, error) {
	dir, err := cache("mlspeer", "package-lock.json")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "ts-mls", "package.json")); err != nil {
		return "", fmt.Errorf("ts-mls %w", ErrAbsent)
	}
	return dir, nil
}

// Node is the path of a Node that is new enough: the system's, or the one that
// scripts/test has fetched because the system's is not.
func Node() (string, error) {
	paths := []string{"node"}
	if dir, err := cache("node", "node/package-lock.json"); err == nil {
		found, _ := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
		paths = append(paths, found...)
	}
	for _, path := range paths {
		out, err := exec.Command(path, "--version").Output()
		if err == nil && newEnough(strings.TrimSpace(string(out))) {
			return path, nil
		}
	}
	return "", fmt.Errorf("node %d.%d or newer %w", nodeMajor, nodeMinor, ErrAbsent)
}

// newEnough reads a version such as v20.19.1.
func newEnough(version string) bool {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) != 3 {
		return false
	}
	major, err1 := strconv.Atoi(parts[0])
	minor, err2 := strconv.Atoi(parts[1])
	return err1 == nil && err2 == nil && (major > nodeMajor || major == nodeMajor && minor >= nodeMinor)
}

// cache is where scripts/test puts what a lock file lists: under its hash.
func cache(name, lock string) (string, error) {
	b, err := source.ReadFile(lock)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "tacet", name+"-"+hex.EncodeToString(sum[:8])), err
}

// lay puts our own files into a folder beside a link to the packages, which is where
// Node looks for them.
func lay(dir, packages string) error {
	files, err := fs.Glob(source, "*.mjs")
	if err != nil {
		return err
	}
	for _, name := range files {
		b, err := source.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules"))
}
