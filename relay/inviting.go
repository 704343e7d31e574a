package relay

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/gate"
)

// Invitation is a realm invite as its operator sees it: who used it, and who made
// it, is known to nobody.
type Invitation struct {
	ID   string `json:"id"`   // to revoke it by: it says nothing about the secret
	Uses int    `json:"uses"` // devices that can still join with it
	Last string `json:"last"` // UTC day on which it can be used
	Link string `json:"link,omitempty"`
}

// InviteOptions say what invite is wanted.
type InviteOptions struct {
	Name string // of the relay, as devices reach it; empty: as its configuration says
	Uses int    // devices that may join, 1 to 10,000
	Days int    // for which it can be used: 1 to 365
}

const (
	askInvite    = "invite"
	invitationID = 8 // hex digits
	maxListed    = 2000
)

// ErrNoInvite: there is no such invite.
var ErrNoInvite = gate.ErrNoInvite

// inviteQuestion is what the running relay is asked. The secret of an invite is
// made by the one who asks, and never told to the relay.
type inviteQuestion struct {
	Add    string `json:"add,omitempty"`    // hash, hex
	Revoke string `json:"revoke,omitempty"` // id; neither: list them
	Uses   int    `json:"uses,omitempty"`
	Days   int    `json:"days,omitempty"`
}

// answerInvite answers it.
func (r *Relay) answerInvite(ctx context.Context, with json.RawMessage) (any, func(), error) {
	var q inviteQuestion
	if err := json.Unmarshal(with, &q); err != nil {
		return nil, nil, err
	}
	list, err := r.invitations(ctx, q)
	return list, nil, err
}

// invitations adds, revokes or lists invites.
func (r *Relay) invitations(ctx context.Context, q inviteQuestion) ([]Invitation, error) {
	switch {
	case r.keeper == nil:
		return nil, &Problem{errors.New("everybody may use this relay, so there is nothing to invite to"), `set gate = "invite" in its configuration and start it again`}
	case q.Add != "" && r.cfg.Gate == string(gate.NobodyElse):
		return nil, &Problem{errors.New("this realm is closed: an invite would make no member"), `set gate = "invite" in its configuration and start it again`}
	}
	today := gate.DayOf(r.cfg.Now())
	switch {
	case q.Add != "":
		hash, err := hex.DecodeString(q.Add)
		if err != nil || len(hash) != 32 || q.Uses < 1 || q.Uses > gate.MaxUses || q.Days < 1 || q.Days > gate.MaxDays {
			return nil, errors.New("question is malformed")
		}
		i := gate.Invite{Hash: [32]byte(hash), Uses: uint16(q.Uses), Last: today + gate.Day(q.Days)}
		if err := r.keeps.members.AddInvite(ctx, i); err != nil {
			return nil, adviseGate(err, r.cfg.Data)
		}
		return []Invitation{invitation(i)}, nil
	case q.Revoke != "":
		return nil, r.revoke(ctx, q.Revoke, today)
	}
	all, err := r.keeps.members.Invites(ctx, today)
	if err != nil {
		return nil, adviseGate(err, r.cfg.Data)
	}
	list := make([]Invitation, 0, len(all))
	for _, i := range all[:min(len(all), maxListed)] {
		list = append(list, invitation(i))
	}
	return list, nil
}

func (r *Relay) revoke(ctx context.Context, id string, today gate.Day) error {
	all, err := r.keeps.members.Invites(ctx, today)
	if err != nil {
		return adviseGate(err, r.cfg.Data)
	}
	err = ErrNoInvite
	for _, i := range all {
		if invitation(i).ID == id { // the few that may share one go together
			if err = r.keeps.members.Revoke(ctx, i.Hash); err != nil {
				break
			}
		}
	}
	if errors.Is(err, ErrNoInvite) {
		return &Problem{fmt.Errorf("%w: %s", err, id), "`tacet-relay invite list` shows those there are; one that is used up or over is gone by itself"}
	}
	return adviseGate(err, r.cfg.Data)
}

