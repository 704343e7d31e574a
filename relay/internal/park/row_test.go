package park

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
)

func TestExpiryIsCoarse(t *testing.T) {
	now := time.Date(2026, 5, 4, 13, 14, 15, 0, time.UTC)
	for _, c := range []struct {
		hours, most uint16
		want        string
	}{
		{0, 720, "05-04 14:15:00"}, {1, 720, "05-04 14:15:00"}, {2, 720, "05-04 16:00:00"}, {47, 720, "05-06 13:00:00"},
		{48, 720, "05-07 00:00:00"}, {168, 720, "05-12 00:00:00"}, {720, 720, "06-04 00:00:00"}, {65535, 720, "06-04 00:00:00"}, {1440, 1440, "07-04 00:00:00"},
		{720, 24, "05-05 14:00:00"}, {720, 1, "05-04 14:15:00"},
	} {
		if got := time.Unix(Until(now, c.hours, c.most), 0).UTC().Format("01-02 15:04:05"); got != c.want {
			t.Errorf("%d of %d hours: got %s, want %s", c.hours, c.most, got, c.want)
		}
	}
}

// No row outlives its epoch, and the key goes as soon as none is left.
func TestEpochsEndWithTheirLastRow(t *testing.T) {
	for _, s := range []int64{1, 60, 86_399, 86_400, 86_401, 20_000 * 86_400, 20_000*86_400 + 3600} {
		e := EpochOf(s)
		if e.Over(time.Unix(s-1, 0)) {
			t.Errorf("row until %d: its epoch %d is over before it", s, e)
		}
		if !e.Over(time.Unix(s+86_399, 0)) {
			t.Errorf("row until %d: its epoch %d lasts a day longer", s, e)
		}
	}
	if got := EpochOf(86_400); got != 0 || !got.Over(time.Unix(86_400, 0)) {
		t.Errorf("a row that is over at midnight: got epoch %d, want the day that ends there", got)
	}
}

func TestWhatIsPutIsNeverTooLong(t *testing.T) {
	for s := int64(1_700_000_000); s < 1_700_200_000; s += 997 {
		now := time.Unix(s, 0)
		for _, hours := range []uint16{1, 2, 47, 48, 720} {
			if until := Until(now, hours, 720); until > Last(now, 720).Unix() {
				t.Fatalf("%d hours from %d: until %d is after %d", hours, s, until, Last(now, 720).Unix())
			}
		}
	}
}

func TestBodiesOpenInTheirPlaceAlone(t *testing.T) {
	k, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := NewKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a, c := wire.Address{1}, wire.Cell{2}
	id := RowID(ids, &a, &c)
	body := AppendBody(nil, k, &id, &a, &c)
	var got wire.Cell
	if !OpenBody(&got, body, k, &id, &a) || got != c || len(body) != BodySize {
		t.Fatalf("got another cell from %d bytes", len(body))
	}
	if bytes.Contains(body, c[:16]) {
		t.Error("the body shows the cell")
	}
	other, otherID, otherAddress := *k, id, a
	other[31]++
	otherID[15]++
	otherAddress[31]++
	for name, open := range map[string]bool{
		"key":      OpenBody(&got, body, &other, &id, &a),
		"id":       OpenBody(&got, body, k, &otherID, &a),
		"address":  OpenBody(&got, body, k, &id, &otherAddress),
		"body":     OpenBody(&got, append(bytes.Clone(body[:BodySize-1]), body[BodySize-1]^1), k, &id, &a),
		"cut body": OpenBody(&got, body[:BodySize-1], k, &id, &a),
	} {
		if open {
			t.Errorf("opens with another %s", name)
		}
	}
	if id == RowID(k, &a, &c) || id == RowID(ids, &otherAddress, &c) || id == RowID(ids, &a, &wire.Cell{3}) {
		t.Error("an id does not depend on all of it")
	}
	if s := fmt.Sprintf("%v %s %+v", k, k, k); bytes.Contains([]byte(s), []byte{k[0], k[1]}) || s != "[secret] [secret] [secret]" {
		t.Errorf("a key prints as %q", s)
	}
	if k.Wipe(); *k != (Key{}) {
		t.Error("a wiped key is still there")
	}
}
