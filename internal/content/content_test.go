package content

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/tacet-chat/tacet/internal/wire"
)

// blockContent is what one content block has room for: cell.md.
const blockContent = wire.BlockSize - 36

func ids(n int) []wire.MessageID {
	list := make([]wire.MessageID, n)
	for i := range list {
		list[i] = wire.MessageID{0xee, byte(i >> 8), byte(i)}
	}
	return list
}

// everything has each part and field once; text and drop exclude each other.
func everything() map[string]*Content {
	route := bytes.Repeat([]byte{7}, MinRoute)
	return map[string]*Content{
		"text":       {Sent: 1_800_000_000, Text: &Text{Body: "hello, wörld"}},
		"empty text": {Text: &Text{}},
		"timer":      {Sent: 1, Text: &Text{Body: "not for long", Timer: 1<<32 - 1}},
		"copy":       {Sent: 1, Sync: &Sync{Copy: &Copy{Person: [32]byte{1}, Author: [32]byte{2}, ID: wire.MessageID{3}, Sent: 4, Body: "b", Out: true, Timer: 60}}},
		"long text":  {Sent: MaxSent, Text: &Text{Body: strings.Repeat("x", MaxText)}},
		"acks":       {Sent: 1, Acks: &Acks{IDs: ids(MaxAcks), Highest: 1<<32 - 1}},
		"no acks":    {Sent: 24, Acks: &Acks{Highest: 5}},
		"control":    {Sent: 1, Control: &Control{Route: route, RouteAck: route[:8], Accept: true, Name: "Ada"}},
		"prekeys":    {Sent: 1, Control: &Control{Route: bytes.Repeat([]byte{8}, MaxRoute), Prekeys: bytes.Repeat([]byte{9}, MaxPrekeys)}},
		"guest":      {Sent: 1, Control: &Control{Guest: bytes.Repeat([]byte{6}, MinGuest)}},
		"tickets":    {Sent: 1, Control: &Control{Tickets: bytes.Repeat([]byte{7}, MinTickets)}},
		"guests":     {Sent: 1, Drop: &Drop{}, Control: &Control{Guest: bytes.Repeat([]byte{6}, MaxGuest)}},
		"suite":      {Sent: 1, Control: &Control{Suite: 255}},
		"accept":     {Sent: 1, Control: &Control{Accept: true}},
		"drop":       {Sent: 1, Drop: &Drop{}},
		"back":       {Sent: 1, Acks: &Acks{IDs: ids(1)}, Control: &Control{RouteAck: route[:8]}, Drop: &Drop{Back: true}},
		"together":   {Sent: 1, Text: &Text{Body: "yes"}, Acks: &Acks{IDs: ids(3)}, Control: &Control{Name: "B"}},
	}
}

func encode(t testing.TB, c *Content) []byte {
	t.Helper()
	b, err := c.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEveryPartComesBack(t *testing.T) {
	for name, c := range everything() {
		got, err := Parse(encode(t, c))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got, c) {
			t.Errorf("%s: got %+v, want %+v", name, got, c)
		}
	}
}

func TestShortTextAndEightAcksFitOneBlock(t *testing.T) {
	for n := range 901 {
		c := &Content{Sent: MaxSent, Text: &Text{Body: strings.Repeat("x", n)}, Acks: &Acks{IDs: ids(8), Highest: 1<<32 - 1}}
		if got := len(encode(t, c)); got > blockContent {
			t.Fatalf("%d bytes of text: got %d bytes, want at most %d", n, got, blockContent)
		}
	}
}

