package outbox

// queue is a heap of copies that may go: those whose put failed least often
// first, so that one that always fails does not stand before the others; then
// the oldest.
type queue []*row

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if a.fails != b.fails {
		return a.fails < b.fails
	}
	return older(a, b)
}

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].pos, q[j].pos = i, j
}

func (q *queue) Push(x any) {
	r := x.(*row)
	r.pos = len(*q)
	*q = append(*q, r)
}

func (q *queue) Pop() any {
	old := *q
	r := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return r
}

func older(a, b *row) bool {
	if a.Order != b.Order {
		return a.Order < b.Order
	}
	return a.ID < b.ID
}
