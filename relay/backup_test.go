package relay

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"filippo.io/age"

	"github.com/tacet-chat/tacet/relay/internal/archive"
)

// padlock is a lock for backups and its key.
func padlock(t *testing.T) (age.Recipient, []age.Identity) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id.Recipient(), []age.Identity{id}
}

// A backup of a relay that serves is whole, and what was answered before it
// began is in it; a relay that starts from it is the same realm with another
// receipt key.
func TestABackupUnderLoadCanBeRestored(t *testing.T) {
	cfg := Config{Data: dir(t), LimitBlobs: 60_000}
	s := start(t, cfg)
	before := s.realm(t)
	put := func(n int) string {
		_, body, _ := blobPut(t, 1)
		copy(body[34:], fmt.Sprintf("%032d", n))
		resp, _ := s.do(t, "POST", "/v1/blob", body)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("got %d", resp.StatusCode)
		}
		return fmt.Sprintf("%x", body[34:66])
	}
	var ids []string
	for n := range 40 {
		ids = append(ids, put(n))
	}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	wrote := 0
	busy.Go(func() {
		for n := 1000; ctx.Err() == nil && n < 2000; n++ {
			put(n)
			wrote++
		}
	})
	lock, keys := padlock(t)
	var file bytes.Buffer
	made, err := WriteBackup(t.Context(), Backup{Data: cfg.Data, Recipients: []age.Recipient{lock}}, &file)
	cancel()
	busy.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(cfg.Data, copyPrefix+"*")); len(left) > 0 {
		// It goes once the relay has seen that the asker hung up.
		until(t, "the copies to go", func() bool {
			left, _ := filepath.Glob(filepath.Join(cfg.Data, copyPrefix+"*"))
			return len(left) == 0
		})
	}
	t.Logf("%d blobs were stored meanwhile; the backup has %d bytes", wrote, file.Len())

	verified, err := VerifyBackup(bytes.NewReader(file.Bytes()), keys)
	if err != nil || verified.Realm != made.Realm || verified.Bytes != made.Bytes || len(verified.Stores) == 0 {
		t.Fatalf("got %+v, %v, want %+v", verified, err, made)
	}
	lockTaken := filepath.Join(dir(t), "new")
	if _, err := Restore(bytes.NewReader(file.Bytes()), keys, cfg.Data); !errors.Is(err, ErrLocked) {
		t.Errorf("restoring over a live relay: got %v, want %v", err, ErrLocked)
	}
	if _, err := Restore(bytes.NewReader(file.Bytes()), keys, lockTaken); err != nil {
		t.Fatal(err)
	}
	s.stop()

	s = start(t, Config{Data: lockTaken})
	after := s.realm(t)
	if after.Realm != before.Realm {
		t.Error("got another realm")
	}
	if after.Receipts == before.Receipts {
		t.Error("got the old receipt key, want another: what was stored since the backup is lost")
	}
	for _, id := range ids {
		if resp, _ := s.do(t, "GET", "/v1/blob/"+id, nil); resp.StatusCode != http.StatusOK {
			t.Fatalf("a blob that was answered before the backup: got %d", resp.StatusCode)
		}
	}
}

