package group

import (
	"crypto/sha256"
	"errors"
	"slices"
	"time"

	"github.com/tacet-chat/tacet/internal/roster"
)

// Bounds of stocks.
const (
	// StockSize is how many key packages of each suite a contact's device is given.
	StockSize      = 3
	maxStock       = 16  // of one device
	maxOwnPackages = 512 // that were given away
	maxLacking     = 64
	askAgain       = 6 * time.Hour // for a package that did not come
	// stockLife is how old a package of a stock may be: its maker's clock and ours
	// differ, and it has to reach the group before it ends.
	stockLife = PackageLife - 7*24*time.Hour
	// stockFresh is how old the packages are that count as a stock: then others follow,
	// while these are good still.
	stockFresh = 60 * 24 * time.Hour
)

// Packages makes n key packages of each suite for one device, and returns the word
// that gives them. Their secrets are stored in the same transaction, so before they
// leave. The oldest of those that were given away go when there are too many.
//
// spec: group.md#key-packages
func (e *Engine) Packages(tx Tx, now time.Time, to Device, n int) ([]byte, error) {
	return e.work(tx, now).packages(to, n, SuiteHybrid, SuiteClassic)
}

// Supply gives devices what is missing in the stocks that they have of ours: of each
// suite those that were used or grew old. It makes at most so many packages in one call,
// and reports whether there is more to do.
//
// spec: group.md#key-packages
func (e *Engine) Supply(tx Tx, now time.Time, to []Unmet, most int) (ch *Change, more bool, err error) {
	w := e.work(tx, now)
	all, err := tx.OwnPackages()
	if err != nil {
		return nil, false, err
	}
	type kind struct {
		of Device
		s  Suite
	}
	have := map[kind]int{}
	for _, o := range all {
		if w.unix()-o.Born < seconds(stockFresh) {
			have[kind{o.For, o.Suite}]++
		}
	}
	for _, d := range to {
		var s Stock
		for _, suite := range []Suite{SuiteHybrid, SuiteClassic} {
			for n := have[kind{d.Device, suite}]; n < StockSize; n++ {
				if most--; most < 0 {
					more = true
					break
				}
				o, err := w.newPackage(d.Device, suite)
				if err != nil {
					return nil, false, err
				}
				s.Packages = append(s.Packages, o.Public)
			}
		}
		if len(s.Packages) > 0 {
			w.word(d.Device, d.Root, encode(WordPackages, &s))
		}
	}
	return w.ch, more, w.prunePackages()
}

func (w *work) packages(to Device, n int, suites ...Suite) ([]byte, error) {
	var s Stock
	for range n {
		for _, suite := range suites {
			o, err := w.newPackage(to, suite)
			if err != nil {
				return nil, err
			}
			s.Packages = append(s.Packages, o.Public)
		}
	}
	return encode(WordPackages, &s), w.prunePackages()
}

// newPackage makes a key package and stores its secrets.
func (w *work) newPackage(to Device, s Suite) (*OwnPackage, error) {
	return w.packageFor(to, s, ID{}, nil)
}

// packageFor makes a key package. One with which this device asks to be added again is
// for that group alone, and good until the device was added there by it or a later one;
// was is the credential of the leaf that it has there; nil: it never came in. A group of
// zeros: the package is for a stock.
//
// spec: group.md#credential
func (w *work) packageFor(to Device, s Suite, in ID, was *roster.Credential) (*OwnPackage, error) {
	p, owner, err := w.newLeaf()
	if err != nil {
		return nil, err
	}
	if p.For = in; in != (ID{}) {
		p.Times = uint32(max(w.unix(), 1))
	}
	if was != nil {
		p.Entry, p.Times = was.Entry, max(p.Times, was.Times+1)
	}
	public, secrets, err := w.Crypto.Package(w.env(), s, p)
	if err != nil {
		return nil, err
	}
	o := &OwnPackage{Hash: sha256.Sum256(public), Public: public, Secrets: secrets, Owner: owner, For: to, Born: w.unix(), Suite: s}
	return o, w.tx.PutOwnPackage(o)
}

func (w *work) prunePackages() error {
	all, err := w.tx.OwnPackages()
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *OwnPackage) int { return int(a.Born - b.Born) })
	over := len(all) - maxOwnPackages
	for i, o := range all {
		if i < over || w.unix()-o.Born > seconds(PackageLife+packageEarly) {
			if err := w.tx.DeleteOwnPackage(o.Hash); err != nil {
				return err
			}
		}
	}
	return nil
}

