package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Parameters of the methods that have more than one.
type (
	whoParams struct {
		Who string `json:"who"`
	}
	answerParams struct {
		Who    string        `json:"who"`
		Answer client.Answer `json:"answer"`
	}
	renameParams struct {
		Who  string `json:"who"`
		Name string `json:"name"`
	}
	muteParams struct {
		Who   string    `json:"who"`
		Until time.Time `json:"until"`
	}
	draftParams struct {
		Who  string `json:"who"`
		Text string `json:"text"`
	}
	verifyParams struct {
		Who      string `json:"who"`
		Verified bool   `json:"verified"`
	}
	idParams struct {
		ID int64 `json:"id"`
	}
	seqParams struct {
		Seq int64 `json:"seq"`
	}
	linkParams struct {
		Link string `json:"link"`
	}
	awaitParams struct {
		Seq    int64         `json:"seq"`
		State  client.State  `json:"state"`
		Within time.Duration `json:"within,omitempty"` // nanoseconds; zero: no limit
	}
	awaitResult struct {
		Event    client.Event `json:"event"`
		Deadline bool         `json:"deadline,omitempty"` // it was not reached in time
	}
	followParams struct {
		After int64 `json:"after"`
	}
	passphraseParams struct {
		Old  []byte `json:"old"`
		Next []byte `json:"next"`
	}
	digitsParams struct {
		Digits string `json:"digits"`
	}
	seenParams struct {
		Seen int64 `json:"seen"`
	}
	pushParams struct {
		Body []byte `json:"body"`
	}
	decideParams struct {
		Group    string `json:"group"`
		Question string `json:"question"`
		Yes      bool   `json:"yes"`
	}
	none struct{}
)

var errParams = errors.New("parameters are malformed")

// method runs one call.
type method func(ctx context.Context, params json.RawMessage) (any, error)

// on makes a method of a function with one struct of parameters. Unknown
// parameters are an error: a misspelt one must not be ignored.
func on[P, R any](f func(context.Context, P) (R, error)) method {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var p P
		if len(raw) > 0 {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&p); err != nil {
				return nil, errParams
			}
		}
		return f(ctx, p)
	}
}

// methods is the surface: the names are those of client.Service. Follow is the
// server's own, since it answers many times.
func methods(s client.Service) map[string]method {
	return map[string]method{
		"Status":    on(func(ctx context.Context, _ none) (client.Status, error) { return s.Status(ctx) }),
		"NewInvite": on(s.NewInvite),
		"Invites":   on(func(ctx context.Context, _ none) ([]client.Invite, error) { return s.Invites(ctx) }),
		"RevokeInvite": on(func(ctx context.Context, p idParams) (none, error) {
			return none{}, s.RevokeInvite(ctx, p.ID)
		}),
		"Preview":  on(func(ctx context.Context, p linkParams) (client.Preview, error) { return s.Preview(ctx, p.Link) }),
		"Accept":   on(s.Accept),
		"Contacts": on(func(ctx context.Context, _ none) ([]client.Contact, error) { return s.Contacts(ctx) }),
		"Answer": on(func(ctx context.Context, p answerParams) (client.Contact, error) {
			return s.Answer(ctx, p.Who, p.Answer)
		}),
		"Rename":       on(func(ctx context.Context, p renameParams) (client.Contact, error) { return s.Rename(ctx, p.Who, p.Name) }),
		"SafetyNumber": on(func(ctx context.Context, p whoParams) (string, error) { return s.SafetyNumber(ctx, p.Who) }),
		"SetMute": on(func(ctx context.Context, p muteParams) (client.Contact, error) {
			return s.SetMute(ctx, p.Who, p.Until)
		}),
		"SetDraft": on(func(ctx context.Context, p draftParams) (client.Contact, error) {
			return s.SetDraft(ctx, p.Who, p.Text)
		}),
		"SetVerified": on(func(ctx context.Context, p verifyParams) (client.Contact, error) {
			return s.SetVerified(ctx, p.Who, p.Verified)
		}),
		"Send":     on(s.Send),
		"Await":    on(func(ctx context.Context, p awaitParams) (awaitResult, error) { return await(ctx, s, p) }),
		"Unsend":   on(func(ctx context.Context, p seqParams) (client.Event, error) { return s.Unsend(ctx, p.Seq) }),
		"Read":     on(s.Read),
		"MarkRead": on(func(ctx context.Context, p seqParams) (none, error) { return none{}, s.MarkRead(ctx, p.Seq) }),
		"ChangePassphrase": on(func(ctx context.Context, p passphraseParams) (none, error) {
			return none{}, s.ChangePassphrase(ctx, p.Old, p.Next)
		}),
		"SetWake":  on(s.SetWake),
		"WakeOff":  on(func(ctx context.Context, _ none) (none, error) { return none{}, s.WakeOff(ctx) }),
		"TestWake": on(func(ctx context.Context, _ none) (none, error) { return none{}, s.TestWake(ctx) }),
		"ReceivePush": on(func(ctx context.Context, p pushParams) (client.Pushed, error) {
			return s.ReceivePush(ctx, p.Body)
		}),
		"StartLink": on(s.StartLink),
		"LinkState": on(func(ctx context.Context, _ none) (client.Link, error) { return s.LinkState(ctx) }),
		"AwaitLink": on(func(ctx context.Context, p seenParams) (client.Link, error) { return s.AwaitLink(ctx, p.Seen) }),
		"ConfirmLink": on(func(ctx context.Context, p digitsParams) (client.Link, error) {
			return s.ConfirmLink(ctx, p.Digits)
		}),
		"CancelLink": on(func(ctx context.Context, _ none) (none, error) { return none{}, s.CancelLink(ctx) }),
		"Devices":    on(func(ctx context.Context, _ none) ([]client.Device, error) { return s.Devices(ctx) }),
		"RenameDevice": on(func(ctx context.Context, p renameParams) (client.Device, error) {
			return s.RenameDevice(ctx, p.Who, p.Name)
		}),
		"RevokeDevice": on(func(ctx context.Context, p whoParams) (client.Device, error) { return s.RevokeDevice(ctx, p.Who) }),
		"CreateGroup":  on(s.CreateGroup),
		"Groups":       on(func(ctx context.Context, _ none) ([]client.Group, error) { return s.Groups(ctx) }),
		"GroupInfo":    on(func(ctx context.Context, p whoParams) (client.Group, error) { return s.GroupInfo(ctx, p.Who) }),
		"ChangeGroup":  on(s.ChangeGroup),
		"GroupPicture": on(func(ctx context.Context, p whoParams) ([]byte, error) { return s.GroupPicture(ctx, p.Who) }),
		"DecideGroup": on(func(ctx context.Context, p decideParams) (client.Group, error) {
			return s.DecideGroup(ctx, p.Group, p.Question, p.Yes)
		}),
		"Doctor": on(func(ctx context.Context, _ none) ([]client.Check, error) { return s.Doctor(ctx) }),
	}
}

// await carries the caller's deadline over: when it passes, the message is
// still told as it is.
func await(ctx context.Context, s client.Service, p awaitParams) (awaitResult, error) {
	if p.Within > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, p.Within)
		defer stop()
	}
	e, err := s.Await(ctx, p.Seq, p.State)
	if ctx.Err() == context.DeadlineExceeded && err != nil && e.Seq != 0 {
		return awaitResult{e, true}, nil
	}
	return awaitResult{Event: e}, err
}
