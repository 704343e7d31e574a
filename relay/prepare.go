package relay

import (
	"errors"
	"os"
	"path/filepath"
)

// Prepare makes the realm key and the stores of a relay that never ran, so that
// there is something to invite to. It does nothing where there is a realm.
func Prepare(cfg Config) error {
	if _, err := os.Stat(filepath.Join(cfg.Data, keyFile)); err == nil {
		return nil
	}
	r, err := New(cfg)
	if err != nil {
		return err
	}
	return errors.Join(r.Close(), giveAll(cfg.Data))
}
