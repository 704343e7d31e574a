package client

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/client/transport"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/manifest"
	"github.com/tacet-chat/tacet/internal/roster"
)

// Group is a conversation of many.
type Group struct {
	ID        int64           `json:"id"`                // "#g" and this number names it
	Name      string          `json:"name"`              // as it is called here
	State     string          `json:"state"`             // active, behind, waiting, entering (this device waits to be let in), invited (you are asked whether to join), declined, left
	Admin     bool            `json:"admin"`             // you are one
	Epoch     uint64          `json:"epoch"`             // how often it was changed
	Relay     string          `json:"relay"`             // where its changes are decided
	Timer     time.Duration   `json:"timer"`             // after which new messages disappear, from when they are read; 0: never
	Picture   bool            `json:"picture,omitempty"` // it has one: Client.GroupPicture
	Shared    bool            `json:"shared"`            // one address for all: the relay sees how many watch it
	Hybrid    bool            `json:"hybrid"`            // protected against quantum computers too
	Members   []GroupMember   `json:"members"`
	Waiting   int             `json:"waiting"` // messages of yours that somebody does not have yet
	Unread    int             `json:"unread"`
	Changes   []string        `json:"changes,omitempty"` // that are wanted and not done yet, in words
	Questions []GroupQuestion `json:"questions,omitempty"`
	Since     time.Time       `json:"since"`
}

// GroupMember is a person in a group.
type GroupMember struct {
	Name      string `json:"name"` // our name for them
	ContactID int64  `json:"contact_id,omitempty"`
	Root      string `json:"root"` // who they are, hex
	You       bool   `json:"you,omitempty"`
	Rank      int    `json:"rank,omitempty"` // among the admins, 1 for the most senior; 0: none
	Devices   int    `json:"devices"`
	Claimed   string `json:"claimed,omitempty"` // of who is no contact: what they call themselves; nobody vouches for it
	Met       bool   `json:"met,omitempty"`     // there is a session with one of their devices
}

// GroupQuestion is something that a person must decide.
type GroupQuestion struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// GroupOptions are what the maker of a group decides.
type GroupOptions struct {
	Name   string   `json:"name"`
	People []string `json:"people"`         // contacts
	Size   int      `json:"size,omitempty"` // devices that it will have, roughly: above 16 it is not protected against quantum computers
}

// GroupAction is a change of a group.
type GroupAction string

// Actions. An admin's are all but Leave; Demote is also anybody's own.
const (
	GroupAdd     GroupAction = "add"
	GroupRemove  GroupAction = "remove"
	GroupLeave   GroupAction = "leave"
	GroupPromote GroupAction = "promote"
	GroupDemote  GroupAction = "demote"
	GroupRename  GroupAction = "rename"
	GroupTimer   GroupAction = "timer"
	GroupPicture GroupAction = "picture"
)

// GroupChange is what somebody wants of a group.
type GroupChange struct {
	Group  string        `json:"group"`
	Action GroupAction   `json:"action"`
	Who    string        `json:"who,omitempty"`   // a contact or member; of Add, Remove, Promote, Demote
	Name   string        `json:"name,omitempty"`  // of Rename
	Timer  time.Duration `json:"timer,omitempty"` // of Timer; whole seconds
	// Picture is a file of GroupPicture, which SmallPicture draws anew; none takes the
	// picture away.
	Picture []byte `json:"picture,omitempty"`
}

// namedGroup looks a conversation of a group up: by its name here in any case,
// "group:" and its name, or "#g" and its number. A name that is also a person's fails
// with ErrTwo unless it says which is meant.
func namedGroup(tx vault.Store, which string) (*vault.Line, error) {
	lines, err := tx.Lines()
	if err != nil {
		return nil, err
	}
	name, said := strings.CutPrefix(which, groupPrefix)
	for _, l := range lines {
		if n, ok := strings.CutPrefix(which, "#g"); ok && n == strconv.FormatInt(l.ID, 10) {
			return l, nil
		}
	}
	for _, l := range lines {
		if !contact.SameName(l.Name, name) {
			continue
		}
		if !said {
			if _, err := findPerson(tx, which); err == nil {
				return nil, ErrTwo
			}
		}
		return l, nil
	}
	return nil, group.ErrUnknown
}