func invitation(i gate.Invite) Invitation {
	return Invitation{ID: hex.EncodeToString(i.Hash[:])[:invitationID], Uses: int(i.Uses), Last: time.Unix(int64(i.Last)*86_400, 0).UTC().Format(time.DateOnly)}
}

// Invite makes a realm invite and returns it with its link, which nobody can show
// again. The relay may run or not.
func Invite(ctx context.Context, cfg Config, o InviteOptions) (Invitation, error) {
	switch {
	case o.Uses < 1 || o.Uses > gate.MaxUses:
		return Invitation{}, &Problem{fmt.Errorf("an invite is for 1 to %d devices", gate.MaxUses), "make several"}
	case o.Days < 1 || o.Days > gate.MaxDays:
		return Invitation{}, &Problem{fmt.Errorf("an invite can be used for 1 to %d days", gate.MaxDays), "make another one later"}
	}
	name, err := o.name(&cfg)
	if err != nil {
		return Invitation{}, err
	}
	link := wire.RealmLink{Relay: name}
	rand.Read(link.Secret[:])
	hash := gate.InviteHash(link.Secret[:])
	list, err := askInvites(ctx, cfg, inviteQuestion{Add: hex.EncodeToString(hash[:]), Uses: o.Uses, Days: o.Days})
	if err != nil {
		return Invitation{}, err
	}
	print, err := fingerprint(cfg.Data)
	if err != nil {
		return Invitation{}, advise(err, cfg.Data)
	}
	copy(link.Print[:], print[:])
	list[0].Link = link.String()
	return list[0], nil
}

// Invites lists the realm invites that can be used.
func Invites(ctx context.Context, cfg Config) ([]Invitation, error) {
	return askInvites(ctx, cfg, inviteQuestion{})
}

// RevokeInvite deletes a realm invite. Who joined with it stays a member. It fails
// with ErrNoInvite.
func RevokeInvite(ctx context.Context, cfg Config, id string) error {
	_, err := askInvites(ctx, cfg, inviteQuestion{Revoke: id})
	return err
}

// askInvites asks the running relay, or opens the stores if none runs.
func askInvites(ctx context.Context, cfg Config, q inviteQuestion) (list []Invitation, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := ask(ctx, cfg.Data, askInvite, q, &list)
	if err == nil {
		return list, c.Close()
	}
	if !errors.Is(err, ErrNotRunning) {
		return nil, err
	}
	err = withStores(ctx, cfg, func(ctx context.Context, r *Relay) (err error) {
		list, err = r.invitations(ctx, q)
		return err
	})
	// What was made just now is the relay's, whoever made it.
	made, _ := filepath.Glob(filepath.Join(cfg.Data, gateFile+"*"))
	for _, path := range append(made, filepath.Join(cfg.Data, dayFile)) {
		_ = giveAs(path, cfg.Data) // if it cannot be given, the relay says so at its start
	}
	return list, err
}

// name returns how devices reach the relay.
func (o *InviteOptions) name(cfg *Config) (string, error) {
	name, given := o.Name, o.Name != ""
	if !given && len(cfg.Domain) > 0 {
		name = cfg.Domain[0]
	}
	if name == "" {
		name = cfg.Listen
		if s, err := AskStatus(cfg.Data); err == nil {
			name = s.Listen
		}
		host, _, err := net.SplitHostPort(name)
		if a, perr := netip.ParseAddr(host); err != nil || strings.HasPrefix(name, "unix:") || host == "" || perr == nil && a.IsUnspecified() {
			return "", &Problem{errors.New("this relay does not know by which name devices reach it"), "say it: tacet-relay invite --relay relay.example, or an address, with :PORT where it is not 443"}
		}
	}
	spelt, err := wire.RelayName(name)
	if err != nil {
		return "", &Problem{fmt.Errorf("%w: %s", err, name), "name it as relay.example, relay.example:7117 or 192.0.2.1:7117"}
	}
	return spelt, nil
}
