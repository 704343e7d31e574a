package client

import (
	"context"
	"fmt"
	"time"

	"github.com/tacet-chat/tacet/client/internal/purse"
)

// RealmTokens says what there is to pay a relay with that wants tokens.
type RealmTokens struct {
	Relay    string    `json:"relay"`
	Home     bool      `json:"home"`              // it is our own
	Member   bool      `json:"member"`            // batches are bought as a member
	Puzzles  bool      `json:"puzzles,omitempty"` // or with puzzles; else contacts give us guest tokens
	Left     int       `json:"left"`              // tokens that can be spent now
	Reserve  int       `json:"reserve"`           // those of them that are guests'
	Resting  int       `json:"resting"`           // tokens that can be spent later
	Next     time.Time `json:"next,omitzero"`     // when there will be more
	Linkable bool      `json:"linkable,omitempty"`
	// Trouble says what is wrong and what it means, Hint what to do; empty: nothing.
	Trouble string `json:"trouble,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Fails   bool   `json:"fails,omitempty"` // nothing goes there until that is put right
}

// tellRenewed is how long it is told that a realm lost its store.
const tellRenewed = 7 * 24 * time.Hour

// tokens lists the realms that want tokens, our own first.
func (c *Client) tokens(ctx context.Context) (all []RealmTokens, err error) {
	states, err := c.purse.Status(ctx)
	if err != nil {
		return nil, vaultError(err)
	}
	home := c.home()
	for _, s := range states {
		if !s.Wants {
			continue
		}
		t := RealmTokens{
			Relay: s.Name, Home: home.Live != 0 && s.Pin == home.Realm.Pin, Member: s.Member, Puzzles: s.Puzzles && !s.Member,
			Left: s.Left, Reserve: s.Reserve, Resting: s.Resting, Next: s.Next, Linkable: s.Linkable,
		}
		if t.Relay == "" && t.Home {
			t.Relay = home.Realm.Name
		}
		t.tell(&s, time.Now())
		if t.Home {
			all = append([]RealmTokens{t}, all...)
		} else {
			all = append(all, t)
		}
	}
	return all, nil
}

// tell says what is wrong. The worst comes first.
func (t *RealmTokens) tell(s *purse.Status, now time.Time) {
	buys := s.Member || s.Puzzles
	switch {
	case s.Trouble == purse.BadKeys:
		t.Fails = true
		t.Trouble = "it shows other keys for tokens than before, by which it could tell people apart; nothing is sent there, messages wait here"
		t.Hint = "ask its operator what happened, and others whether they see the same; it goes on by itself when the right keys are back"
	case s.Trouble == purse.BadProof:
		t.Fails = s.Left == 0
		t.Trouble = "it answered with tokens of another key than it announced, by which it could tell people apart; they were thrown away"
		t.Hint = "ask its operator; it is asked again with the next day"
	case s.Trouble == purse.Outside && s.Member:
		t.Fails = s.Left == 0
		t.Trouble = "it does not know this device's membership any more"
		t.Hint = "ask its operator for an invite and `tacet accept` it"
	case s.Left == 0 && t.Home && s.Gate == gateOpen && s.Next.IsZero():
		t.Trouble = "no token yet: a puzzle has to be solved first; messages wait here"
		t.Hint = "leave a process running, it does that by itself"
	case s.Left == 0 && !buys && t.Home:
		t.Fails = true
		t.Trouble = "it is for members, and this device is none; messages wait here"
		t.Hint = "ask its operator or a member for an invite and `tacet accept` it"
	case s.Left == 0 && !buys:
		t.Trouble = "no token is left to answer people there; messages to them wait here"
		t.Hint = "they give more when they next write; so does a new invite of theirs"
	case s.Left == 0:
		t.Trouble = "no token is left; messages wait here"
		if !s.Next.IsZero() {
			t.Trouble = fmt.Sprintf("no token is left until %s; messages wait here", s.Next.Local().Format("Mon 15:04"))
		}
		t.Hint = "leave a process running, it fetches more by itself"
	case s.Trouble == purse.NotIssued:
		t.Trouble = "it issued no new tokens when it was asked last"
		t.Hint = "it is asked again by itself; if it stays so, ask its operator"
	case !s.Renewed.IsZero() && now.Sub(s.Renewed) < tellRenewed:
		t.Trouble = "it lost its store, or put back a copy, on " + s.Renewed.Local().Format("2 Jan") + "; all tokens were made anew"
		t.Hint = "if its operator knows nothing of that, it may have tried to tell people apart"
	case t.Linkable:
		t.Hint = "this device has just joined: what it does within the hour could be linked with that by the relay"
	}
}

// doctorTokens explains them, one line a realm.
func (c *Client) doctorTokens(ctx context.Context) ([]Check, error) {
	all, err := c.tokens(ctx)
	if err != nil {
		return nil, err
	}
	var out []Check
	for _, t := range all {
		check := Check{Name: "tokens", State: "ok", Text: fmt.Sprintf("%s: %d left, %d of them to come back with after days away", t.Relay, t.Left, t.Reserve), Hint: t.Hint}
		if !t.Member && !t.Puzzles {
			check.Text = fmt.Sprintf("%s: %d left, given by contacts there", t.Relay, t.Left)
		}
		if t.Trouble != "" {
			check.State, check.Text = "warn", t.Relay+": "+t.Trouble
		}
		if t.Fails {
			check.State = "fail"
		}
		out = append(out, check)
	}
	return out, nil
}
