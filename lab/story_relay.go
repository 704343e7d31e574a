package lab

import (
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	mrand "math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/internal/addr"
	"github.com/tacet-chat/tacet/internal/hunt"
	"github.com/tacet-chat/tacet/internal/key"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/ui/text"
)

// sightings shows one message as the relay saw it, then all of them.
func (t *story) sightings() error {
	if err := t.quiet(); err != nil {
		return err
	}
	t.title("What the relay saw")
	since := time.Now()
	e, err := t.write(t.Ada, "Meet me where we met last time, at nine.")
	if err != nil {
		return err
	}
	if err := t.arrives(t.Ada, e); err != nil {
		return err
	}
	if err := t.wait(wire.AnswerAfter + 300*time.Millisecond); err != nil {
		return err
	}
	t.sent(t.Ada, e)
	t.say("Between people and relay stands a tap that reads every byte the relay reads. This is all that passed for that message and its ack:")
	for _, line := range hops(t.Tap.Seen(since), since, t.style) {
		t.fact(line)
	}
	t.say("A put is put id 8, address 32, cell 1,280: there is no sender in it, no name, no number of a person or a conversation. " +
		"The ack is a put like any other; as it shows nothing to anybody it is echoed at most once a minute, so its answer may say delivered 0.")
	t.networks()
	t.alike()
	return t.periods()
}

// hops writes down frames as a table, one line each.
func hops(seen []Sighting, since time.Time, style text.Style) []string {
	rows := [][]string{{"after", "from → to", "what", "bytes", "address", "cell begins"}}
	for _, s := range seen {
		k := s.Kind()
		if k == KindHead || k == KindBody || k == KindControl {
			continue
		}
		who, _, _ := strings.Cut(s.Peer, ":")
		dir := "relay → " + who
		if s.ToRelay {
			dir = who + " → relay"
		}
		row := []string{fmt.Sprintf("%.3f s", s.At.Sub(since).Seconds()), dir, string(k), thousands(int64(len(s.Payload)))}
		for _, c := range s.Cells() {
			rows = append(rows, append(row, short(c.Address[:]), hex.EncodeToString(c.Cell[:6])))
			row = []string{"", "", "", ""}
		}
		for _, a := range s.Answers() {
			rows = append(rows, append(row, fmt.Sprintf("delivered %d", a.Delivered)))
			row = []string{"", "", "", ""}
		}
		if len(s.Cells())+len(s.Answers()) == 0 {
			rows = append(rows, row)
		}
	}
	lines := strings.Split(strings.TrimSuffix(text.Table(rows), "\n"), "\n")
	lines[0] = style.Dim(lines[0])
	return lines
}

// short writes the two ends of an address.
func short(b []byte) string { return fmt.Sprintf("%x…%x", b[:4], b[len(b)-2:]) }

// networks says what the relay also sees.
func (t *story) networks() {
	if t.Ada.order.From == "" || t.Bob.order.From == "" {
		t.say("The relay also sees the network addresses of both, unless people hide theirs behind a proxy.")
		return
	}
	t.say("What it also sees are network addresses: %s is Ada's and %s is Bob's. So a relay that watches knows that these two exchanged cells. "+
		"People who mind reach it through Tor or another proxy (tacet --proxy).", t.Ada.order.From, t.Bob.order.From)
}

// alike measures whether cells can be told apart.
func (t *story) alike() {
	var all, packed bytes.Buffer
	cells, addresses, blocks := map[wire.Cell]bool{}, map[wire.Address]bool{}, map[[16]byte]bool{}
	repeats, sizes := 0, true
	for _, s := range t.Tap.Seen(time.Time{}) {
		sizes = sizes && (s.Kind() != KindPut || len(s.Payload)%wire.PutSize == 0)
		for _, c := range s.Cells() {
			addresses[c.Address] = true
			if s.Kind() != KindPut || cells[c.Cell] {
				continue
			}
			cells[c.Cell] = true
			all.Write(c.Cell[:])
			for b := c.Cell[:]; len(b) > 0; b = b[16:] {
				if blocks[[16]byte(b)] {
					repeats++
				}
				blocks[[16]byte(b)] = true
			}
		}
	}
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err == nil {
		_, err = w.Write(all.Bytes())
	}
	if err == nil {
		err = w.Close()
	}
	t.check(err, "packing cells")
	t.want(sizes && repeats == 0, "cells are of different sizes, or %d blocks of 16 bytes come twice", repeats)
	t.want(packed.Len() >= all.Len(), "%d bytes of cells pack into %d", all.Len(), packed.Len())
	t.say("In the whole story it was given %d cells for %d addresses. All have 1,280 bytes, whether they are a first message, a text, a repetition or an ack; no 16 bytes "+
		"come twice in them, and the best that flate makes of their %s bytes is %s.", len(cells), len(addresses), thousands(int64(all.Len())), thousands(int64(packed.Len())))
}