// Prefixes say whether a person or a group is meant.
const (
	groupPrefix  = "group:"
	personPrefix = "person:"
)

// conversation finds whom a message is for: a person or a group.
func conversation(tx vault.Store, who string) (*contact.Record, *vault.Line, error) {
	l, err := namedGroup(tx, who)
	if !errors.Is(err, group.ErrUnknown) {
		return nil, l, err
	}
	r, err := find(tx, who)
	return r, nil, err
}

// CreateGroup makes a group and adds people to it. It is there when it returns;
// people are in it as soon as their devices and the relay have answered.
func (c *Client) CreateGroup(ctx context.Context, o GroupOptions) (Group, error) {
	if err := c.groups.ready(); err != nil {
		return Group{}, err
	}
	up, stop := context.WithTimeout(ctx, uploadWithin)
	learned := c.learnReceipts(up)
	stop()
	var origin group.ID
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		if known, err := c.groups.setHome(tx.Tx); err != nil {
			return nil, err
		} else if !known {
			return nil, networkError(cmp.Or(learned, transport.ErrNothing))
		}
		id, ch, err := c.groups.engine.Create(tx, now, group.Founding{Name: contact.CleanName(o.Name), Class: -1, Size: max(o.Size, len(o.People)+1)})
		if err != nil {
			return nil, err
		}
		c.groups.note(ch)
		origin = id
		if _, err := c.groups.line(tx, now, id, id); err != nil {
			return nil, err
		}
		for _, who := range o.People {
			if err := c.groups.want(tx, now, id, GroupChange{Action: GroupAdd, Who: who}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if err != nil {
		return Group{}, err
	}
	return c.groupAt(ctx, func(tx vault.Store) (*vault.Line, error) { return tx.Line(origin) })
}

// ChangeGroup wants a change of a group. It is committed here when it returns; it is
// done once the group's relay has decided it, and asked for again until then.
func (c *Client) ChangeGroup(ctx context.Context, g GroupChange) (Group, error) {
	if err := c.groups.ready(); err != nil {
		return Group{}, err
	}
	var origin group.ID
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		l, err := namedGroup(tx, g.Group)
		if err != nil {
			return nil, err
		}
		origin = l.Origin
		if err := c.groups.here(tx, l); err != nil {
			return nil, err
		}
		return nil, c.groups.want(tx, now, l.Group, g)
	})
	if err != nil {
		return Group{}, err
	}
	return c.groupAt(ctx, func(tx vault.Store) (*vault.Line, error) { return tx.Line(origin) })
}

// DecideGroup answers a question of a group.
func (c *Client) DecideGroup(ctx context.Context, which, question string, yes bool) (Group, error) {
	if err := c.groups.ready(); err != nil {
		return Group{}, err
	}
	var origin group.ID
	err := c.update(ctx, func(tx vault.Store, now time.Time) (*convo.Change, error) {
		l, err := namedGroup(tx, which)
		if err != nil {
			return nil, err
		}
		origin = l.Origin
		all, err := c.groups.questions(tx, l)
		if err != nil {
			return nil, err
		}
		for _, q := range all {
			if question == hex.EncodeToString(q.ID[:]) || question == "" && len(all) == 1 {
				ch, err := c.groups.engine.Decide(tx, now, q.Group, q, yes)
				c.groups.note(ch)
				return nil, err
			}
		}
		return nil, ErrNoQuestion
	})
	if err != nil {
		return Group{}, err
	}
	return c.groupAt(ctx, func(tx vault.Store) (*vault.Line, error) { return tx.Line(origin) })
}

// here refuses what can be done in groups alone that are here: this device was invited
// into this one, and its person has not said yes.
func (g *groups) here(tx vault.Store, l *vault.Line) error {
	if _, err := tx.Group(l.Group); !errors.Is(err, group.ErrUnknown) {
		return err
	}
	_, invited, err := g.asked(tx, l)
	switch {
	case err != nil:
		return err
	case invited:
		return group.ErrAsk
	}
	return group.ErrLeft
}

