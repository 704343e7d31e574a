package leak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// Rhythm of groups: a guess, as that of pairs.
const (
	perGroup    = 3    // one group for so many people
	boutsPerDay = 24.0 // per group
	boutLength  = 6    // messages, mean
	boutGapMean = 25 * time.Second
)

// groupSizes are in people, their founder included.
var groupSizes = []int{3, 4, 6}

// gather draws groups and what is said in them. Founders know all whom they add.
func (x *script) gather(s Setting) {
	r := rand.New(rand.NewPCG(s.Seed, uint64(s.People)<<32|1))
	known := map[[2]int]bool{}
	for _, p := range x.pairs {
		known[[2]int{min(p[0], p[1]), max(p[0], p[1])}] = true
	}
	end := prelude + time.Duration(s.Hours)*time.Hour
	for g := range max(1, s.People/perGroup) {
		who := r.Perm(s.People)[:min(groupSizes[g%len(groupSizes)], s.People)]
		for _, b := range who[1:] {
			p := [2]int{min(who[0], b), max(who[0], b)}
			if !known[p] {
				known[p] = true
				x.pairs = append(x.pairs, p)
			}
		}
		x.groups = append(x.groups, who)
		for _, at := range poisson(r, boutsPerDay, end) {
			for range 2 + int(r.ExpFloat64()*(boutLength-2)) {
				if at < end {
					x.acts = append(x.acts, act{at: at, do: sayInGroup, who: who[r.IntN(len(who))], whom: g})
				}
				at += 3*time.Second + time.Duration(r.ExpFloat64()*float64(boutGapMean))
			}
		}
	}
	slices.SortStableFunc(x.acts, func(a, b act) int { return int(a.at - b.at) })
}

func groupName(g int) string { return fmt.Sprintf("g%02d", g) }

// found has founders make their groups, and waits until all are in.
func (w *world) found(ctx context.Context, groups [][]int) error {
	for g, who := range groups {
		var others []string
		for _, b := range who[1:] {
			others = append(others, name(b))
		}
		if _, err := w.people[who[0]].c.CreateGroup(ctx, client.GroupOptions{Name: groupName(g), People: others}); err != nil {
			return fmt.Errorf("%s making a group: %w", name(who[0]), err)
		}
	}
	for g, who := range groups {
		for _, m := range who {
			if err := until(ctx, func() (bool, error) {
				i, err := w.people[m].c.GroupInfo(ctx, groupName(g))
				if errors.Is(err, client.ErrGroup) {
					return false, nil
				}
				return err == nil && i.State == "active" && len(i.Members) == len(who) && len(i.Changes) == 0, err
			}); err != nil {
				return fmt.Errorf("%s entering group %d: %w", name(m), g, err)
			}
		}
	}
	return nil
}

// sayAll says something in a group.
func (w *world) sayAll(ctx context.Context, a act) {
	at := time.Since(w.rec.began)
	if _, err := w.people[a.who].c.Send(ctx, client.Outgoing{To: groupName(a.whom), Text: "what people say"}); err != nil {
		w.fail(fmt.Errorf("%s writing to a group: %w", name(a.who), err))
		return
	}
	w.sent.Add(1)
	w.mu.Lock()
	w.said = append(w.said, Said{at, a.who, a.whom})
	w.mu.Unlock()
}
