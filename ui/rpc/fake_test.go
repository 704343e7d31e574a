package rpc

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// fake is a service that notes what it is asked and answers what the test says.
type fake struct {
	mu    sync.Mutex
	asked []string
	err   error         // of every call
	hold  chan struct{} // if set, Send waits for it to close
	held  chan struct{} // closed when Send waits
	feed  chan client.Event

	awaited chan struct{} // told when Await waits
}

func (f *fake) note(method string, args ...any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, method+string(raw))
	return f.err
}

func (f *fake) notes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.asked...)
}

// What the fake answers: every field has a value, so that none can get lost.
var (
	at    = time.Date(2026, 3, 10, 14, 30, 0, 5, time.UTC)
	event = client.Event{Seq: 7, ContactID: 2, Contact: "bob", ID: "0102", Out: true, Text: "hi\n\u202e<&>\u0000", State: client.Live, Sent: at, At: at.Add(1),
		GroupID: 5, Group: "walkers", From: "ada", Reached: 1, Of: 2}
	contact = client.Contact{ID: 2, Name: "bob", Claimed: "Bob", State: "accepted", Verified: true, Relay: "r.example", Warning: "w", Stopped: true, Waiting: 3, Unread: 4, Since: at}
	invite  = client.Invite{ID: 3, Link: "tacet://r/i#x", Label: "l", Uses: 2, Used: 1, Ask: true, Expires: at, State: "open", Online: true}
	preview = client.Preview{Link: "l", Name: "n", Relay: "r", RelayKey: "k", SafetyNumber: "1 2", Expires: at, OneUse: true, Asks: true}
	status  = client.Status{Name: "a", Relay: "r", RelayKey: "k", Running: true, Connected: true, Trouble: "t", Proxy: "p", Waiting: 1, Unread: 2, Requests: 3,
		Contacts: 4, Silent: []string{"bob"}, Exposure: "e", Manifest: at, Wake: &woken}
	woken  = client.WakeStatus{Push: "p", Gateway: "g", Proven: true, Same: true, Given: 4, LastPush: at, Waiting: true, Tests: 2}
	pushed = client.Pushed{Kind: client.PushedWake, Events: []client.Event{event}, Connected: true, Running: true}
	linked = client.Link{Version: 4, Stage: client.LinkSending, Code: "c", Online: true, Expires: at, Device: "d", Tries: 2, Rows: 5, Total: 6, Sent: 7, Way: "relay", Reason: "r", Trouble: "t"}
	device = client.Device{Number: 2, Name: "n", Key: "k", This: true, Root: true, Revoked: true, Heard: at}
	group  = client.Group{ID: 5, Name: "walkers", State: "active", Admin: true, Epoch: 3, Relay: "r", Timer: 4, Shared: true, Hybrid: true,
		Members: []client.GroupMember{{Name: "bob", ContactID: 2, Root: "aa", You: true, Rank: 1, Devices: 2}}, Waiting: 1, Unread: 2, Changes: []string{"c"},
		Questions: []client.GroupQuestion{{ID: "q", Text: "t"}}, Since: at}
	check = client.Check{Name: "n", State: "ok", Text: "t", Hint: "h"}
)

func (f *fake) Status(context.Context) (client.Status, error) { return status, f.note("Status") }
func (f *fake) NewInvite(_ context.Context, o client.InviteOptions) (client.Invite, error) {
	return invite, f.note("NewInvite", o)
}
func (f *fake) Invites(context.Context) ([]client.Invite, error) {
	return []client.Invite{invite, invite}, f.note("Invites")
}
func (f *fake) RevokeInvite(_ context.Context, id int64) error { return f.note("RevokeInvite", id) }
func (f *fake) Preview(_ context.Context, link string) (client.Preview, error) {
	return preview, f.note("Preview", link)
}
func (f *fake) Accept(_ context.Context, a client.AcceptOptions) (client.Contact, error) {
	return contact, f.note("Accept", a)
}
func (f *fake) Contacts(context.Context) ([]client.Contact, error) {
	return []client.Contact{contact}, f.note("Contacts")
}
func (f *fake) Answer(_ context.Context, who string, a client.Answer) (client.Contact, error) {
	return contact, f.note("Answer", who, a)
}
func (f *fake) Rename(_ context.Context, who, name string) (client.Contact, error) {
	return contact, f.note("Rename", who, name)
}
func (f *fake) SafetyNumber(_ context.Context, who string) (string, error) {
	return "12345 67890", f.note("SafetyNumber", who)
}
func (f *fake) SetMute(_ context.Context, who string, until time.Time) (client.Contact, error) {
	return contact, f.note("SetMute", who, until.UTC())
}

func (f *fake) SetDraft(_ context.Context, who, text string) (client.Contact, error) {
	return contact, f.note("SetDraft", who, text)
}

