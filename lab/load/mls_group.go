package load

import (
	"bytes"
	"errors"
	"fmt"
)

// Who does what in a group that is measured.
const (
	mlsFrom    = "from"    // commits and sends; the leftmost leaf, or the one beside it
	mlsTo      = "to"      // processes and opens; the rightmost leaf: half of all members are as far from a committer as this
	mlsBuilder = "builder" // of ours, made the group that the subjects join
)

// build puts every subject into a group of its own, of the same shape. A full tree
// has a key in every parent: each member has committed once, since it joined by an
// external commit; a fresh one has none. Ours builds it but for two members, and
// the subject joins as those two.
func (m *mlsRun) build(size int) error {
	for _, s := range m.all {
		var err error
		switch {
		case size == 2:
			err = s.two()
		case m.o.Fresh:
			err = m.fresh(s, size)
		default:
			err = m.full(s, size)
		}
		if err == nil {
			err = s.agree(mlsFrom, s, mlsTo)
		}
		if err != nil {
			return fmt.Errorf("building a group for %s: %w", s.name, err)
		}
	}
	return nil
}

// two is a group of two: one makes it, the other joins by an external commit.
func (s *mlsSubject) two() error {
	if _, err := s.ask(mlsOrder{Do: "found", Name: mlsFrom}); err != nil {
		return err
	}
	return s.second()
}

// second lets the second of the subject's two members join.
func (s *mlsSubject) second() error {
	w, err := s.ask(mlsOrder{Do: "info", Name: mlsFrom})
	if err != nil {
		return err
	}
	if w, err = s.ask(mlsOrder{Do: "enter", Name: mlsTo, Info: w.Info}); err != nil {
		return err
	}
	_, err = s.ask(mlsOrder{Do: "receive", Name: mlsFrom, Commit: w.Commit})
	return err
}

// full: a group of ours grows by external commits to one less than the size, its
// first member is removed, and the subject's members take that place and the last.
// The builder stays a member, and must come to the same epoch.
func (m *mlsRun) full(s *mlsSubject, size int) error {
	ours := m.all[0]
	if s == ours { // the others' begin from the same
		if _, err := ours.ask(mlsOrder{Do: "grow", Name: mlsBuilder, Members: size - 1}); err != nil {
			return err
		}
	}
	w, err := ours.ask(mlsOrder{Do: "info", Name: mlsBuilder})
	if err != nil {
		return err
	}
	if w, err = s.ask(mlsOrder{Do: "enter", Name: mlsFrom, Info: w.Info}); err != nil {
		return err
	}
	if _, err := ours.ask(mlsOrder{Do: "try", Name: mlsBuilder, To: "tried", Commit: w.Commit}); err != nil {
		return err
	}
	if err := s.agree(mlsFrom, ours, "tried"); err != nil {
		return err
	}
	return s.second()
}

// fresh: ours makes a group and adds everybody in one commit, which has no path.
func (m *mlsRun) fresh(s *mlsSubject, size int) error {
	ours := m.all[0]
	o := mlsOrder{Do: "gather", Name: mlsBuilder, Members: size - 3}
	for _, name := range []string{mlsFrom, mlsTo} {
		w, err := s.ask(mlsOrder{Do: "package", Name: name})
		if err != nil {
			return err
		}
		o.Packages = append(o.Packages, w.Package)
	}
	w, err := ours.ask(o)
	if err != nil {
		return err
	}
	for _, name := range []string{mlsFrom, mlsTo} {
		if _, err := s.ask(mlsOrder{Do: "join", Name: name, Welcome: w.Welcome}); err != nil {
			return err
		}
		if err := s.agree(name, ours, mlsBuilder); err != nil {
			return err
		}
	}
	return nil
}

// agree checks that two members are in one epoch, where the library tells.
func (s *mlsSubject) agree(name string, with *mlsSubject, other string) error {
	a, err1 := s.ask(mlsOrder{Do: "agree", Name: name})
	b, err2 := with.ask(mlsOrder{Do: "agree", Name: other})
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	if a.Authenticator != nil && b.Authenticator != nil && !bytes.Equal(a.Authenticator, b.Authenticator) {
		return fmt.Errorf("%s and %s of %s are not in one epoch", name, other, with.name)
	}
	return nil
}

// finish: after all that was done the two must still be together.
func (m *mlsRun) finish() error {
	for _, s := range m.all {
		if err := s.agree(mlsFrom, s, mlsTo); err != nil {
			return err
		}
		for _, name := range []string{mlsFrom, mlsTo} {
			if _, err := s.ask(mlsOrder{Do: "forget", Name: name}); err != nil {
				return err
			}
		}
	}
	return nil
}