// periods shows one route in two periods. It does not wait for half an hour: it
// makes a route as people do.
func (t *story) periods() error {
	owner, public, err := addr.NewOwner(rand.Reader)
	if err != nil {
		return err
	}
	defer owner.Wipe()
	now := addr.PeriodAt(time.Now().Unix(), 1800)
	offer := addr.Offer{Public: public, Birth: now, Period: 1800}
	if offer.Secret, err = key.Generate[key.RouteRole](rand.Reader); err != nil {
		return err
	}
	chain := addr.NewChain(&offer, addr.Live)
	defer chain.Wipe()
	var both [2]*addr.Period
	for i := range both {
		if both[i], err = chain.At(now + uint64(i)); err != nil {
			return err
		}
	}
	same := 0
	for i := range both[0].Address {
		same += 8 - bits.OnesCount8(both[0].Address[i]^both[1].Address[i])
	}
	t.say("An address lives for half an hour. The same way to the same person, as people's devices derive it for this half hour and for the next:")
	for _, p := range both {
		t.fact(hex.EncodeToString(p.Address[:]))
	}
	t.say("%d of 256 bits agree; strangers agree in about 128. Without the secret that both ends share, nobody can tell that the second follows the first.", same)
	t.want(same > 64 && same < 192, "addresses of two periods agree in %d of 256 bits", same)
	return nil
}

// hunt kills the relay and searches all that it kept and said.
func (t *story) hunt() error {
	t.title("The hunt")
	words, err := t.words(t.ctx, t.link)
	if err != nil {
		return err
	}
	traces := t.traces()
	if err := t.memory(slices.Concat(words, t.keys), traces); err != nil {
		return err
	}
	t.Host.Kill()
	h, err := hunt.New(slices.Concat(words, t.keys, traces))
	if err != nil {
		return err
	}
	if err := t.search(h); err != nil {
		return err
	}
	t.say("Then the relay is killed. Every file of its directory, write-ahead logs included, and everything it logged are searched for")
	t.fact(fmt.Sprintf("%4d texts, names, safety numbers, recovery words, link and passphrase,", len(words)))
	t.fact(fmt.Sprintf("%4d keys and secrets of both people,", len(t.keys)))
	t.fact(fmt.Sprintf("%4d addresses, network addresses and cells that the tap saw,", h.Needles()-len(words)-len(t.keys)))
	t.say("as they are, as hex, as base64 at every alignment, and by halves:")
	t.fact(fmt.Sprintf("%s bytes in %s, %s forms: %s", thousands(h.Bytes), text.Count(h.Files, "file"), thousands(int64(h.Forms())), t.found(h)))
	planted, found, err := h.Control(os.DirFS(t.Host.Data), mrand.New(mrand.NewPCG(1, uint64(h.Bytes))).IntN)
	if err != nil {
		return err
	}
	t.want(planted > 0 && planted == found, "the hunt found %d of %d that were planted", found, planted)
	t.say("To prove that the search finds what is there, all of it was planted in a copy of those files:")
	t.fact(fmt.Sprintf("%s of %s planted were found", thousands(int64(found)), thousands(int64(planted))))
	return t.wire(slices.Concat(words, t.keys))
}

// found says what a hunt found, and notes it.
func (t *story) found(h *hunt.Hunt) string {
	for _, hit := range h.Hits[:min(len(h.Hits), 5)] {
		t.want(false, "found %v", hit)
	}
	if len(h.Hits) > 0 {
		return t.style.Bad(fmt.Sprintf("%d found", len(h.Hits)))
	}
	return t.style.Good("nothing found")
}

// memory hunts through the memory of the relay while it runs. It must have the
// addresses that are watched, and cells of the last minute: that they are found
// proves that the rest would be.
func (t *story) memory(needles, traces []hunt.Needle) error {
	p := t.Host.process()
	h, err := hunt.New(needles)
	if err != nil {
		return err
	}
	seen, err := hunt.New(traces)
	if err != nil {
		return err
	}
	err = p.freeze()
	if err == nil {
		err = p.memory(func(place string, b []byte) {
			h.Search(place, b)
			seen.Search(place, b)
		})
	}
	if errors.Is(err, errFreeze) || errors.Is(err, errMemory) || errors.Is(err, fs.ErrPermission) {
		t.say("The relay's memory cannot be looked at here (%v).", err)
		p.thaw()
		return nil
	}
	if err != nil {
		return err
	}
	t.want(len(seen.Hits) > 0, "the hunt through memory finds not even the addresses that are watched")
	t.say("While the relay runs, all of its memory is searched for what was said, for names, and for keys and secrets of both people. It has to know the addresses " +
		"that are watched now and keeps cells for a minute, so those must be found there, and are:")
	t.fact(fmt.Sprintf("%s bytes of memory: %s", thousands(h.Bytes), t.found(h)))
	return p.thaw()
}

// search hunts through what the relay kept and said.
func (t *story) search(h *hunt.Hunt) error {
	if err := h.Tree(os.DirFS(t.Host.Data)); err != nil {
		return err
	}
	return h.Tree(os.DirFS(t.Logs()))
}

// wire hunts through what passed by the tap, for what people said and are.
func (t *story) wire(needles []hunt.Needle) error {
	h, err := hunt.New(needles)
	if err != nil {
		return err
	}
	for _, s := range t.Tap.Seen(time.Time{}) {
		h.Search("what passed", s.Payload)
	}
	t.say("And in what passed by the tap, of which a relay may keep a copy, for the texts, names and keys:")
	t.fact(fmt.Sprintf("%s bytes: %s", thousands(h.Bytes), t.found(h)))
	return nil
}
