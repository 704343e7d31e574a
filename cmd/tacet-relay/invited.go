package main

import (
	"context"

	"github.com/tacet-chat/tacet/relay/setup"
)

// firstInvite makes the first realm invite, if there was none yet and the relay
// has a name by which it can be reached. It returns the link and the realm's key.
func firstInvite(_ context.Context, p *setup.Plan) (link, fingerprint string, err error) {
	return "", "", nil
}
