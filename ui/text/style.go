package text

// Style colours output, or leaves it alone: the zero Style does nothing. No
// meaning is carried by colour alone.
type Style struct{ On bool }

func (s Style) wrap(code, t string) string {
	if !s.On || t == "" {
		return t
	}
	return "\x1b[" + code + "m" + t + "\x1b[0m"
}

// Bold makes a text stand out.
func (s Style) Bold(t string) string { return s.wrap("1", t) }

// Dim makes a text stand back.
func (s Style) Dim(t string) string { return s.wrap("2", t) }

// Warn marks a text that asks for a look.
func (s Style) Warn(t string) string { return s.wrap("33", t) }

// Bad marks a text that says that something is wrong.
func (s Style) Bad(t string) string { return s.wrap("31", t) }

// Good marks a text that says that something is as it should be.
func (s Style) Good(t string) string { return s.wrap("32", t) }
