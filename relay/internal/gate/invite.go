package gate

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"

	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/token"
	"github.com/tacet-chat/tacet/internal/wire"
)

// Bounds of realm invites.
const (
	MaxUses       = 10_000
	MaxDays       = 365
	memberMaxDays = 30 // of an invite that a member made
)

// NewInvite makes a realm invite: its secret is known to the caller alone.
//
// spec: gate.md#realm-invite
func NewInvite(ctx context.Context, m Members, random io.Reader, uses int, last Day) (secret [wire.RealmSecretSize]byte, i Invite, err error) {
	if _, err := io.ReadFull(random, secret[:]); err != nil {
		return secret, i, fmt.Errorf("making an invite: %w", err)
	}
	i = Invite{Hash: InviteHash(secret[:]), Uses: uint16(uses), Last: last}
	return secret, i, m.AddInvite(ctx, i)
}

// InviteHash is what a store keeps of an invite's secret.
func InviteHash(secret []byte) [32]byte { return key.Hash(labelInvite, secret) }

// CredentialHash is what a device shows of its credential to become a member.
func CredentialHash(credential []byte) [32]byte { return key.Hash(labelCredential, credential) }

// invite makes an invite of one use, as a member asks for it.
func (k *Keeper) invite(r *http.Request, hash [32]byte, days byte) (status int) {
	today := k.today()
	switch {
	case days < 1 || days > memberMaxDays:
		return http.StatusBadRequest
	case k.cfg.Access == NobodyElse || k.cfg.Invites == 0:
		return http.StatusForbidden
	case Day(k.invited.Load()) == today: // and the token is kept
		return http.StatusTooManyRequests
	}
	if status := k.admit(r, token.RealmInvite, hash[:], nil, token.Member); status != 0 {
		return status
	}
	ctx, cancel := call(r.Context())
	defer cancel()
	k.inviting.Lock()
	defer k.inviting.Unlock()
	if k.made.knows(hash, today) {
		return 0 // it may be used by now
	}
	if status := k.slot(ctx, hash, today); status != 0 {
		return status
	}
	if err := k.cfg.Members.AddInvite(ctx, Invite{Hash: hash, Uses: 1, Last: today + Day(days)}); err != nil {
		return k.trouble(ctx, err).status()
	}
	k.made.all[hash] = struct{}{}
	return 0
}

// made remembers the invites that members made today, as many as they may: one
// that was used must not come back because its maker asks again. After a restart,
// or at another node, each comes back once at most.
type made struct {
	day Day
	all map[[32]byte]struct{}
}

// knows reports whether an invite was made today. Callers hold inviting.
func (m *made) knows(hash [32]byte, today Day) bool {
	if m.all == nil || m.day != today {
		m.day, m.all = today, map[[32]byte]struct{}{}
	}
	_, ok := m.all[hash]
	return ok
}

// slot takes one of the invites that members may make today. All nodes take
// them from one store.
func (k *Keeper) slot(ctx context.Context, hash [32]byte, today Day) (status int) {
	s := k.state.Load()
	day := binary.BigEndian.AppendUint32(nil, uint32(today))
	for i := range k.cfg.Invites {
		m := Mark{Root: s.root.Began, Today: today, Until: today + 1, Hash: s.hash(labelSlot, day, binary.BigEndian.AppendUint32(nil, uint32(i))), Request: s.hash(labelSlotFor, hash[:])}
		switch v, err := k.cfg.Spent.Issue(ctx, m); {
		case err != nil:
			return k.trouble(ctx, err).status()
		case v != Other:
			return 0
		}
	}
	k.invited.Store(uint32(today))
	return http.StatusTooManyRequests
}
