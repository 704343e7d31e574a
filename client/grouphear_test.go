package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/key"
)

// halfway is an engine that fails in the middle of what it hears.
type halfway struct {
	groupEngine
	err error
}

func (h halfway) Hear(tx group.Tx, _ time.Time, _ group.Device, _ key.SignPublic, _ []byte) (*group.Change, error) {
	if err := tx.PutGroup(&group.Record{ID: group.ID{7}, State: group.Active}); err != nil {
		return nil, err
	}
	return nil, h.err
}

// A word that fails in the middle leaves nothing of itself, is not offered for ever, and
// is told, unless whoever said it was wrong.
func TestAWordThatFailsLeavesNothing(t *testing.T) {
	opt := Options{Dir: t.TempDir() + "/p", Passphrase: []byte("x"), WeakVault: true}
	if _, err := Create(t.Context(), opt, NewProfile{Name: "Ann"}); err != nil {
		t.Fatal(err)
	}
	c, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, h := range []struct {
		err  error
		told bool
		back error
	}{{group.ErrSaid, false, nil}, {errors.New("boom"), true, nil}, {group.ErrBusy, true, convo.ErrBusy}} {
		c.groups.engine = halfway{c.groups.engine, h.err}
		err := c.update(t.Context(), func(tx vault.Store, now time.Time) (*convo.Change, error) {
			return nil, c.groups.Take(tx, now, &contact.Record{}, []byte("x"), nil)
		})
		if !errors.Is(err, h.back) || h.back == nil && err != nil {
			t.Errorf("%v: got %v, want %v", h.err, err, h.back)
		}
		if err := c.vault.View(t.Context(), func(tx *vault.Tx) error {
			_, err := (vault.Store{Tx: tx}).Group(group.ID{7})
			return err
		}); !errors.Is(err, group.ErrUnknown) {
			t.Errorf("%v: half of it is kept: %v", h.err, err)
		}
		st, err := c.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if told := len(st.GroupsFailing) > 0; told != h.told {
			t.Errorf("%v: status tells %q", h.err, st.GroupsFailing)
		}
	}
	checks, err := c.Doctor(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range checks {
		if k.Name == "group" && k.State == "fail" && strings.Contains(k.Text, "could not be taken") {
			return
		}
	}
	t.Error("doctor tells nothing of the word that was not taken")
}

// A relay without room refuses changes of a group, and is not mute: nobody stops
// because of it.
func TestARelayWithoutRoomRefuses(t *testing.T) {
	if got := slotTrouble(transport.ErrRoom); got != group.Refused {
		t.Errorf("got trouble %d, want %d", got, group.Refused)
	}
}