// questions are what a conversation asks its person: of the group in which it goes on,
// and of those of its line into which somebody wants this device.
func (g *groups) questions(tx vault.Store, l *vault.Line) (out []group.Question, err error) {
	r, err := tx.Group(l.Group)
	switch {
	case err == nil:
		for _, q := range r.Questions {
			q.Group = r.ID
			out = append(out, q)
		}
	case !errors.Is(err, group.ErrUnknown):
		return nil, err
	}
	all, err := g.engine.Invitations(tx)
	for _, v := range all {
		if v.Origin == l.Origin {
			out = append(out, v.Question())
		}
	}
	return out, err
}

// asked says for people what a conversation asks.
func (g *groups) asked(tx vault.Store, l *vault.Line) (out []GroupQuestion, joins bool, err error) {
	all, err := g.questions(tx, l)
	if err != nil {
		return nil, false, err
	}
	for _, q := range all {
		text := q.Text
		if q.Kind == group.AskJoin && len(q.About) > 0 {
			by, err := g.nameOf(tx, q.About[0])
			if err != nil {
				return nil, false, err
			}
			text, joins = by+" "+text, true
		}
		out = append(out, GroupQuestion{ID: hex.EncodeToString(q.ID[:]), Text: text})
	}
	return out, joins, nil
}

// Groups returns all groups, in the order they were met.
func (c *Client) Groups(ctx context.Context) (all []Group, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		all = nil
		s := vault.Store{Tx: tx}
		lines, err := s.Lines()
		for _, l := range lines {
			g, err := c.groups.shown(s, l)
			if err != nil {
				return err
			}
			all = append(all, g)
		}
		return err
	})
	return all, vaultError(err)
}

// GroupInfo returns a group by its name here, or "#g" and its number.
func (c *Client) GroupInfo(ctx context.Context, which string) (Group, error) {
	return c.groupAt(ctx, func(tx vault.Store) (*vault.Line, error) { return namedGroup(tx, which) })
}

func (c *Client) groupAt(ctx context.Context, at func(vault.Store) (*vault.Line, error)) (out Group, err error) {
	err = c.vault.View(ctx, func(tx *vault.Tx) error {
		s := vault.Store{Tx: tx}
		l, err := at(s)
		if err == nil {
			out, err = c.groups.shown(s, l)
		}
		return err
	})
	return out, vaultError(err)
}

// ready says whether there is somewhere that groups can be reached.
func (g *groups) ready() error {
	if g.c.home().Live == 0 {
		return ErrNoRelay
	}
	return nil
}

// want wants one change of a group from the engine.
func (g *groups) want(tx vault.Store, now time.Time, id group.ID, w GroupChange) error {
	var wishes []roster.Wish
	switch w.Action {
	case GroupAdd:
		r, err := g.whom(tx, w.Who)
		if err != nil {
			return err
		}
		m, err := manifest.Parse(r.Manifest)
		if err != nil {
			return err
		}
		for i := range m.Devices {
			if d, ok := m.Active(i); ok {
				wishes = append(wishes, roster.Wish{Kind: roster.Add, Root: r.Root, Device: d.Sign})
			}
		}
	case GroupRemove, GroupPromote, GroupDemote:
		root, err := g.memberNamed(tx, id, w.Who)
		if err != nil {
			return err
		}
		kind := map[GroupAction]roster.WishKind{GroupRemove: roster.Remove, GroupPromote: roster.Promote, GroupDemote: roster.Demote}[w.Action]
		wishes = append(wishes, roster.Wish{Kind: kind, Root: root})
	case GroupLeave:
		wishes = append(wishes, roster.Wish{Kind: roster.Leave, Root: g.c.root})
	case GroupRename:
		wishes = append(wishes, roster.Wish{Kind: roster.Rename, Text: contact.CleanName(w.Name)})
	case GroupTimer:
		wishes = append(wishes, roster.Wish{Kind: roster.SetTimer, Number: uint32(w.Timer / time.Second)})
	case GroupPicture:
		var small []byte
		if len(w.Picture) > 0 {
			var err error
			if small, err = SmallPicture(w.Picture); err != nil {
				return err
			}
		}
		ch, err := g.engine.SetPicture(tx, now, id, small)
		g.note(ch)
		return err
	default:
		return ErrState
	}
	for _, wish := range wishes {
		ch, err := g.engine.Want(tx, now, id, wish)
		if err != nil {
			return err
		}
		g.note(ch)
	}
	return nil
}