// fake writes a backup of one's own making.
func fake(t *testing.T, to age.Recipient, files map[string]string, order []string) []byte {
	t.Helper()
	var out bytes.Buffer
	sealed, err := age.Encrypt(&out, to)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(sealed)
	for _, name := range order {
		body := files[name]
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(body)), Mode: 0o600}); err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, body)
	}
	if err := errors.Join(w.Close(), sealed.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestABackupThatIsNotOneIsRefused(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	cfg := Config{Data: dir(t)}
	s := start(t, cfg)
	_, body, _ := blobPut(t, 1)
	s.do(t, "POST", "/v1/blob", body)
	s.stop()
	lock, keys := padlock(t)
	_, others := padlock(t)
	var file bytes.Buffer
	if _, err := WriteBackup(t.Context(), Backup{Data: cfg.Data, Recipients: []age.Recipient{lock}}, &file); err != nil {
		t.Fatal(err)
	}
	good := file.Bytes()
	list := func(l archive.List) string {
		b, err := json.Marshal(l)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	key, err := os.ReadFile(filepath.Join(cfg.Data, keyFile))
	if err != nil {
		t.Fatal(err)
	}
	whole := archive.List{Format: 1, Files: []archive.File{{Name: keyFile, Size: int64(len(key)), SHA256: strings.Repeat("0", 64)}}}
	newer := archive.List{Format: 2, Version: "v9"}
	outside := archive.List{Format: 1, Files: []archive.File{{Name: "acme/../../x", Size: 1}}}
	parked := archive.List{Format: 1, Files: []archive.File{{Name: "park.db", Size: 1}}}
	flipped := bytes.Clone(good)
	flipped[len(flipped)/2] ^= 1
	for name, c := range map[string]struct {
		file []byte
		keys []age.Identity
		want error
	}{
		"good":          {good, keys, nil},
		"another key":   {good, others, archive.ErrKey},
		"cut":           {good[:len(good)-100], keys, archive.ErrDamaged},
		"cut early":     {good[:300], keys, archive.ErrDamaged},
		"one bit":       {flipped, keys, archive.ErrDamaged},
		"empty":         {nil, keys, archive.ErrForeign},
		"text":          {[]byte("hello\n"), keys, archive.ErrForeign},
		"no list":       {fake(t, lock, map[string]string{keyFile: string(key)}, []string{keyFile}), keys, archive.ErrForeign},
		"newer":         {fake(t, lock, map[string]string{"list.json": list(newer)}, []string{"list.json"}), keys, ErrNewer},
		"out of bounds": {fake(t, lock, map[string]string{"list.json": list(outside), "acme/../../x": "x"}, []string{"list.json", "acme/../../x"}), keys, archive.ErrForeign},
		"parked cells":  {fake(t, lock, map[string]string{"list.json": list(parked), "park.db": "x"}, []string{"list.json", "park.db"}), keys, archive.ErrForeign},
		"another hash":  {fake(t, lock, map[string]string{"list.json": list(whole), keyFile: string(key)}, []string{"list.json", keyFile}), keys, archive.ErrDamaged},
		"a file less":   {fake(t, lock, map[string]string{"list.json": list(whole)}, []string{"list.json"}), keys, archive.ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := VerifyBackup(bytes.NewReader(c.file), c.keys); !errors.Is(err, c.want) {
				t.Errorf("verify: got %v, want %v", err, c.want)
			}
			into := filepath.Join(dir(t), "new")
			_, err := Restore(bytes.NewReader(c.file), c.keys, into)
			if !errors.Is(err, c.want) {
				t.Errorf("restore: got %v, want %v", err, c.want)
			}
			if p := (*Problem)(nil); err != nil && (!errors.As(err, &p) || p.Hint == "") {
				t.Errorf("got no hint with %v", err)
			}
			if _, err := os.Stat(into); c.want != nil && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a restore that failed left a folder: %v", err)
			}
		})
	}
	if all, _ := filepath.Glob(filepath.Join(os.TempDir(), "tacet-verify-*")); len(all) > 0 {
		t.Errorf("got %q left over", all)
	}
}

// A folder in which a restore was broken off starts no relay and takes no other
// restore: half a realm would make itself a new key.
func TestABrokenRestoreStartsNothing(t *testing.T) {
	d := dir(t)
	if err := os.Mkdir(filepath.Join(d, halfDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"start":   func() error { _, err := New(Config{Data: d}); return err }(),
		"restore": func() error { _, err := Restore(bytes.NewReader(nil), nil, d); return err }(),
	} {
		if p := (*Problem)(nil); !errors.Is(err, ErrHalf) || !errors.As(err, &p) || p.Hint == "" {
			t.Errorf("%s: got %v, want %v", name, err, ErrHalf)
		}
	}
	if _, err := os.Stat(filepath.Join(d, keyFile)); err == nil {
		t.Error("a realm key was made")
	}
}

// Every store that lies there and belongs into a backup is in it, whether the
// relay makes the copies or nobody runs, and members' invites come back.
func TestALiveBackupHoldsEveryStoreThatOneAtRestHolds(t *testing.T) {
	cfg := Config{Data: dir(t), Listen: "127.0.0.1:0", Gate: "invite", Roles: []string{RoleLive, RoleBlob, RolePark}}
	s := start(t, cfg)
	s.realm(t)
	cfg.fill()
	made, err := Invite(t.Context(), cfg, InviteOptions{Name: "relay.example", Uses: 3, Days: 7})
	if err != nil {
		t.Fatal(err)
	}
	lock, keys := padlock(t)
	for _, live := range []bool{true, false} {
		if !live {
			s.stop()
		}
		var file bytes.Buffer
		if _, err := WriteBackup(t.Context(), Backup{Data: cfg.Data, Recipients: []age.Recipient{lock}}, &file); err != nil {
			t.Fatal(err)
		}
		into := filepath.Join(dir(t), "new")
		b, err := Restore(bytes.NewReader(file.Bytes()), keys, into)
		if err != nil || strings.Join(b.Stores, " ") != "blobs.db gate.db" {
			t.Errorf("live %t: got the stores %q, %v", live, b.Stores, err)
		}
		if _, err := os.Stat(filepath.Join(into, parkFile)); err == nil {
			t.Errorf("live %t: parked cells are in the backup", live)
		}
		there := cfg
		there.Data = into
		if list, err := Invites(t.Context(), there); err != nil || len(list) != 1 || list[0].ID != made.ID {
			t.Errorf("live %t: got the invites %v, %v, want %s", live, list, err, made.ID)
		}
	}
}