// hearPackages puts key packages of a device into its stock, and adds who waited for
// one.
func (w *work) hearPackages(from Device, b []byte) error {
	var s Stock
	if err := decode(b, &s); err != nil {
		return err
	}
	have, err := w.tx.Stock(from)
	if err != nil {
		return err
	}
	for _, p := range s.Packages {
		if len(p) > roster.MaxPackage {
			return ErrSaid
		}
		c, r, _, err := w.Crypto.PackageOf(p)
		if err != nil || c.Device != from || !goodRoute(r) {
			return ErrSaid // whoever sends the package of somebody else is no friend
		}
		h := sha256.Sum256(p)
		if slices.ContainsFunc(have, func(o *Package) bool { return o.Hash == h }) {
			continue
		}
		n := &Package{Hash: h, Public: p, Born: w.unix()}
		if err := w.tx.PutStock(from, n); err != nil {
			return err
		}
		have = append(have, n)
	}
	for len(have) > maxStock {
		if err := w.tx.DeleteStock(from, have[0].Hash); err != nil {
			return err
		}
		have = have[1:]
	}
	return w.addLacking(from)
}

// addLacking makes the wishes that waited for a key package of a device.
func (w *work) addLacking(of Device) error {
	all, err := w.tx.Groups()
	if err != nil {
		return err
	}
	for _, r := range all {
		i := slices.IndexFunc(r.Lacking, func(l Lacking) bool { return l.Device == of })
		if i < 0 || r.State == Out || r.State == Replaced || r.State == Entering {
			continue
		}
		if _, err := w.apart(r, func(g *group) error { return g.addLacking(i) }); err != nil {
			return err
		}
	}
	return nil
}

func (g *group) addLacking(i int) error {
	l := g.r.Lacking[i]
	g.r.Lacking = slices.Delete(g.r.Lacking, i, i+1)
	err := g.want(roster.Wish{Kind: roster.Add, Root: l.Root, Device: l.Device})
	switch {
	case errors.Is(err, roster.ErrRefused):
		g.event(Event{Group: g.r.ID, Origin: g.r.Origin, Kind: EventRefused, By: g.me(), ByRoot: g.Self.Manifest.Root, Wish: roster.Add,
			About: []Device{l.Root}, Devices: []Device{l.Device}, Text: err.Error()})
	case err != nil:
		return err
	}
	return g.save()
}

// lack notes that a device is to be added once it gave a key package, and asks it.
func (g *group) lack(want roster.Wish) error {
	if want.Device == (Device{}) {
		return roster.ErrWish
	}
	h, err := g.head()
	if err != nil {
		return err
	}
	s, err := h.agreed()
	if err != nil {
		return err
	}
	if _, ok := leafOf(h.Roster, want.Device); ok {
		return roster.ErrDone
	}
	if _, admin := s.Rank(g.Self.Manifest.Root); !admin && want.Root != g.Self.Manifest.Root {
		return roster.ErrRight
	}
	if slices.ContainsFunc(g.r.Lacking, func(l Lacking) bool { return l.Device == want.Device }) {
		return nil
	}
	if len(g.r.Lacking) >= maxLacking {
		return roster.ErrBounds
	}
	g.r.Lacking = append(g.r.Lacking, Lacking{Root: want.Root, Device: want.Device, Since: g.unix(), Asked: g.unix()})
	g.word(want.Device, want.Root, []byte{byte(WordAsk)})
	return nil
}

// askLacking asks again for key packages that did not come.
func (g *group) askLacking() {
	for i := range g.r.Lacking {
		l := &g.r.Lacking[i]
		if g.unix()-l.Asked >= seconds(askAgain) {
			l.Asked = g.unix()
			g.word(l.Device, l.Root, []byte{byte(WordAsk)})
		}
		g.at(l.Asked + seconds(askAgain))
	}
}

// takePackage takes a key package of a device from its stock: the newest that fits,
// since the oldest may have been copied, or be near its end. It fails with
// ErrNoPackage.
func (g *group) takePackage(of Device) ([]byte, error) {
	h, err := g.head()
	if err != nil {
		return nil, err
	}
	t, err := g.treeOf(h)
	if err != nil {
		return nil, err
	}
	all, err := g.tx.Stock(of)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Backward(all) {
		_, _, s, err := g.Crypto.PackageOf(p.Public)
		stale := g.unix()-p.Born > seconds(stockLife)
		if err == nil && !stale && s != t.Suite() {
			continue
		}
		if err := g.tx.DeleteStock(of, p.Hash); err != nil {
			return nil, err
		}
		if err == nil && !stale {
			return p.Public, nil
		}
	}
	return nil, ErrNoPackage
}