// memberNamed finds a member by our name for them, or by what stands for those who
// are no contacts.
func (g *groups) memberNamed(tx vault.Store, id group.ID, who string) (root key.SignPublic, err error) {
	people, _, err := g.people(tx, id)
	if err != nil {
		return root, err
	}
	if r, err := find(tx, who); err == nil {
		if slices.Contains(people, r.Root) {
			return r.Root, nil
		}
		return root, ErrNoMember
	}
	for _, p := range people {
		if is, err := g.means(tx, p, who); err != nil || is {
			return p, err
		}
	}
	return root, ErrNoMember
}

// means reports whether who means somebody who may be no contact: as they are shown, or
// by the beginning of their root.
func (g *groups) means(tx vault.Store, root key.SignPublic, who string) (bool, error) {
	n, err := g.nameOf(tx, root)
	short := contact.MemberName(root)
	return contact.SameName(n, who) || contact.SameName(short, who) || contact.SameName(short, "member "+who), err
}

// whom finds somebody to be added: a contact, or somebody who was met in another group.
func (g *groups) whom(tx vault.Store, who string) (*contact.Record, error) {
	r, err := find(tx, who)
	if err == nil {
		return r, convo.MaySend(r)
	}
	if !errors.Is(err, contact.ErrUnknown) {
		return nil, err
	}
	all, err := tx.Contacts()
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.State != contact.Member || r.Stop {
			continue
		}
		if is, err := g.means(tx, r.Root, who); err != nil || is {
			return r, err
		}
	}
	return nil, contact.ErrUnknown
}

// groupStates are the states of a group in the API.
var groupStates = map[group.State]string{group.Active: "active", group.Behind: "behind", group.Stopped: "waiting", group.Replaced: "active", group.Out: "left", group.Entering: "entering"}

// sendGroup commits a text to a group.
func (c *Client) sendGroup(tx vault.Store, now time.Time, l *vault.Line, m Outgoing) (*convo.Event, error) {
	if err := c.groups.ready(); err != nil {
		return nil, err
	}
	if m.Text == "" {
		return nil, convo.ErrEmpty
	}
	if m.Keep != 0 {
		return nil, ErrKeepGroup
	}
	if err := c.groups.here(tx, l); err != nil {
		return nil, err
	}
	timer, err := groupTimer(tx, l.Group)
	if err != nil {
		return nil, err
	}
	body, err := (&content.Content{Sent: uint64(now.Unix()), Text: &content.Text{Body: m.Text, Timer: timer}}).Append(nil)
	if err != nil {
		return nil, convo.ErrLong
	}
	id, ch, err := c.groups.engine.Send(tx, now, l.Group, body)
	if err != nil {
		return nil, err
	}
	ev := &convo.Event{Kind: convo.Text, Out: true, Text: m.Text, Message: id, Sent: now.Unix(), At: now.Unix(), State: convo.Queued, Timer: timer,
		Group: &convo.GroupPart{By: c.root}}
	if err := tx.PutGroupEvent(l.Origin, ev); err != nil {
		return nil, err
	}
	if timer > 0 {
		if err := tx.SetTimer(ev.Seq, timer, true); err != nil {
			return nil, err
		}
	}
	c.groups.note(ch)
	return ev, nil
}

// groupTimer is after how many seconds what is said in a group now disappears; 0: it
// stays.
func groupTimer(tx vault.Store, id group.ID) (uint32, error) {
	r, err := tx.Group(id)
	if err != nil {
		return 0, err
	}
	e, err := tx.Epoch(id, r.Head)
	if errors.Is(err, group.ErrUnknown) {
		return 0, nil // nothing can be said in it, either
	}
	if err != nil {
		return 0, err
	}
	s, err := roster.ParseState(e.State)
	if err != nil {
		return 0, err
	}
	return s.Timer, nil
}
