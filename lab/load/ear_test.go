package load

import (
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// TestLatenessCounts puts a cell that was due an hour ago: the hour is part of
// what its receiver saw, whoever was late. MQTT is the same in both directions,
// so one end of a pipe can put what the other receives.
func TestLatenessCounts(t *testing.T) {
	a, b := net.Pipe()
	var in span
	in.to.Store(1 << 62)
	sum, woken := new(atomic.Int64), make(chan struct{}, 4)
	e := &ear{line: &line{Conn: b, talk: mqttTalk{}}, sum: sum}
	e.hear(&in, busyRead, func() { woken <- struct{}{} })
	m := newMouth(nil, &variant{}, newMailbox(), 1, &in, nil)
	m.open = func() (*line, error) { return &line{Conn: a, talk: mqttTalk{}}, nil }
	if err := m.put(1, now()-int64(time.Hour)); err != nil {
		t.Fatal(err)
	}
	<-woken
	m.end()
	e.end()
	var h histogram
	e.take(&h)
	if h.n != 1 || h.most < time.Hour {
		t.Errorf("latency: got %d cells, %v, want one and an hour", h.n, h.most)
	}
	if m.late.n != 1 || m.late.most < time.Hour {
		t.Errorf("lateness: got %d cells, %v, want one and an hour", m.late.n, m.late.most)
	}
	if sum.Load() != 1 || e.doubled != 0 || m.sent.Load() != 1 {
		t.Errorf("got %d heard, %d doubled, %d sent", sum.Load(), e.doubled, m.sent.Load())
	}
}

// TestCounting plants what must be seen: a cell lost, one seen twice, and one
// missing on a connection that its server ended.
func TestCounting(t *testing.T) {
	heard := func(cut bool, numbers ...uint64) *run {
		a, b := net.Pipe()
		c := &crowd{v: &variant{}, sh: shape{Pairs: 1, Fan: 1}, ended: make([]int64, 1), got: []*atomic.Int64{new(atomic.Int64)}}
		c.in.to.Store(1 << 62)
		m := newMouth(nil, c.v, newMailbox(), 1, &c.in, nil)
		e := &ear{line: &line{Conn: b, talk: mqttTalk{}}, sum: c.got[0]}
		c.mouths, c.ears = []*mouth{m}, []*ear{e}
		e.hear(&c.in, busyRead, func() {})
		for _, n := range numbers {
			stamp(m.cell, now(), 1, n)
			if _, err := a.Write((mqttTalk{}).appendPut(nil, m.to, n, m.cell)); err != nil {
				t.Fatal(err)
			}
		}
		m.sent.Store(3)
		until(t.Context(), func() bool { return c.total() == int64(len(numbers)) })
		if cut {
			a.Close()
			<-e.over
		}
		c.end()
		var r run
		c.count(&r)
		return &r
	}
	for _, x := range []struct {
		name                              string
		cut                               bool
		numbers                           []uint64
		delivered, lost, doubled, missing int64
	}{
		{"all", false, []uint64{1, 2, 3}, 3, 0, 0, 0},
		{"lost", false, []uint64{1, 3}, 2, 1, 0, 0},
		{"doubled", false, []uint64{1, 2, 2, 3}, 3, 0, 1, 0},
		{"ended", true, []uint64{1}, 1, 0, 0, 2},
	} {
		r := heard(x.cut, x.numbers...)
		if r.Delivered != x.delivered || r.Lost != x.lost || r.Doubled != x.doubled || r.Cut != x.missing || (r.Ended > 0) != x.cut {
			t.Errorf("%s: got %+v", x.name, r)
		}
	}
}