func (f *fake) SetVerified(_ context.Context, who string, verified bool) (client.Contact, error) {
	return contact, f.note("SetVerified", who, verified)
}

func (f *fake) Send(ctx context.Context, m client.Outgoing) (client.Event, error) {
	if f.hold != nil {
		close(f.held)
		select {
		case <-f.hold:
		case <-ctx.Done():
			return client.Event{}, ctx.Err()
		}
	}
	return event, f.note("Send", m)
}

func (f *fake) Await(ctx context.Context, seq int64, s client.State) (client.Event, error) {
	if s == client.OnDevice { // never reached
		select {
		case f.awaited <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return event, ctx.Err()
	}
	return event, f.note("Await", seq, s)
}
func (f *fake) Unsend(_ context.Context, seq int64) (client.Event, error) {
	return event, f.note("Unsend", seq)
}
func (f *fake) Read(_ context.Context, q client.Query) ([]client.Event, error) {
	return []client.Event{event, event}, f.note("Read", q)
}
func (f *fake) CreateGroup(_ context.Context, o client.GroupOptions) (client.Group, error) {
	return group, f.note("CreateGroup", o)
}
func (f *fake) Groups(context.Context) ([]client.Group, error) {
	return []client.Group{group, group}, f.note("Groups")
}
func (f *fake) GroupInfo(_ context.Context, which string) (client.Group, error) {
	return group, f.note("GroupInfo", which)
}
func (f *fake) ChangeGroup(_ context.Context, g client.GroupChange) (client.Group, error) {
	return group, f.note("ChangeGroup", g)
}
func (f *fake) GroupPicture(_ context.Context, which string) ([]byte, error) {
	return []byte("\x00picture\xff"), f.note("GroupPicture", which)
}
func (f *fake) DecideGroup(_ context.Context, which, question string, yes bool) (client.Group, error) {
	return group, f.note("DecideGroup", which, question, yes)
}
func (f *fake) MarkRead(_ context.Context, seq int64) error { return f.note("MarkRead", seq) }

func (f *fake) Follow(ctx context.Context, after int64, to func(client.Event) error) error {
	if err := f.note("Follow", after); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-f.feed:
			if err := to(e); err != nil {
				return err
			}
		}
	}
}
func (f *fake) ChangePassphrase(_ context.Context, old, next []byte) error {
	return f.note("ChangePassphrase", old, next)
}
func (f *fake) SetWake(_ context.Context, o client.WakeOptions) (client.WakeStatus, error) {
	return woken, f.note("SetWake", o)
}
func (f *fake) WakeOff(context.Context) error  { return f.note("WakeOff") }
func (f *fake) TestWake(context.Context) error { return f.note("TestWake") }
func (f *fake) ReceivePush(_ context.Context, body []byte) (client.Pushed, error) {
	return pushed, f.note("ReceivePush", body)
}
func (f *fake) StartLink(_ context.Context, o client.LinkOptions) (client.Link, error) {
	return linked, f.note("StartLink", o)
}
func (f *fake) LinkState(context.Context) (client.Link, error) { return linked, f.note("LinkState") }
func (f *fake) AwaitLink(_ context.Context, seen int64) (client.Link, error) {
	return linked, f.note("AwaitLink", seen)
}
func (f *fake) ConfirmLink(_ context.Context, digits string) (client.Link, error) {
	return linked, f.note("ConfirmLink", digits)
}
func (f *fake) CancelLink(context.Context) error { return f.note("CancelLink") }
func (f *fake) Devices(context.Context) ([]client.Device, error) {
	return []client.Device{device}, f.note("Devices")
}
func (f *fake) RenameDevice(_ context.Context, who, name string) (client.Device, error) {
	return device, f.note("RenameDevice", who, name)
}
func (f *fake) RevokeDevice(_ context.Context, who string) (client.Device, error) {
	return device, f.note("RevokeDevice", who)
}
func (f *fake) Doctor(context.Context) ([]client.Check, error) {
	return []client.Check{check}, f.note("Doctor")
}

// owner is a process that owns a profile and answers for it.
type owner struct {
	dir string
	end func() error // in order; what Serve returned
}

// serve answers with s until the test or end ends it.
func serve(t *testing.T, s client.Service) owner {
	t.Helper()
	return serveIn(t, t.TempDir(), s)
}

func serveIn(t *testing.T, dir string, s client.Service) owner {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, dir, s) }()
	end := sync.OnceValue(func() error {
		stop()
		return <-ended
	})
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Errorf("serving: got %v, want nil", err)
		}
	})
	return owner{dir, end}
}

// dialed connects to an owner that may not listen yet.
func dialed(t *testing.T, o owner) *Remote {
	t.Helper()
	for {
		r, err := Dial(t.Context(), o.dir)
		if err == nil {
			t.Cleanup(func() { r.Close() })
			return r
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}