func TestLargestContentFitsTheBlocksOfOneMessage(t *testing.T) {
	all := everything()
	c := &Content{Sent: MaxSent, Text: all["long text"].Text, Acks: all["acks"].Acks, Control: all["control"].Control}
	c.Control.Name, c.Control.Route = strings.Repeat("x", MaxName), make([]byte, MaxRoute)
	if got := len(encode(t, c)); got > MaxSize {
		t.Errorf("got %d bytes, want at most %d", got, MaxSize)
	}
	// Prekeys go with no text of that length.
	c.Control.Prekeys = make([]byte, MaxPrekeys)
	if b, err := c.Append(nil); !errors.Is(err, ErrContent) {
		t.Errorf("got %d bytes, %v, want ErrContent", len(b), err)
	}
}

func TestAppendRefuses(t *testing.T) {
	for name, c := range map[string]*Content{
		"no part":              {Sent: 1},
		"only something newer": {Sent: 1, Unknown: true},
		"sent after 2106":      {Sent: MaxSent + 1, Text: &Text{}},
		"text too long":        {Text: &Text{Body: strings.Repeat("x", MaxText+1)}},
		"text not UTF-8":       {Text: &Text{Body: "\xff"}},
		"text and drop":        {Text: &Text{}, Drop: &Drop{}},
		"too many acks":        {Acks: &Acks{IDs: ids(MaxAcks + 1)}},
		"short route":          {Control: &Control{Route: make([]byte, MinRoute-1)}},
		"long route":           {Control: &Control{Route: make([]byte, MaxRoute+1)}},
		"long prekeys":         {Control: &Control{Prekeys: make([]byte, MaxPrekeys+1)}},
		"short guest":          {Control: &Control{Guest: make([]byte, MinGuest-1)}},
		"short tickets":        {Control: &Control{Tickets: make([]byte, MinTickets-1)}},
		"long tickets":         {Control: &Control{Tickets: make([]byte, MaxTickets+1)}},
		"long guest":           {Control: &Control{Guest: make([]byte, MaxGuest+1)}},
		"long route ack":       {Control: &Control{RouteAck: make([]byte, RouteAckSize+1)}},
		"name too long":        {Control: &Control{Name: strings.Repeat("x", MaxName+1)}},
		"name not UTF-8":       {Control: &Control{Name: "\xc0\x80"}},
		"control of nothing":   {Control: &Control{}},
	} {
		if b, err := c.Append([]byte("a")); !errors.Is(err, ErrContent) || string(b) != "a" {
			t.Errorf("%s: got %x, %v, want ErrContent and nothing appended", name, b, err)
		}
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestParseRefuses(t *testing.T) {
	long := &Content{Text: &Text{Body: strings.Repeat("x", MaxText)}}
	tooLong := bytes.Replace(encode(t, long), []byte{0x79, 0xf0, 0x00}, []byte{0x79, 0xf0, 0x01, 'x'}, 1)
	for name, b := range map[string][]byte{
		"nothing":                     nil,
		"too large":                   append([]byte{0xa2, 0, 1, 0x18, 99, 0x59, 0xff, 0}, make([]byte, 0xff00)...),
		"text too long":               tooLong,
		"no map":                      unhex(t, "80"),
		"null":                        unhex(t, "f6"),
		"no part":                     unhex(t, "a1 00 01"),
		"no time":                     unhex(t, "a1 01 a1 00 61 61"),
		"trailing byte":               unhex(t, "a2 00 01 04 a0 00"),
		"cut off":                     unhex(t, "a2 00 01 04"),
		"time of five bytes":          unhex(t, "a2 00 1b 00 00 00 01 00 00 00 00 04 a0"),
		"time not minimal":            unhex(t, "a2 00 18 01 04 a0"),
		"time as a float":             unhex(t, "a2 00 f9 3c 00 04 a0"),
		"time below zero":             unhex(t, "a2 00 20 04 a0"),
		"key not minimal":             unhex(t, "a2 00 01 18 04 a0"),
		"keys out of order":           unhex(t, "a2 04 a0 00 01"),
		"key twice":                   unhex(t, "a3 00 01 04 a0 04 a0"),
		"text key":                    unhex(t, "a3 00 01 04 a0 61 61 01"),
		"text key within":             unhex(t, "a2 00 01 04 a1 61 61 01"),
		"true as a key":               unhex(t, "a3 00 01 04 a0 f5 01"),
		"indefinite map":              unhex(t, "bf 00 01 04 a0 ff"),
		"indefinite string":           unhex(t, "a2 00 01 01 a1 00 7f 61 61 ff"),
		"tag":                         unhex(t, "a2 00 c1 01 04 a0"),
		"part is null":                unhex(t, "a2 00 01 04 f6"),
		"part beside a null part":     unhex(t, "a3 00 01 01 f6 04 a0"),
		"part is no map":              unhex(t, "a2 00 01 04 80"),
		"text and drop":               unhex(t, "a3 00 01 01 a1 00 60 04 a0"),
		"text without body":           unhex(t, "a2 00 01 01 a0"),
		"body as bytes":               unhex(t, "a2 00 01 01 a1 00 41 61"),
		"body not UTF-8":              unhex(t, "a2 00 01 01 a1 00 61 ff"),
		"body null":                   unhex(t, "a2 00 01 01 a1 00 f6"),
		"acks without ids":            unhex(t, "a2 00 01 02 a1 01 00"),
		"acks without highest":        unhex(t, "a2 00 01 02 a1 00 40"),
		"acks of seven bytes":         unhex(t, "a2 00 01 02 a2 00 47 01020304050607 01 00"),
		"acks as a list":              unhex(t, "a2 00 01 02 a2 00 88 0102030405060708 01 00"),
		"too many acks":               append(append(unhex(t, "a2 00 01 02 a2 00 59 02 08"), make([]byte, 520)...), 1, 0),
		"highest of five bytes":       unhex(t, "a2 00 01 02 a2 00 40 01 1b 00 00 00 01 00 00 00 00"),
		"control of nothing":          unhex(t, "a2 00 01 03 a0"),
		"control with an empty route": unhex(t, "a2 00 01 03 a2 00 40 02 f5"),
		"control with a short route":  unhex(t, "a2 00 01 03 a1 00 41 00"),
		"control with empty prekeys":  unhex(t, "a2 00 01 03 a2 02 f5 04 40"),
		"prekeys too long":            append(unhex(t, "a2 00 01 03 a1 04 59 08 01"), make([]byte, 2049)...),
		"route too long":              append(unhex(t, "a2 00 01 03 a1 00 58 ac"), make([]byte, 172)...),
		"short route ack":             unhex(t, "a2 00 01 03 a1 01 41 00"),
		"no timer, said aloud":        unhex(t, "a2 00 01 01 a2 00 61 61 01 00"),
		"timer of five bytes":         unhex(t, "a2 00 01 01 a2 00 61 61 01 1b 00 00 00 01 00 00 00 00"),
		"not accepted, said aloud":    unhex(t, "a2 00 01 03 a2 02 f4 03 61 61"),
		"suite of two bytes":          unhex(t, "a2 00 01 03 a1 08 19 01 00"),
		"no suite, said aloud":        unhex(t, "a2 00 01 03 a2 02 f5 08 00"),
		"empty name":                  unhex(t, "a2 00 01 03 a2 02 f5 03 60"),
		"not back, said aloud":        unhex(t, "a2 00 01 04 a1 00 f4"),
		"back as a number":            unhex(t, "a2 00 01 04 a1 00 01"),
	} {
		if c, err := Parse(b); !errors.Is(err, ErrContent) {
			t.Errorf("%s: got %+v, %v, want ErrContent", name, c, err)
		}
	}
}

func TestNewerContentIsTakenAsFarAsItIsKnown(t *testing.T) {
	for name, c := range map[string]struct {
		hex  string
		want Content
	}{
		"new part beside text": {"a3 00 01 01 a1 00 61 61 09 83 01 f9 3c 00 a1 61 78 40", Content{Sent: 1, Text: &Text{Body: "a"}}},
		"new part alone":       {"a2 00 01 09 61 61", Content{Sent: 1}},
		"negative key":         {"a3 00 01 04 a0 20 f6", Content{Sent: 1, Drop: &Drop{}}},
		"new field of text":    {"a2 00 01 01 a2 00 61 61 02 05", Content{Sent: 1, Text: &Text{Body: "a"}}},
		"new field of a drop":  {"a2 00 01 04 a1 01 05", Content{Sent: 1, Drop: &Drop{}}},
		"new control":          {"a2 00 01 03 a1 17 05", Content{Sent: 1}},
		"new control and old":  {"a2 00 01 03 a2 02 f5 17 05", Content{Sent: 1, Control: &Control{Accept: true}}},
	} {
		c.want.Unknown = true
		got, err := Parse(unhex(t, c.hex))
		if err != nil || !reflect.DeepEqual(got, &c.want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestNewerContentIsStrictToo(t *testing.T) {
	for name, s := range map[string]string{
		"value not minimal":          "a3 00 01 04 a0 09 18 01",
		"map out of order":           "a3 00 01 04 a0 09 a2 02 01 01 01",
		"float not shortest":         "a3 00 01 04 a0 09 fa 3f 80 00 00",
		"tag":                        "a3 00 01 04 a0 09 c1 01",
		"text not UTF-8":             "a3 00 01 04 a0 09 61 ff",
		"too deep":                   "a3 00 01 04 a0 09 81 81 81 81 81 81 81 81 01",
		"known part out of bounds":   "a3 00 01 03 a1 01 41 00 09 01",
		"text without body but more": "a2 00 01 01 a1 01 05",
	} {
		if c, err := Parse(unhex(t, s)); !errors.Is(err, ErrContent) {
			t.Errorf("%s: got %+v, %v, want ErrContent", name, c, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for name, c := range everything() {
		if name != "long text" {
			f.Add(encode(f, c))
		}
	}
	f.Add(unhex(f, "a3 00 01 01 a2 00 61 61 01 05 09 83 01 f9 3c 00 a1 61 78 40"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Parse(b)
		if err != nil || c.Unknown && c.empty() {
			return
		}
		got, err := c.Append(nil)
		if err != nil {
			t.Fatalf("appending what was parsed: %v", err)
		}
		if c.Unknown {
			// What was left out is gone: the rest must stand on its own.
			again, err := Parse(got)
			if err != nil {
				t.Fatalf("parsing the known part: %v", err)
			}
			again.Unknown = true
			if !reflect.DeepEqual(again, c) {
				t.Errorf("got %+v, want %+v", again, c)
			}
			return
		}
		if !bytes.Equal(got, b) {
			t.Errorf("got %x, want %x", got, b)
		}
	})
}

// Which list of the reader's devices the author knew is said of a text or a sync, and
// is nothing by itself.
func TestKnownIsNoPartOfItsOwn(t *testing.T) {
	for name, c := range map[string]*Content{"text": {Sent: 1, Text: &Text{Body: "hi"}, Known: 7}, "sync": {Sent: 1, Sync: &Sync{Read: []Name{{1}}}, Known: 1<<32 - 1}} {
		raw, err := c.Append(nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := Parse(raw); err != nil || got.Known != c.Known || got.Unknown {
			t.Errorf("%s: got %+v, %v, want what was written", name, got, err)
		}
	}
	for name, c := range map[string]*Content{"alone": {Sent: 1, Known: 7}, "with acks": {Sent: 1, Acks: &Acks{}, Known: 7}} {
		if _, err := c.Append(nil); err != ErrContent {
			t.Errorf("%s: got %v, want ErrContent", name, err)
		}
	}
	// 00: sent 1, 07: known 7.
	if _, err := Parse([]byte{0xa2, 0, 1, 7, 7}); err != ErrContent {
		t.Errorf("alone: got %v, want ErrContent", err)
	}
}
