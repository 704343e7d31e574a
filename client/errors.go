package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/fetch"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/purse"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/invite"
	"github.com/tacet-chat/tacet/internal/roster"
	"github.com/tacet-chat/tacet/internal/wire"
)

// pairs says what the halves' errors are called outside. The first that fits counts.
var pairs = []struct{ inside, outside error }{
	{vault.ErrExists, ErrExists}, {vault.ErrMissing, ErrMissing}, {vault.ErrPassphrase, ErrPassphrase}, {vault.ErrDamaged, ErrDamaged},
	{vault.ErrNewer, ErrNewer}, {vault.ErrFull, ErrFull}, {vault.ErrLocked, ErrLocked},
	{contact.ErrUnknown, ErrContact}, {contact.ErrName, ErrName}, {contact.ErrSelf, ErrOwnInvite}, {contact.ErrKnown, ErrKnown},
	{contact.ErrInvite, ErrNoInvite}, {contact.ErrState, ErrState},
	{convo.ErrStopped, ErrStopped}, {convo.ErrNotYet, ErrNotYet}, {convo.ErrBlocked, ErrRefusedTo}, {convo.ErrGone, ErrGone},
	{convo.ErrSent, ErrSent}, {convo.ErrEmpty, ErrEmpty}, {convo.ErrLong, ErrLong},
	{invite.ErrNoInvite, ErrLink}, {invite.ErrCode, ErrLinkTypo}, {invite.ErrVersion, ErrLinkNewer}, {invite.ErrExpired, ErrUsed},
	{invite.ErrSeveral, ErrSeveral}, {wire.ErrRealmLink, ErrLinkTypo}, {wire.ErrRealmLinkVersion, ErrLinkNewer}, {purse.ErrProof, ErrTokenKeys},
	{group.ErrUnknown, ErrGroup}, {group.ErrLeft, ErrLeftGroup}, {group.ErrEntering, ErrEntering}, {group.ErrRight, ErrRight}, {group.ErrAsk, ErrAsk}, {roster.ErrRight, ErrRight}, {roster.ErrNobody, ErrNoMember},
	{roster.ErrBounds, ErrGroupFull}, {roster.ErrRefused, ErrNoGroupChange}, {roster.ErrState, ErrName},
	{invite.ErrRelay, ErrLink}, {invite.ErrSuite, ErrLinkNewer}, {invite.ErrOlder, ErrLinkOlder},
	{fetch.ErrSize, ErrForged}, {invite.ErrForged, ErrForged}, {invite.ErrBundle, ErrForged},
}

// vaultError translates what the halves say into this package's errors.
func vaultError(err error) error {
	if err == nil {
		return nil
	}
	for _, p := range pairs {
		if errors.Is(err, p.inside) {
			return p.outside
		}
	}
	return err
}

// networkError says whether a relay is the wrong one or is not there.
func networkError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fetch.ErrSize):
		return ErrForged
	case errors.Is(err, transport.ErrFronted):
		return ErrFronted
	case errors.Is(err, transport.ErrIssuer), errors.Is(err, purse.ErrProof):
		return ErrTokenKeys
	case errors.Is(err, transport.ErrEmpty), errors.Is(err, transport.ErrSpent):
		return ErrNoTokens
	case errors.Is(err, transport.ErrIdentity):
		return ErrRelayKey
	case errors.Is(err, transport.ErrForeign):
		return ErrForeign
	case errors.Is(err, transport.ErrNothing), errors.Is(err, context.Canceled):
		return err
	}
	return fmt.Errorf("%w: %w", ErrNetwork, err)
}
