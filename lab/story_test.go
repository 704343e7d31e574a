package lab

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/client"
	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/ui/text"
)

func TestTallyCounts(t *testing.T) {
	out := func(s string, st client.State) client.Event { return client.Event{Out: true, Text: s, State: st} }
	in := func(s string) client.Event { return client.Event{Text: s, State: client.Received} }
	for name, c := range map[string]struct {
		sent, got []client.Event
		shown     map[string]int
		want      Tally
	}{
		"all is well": {[]client.Event{out("a", client.OnDevice), out("b", client.OnDevice)}, []client.Event{in("a"), in("b")},
			map[string]int{"a": 1, "b": 1}, Tally{Sent: 2, Delivered: 2}},
		"the same text twice": {[]client.Event{out("a", client.OnDevice), out("a", client.OnDevice)}, []client.Event{in("a"), in("a")},
			map[string]int{"a": 2}, Tally{Sent: 2, Delivered: 2}},
		"acked and not there": {[]client.Event{out("a", client.OnDevice)}, nil, nil, Tally{Sent: 1, Lost: 1}},
		"kept and not shown":  {[]client.Event{out("a", client.OnDevice)}, []client.Event{in("a")}, nil, Tally{Sent: 1, Lost: 1}},
		"shown and not kept":  {[]client.Event{out("a", client.OnDevice)}, nil, map[string]int{"a": 1}, Tally{Sent: 1, Lost: 1}},
		"kept twice": {[]client.Event{out("a", client.OnDevice)}, []client.Event{in("a"), in("a")},
			map[string]int{"a": 1}, Tally{Sent: 1, Delivered: 1, Twice: 1}},
		"shown twice": {[]client.Event{out("a", client.OnDevice)}, []client.Event{in("a")},
			map[string]int{"a": 2}, Tally{Sent: 1, Delivered: 1, Twice: 1}},
		"not acked":       {[]client.Event{out("a", client.Live)}, []client.Event{in("a")}, map[string]int{"a": 1}, Tally{Sent: 1, Waiting: 1}},
		"notices are not": {[]client.Event{{Text: "n", State: client.Told}}, nil, nil, Tally{}},
	} {
		var got Tally
		if got.add(c.sent, c.got, c.shown); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if good := name == "all is well" || name == "the same text twice"; got.Good() != good {
			t.Errorf("%s: got good %v, want %v", name, got.Good(), good)
		}
	}
	if got, want := (Tally{Sent: 7, Delivered: 5, Lost: 1, Twice: 2}).String(), "demo: 7 sent, 5 delivered, 1 lost, 2 shown twice"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// frame writes a WebSocket frame as a client does, masked, or as a relay does.
func frame(payload []byte, masked bool) (b []byte) {
	b = []byte{0x82, 126, byte(len(payload) >> 8), byte(len(payload))}
	if !masked {
		return append(b, payload...)
	}
	b[1] |= 0x80
	mask := []byte{1, 2, 3, 4}
	b = append(b, mask...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

func TestTapReadsFramesAndPassesThemOnAsTheyAre(t *testing.T) {
	payload := bytes.Repeat([]byte("cell"), 330)
	for _, masked := range []bool{true, false} {
		sent := frame(payload, masked)
		raw, op, got, err := readFrame(bufio.NewReader(bytes.NewReader(sent)))
		if err != nil || op != opBinary || !bytes.Equal(got, payload) || !bytes.Equal(raw, sent) {
			t.Errorf("masked %v: got %d bytes raw, opcode %d, %d bytes, %v, want the frame as it was sent", masked, len(raw), op, len(got), err)
		}
		for n := range len(sent) {
			if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader(sent[:n]))); err == nil {
				t.Errorf("masked %v: got no error for %d of %d bytes", masked, n, len(sent))
			}
		}
	}
	if _, _, _, err := readFrame(bufio.NewReader(bytes.NewReader([]byte{0x82, 127, 0, 1, 0, 0, 0, 0, 0, 0}))); err == nil {
		t.Error("got no error for a frame without measure, want one")
	}
}

func TestSightingsAreReadAsTheSpecificationSays(t *testing.T) {
	var a wire.Address
	copy(a[:], "address")
	put := append([]byte("putid 01"), append(a[:], make([]byte, wire.CellSize)...)...)
	two := Sighting{Path: "/v1/put", ToRelay: true, op: opBinary, Payload: append(bytes.Clone(put), put...)}
	if cells := two.Cells(); two.Kind() != KindPut || len(cells) != 2 || cells[1].Address != a {
		t.Errorf("got %s with %d cells, want a put with 2", two.Kind(), len(cells))
	}
	deliver := Sighting{Path: "/v1/watch", op: opBinary, Payload: append([]byte{byte(wire.FrameDeliver), 0, 0, 0, 0, 0, 0, 0, 1}, put[8:]...)}
	if cells := deliver.Cells(); deliver.Kind() != KindCell || len(cells) != 1 || cells[0].Address != a {
		t.Errorf("got %s with %d cells, want one cell", deliver.Kind(), len(cells))
	}
	answer := Sighting{Path: "/v1/put", op: opBinary, Payload: wire.Answer{Delivered: 2, Complete: true}.Append(nil)}
	if all := answer.Answers(); answer.Kind() != KindAnswer || len(all) != 1 || all[0].Delivered != 2 {
		t.Errorf("got %s %v, want one answer", answer.Kind(), all)
	}
	watch := Sighting{Path: "/v1/watch", ToRelay: true, op: opBinary, Payload: append(append(make([]byte, wire.WatchHeader), a[:]...), make([]byte, 64)...)}
	watch.Payload[0] = byte(wire.FrameWatch)
	if all := watch.Addresses(); watch.Kind() != KindWatch || len(all) != 1 || all[0] != a {
		t.Errorf("got %s with addresses %v, want a watch of one", watch.Kind(), all)
	}
}

func TestNoLineIsWiderThanItsSide(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("long ", 40), strings.Repeat("x", 100), "日本語" + strings.Repeat("語", 50), "ä" + strings.Repeat("́", 5)} {
		for _, width := range []int{2, 7, 37} {
			lines := fold(s, width)
			for _, l := range lines {
				if n := text.Width(l); n > width {
					t.Errorf("%q in %d columns: got a line of %d", s, width, n)
				}
			}
			if got, want := strings.Join(lines, ""), strings.ReplaceAll(s, " ", ""); strings.ReplaceAll(got, " ", "") != want {
				t.Errorf("%q in %d columns: got %q, want all of it", s, width, lines)
			}
		}
	}
}

// What is merely wrong is remembered until the end of a story.
func TestStoryRemembersWhatWasWrong(t *testing.T) {
	var out bytes.Buffer
	s := &story{ctx: t.Context(), out: &out, style: text.Style{}}
	s.want(true, "this is so")
	s.check(nil, "nothing")
	if len(s.wrong) != 0 {
		t.Errorf("got %v, want nothing", s.wrong)
	}
	s.want(false, "%d is not %d", 1, 2)
	if len(s.wrong) != 1 || s.wrong[0].Error() != "1 is not 2" {
		t.Errorf("got %v, want what was said", s.wrong)
	}
}
