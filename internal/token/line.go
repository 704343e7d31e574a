package token

// Line is a bounded line of answers in which more effort goes first, and of equal
// effort who came first. When it is full, who made the least effort leaves: a
// flood of cheap answers displaces itself and nobody who did more. It is for one
// goroutine at a time.
//
// spec: token.md#the-line
type Line[T any] struct {
	places int
	list   []place[T] // best first
}

type place[T any] struct {
	effort int
	value  T
}

// NewLine makes an empty line of so many places.
func NewLine[T any](places int) *Line[T] { return &Line[T]{places: places} }

// Len returns how many wait.
func (l *Line[T]) Len() int { return len(l.list) }

// Places returns how many may wait.
func (l *Line[T]) Places() int { return l.places }

// Push puts value in its place. If one has to leave, out is true and left is the
// one: value itself where nobody made less effort.
func (l *Line[T]) Push(effort int, value T) (left T, out bool) {
	at := len(l.list)
	for at > 0 && l.list[at-1].effort < effort {
		at--
	}
	if at >= l.places {
		return value, true
	}
	l.list = append(l.list, place[T]{})
	copy(l.list[at+1:], l.list[at:])
	l.list[at] = place[T]{effort, value}
	if len(l.list) > l.places {
		left, out = l.list[l.places].value, true
		l.list[l.places] = place[T]{}
		l.list = l.list[:l.places]
	}
	return left, out
}

// Pop takes out who is next.
func (l *Line[T]) Pop() (value T, ok bool) {
	if len(l.list) == 0 {
		return value, false
	}
	value = l.list[0].value
	l.list[0] = place[T]{}
	l.list = l.list[1:]
	return value, true
}
