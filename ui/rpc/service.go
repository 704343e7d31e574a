package rpc

import (
	"context"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// ask makes a call whose result is an R.
func ask[R any](ctx context.Context, r *Remote, method string, params any) (out R, err error) {
	err = r.call(ctx, method, params, &out)
	return out, err
}

// Status is client.Service's.
func (r *Remote) Status(ctx context.Context) (client.Status, error) {
	return ask[client.Status](ctx, r, "Status", none{})
}

// NewInvite is client.Service's.
func (r *Remote) NewInvite(ctx context.Context, o client.InviteOptions) (client.Invite, error) {
	return ask[client.Invite](ctx, r, "NewInvite", o)
}

// Invites is client.Service's.
func (r *Remote) Invites(ctx context.Context) ([]client.Invite, error) {
	return ask[[]client.Invite](ctx, r, "Invites", none{})
}

// RevokeInvite is client.Service's.
func (r *Remote) RevokeInvite(ctx context.Context, id int64) error {
	_, err := ask[none](ctx, r, "RevokeInvite", idParams{id})
	return err
}

// Preview is client.Service's.
func (r *Remote) Preview(ctx context.Context, link string) (client.Preview, error) {
	return ask[client.Preview](ctx, r, "Preview", linkParams{link})
}

// Accept is client.Service's.
func (r *Remote) Accept(ctx context.Context, a client.AcceptOptions) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "Accept", a)
}

// Contacts is client.Service's.
func (r *Remote) Contacts(ctx context.Context) ([]client.Contact, error) {
	return ask[[]client.Contact](ctx, r, "Contacts", none{})
}

// Answer is client.Service's.
func (r *Remote) Answer(ctx context.Context, who string, a client.Answer) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "Answer", answerParams{who, a})
}

// Rename is client.Service's.
func (r *Remote) Rename(ctx context.Context, who, name string) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "Rename", renameParams{who, name})
}

// SafetyNumber is client.Service's.
func (r *Remote) SafetyNumber(ctx context.Context, who string) (string, error) {
	return ask[string](ctx, r, "SafetyNumber", whoParams{who})
}

// SetMute is client.Service's.
func (r *Remote) SetMute(ctx context.Context, who string, until time.Time) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "SetMute", muteParams{who, until})
}

// SetDraft is client.Service's.
func (r *Remote) SetDraft(ctx context.Context, who, text string) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "SetDraft", draftParams{who, text})
}

// SetVerified is client.Service's.
func (r *Remote) SetVerified(ctx context.Context, who string, verified bool) (client.Contact, error) {
	return ask[client.Contact](ctx, r, "SetVerified", verifyParams{who, verified})
}

// Send is client.Service's.
func (r *Remote) Send(ctx context.Context, m client.Outgoing) (client.Event, error) {
	return ask[client.Event](ctx, r, "Send", m)
}

// Unsend is client.Service's.
func (r *Remote) Unsend(ctx context.Context, seq int64) (client.Event, error) {
	return ask[client.Event](ctx, r, "Unsend", seqParams{seq})
}

// Read is client.Service's.
func (r *Remote) Read(ctx context.Context, q client.Query) ([]client.Event, error) {
	return ask[[]client.Event](ctx, r, "Read", q)
}

// MarkRead is client.Service's.
func (r *Remote) MarkRead(ctx context.Context, seq int64) error {
	_, err := ask[none](ctx, r, "MarkRead", seqParams{seq})
	return err
}

// ChangePassphrase is client.Service's.
func (r *Remote) ChangePassphrase(ctx context.Context, old, next []byte) error {
	_, err := ask[none](ctx, r, "ChangePassphrase", passphraseParams{old, next})
	return err
}

// Doctor is client.Service's.
func (r *Remote) Doctor(ctx context.Context) ([]client.Check, error) {
	return ask[[]client.Check](ctx, r, "Doctor", none{})
}

// SetWake is client.Service's.
func (r *Remote) SetWake(ctx context.Context, o client.WakeOptions) (client.WakeStatus, error) {
	return ask[client.WakeStatus](ctx, r, "SetWake", o)
}

// WakeOff is client.Service's.
func (r *Remote) WakeOff(ctx context.Context) error {
	_, err := ask[none](ctx, r, "WakeOff", none{})
	return err
}

// TestWake is client.Service's.
func (r *Remote) TestWake(ctx context.Context) error {
	_, err := ask[none](ctx, r, "TestWake", none{})
	return err
}

// ReceivePush is client.Service's.
func (r *Remote) ReceivePush(ctx context.Context, body []byte) (client.Pushed, error) {
	return ask[client.Pushed](ctx, r, "ReceivePush", pushParams{body})
}

// StartLink is client.Service's.
func (r *Remote) StartLink(ctx context.Context, o client.LinkOptions) (client.Link, error) {
	return ask[client.Link](ctx, r, "StartLink", o)
}

// LinkState is client.Service's.
func (r *Remote) LinkState(ctx context.Context) (client.Link, error) {
	return ask[client.Link](ctx, r, "LinkState", none{})
}

// AwaitLink is client.Service's.
func (r *Remote) AwaitLink(ctx context.Context, seen int64) (client.Link, error) {
	return ask[client.Link](ctx, r, "AwaitLink", seenParams{seen})
}

// ConfirmLink is client.Service's. An error comes without the state: LinkState has it.
func (r *Remote) ConfirmLink(ctx context.Context, digits string) (client.Link, error) {
	return ask[client.Link](ctx, r, "ConfirmLink", digitsParams{digits})
}

// CancelLink is client.Service's.
func (r *Remote) CancelLink(ctx context.Context) error {
	_, err := ask[none](ctx, r, "CancelLink", none{})
	return err
}

// Devices is client.Service's.
func (r *Remote) Devices(ctx context.Context) ([]client.Device, error) {
	return ask[[]client.Device](ctx, r, "Devices", none{})
}

// RenameDevice is client.Service's.
func (r *Remote) RenameDevice(ctx context.Context, who, name string) (client.Device, error) {
	return ask[client.Device](ctx, r, "RenameDevice", renameParams{who, name})
}

// RevokeDevice is client.Service's.
func (r *Remote) RevokeDevice(ctx context.Context, who string) (client.Device, error) {
	return ask[client.Device](ctx, r, "RevokeDevice", whoParams{who})
}

// CreateGroup is client.Service's.
func (r *Remote) CreateGroup(ctx context.Context, o client.GroupOptions) (client.Group, error) {
	return ask[client.Group](ctx, r, "CreateGroup", o)
}

// Groups is client.Service's.
func (r *Remote) Groups(ctx context.Context) ([]client.Group, error) {
	return ask[[]client.Group](ctx, r, "Groups", none{})
}

// GroupInfo is client.Service's.
func (r *Remote) GroupInfo(ctx context.Context, which string) (client.Group, error) {
	return ask[client.Group](ctx, r, "GroupInfo", whoParams{which})
}

// ChangeGroup is client.Service's.
func (r *Remote) ChangeGroup(ctx context.Context, g client.GroupChange) (client.Group, error) {
	return ask[client.Group](ctx, r, "ChangeGroup", g)
}

// GroupPicture is client.Service's.
func (r *Remote) GroupPicture(ctx context.Context, which string) ([]byte, error) {
	return ask[[]byte](ctx, r, "GroupPicture", whoParams{which})
}

// DecideGroup is client.Service's.
func (r *Remote) DecideGroup(ctx context.Context, which, question string, yes bool) (client.Group, error) {
	return ask[client.Group](ctx, r, "DecideGroup", decideParams{which, question, yes})
}
