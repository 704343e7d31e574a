package contact

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxName is the longest name, in bytes.
const MaxName = 64

// CleanName makes a name fit to be shown on one line: no control or format
// characters (they can turn text around), single spaces, at most MaxName bytes.
func CleanName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar, blank(r):
			return -1
		}
		return r
	}, s)
	s = strings.TrimLeft(strings.Join(strings.Fields(s), " "), "# ") // "#" and a number names a contact
	for len(s) > MaxName {
		r := []rune(s)
		s = strings.TrimSpace(string(r[:len(r)-1]))
	}
	return s
}

// blank reports whether a character shows nothing: a name with one in it would
// look like a name without.
func blank(r rune) bool {
	return unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r) || r == '\u2800'
}

// fold is a name as it is compared: compatible forms of one character are one.
func fold(s string) string { return strings.ToLower(norm.NFKC.String(s)) }

// freeName returns the wanted name, or one made unique by a number: a stranger
// must not be able to appear under a name that is taken.
func freeName(tx Tx, want string, self *Record) (string, error) {
	want = CleanName(want)
	if want == "" {
		want = self.Name
	}
	if want == "" {
		want = "someone"
	}
	all, err := tx.Contacts()
	if err != nil {
		return "", err
	}
	taken := func(n string) bool {
		for _, c := range all {
			if c.ID != self.ID && fold(c.Name) == fold(n) {
				return true
			}
		}
		return false
	}
	name := want
	for i := 2; taken(name); i++ {
		name = fmt.Sprintf("%s %d", want, i)
	}
	return name, nil
}

// Rename gives a contact another name. It fails with ErrName if it is taken.
func Rename(tx Tx, r *Record, name string) error {
	name = CleanName(name)
	got, err := freeName(tx, name, r)
	if err != nil {
		return err
	}
	if name == "" || got != name {
		return ErrName
	}
	r.Name = name
	return tx.PutContact(r)
}

// RenameFree gives a contact a name, or one made unique by a number.
func RenameFree(tx Tx, r *Record, name string) error {
	free, err := freeName(tx, name, r)
	if err != nil {
		return err
	}
	r.Name = free
	return tx.PutContact(r)
}

// SameName reports whether two names are one, as people read them.
func SameName(a, b string) bool { return fold(CleanName(a)) == fold(CleanName(b)) }
