package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tacet-chat/tacet/relay"
	"github.com/tacet-chat/tacet/relay/setup"
)

// invitedFile says, in the data directory, that the first invite was made.
const invitedFile = "invited"

// firstInvite makes the first realm invite, if there was none yet, somebody can
// be invited, and the relay has a name by which it can be reached.
func firstInvite(ctx context.Context, p *setup.Plan) (link string, err error) {
	mark := filepath.Join(p.Config.Data, invitedFile)
	if _, err := os.Lstat(mark); err == nil || p.Name == "" || p.Config.Gate != "invite" {
		return "", nil
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := relay.Prepare(p.Config); err != nil {
		return "", err
	}
	i, err := relay.Invite(ctx, p.Config, relay.InviteOptions{Name: p.Name, Uses: 1, Days: 7})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		return "", err
	}
	return i.Link, p.Own()
}
