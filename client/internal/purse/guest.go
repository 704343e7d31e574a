package purse

import (
	"encoding/binary"
	"errors"

	"github.com/tacet-chat/tacet/internal/token"
)

// Gift is guest tokens of one realm and epoch, from hand to hand.
type Gift struct {
	Pin    [32]byte
	Epoch  uint32
	Tokens []token.Raw
}

// Wipe overwrites the tokens of a gift.
func (g *Gift) Wipe() {
	for i := range g.Tokens {
		g.Tokens[i].Wipe()
	}
}

// Give takes up to n guest tokens of a realm out of the purse, for a contact
// who lives elsewhere, all of the newest epoch of which there are some. It leaves
// a reserve for this device's own coming back. There may be none.
//
// spec: purse.md#guest-tokens
func (p *Purse) Give(tx Tx, pin [32]byte, n int) (g Gift, err error) {
	now := p.now().Unix()
	r, err := tx.PurseRealm(pin)
	if err != nil || r == nil || !r.Wants || r.Trouble == BadKeys {
		return g, err
	}
	last := token.GuestEpoch(now)
	for back := uint32(0); back <= 4 && back <= last && len(g.Tokens) == 0; back++ {
		g = Gift{Pin: pin, Epoch: last - back}
		if !token.Accepts(token.Guest, g.Epoch, now) {
			continue
		}
		var chunks []*Chunk
		left := 0
		err := tx.Chunks(r.ID, byte(token.Guest), g.Epoch, func(c *Chunk) (bool, error) {
			if !c.Given && c.From <= now {
				chunks = append(chunks, c)
				left += len(c.Raw) / token.RawSize
			}
			return left < n+reserveKept, nil
		})
		if err != nil {
			return Gift{}, err
		}
		for _, c := range chunks {
			for len(c.Raw) >= token.RawSize && len(g.Tokens) < n && left > reserveKept {
				var raw token.Raw
				m := len(c.Raw) - token.RawSize
				copy(raw[:], c.Raw[m:])
				clear(c.Raw[m:])
				c.Raw, left = c.Raw[:m], left-1
				g.Tokens = append(g.Tokens, raw)
			}
			if len(c.Raw) == 0 {
				err = tx.DeleteChunk(c.ID)
			} else {
				err = tx.PutChunk(c)
			}
			if err != nil {
				return Gift{}, err
			}
			if len(g.Tokens) == n {
				break
			}
		}
	}
	return g, nil
}

// Keep takes what a contact gave: tokens of the realm that they live in. What is
// over, or more than is kept for one realm, is passed over. So is what is for a
// realm that sells us tokens: whoever gave one and that realm together would know
// us by it.
func (p *Purse) Keep(tx Tx, name string, g Gift) error {
	now := p.now().Unix()
	if !token.Accepts(token.Guest, g.Epoch, now) && !token.Accepts(token.Guest, g.Epoch, now+token.DaySeconds) {
		return nil
	}
	r, err := tx.PurseRealm(g.Pin)
	if err != nil {
		return err
	}
	if r == nil {
		if r, err = newRealm(tx, g.Pin); r == nil || err != nil {
			return err
		}
	}
	if r.Member || r.Puzzles {
		return nil
	}
	if r.Name == "" {
		r.Name = name
	}
	if err := tx.PutPurseRealm(r); err != nil { // it has an id now
		return err
	}
	have := 0
	err = tx.Chunks(r.ID, byte(token.Guest), g.Epoch, func(c *Chunk) (bool, error) {
		if c.Given {
			have += len(c.Raw) / token.RawSize
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	c := &Chunk{Realm: r.ID, Kind: byte(token.Guest), Epoch: g.Epoch, From: 0, Given: true}
	for i := range g.Tokens {
		if have++; have > maxGiven {
			break
		}
		c.Raw = append(c.Raw, g.Tokens[i][:]...)
	}
	if len(c.Raw) == 0 {
		return nil
	}
	return tx.PutChunk(c)
}

// MaxGift is the most tokens that one gift carries.
const MaxGift = 16

const giftHead = 32 + 4 + 1 // realm 32 ‖ epoch 4 ‖ count 1

// ErrGift is returned for a gift that is not well-formed.
var ErrGift = errors.New("gift of tokens is malformed")

// Append appends realm 32 ‖ epoch 4 ‖ count 1 ‖ count × token 48.
//
// spec: content.md#guest-tokens
func (g *Gift) Append(b []byte) []byte {
	b = append(b, g.Pin[:]...)
	b = binary.BigEndian.AppendUint32(b, g.Epoch)
	b = append(b, byte(len(g.Tokens)))
	for i := range g.Tokens {
		b = append(b, g.Tokens[i][:]...)
	}
	return b
}

// ParseGift reads what Append wrote. It fails with ErrGift.
func ParseGift(b []byte) (g Gift, err error) {
	if len(b) < giftHead {
		return g, ErrGift
	}
	n := int(b[giftHead-1])
	if n < 1 || n > MaxGift || len(b) != giftHead+n*token.RawSize {
		return g, ErrGift
	}
	copy(g.Pin[:], b)
	g.Epoch = binary.BigEndian.Uint32(b[32:])
	for b = b[giftHead:]; len(b) > 0; b = b[token.RawSize:] {
		g.Tokens = append(g.Tokens, token.Raw(b))
	}
	return g, nil
}
