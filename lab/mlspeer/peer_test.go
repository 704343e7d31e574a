package mlspeer

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

var suites = []uint16{1, 2, 3, 5, 7, 0xf71a}

// start starts a peer for a test, and skips the test where there is none.
func start(t *testing.T) *Peer {
	t.Helper()
	p, err := Start()
	if errors.Is(err, ErrAbsent) {
		t.Skip("SKIPPED 1 test: " + err.Error())
	}
	must(t, err)
	t.Cleanup(p.Close)
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if r := (*Refused)(nil); errors.As(err, &r) {
		t.Fatalf("%v\n%s", err, r.Stack)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func get[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T { t.Helper(); must(t, err); return v }
}

// TestPeerAlone has ts-mls talk to itself, so that what fails elsewhere is not the
// driver.
func TestPeerAlone(t *testing.T) {
	p := start(t)
	t.Log(get[string](t)(p.About()))
	for _, suite := range suites {
		if testing.Short() && suite > 1 {
			break
		}
		t.Run(fmt.Sprint("suite ", suite), func(t *testing.T) { alonePeer(t, p, suite) })
	}
}

func alonePeer(t *testing.T, p *Peer, suite uint16) {
	b, c, g := get[[]byte](t), get[*Client](t), get[*Group](t)
	ann, bob := c(p.NewClient(suite, []byte("ann"))), c(p.NewClient(suite, []byte("bob")))
	a := g(ann.Create([]byte("a group"), nil))
	commit := get[Commit](t)(a.Commit(CommitOptions{Proposals: []Proposal{{Type: "add", KeyPackage: b(bob.KeyPackage(suite))}}}))
	must(t, a.Merge())
	o := g(bob.Join(commit.Welcome, b(a.Tree()), nil))
	agree(t, a, o)

	for i, public := range []bool{true, false} {
		_, err := a.Process(b(o.Propose(Proposal{Type: "update"}, public, []byte("ad"))))
		must(t, err)
		commit = get[Commit](t)(a.Commit(CommitOptions{Public: public}))
		_, err = o.Process(commit.Message)
		must(t, err)
		must(t, a.Merge())
		agree(t, a, o)
		must(t, o.Restore())
		got := get[Received](t)(o.Process(b(a.Encrypt([]byte("hello"), []byte("ad"), 100*i))))
		if string(got.Data) != "hello" || string(got.AD) != "ad" {
			t.Errorf("got %q", got)
		}
	}

	must(t, ann.AddPSK([]byte("id"), []byte("psk")))
	must(t, bob.AddPSK([]byte("id"), []byte("psk")))
	commit = get[Commit](t)(o.Commit(CommitOptions{Proposals: []Proposal{
		{Type: "psk", PSK: []byte("id")},
		{Type: "resumption", Usage: "application", GroupID: a.View.Group, Epoch: a.Epoch - 1},
	}}))
	_, err := a.Process(commit.Message)
	must(t, err)
	must(t, o.Merge())
	agree(t, a, o)

	cat := c(p.NewClient(suite, []byte("cat")))
	third, message, err := cat.JoinExternal(b(a.GroupInfo(true)), nil, false)
	must(t, err)
	_, err = a.Process(message)
	must(t, err)
	_, err = o.Process(message)
	must(t, err)
	agree(t, a, o, third)

	branch, welcome, tree, err := a.Branch(Next{GroupID: []byte("a branch"), Suite: suite, KeyPackages: [][]byte{b(bob.KeyPackage(suite))}})
	must(t, err)
	agree(t, branch, g(bob.Join(welcome, tree, o)))

	commit = get[Commit](t)(a.Commit(CommitOptions{Proposals: []Proposal{{Type: "reinit", GroupID: []byte("anew"), Suite: 1}}}))
	for _, m := range []*Group{o, third} {
		_, err = m.Process(commit.Message)
		must(t, err)
	}
	must(t, a.Merge())
	agree(t, a, o, third)
	next, welcome, tree, err := o.Reinit(Next{GroupID: []byte("anew"), Suite: 1, KeyPackages: [][]byte{b(ann.KeyPackage(1)), b(cat.KeyPackage(1))}})
	must(t, err)
	agree(t, next, g(ann.Join(welcome, tree, a)), g(cat.Join(welcome, tree, third)))
}

func agree(t *testing.T, first *Group, others ...*Group) {
	t.Helper()
	secret := get[[]byte](t)(first.Export("test", []byte("context"), 32))
	for _, o := range others {
		if !bytes.Equal(o.Authenticator, first.Authenticator) || !bytes.Equal(o.TreeHash, first.TreeHash) || o.Epoch != first.Epoch {
			t.Fatalf("got %+v, want %+v", o.View, first.View)
		}
		if got := get[[]byte](t)(o.Export("test", []byte("context"), 32)); !bytes.Equal(got, secret) {
			t.Fatalf("exporter: got %x, want %x", got, secret)
		}
	}
}
