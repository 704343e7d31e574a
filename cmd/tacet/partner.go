package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/ui/text"
)

// partner is whom one talks with: a person or a group. The zero value is nobody.
type partner struct {
	ref  string // what names it to the client, whatever it is called meanwhile
	name string
	talk int64 // the conversation, as client.Event's Conversation says
}

func personOf(c client.Contact) partner {
	return partner{ref: fmt.Sprintf("#%d", c.ID), name: c.Name, talk: c.ID}
}

func groupOf(g client.Group) partner {
	return partner{ref: fmt.Sprintf("#g%d", g.ID), name: g.Name, talk: -g.ID}
}

// partners are all that one can talk with or did.
func (p *profile) partners(ctx context.Context) (all []partner, err error) {
	people, err := p.Contacts(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := p.Groups(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range people {
		all = append(all, personOf(c))
	}
	for _, g := range groups {
		all = append(all, groupOf(g))
	}
	return all, nil
}

// partner finds a person or a group. A name of both fails with client.ErrTwo.
func (p *profile) partner(ctx context.Context, who string) (partner, error) {
	g, err := p.GroupInfo(ctx, who)
	if err == nil {
		return groupOf(g), nil
	}
	if !errors.Is(err, client.ErrGroup) {
		return partner{}, err
	}
	c, err := p.named(ctx, strings.TrimPrefix(who, "person:"))
	if err != nil {
		return partner{}, err
	}
	return personOf(c), nil
}

// where says how far a message is.
func where(e client.Event) string {
	if e.GroupID != 0 && e.Of > 0 {
		return text.Reached(e)
	}
	return text.State(e.State)
}
