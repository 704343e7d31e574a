package client

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client/internal/contact"
	"github.com/tacet-chat/tacet/client/internal/convo"
	"github.com/tacet-chat/tacet/client/internal/group"
	"github.com/tacet-chat/tacet/client/internal/vault"
	"github.com/tacet-chat/tacet/internal/content"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/roster"
)

// unnamed is what a group without a name is called.
const unnamed = "group"

// line returns the conversation of a group, which it begins when there is none. It goes
// on where the engine says that it does: what calls itself its successor and does not
// count moves no conversation.
func (g *groups) line(tx vault.Store, now time.Time, origin, id group.ID) (*vault.Line, error) {
	return g.lineCalled(tx, now, origin, id, "")
}

// lineCalled is line, with what a group is called that is not here yet.
func (g *groups) lineCalled(tx vault.Store, now time.Time, origin, id group.ID, called string) (*vault.Line, error) {
	l, err := tx.Line(origin)
	if err != nil && !errors.Is(err, group.ErrUnknown) {
		return nil, err
	}
	fresh := err != nil
	if fresh {
		l = &vault.Line{Origin: origin, Since: now.Unix()}
	}
	at, err := g.engine.Current(tx, origin)
	switch {
	case err == nil:
		id = at
	case !errors.Is(err, group.ErrUnknown):
		return nil, err
	case !fresh:
		id = l.Group
	}
	name, own, asked := l.Name, l.Own, l.Invited
	if r, err := tx.Group(id); err == nil {
		asked = false
		if fresh || r.Name != own { // else it keeps its name, whoever is called so by now
			own = r.Name
			if name, err = lineName(tx, l, own); err != nil {
				return nil, err
			}
		}
	} else if !errors.Is(err, group.ErrUnknown) {
		return nil, err
	} else if fresh && called != "" {
		own, asked = called, true
		if name, err = lineName(tx, l, own); err != nil {
			return nil, err
		}
	}
	if name == "" {
		name = unnamed
	}
	if !fresh && l.Group == id && l.Name == name && l.Own == own && l.Invited == asked {
		return l, nil
	}
	l.Group, l.Name, l.Own, l.Invited = id, name, own, asked
	return l, tx.PutLine(l)
}

// lineName returns what a group is called here: its name, with a number behind it
// where somebody or another group is called so already.
func lineName(tx vault.Store, l *vault.Line, name string) (string, error) {
	if name = contact.CleanName(name); name == "" {
		name = unnamed
	}
	people, err := tx.Contacts()
	if err != nil {
		return "", err
	}
	lines, err := tx.Lines()
	if err != nil {
		return "", err
	}
	taken := func(n string) bool {
		for _, r := range people {
			if contact.SameName(r.Name, n) {
				return true
			}
		}
		for _, o := range lines {
			if o.Origin != l.Origin && contact.SameName(o.Name, n) {
				return true
			}
		}
		return false
	}
	n := name
	for i := 2; taken(n); i++ {
		n = fmt.Sprintf("%s %d", name, i)
	}
	return n, nil
}

// tell keeps what the engine has to tell as an event of the group's conversation.
func (g *groups) tell(tx vault.Store, now time.Time, e *group.Event, ch *convo.Change) error {
	l, err := g.lineCalled(tx, now, e.Origin, e.Group, e.Name)
	if err != nil {
		return err
	}
	if e.Kind == group.EventDelivery || e.Kind == group.EventUnsent {
		return g.reached(tx, e, ch)
	}
	ev := &convo.Event{Kind: convo.Notice, Sent: now.Unix(), At: now.Unix(), Group: &convo.GroupPart{By: e.ByRoot}}
	if e.Kind == group.EventText {
		c, err := content.Parse(e.Content)
		if err != nil {
			ev.Text = "a message came that this version cannot read"
		} else if c.Text == nil {
			return nil
		} else {
			ev.Kind, ev.Text, ev.Sent, ev.Message, ev.Timer = convo.Text, c.Text.Body, int64(c.Sent), e.Message, c.Text.Timer
		}
		if e.ByRoot == g.c.root { // another device of ours said it
			ev.Out, ev.State = true, convo.OnDevice
		}
	} else if ev.Text, err = g.words(tx, l, e); err != nil || ev.Text == "" {
		return err
	}
	if err := tx.PutGroupEvent(e.Origin, ev); err != nil {
		return err
	}
	ch.Events = append(ch.Events, ev)
	if ev.Timer > 0 {
		if err := tx.SetTimer(ev.Seq, ev.Timer, ev.Out); err != nil {
			return err
		}
	}
	if e.Kind == group.EventText && e.Text != "" { // what there is to know of it
		note := &convo.Event{Kind: convo.Notice, Sent: now.Unix(), At: now.Unix(), Group: &convo.GroupPart{By: e.ByRoot}, Text: e.Text}
		ch.Events = append(ch.Events, note)
		return tx.PutGroupEvent(e.Origin, note)
	}
	return nil
}

