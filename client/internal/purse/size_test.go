package purse

import "testing"

func TestClassFollowsYesterdaysUse(t *testing.T) {
	for _, c := range []struct {
		parts  byte
		before uint32
		class  uint64
		want   byte
	}{
		{0, 0, 16384, 1},
		{1, 767, 16384, 1},
		{1, 768, 16384, 4},
		{1, 1024, 1024, 1}, // the realm gives no more
		{4, 3072, 16384, 16},
		{4, 3071, 16384, 4},
		{4, 256, 16384, 4},
		{4, 255, 16384, 1},
		{16, 16384, 16384, 16},
		{16, 1023, 16384, 4},
		{16, 16384, 4096, 4}, // the realm gives less than before
	} {
		r := &Realm{Parts: c.parts, Before: c.before, Class: c.class}
		if got := r.size(); got != c.want {
			t.Errorf("%d parts, %d used, class %d: got %d parts, want %d", c.parts, c.before, c.class, got, c.want)
		}
	}
}

func TestUseIsOfYesterday(t *testing.T) {
	const day = 86400
	r := &Realm{}
	r.count(100*day, 5)
	r.count(100*day+1, 2)
	r.turn(101 * day)
	if r.Before != 7 || r.Used != 0 {
		t.Errorf("got %d yesterday and %d today, want 7 and 0", r.Before, r.Used)
	}
	r.turn(103 * day)
	if r.Before != 0 {
		t.Errorf("got %d yesterday, want 0", r.Before)
	}
	r.count(99*day, 1) // a clock that was put back counts on
	if r.Day != 103 || r.Used != 1 {
		t.Errorf("got %d used on day %d, want 1 on 103", r.Used, r.Day)
	}
}
