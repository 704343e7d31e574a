package rpc

import (
	"context"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// only makes a call that returns nothing but an error look like the others.
func only(err error) (any, error) { return nil, err }

// all are calls of every method of a service but Follow.
var all = map[string]func(context.Context, client.Service) (any, error){
	"Status": func(ctx context.Context, s client.Service) (any, error) { return s.Status(ctx) },
	"NewInvite": func(ctx context.Context, s client.Service) (any, error) {
		return s.NewInvite(ctx, client.InviteOptions{Uses: 2, Ask: true, Life: time.Hour, Label: "l"})
	},
	"Invites":      func(ctx context.Context, s client.Service) (any, error) { return s.Invites(ctx) },
	"RevokeInvite": func(ctx context.Context, s client.Service) (any, error) { return only(s.RevokeInvite(ctx, 1<<53)) },
	"Preview":      func(ctx context.Context, s client.Service) (any, error) { return s.Preview(ctx, "tacet://r/i#\n x") },
	"Accept": func(ctx context.Context, s client.Service) (any, error) {
		return s.Accept(ctx, client.AcceptOptions{Link: "l", Name: "n", Text: "t"})
	},
	"Contacts": func(ctx context.Context, s client.Service) (any, error) { return s.Contacts(ctx) },
	"Answer": func(ctx context.Context, s client.Service) (any, error) {
		return s.Answer(ctx, "bob", client.AnswerTrust)
	},
	"Rename":       func(ctx context.Context, s client.Service) (any, error) { return s.Rename(ctx, "bob", "rob") },
	"SafetyNumber": func(ctx context.Context, s client.Service) (any, error) { return s.SafetyNumber(ctx, "bob") },
	"SetMute": func(ctx context.Context, s client.Service) (any, error) {
		return s.SetMute(ctx, "bob", time.Unix(1_800_000_000, 0).UTC())
	},
	"SetDraft":    func(ctx context.Context, s client.Service) (any, error) { return s.SetDraft(ctx, "bob", "not yet") },
	"SetVerified": func(ctx context.Context, s client.Service) (any, error) { return s.SetVerified(ctx, "bob", true) },
	"Send": func(ctx context.Context, s client.Service) (any, error) {
		return s.Send(ctx, client.Outgoing{To: "bob", Text: "hi \u2028 <b>", Keep: time.Minute})
	},
	"Await":  func(ctx context.Context, s client.Service) (any, error) { return s.Await(ctx, 7, client.Live) },
	"Unsend": func(ctx context.Context, s client.Service) (any, error) { return s.Unsend(ctx, 7) },
	"Read": func(ctx context.Context, s client.Service) (any, error) {
		return s.Read(ctx, client.Query{Contact: "bob", After: 1, Limit: 2, Unread: true})
	},
	"MarkRead": func(ctx context.Context, s client.Service) (any, error) { return only(s.MarkRead(ctx, 7)) },
	"ChangePassphrase": func(ctx context.Context, s client.Service) (any, error) {
		return only(s.ChangePassphrase(ctx, []byte("old\x00\xff"), []byte("new")))
	},
	"SetWake": func(ctx context.Context, s client.Service) (any, error) {
		return s.SetWake(ctx, client.WakeOptions{URL: "https://p", Gateway: "g", SameOperator: true, Unified: true})
	},
	"WakeOff":  func(ctx context.Context, s client.Service) (any, error) { return only(s.WakeOff(ctx)) },
	"TestWake": func(ctx context.Context, s client.Service) (any, error) { return only(s.TestWake(ctx)) },
	"ReceivePush": func(ctx context.Context, s client.Service) (any, error) {
		return s.ReceivePush(ctx, []byte("body\x00\xff"))
	},
	"StartLink": func(ctx context.Context, s client.Service) (any, error) {
		return s.StartLink(ctx, client.LinkOptions{RelayOnly: true})
	},
	"LinkState":    func(ctx context.Context, s client.Service) (any, error) { return s.LinkState(ctx) },
	"AwaitLink":    func(ctx context.Context, s client.Service) (any, error) { return s.AwaitLink(ctx, 3) },
	"ConfirmLink":  func(ctx context.Context, s client.Service) (any, error) { return s.ConfirmLink(ctx, "123 456") },
	"CancelLink":   func(ctx context.Context, s client.Service) (any, error) { return only(s.CancelLink(ctx)) },
	"Devices":      func(ctx context.Context, s client.Service) (any, error) { return s.Devices(ctx) },
	"RenameDevice": func(ctx context.Context, s client.Service) (any, error) { return s.RenameDevice(ctx, "#2", "n") },
	"RevokeDevice": func(ctx context.Context, s client.Service) (any, error) { return s.RevokeDevice(ctx, "#2") },
	"CreateGroup": func(ctx context.Context, s client.Service) (any, error) {
		return s.CreateGroup(ctx, client.GroupOptions{Name: "walkers", People: []string{"bob"}, Size: 3})
	},
	"Groups":    func(ctx context.Context, s client.Service) (any, error) { return s.Groups(ctx) },
	"GroupInfo": func(ctx context.Context, s client.Service) (any, error) { return s.GroupInfo(ctx, "walkers") },
	"ChangeGroup": func(ctx context.Context, s client.Service) (any, error) {
		return s.ChangeGroup(ctx, client.GroupChange{Group: "walkers", Action: client.GroupTimer, Who: "bob", Name: "n", Timer: 5, Picture: []byte("\x00p")})
	},
	"GroupPicture": func(ctx context.Context, s client.Service) (any, error) { return s.GroupPicture(ctx, "walkers") },
	"DecideGroup": func(ctx context.Context, s client.Service) (any, error) {
		return s.DecideGroup(ctx, "walkers", "q", true)
	},
	"Doctor": func(ctx context.Context, s client.Service) (any, error) { return s.Doctor(ctx) },
}

func TestEveryMethodIsCalled(t *testing.T) {
	service := reflect.TypeFor[client.Service]()
	for i := range service.NumMethod() {
		if name := service.Method(i).Name; all[name] == nil && name != "Follow" {
			t.Errorf("%s: got no call in this test, want one", name)
		}
	}
}

func TestRemoteIsTheServiceItself(t *testing.T) {
	near, far := &fake{}, &fake{}
	r := dialed(t, serve(t, far))
	for name, call := range all {
		want, _ := call(t.Context(), near)
		got, err := call(t.Context(), r)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
	a, b := near.notes(), far.notes()
	if !slices.Equal(a, b) {
		t.Errorf("arguments: got %q, want %q", b, a)
	}
}

func TestErrorsKeepTheirIdentityAndText(t *testing.T) {
	f := &fake{}
	r := dialed(t, serve(t, f))
	for _, want := range append(known, errors.New("another one")) {
		f.mu.Lock()
		f.err = errorsWrap{"doing something: " + want.Error(), want}
		f.mu.Unlock()
		for name, call := range all {
			_, err := call(t.Context(), r)
			if err == nil || err.Error() != "doing something: "+want.Error() || !errors.Is(err, want) && want.Error() != "another one" {
				t.Errorf("%s: got %v, want %v", name, err, want)
			}
		}
	}
}

type errorsWrap struct {
	text string
	err  error
}

func (e errorsWrap) Error() string { return e.text }
func (e errorsWrap) Unwrap() error { return e.err }

// TestAllErrorsOfTheClientAreKnown reads the client's source, so that a new
// error does not lose its identity unnoticed.
func TestAllErrorsOfTheClientAreKnown(t *testing.T) {
	source, err := os.ReadFile("../../client/options.go")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := os.ReadFile("message.go")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`(?m)^\t(Err\w+) += errors.New`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 20 {
		t.Fatalf("got %d errors in the client's source, want more", len(names))
	}
	for _, n := range names {
		if !strings.Contains(string(ours), "client."+n[1]+",") {
			t.Errorf("client.%s: got no place in known, want one at its end", n[1])
		}
	}
}

func TestFollowBringsEventsInOrder(t *testing.T) {
	f := &fake{feed: make(chan client.Event, 100)}
	r := dialed(t, serve(t, f))
	for i := range 100 {
		e := event
		e.Seq = int64(i)
		f.feed <- e
	}
	enough := errors.New("enough")
	var got []int64
	err := r.Follow(t.Context(), 41, func(e client.Event) error {
		if got = append(got, e.Seq); len(got) == 100 {
			return enough
		}
		return nil
	})
	if err != enough || !slices.IsSorted(got) {
		t.Errorf("got %v and events %v, want 100 in order and the callback's error", err, got)
	}
	if a := f.notes(); a[0] != "Follow[41]" {
		t.Errorf("got %q, want the cursor to be passed on", a)
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	f := &fake{feed: make(chan client.Event, 1)}
	r := dialed(t, serve(t, f))
	f.feed <- event
	ctx, stop := context.WithCancel(t.Context())
	err := r.Follow(ctx, 0, func(client.Event) error {
		stop()
		return nil
	})
	if err != context.Canceled {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestFollowFailsAsTheServiceDoes(t *testing.T) {
	r := dialed(t, serve(t, &fake{err: client.ErrDamaged}))
	if err := r.Follow(t.Context(), 0, nil); !errors.Is(err, client.ErrDamaged) {
		t.Errorf("got %v, want %v", err, client.ErrDamaged)
	}
}

func TestAwaitTellsTheMessageWhenItsTimeIsOver(t *testing.T) {
	r := dialed(t, serve(t, &fake{}))
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	e, err := r.Await(ctx, 7, client.OnDevice)
	if !errors.Is(err, context.DeadlineExceeded) || !reflect.DeepEqual(e, event) {
		t.Errorf("got %+v, %v, want the message and %v", e, err, context.DeadlineExceeded)
	}
}

func TestCallsEndWithTheirContext(t *testing.T) {
	f := &fake{hold: make(chan struct{}), held: make(chan struct{})}
	r := dialed(t, serve(t, f))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-f.held
		stop()
	}()
	if _, err := r.Send(ctx, client.Outgoing{}); err != context.Canceled {
		t.Errorf("Send: got %v, want %v", err, context.Canceled)
	}
	ctx, stop = context.WithCancel(t.Context())
	stop()
	if _, err := r.Await(ctx, 7, client.OnDevice); err != context.Canceled {
		t.Errorf("Await: got %v, want %v", err, context.Canceled)
	}
	close(f.hold)
}