// reached notes how many devices have a message of ours.
func (g *groups) reached(tx vault.Store, e *group.Event, ch *convo.Change) error {
	ev, err := tx.GroupEvent(e.Origin, e.Message)
	if errors.Is(err, convo.ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if ev.Group == nil {
		ev.Group = &convo.GroupPart{By: g.c.root}
	}
	ev.Group.Reached, ev.Group.Of = e.Reached, e.Of
	switch {
	case e.Kind == group.EventUnsent && e.Reached == 0 && ev.State < convo.OnDevice:
		ev.State = convo.Unsent
	case e.Reached > 0 && (ev.State < convo.OnDevice || ev.State == convo.Unsent): // let in again, it was sent after all
		ev.State = convo.OnDevice
	}
	ch.Events = append(ch.Events, ev)
	return tx.PutGroupEvent(e.Origin, ev)
}

// words says for people what happened.
func (g *groups) words(tx vault.Store, l *vault.Line, e *group.Event) (string, error) {
	by, err := g.nameOf(tx, e.ByRoot)
	if err != nil {
		return "", err
	}
	var about []string
	for _, root := range e.About {
		n, err := g.nameOf(tx, root)
		if err != nil {
			return "", err
		}
		about = append(about, n)
	}
	return eventWords(e, l.Name, by, about), nil
}

// eventWords says what happened, what it means for messages and what to do.
func eventWords(e *group.Event, name, by string, about []string) string {
	whom := listOf(about)
	switch e.Kind {
	case group.EventJoined:
		if by == "" || by == you {
			return fmt.Sprintf("you are in the group %q now", name)
		}
		return fmt.Sprintf("%s added you to the group %q", by, name)
	case group.EventMembers:
		return membersWords(e.Wish, by, whom, e.Text)
	case group.EventSettings:
		return settingWords(e, by)
	case group.EventOut:
		return joinWords("you are not in this group any more: nothing that is said now reaches you, and what you say reaches nobody", e.Text)
	case group.EventWell:
		return "member changes go on again"
	case group.EventQuestion:
		if e.Asks == group.AskJoin {
			return fmt.Sprintf("%s %s: answer with `tacet group decide`", by, e.Text)
		}
		return joinWords(joinWords("the group asks you something", whom), e.Text) + "; see `tacet group show`, answer with `tacet group decide`"
	case group.EventAgain:
		return joinWords("the group was made again on another relay; the conversation goes on here", e.Text)
	case group.EventRefused:
		return joinWords("a change that you wanted will not be done ("+wishWords(e.Wish, whom, "")+")", e.Text)
	}
	return e.Text // of troubles: it is whole
}

func membersWords(k roster.WishKind, by, whom, why string) string {
	switch k {
	case roster.Add:
		return by + " added " + whom
	case roster.ReAdd:
		return joinWords(by+" let a device back in that had lost its way", whom)
	case roster.Remove:
		return by + " removed " + whom + ": what is said from now on is not for them"
	case roster.Revoked:
		return "a device that was revoked is out of the group: " + whom
	case roster.Leave:
		return whom + " left"
	case roster.Promote:
		return by + " made " + whom + " an admin"
	case roster.Demote:
		return by + " took " + whom + " from the admins"
	}
	return strings.TrimSpace(strings.Join([]string{by, why, whom}, " "))
}

func settingWords(e *group.Event, by string) string {
	switch e.Wish {
	case roster.Rename:
		return fmt.Sprintf("%s called the group %q", by, e.Text)
	case roster.SetTimer:
		if n, err := strconv.ParseUint(e.Text, 10, 32); err == nil && n > 0 {
			return fmt.Sprintf("%s lets new messages disappear %s after they are read, on devices that keep to it", by, time.Duration(n)*time.Second)
		}
		return by + " lets new messages stay"
	case roster.SetPicture:
		if len(e.Content) == 0 {
			return by + " took the group's picture away"
		}
		return by + " gave the group another picture"
	case roster.OpenLink:
		return by + " opened a link to the group: who has it may ask to be added"
	case roster.CloseLink:
		return by + " closed a link to the group"
	}
	return by + " changed a setting of the group"
}

// wishWords says what a wish wants.
func wishWords(k roster.WishKind, whom, text string) string {
	switch k {
	case roster.Add, roster.ReAdd:
		return "add " + whom
	case roster.Remove:
		return "remove " + whom
	case roster.Revoked:
		return "remove a device of " + whom + " that was revoked"
	case roster.Leave:
		return "leave: " + whom
	case roster.Promote:
		return "make " + whom + " an admin"
	case roster.Demote:
		return "take " + whom + " from the admins"
	case roster.Rename:
		return strings.TrimSpace("another name " + text)
	case roster.SetTimer:
		return strings.TrimSpace("another timer " + text)
	case roster.SetPicture:
		return "another picture"
	}
	return "another setting"
}

func joinWords(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

const you = "you"

// listOf writes names one after the other.
func listOf(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
}

// nameOf is what a person is called here. Somebody who is no contact has a part of
// the name of their root: nobody else can have the same by chance. What they call
// themselves stands before it, if they were met.
func (g *groups) nameOf(tx vault.Store, root key.SignPublic) (string, error) {
	switch {
	case root == key.SignPublic{}:
		return "", nil
	case root == g.c.root:
		return you, nil
	}
	r, err := tx.ContactOf(root)
	if errors.Is(err, contact.ErrUnknown) {
		return contact.MemberName(root), nil
	}
	if err != nil {
		return "", err
	}
	if r.State != contact.Member {
		return r.Name, nil
	}
	if r.Claimed == "" {
		return contact.MemberName(root), nil
	}
	return fmt.Sprintf("%s (%s)", r.Claimed, contact.MemberName(root)), nil
}

// deviceOf finds the record of a person's device; nil if there is none.
func deviceOf(tx vault.Store, root key.SignPublic, d group.Device) (*contact.Record, error) {
	r, err := tx.DeviceOf(root, d)
	if errors.Is(err, contact.ErrUnknown) {
		return nil, nil
	}
	return r, err
}
