package main

import (
	"context"
	"time"

	"github.com/tacet-chat/tacet/client"
)

func (p *profile) Status(ctx context.Context) (client.Status, error) {
	return do(ctx, p, true, func(s client.Service) (client.Status, error) { return s.Status(ctx) })
}

func (p *profile) NewInvite(ctx context.Context, o client.InviteOptions) (client.Invite, error) {
	return do(ctx, p, false, func(s client.Service) (client.Invite, error) { return s.NewInvite(ctx, o) })
}

func (p *profile) Invites(ctx context.Context) ([]client.Invite, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Invite, error) { return s.Invites(ctx) })
}

func (p *profile) RevokeInvite(ctx context.Context, id int64) error {
	return done(ctx, p, true, func(s client.Service) error { return s.RevokeInvite(ctx, id) })
}

func (p *profile) Preview(ctx context.Context, link string) (client.Preview, error) {
	return do(ctx, p, true, func(s client.Service) (client.Preview, error) { return s.Preview(ctx, link) })
}

func (p *profile) Accept(ctx context.Context, o client.AcceptOptions) (client.Contact, error) {
	return do(ctx, p, false, func(s client.Service) (client.Contact, error) { return s.Accept(ctx, o) })
}

func (p *profile) Contacts(ctx context.Context) ([]client.Contact, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Contact, error) { return s.Contacts(ctx) })
}

func (p *profile) Answer(ctx context.Context, who string, answer client.Answer) (client.Contact, error) {
	return do(ctx, p, false, func(s client.Service) (client.Contact, error) { return s.Answer(ctx, who, answer) })
}

func (p *profile) Rename(ctx context.Context, who, name string) (client.Contact, error) {
	return do(ctx, p, false, func(s client.Service) (client.Contact, error) { return s.Rename(ctx, who, name) })
}

func (p *profile) SafetyNumber(ctx context.Context, who string) (string, error) {
	return do(ctx, p, true, func(s client.Service) (string, error) { return s.SafetyNumber(ctx, who) })
}

func (p *profile) SetMute(ctx context.Context, who string, until time.Time) (client.Contact, error) {
	return do(ctx, p, true, func(s client.Service) (client.Contact, error) { return s.SetMute(ctx, who, until) })
}

func (p *profile) SetDraft(ctx context.Context, who, text string) (client.Contact, error) {
	return do(ctx, p, true, func(s client.Service) (client.Contact, error) { return s.SetDraft(ctx, who, text) })
}

func (p *profile) SetVerified(ctx context.Context, who string, verified bool) (client.Contact, error) {
	return do(ctx, p, true, func(s client.Service) (client.Contact, error) { return s.SetVerified(ctx, who, verified) })
}

func (p *profile) Await(ctx context.Context, seq int64, want client.State) (client.Event, error) {
	return do(ctx, p, true, func(s client.Service) (client.Event, error) { return s.Await(ctx, seq, want) })
}

func (p *profile) Unsend(ctx context.Context, seq int64) (client.Event, error) {
	return do(ctx, p, false, func(s client.Service) (client.Event, error) { return s.Unsend(ctx, seq) })
}

func (p *profile) Read(ctx context.Context, q client.Query) ([]client.Event, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Event, error) { return s.Read(ctx, q) })
}

func (p *profile) MarkRead(ctx context.Context, seq int64) error {
	return done(ctx, p, true, func(s client.Service) error { return s.MarkRead(ctx, seq) })
}

func (p *profile) ChangePassphrase(ctx context.Context, old, next []byte) error {
	return done(ctx, p, false, func(s client.Service) error { return s.ChangePassphrase(ctx, old, next) })
}

func (p *profile) Doctor(ctx context.Context) ([]client.Check, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Check, error) { return s.Doctor(ctx) })
}

func (p *profile) SetWake(ctx context.Context, o client.WakeOptions) (client.WakeStatus, error) {
	return do(ctx, p, true, func(s client.Service) (client.WakeStatus, error) { return s.SetWake(ctx, o) })
}

func (p *profile) WakeOff(ctx context.Context) error {
	return done(ctx, p, true, func(s client.Service) error { return s.WakeOff(ctx) })
}

func (p *profile) TestWake(ctx context.Context) error {
	return done(ctx, p, false, func(s client.Service) error { return s.TestWake(ctx) })
}

func (p *profile) ReceivePush(ctx context.Context, body []byte) (client.Pushed, error) {
	return do(ctx, p, false, func(s client.Service) (client.Pushed, error) { return s.ReceivePush(ctx, body) })
}

func (p *profile) StartLink(ctx context.Context, o client.LinkOptions) (client.Link, error) {
	return do(ctx, p, false, func(s client.Service) (client.Link, error) { return s.StartLink(ctx, o) })
}

func (p *profile) LinkState(ctx context.Context) (client.Link, error) {
	return do(ctx, p, true, func(s client.Service) (client.Link, error) { return s.LinkState(ctx) })
}

func (p *profile) AwaitLink(ctx context.Context, seen int64) (client.Link, error) {
	return do(ctx, p, true, func(s client.Service) (client.Link, error) { return s.AwaitLink(ctx, seen) })
}

func (p *profile) ConfirmLink(ctx context.Context, digits string) (client.Link, error) {
	return do(ctx, p, false, func(s client.Service) (client.Link, error) { return s.ConfirmLink(ctx, digits) })
}

func (p *profile) CancelLink(ctx context.Context) error {
	return done(ctx, p, false, func(s client.Service) error { return s.CancelLink(ctx) })
}

func (p *profile) Devices(ctx context.Context) ([]client.Device, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Device, error) { return s.Devices(ctx) })
}

func (p *profile) RenameDevice(ctx context.Context, who, name string) (client.Device, error) {
	return do(ctx, p, true, func(s client.Service) (client.Device, error) { return s.RenameDevice(ctx, who, name) })
}

func (p *profile) RevokeDevice(ctx context.Context, who string) (client.Device, error) {
	return do(ctx, p, false, func(s client.Service) (client.Device, error) { return s.RevokeDevice(ctx, who) })
}

// CreateGroup is client.Service's.
func (p *profile) CreateGroup(ctx context.Context, o client.GroupOptions) (client.Group, error) {
	return do(ctx, p, false, func(s client.Service) (client.Group, error) { return s.CreateGroup(ctx, o) })
}

// Groups is client.Service's.
func (p *profile) Groups(ctx context.Context) ([]client.Group, error) {
	return do(ctx, p, true, func(s client.Service) ([]client.Group, error) { return s.Groups(ctx) })
}

// GroupInfo is client.Service's.
func (p *profile) GroupInfo(ctx context.Context, which string) (client.Group, error) {
	return do(ctx, p, true, func(s client.Service) (client.Group, error) { return s.GroupInfo(ctx, which) })
}

// ChangeGroup is client.Service's.
func (p *profile) ChangeGroup(ctx context.Context, g client.GroupChange) (client.Group, error) {
	return do(ctx, p, false, func(s client.Service) (client.Group, error) { return s.ChangeGroup(ctx, g) })
}

// GroupPicture is client.Service's.
func (p *profile) GroupPicture(ctx context.Context, which string) ([]byte, error) {
	return do(ctx, p, true, func(s client.Service) ([]byte, error) { return s.GroupPicture(ctx, which) })
}

// DecideGroup is client.Service's.
func (p *profile) DecideGroup(ctx context.Context, which, question string, yes bool) (client.Group, error) {
	return do(ctx, p, false, func(s client.Service) (client.Group, error) { return s.DecideGroup(ctx, which, question, yes) })
}
