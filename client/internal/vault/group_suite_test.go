package vault

import (
	"testing"

	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/group/grouptest"
)

// groupStore is a vault as the suite of group stores sees it.
type groupStore struct {
	t *testing.T
	v *Vault
}

func (s groupStore) Update(f func(tx group.Tx) error) error {
	return s.v.Update(s.t.Context(), func(tx *Tx) error { return f(Store{tx}) })
}

func TestGroupsAreStored(t *testing.T) {
	grouptest.Run(t, func(t *testing.T) grouptest.Store {
		v, _ := newVault(t)
		return groupStore{t, v}
	})
}
