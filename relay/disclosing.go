package relay

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// Disclosure is all that a relay could hand over about one address. What is not
// in it is not there.
type Disclosure struct {
	Address  string   `json:"address"`
	Parked   []Parked `json:"parked"`   // cells that wait for it
	Watching int      `json:"watching"` // connections that watch it now, at this node
	Minute   int      `json:"minute"`   // cells for it in the memory of the last minute, at this node
	Running  bool     `json:"running"`  // false: the relay does not run, so nobody watches
	Not      []string `json:"not"`      // what there is none of
}

// Parked is one cell that waits. The cell itself is 1,280 bytes that the relay
// cannot open.
type Parked struct {
	ID    string `json:"id"`
	Until string `json:"until"` // UTC, coarse as it is kept
}

const askDisclose = "disclose"

// kept by no relay, whatever it is asked for.
var notKept = []string{
	"who put a cell there, and when it came",
	"what is in it: cells are sealed, and this program has no code that opens them",
	"whose address it is: an address is a key that a device made, for one period",
	"which other addresses, of this period or another, are the same device's",
	"cells that were acked, or whose time is over: they are deleted, and so is the key they were kept under once its day is over",
	"names, numbers, contacts, lists of members of anything, and network addresses: a connection has one while it is open, and it is not written down",
}

// holder is a store of parked cells that can list what waits at an address.
type holder interface {
	Held(ctx context.Context, a wire.Address) ([]park.Held, error)
}

// Disclose says all that the relay on cfg.Data knows of an address: 64 hex
// digits. It changes nothing.
func Disclose(ctx context.Context, cfg Config, address string) (d Disclosure, err error) {
	cfg.fill()
	a, err := parseAddress(address)
	if err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	c, err := ask(ctx, cfg.Data, askDisclose, hex.EncodeToString(a[:]), &d)
	if err == nil {
		return d, c.Close()
	}
	if !errors.Is(err, ErrNotRunning) {
		return d, err
	}
	err = withStores(ctx, cfg, func(ctx context.Context, r *Relay) (err error) {
		d, err = r.disclose(ctx, a, false)
		return err
	})
	return d, err
}

func parseAddress(text string) (a wire.Address, err error) {
	b, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(b) != len(a) {
		return a, &Problem{errors.New("this is no address"), fmt.Sprintf("an address is %d hex digits", 2*len(a))}
	}
	return wire.Address(b), nil
}

// disclose gathers what there is.
func (r *Relay) disclose(ctx context.Context, a wire.Address, running bool) (Disclosure, error) {
	d := Disclosure{Address: hex.EncodeToString(a[:]), Parked: []Parked{}, Running: running, Not: notKept}
	if running {
		d.Watching, d.Minute = r.hub.Known(&a)
	}
	if r.parked.held != nil {
		held, err := r.parked.held.Held(ctx, a)
		if err != nil {
			return d, &Problem{fmt.Errorf("asking the store of parked cells: %s", cause(err)), "run `tacet-relay doctor`"}
		}
		slices.SortFunc(held, func(a, b park.Held) int { return slices.Compare(a.ID[:], b.ID[:]) })
		for _, h := range held {
			d.Parked = append(d.Parked, Parked{hex.EncodeToString(h.ID[:]), time.Unix(h.Until, 0).UTC().Format("2006-01-02 15:04")})
		}
	}
	return d, nil
}

// answerDisclose is the question "disclose".
func (r *Relay) answerDisclose(ctx context.Context, with json.RawMessage) (any, func(), error) {
	var text string
	if err := json.Unmarshal(with, &text); err != nil {
		return nil, nil, err
	}
	a, err := parseAddress(text)
	if err != nil {
		return nil, nil, err
	}
	d, err := r.disclose(ctx, a, true)
	return d, nil, err
}
