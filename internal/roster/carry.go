package roster

import "errors"

// MaxCarried is the largest encoding of the wishes of one commit, in bytes.
const MaxCarried = 200 << 10

// ErrCarried is returned for what a commit carries and is no list of wishes.
var ErrCarried = errors.New("wishes of a commit are malformed")

// Carry writes the wishes of a commit, in the order given, for Carried. Key packages
// are left out: the commit has them in its adds, and they are most of it.
//
// spec: group.md#who-may-what
func Carry(wishes []*Wish) ([]byte, error) {
	if len(wishes) > MaxWishes {
		return nil, ErrCarried
	}
	list := make([]*Wish, 0, len(wishes))
	for _, w := range wishes {
		if !w.good() {
			return nil, ErrCarried
		}
		c := *w
		c.Package = nil
		list = append(list, &c)
	}
	b, err := enc.Marshal(list)
	if err != nil || len(b) > MaxCarried {
		return nil, ErrCarried
	}
	return b, nil
}

// Carried reads what Carry wrote. adds are the key packages that the commit adds,
// in its order: each goes to the next wish that wants one, and none may be left. The
// signatures, which cover the packages, are checked. It fails with ErrCarried.
func Carried(b []byte, adds [][]byte) ([]*Wish, error) {
	var list []*Wish
	if !parse(b, MaxCarried, &list) || list == nil || len(list) > MaxWishes { // nil: a null is no list
		return nil, ErrCarried
	}
	for _, w := range list {
		if w == nil || len(w.Package) != 0 {
			return nil, ErrCarried
		}
		if w.Kind == Add || w.Kind == ReAdd {
			if len(adds) == 0 {
				return nil, ErrCarried
			}
			w.Package, adds = adds[0], adds[1:]
		}
		if !w.good() || !w.genuine() {
			return nil, ErrCarried
		}
	}
	if len(adds) != 0 {
		return nil, ErrCarried
	}
	return list, nil
}
