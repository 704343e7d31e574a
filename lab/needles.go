package lab

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/internal/invite"
)

// secrets returns keys of a person and of one of their routes: all that an
// invite gives away to whoever holds its link. The invite is made for this and
// revoked.
func (s *Stage) secrets(ctx context.Context, p *Person) (all []hunt.Needle, err error) {
	text, err := p.Invite(ctx)
	if err != nil {
		return nil, err
	}
	link, err := invite.ParseLink(text)
	if err != nil {
		return nil, err
	}
	blob, _, err := wayFrom("").FetchUnpinned(ctx, s.Tap.Name(), link.ID())
	if err != nil {
		return nil, fmt.Errorf("fetching a bundle: %w", err)
	}
	b, err := invite.Open(link, blob, time.Now())
	if err != nil {
		return nil, fmt.Errorf("opening a bundle: %w", err)
	}
	if _, err := p.ask(ctx, ask{Do: "revoke"}); err != nil {
		return nil, err
	}
	add := func(what string, b []byte) {
		all = append(all, hunt.Needle{What: "the " + what + " of " + p.Name, Bytes: slices.Clone(b)})
	}
	add("root key", b.Root[:])
	for _, d := range b.Manifest.Devices {
		add("signing key", d.Sign[:])
		add("device key", d.DH[:])
		add("hash of the device key", d.XWing[:])
	}
	add("signed prekey", b.Prekeys.Signed[:])
	add("one-time prekey", b.Prekeys.OneTime[:])
	add("post-quantum prekey", b.Prekeys.KEM[:])
	add("invite's seal key", b.Seal[:])
	add("invite's route key", b.Route.Public[:])
	add("invite's route secret", b.Route.Secret.Bytes())
	add("invite's salt", b.Salt[:])
	key := link.Key()
	add("key of the bundle", key.Bytes())
	add("link's secret", link.Secret[:])
	return all, nil
}

// words returns what must be nowhere of what people said and are called.
func (s *Stage) words(ctx context.Context, link string) (all []hunt.Needle, err error) {
	add := func(what, text string) { all = append(all, hunt.Needle{What: what, Bytes: []byte(text)}) }
	add("passphrase", passphrase)
	add("invite's code", link[strings.LastIndexByte(link, '#')+1:])
	safety, err := s.Ada.ask(ctx, ask{Do: "safety", Who: "bob"})
	if err != nil {
		return nil, err
	}
	add("safety number", safety.Text)
	add("safety number", strings.ReplaceAll(safety.Text, " ", ""))
	people := []*Person{s.Ada, s.Bob}
	if s.Cy != nil {
		people = append(people, s.Cy)
		groups, err := s.Cy.ask(ctx, ask{Do: "groups"})
		if err != nil {
			return nil, err
		}
		for _, g := range groups.Groups {
			add("name of a group", g.Name)
		}
	}
	for _, p := range people {
		add("name", p.Name)
		p.mu.Lock()
		add("recovery words of "+p.Name, strings.Join(p.words, " "))
		p.mu.Unlock()
		events, err := p.Read(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.Out && e.State != client.Told {
				add("message text", e.Text)
			}
		}
	}
	return all, nil
}

// traces returns what a tap saw of addresses: those of routes, decoys included,
// those of the network, and the beginning of every cell.
func (s *Stage) traces() (all []hunt.Needle) {
	for _, g := range s.Tap.Seen(time.Time{}) {
		for _, a := range g.Addresses() {
			if g.Kind() == KindBody {
				break // of parked cells: a relay keeps these, see docs/inventory.md
			}
			all = append(all, hunt.Needle{What: "address", Bytes: a[:]})
		}
		for _, c := range g.Cells() {
			all = append(all, hunt.Needle{What: "cell", Bytes: c.Cell[:24]})
		}
	}
	for _, p := range []*Person{s.Ada, s.Bob} {
		if p.order.From != "" {
			all = append(all, hunt.Needle{What: "network address of " + p.Name, Bytes: []byte(p.order.From)})
			all = append(all, hunt.Needle{What: "network address of " + p.Name, Bytes: net.ParseIP(p.order.From).To4()})
		}
	}
	return all
}
