package addr

import (
	"bytes"
	"errors"
	"testing"
)

func TestHostileOffersAreRefused(t *testing.T) {
	_, offer := route(t, "offers")
	good := offer.Append(nil)
	if len(good) != OfferSize {
		t.Fatalf("got %d bytes, want %d", len(good), OfferSize)
	}
	with := func(pos int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[pos:], b)
		return c
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": good[:OfferSize-1], "long": append(bytes.Clone(good), 0),
		"period 0": with(72, 0, 0), "period 601": with(72, 2, 0x59), "period 86400 mod 2^16": with(72, 0x51, 0x80),
		"birth 2^32": with(64, 0, 0, 0, 1, 0, 0, 0, 0), "birth 2^64 − 1": with(64, bytes.Repeat([]byte{0xff}, 8)...),
	} {
		if _, err := ParseOffer(b); !errors.Is(err, ErrOffer) {
			t.Errorf("%s: got %v, want %v", name, err, ErrOffer)
		}
	}
	for name, b := range map[string][]byte{
		"birth 0": with(64, make([]byte, 8)...), "birth 2^32 − 1": with(64, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff),
		"period 600": with(72, 0x02, 0x58), "period 3600": with(72, 0x0e, 0x10),
	} {
		o, err := ParseOffer(b)
		if err != nil {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, k := range []Kind{Live, Park} {
			c := NewChain(&o, k)
			c.Forget(c.Base() + 2)
			if _, err := ParseChain(c.Append(nil)); err != nil {
				t.Errorf("%s, kind %d: state: %v", name, k, err)
			}
		}
	}
}

func TestHostileStatesAreRefused(t *testing.T) {
	_, offer := route(t, "states")
	good := NewChain(offer, Live).Append(nil)
	with := func(pos int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[pos:], b)
		return c
	}
	for name, b := range map[string][]byte{
		"empty": nil, "short": good[:ChainSize-1], "long": append(bytes.Clone(good), 0),
		"kind 0": with(0, 0), "kind 3": with(0, 3), "period 0": with(1, 0, 0),
		"base": with(3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), "no key": with(11, make([]byte, 32)...),
	} {
		if _, err := ParseChain(b); !errors.Is(err, ErrState) {
			t.Errorf("%s: got %v, want %v", name, err, ErrState)
		}
	}
}

func FuzzParseOffer(f *testing.F) {
	_, offer := route(f, "fuzz")
	f.Add(offer.Append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ParseOffer(b)
		if err != nil {
			return
		}
		if got := o.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		if _, err := NewChain(&o, Live).At(o.Birth); err != nil {
			t.Errorf("accepted offer has no first period: %v", err)
		}
	})
}

func FuzzParseChain(f *testing.F) {
	_, offer := route(f, "fuzz")
	f.Add(NewChain(offer, Live).Append(nil))
	f.Add(NewChain(offer, Park).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ParseChain(b)
		if err != nil {
			return
		}
		if got := c.Append(nil); !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
		if _, err := c.At(c.Base() + 1); err != nil {
			t.Errorf("accepted state has no periods: %v", err)
		}
	})
}
