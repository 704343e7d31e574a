package relay

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tacet-chat/tacet/internal/wire"
	"github.com/tacet-chat/tacet/relay/internal/park"
)

// A relay that runs and one that does not disclose what waits at the address,
// and nothing of another.
func TestADisclosureIsAllThereIsOfOneAddress(t *testing.T) {
	for _, runs := range []bool{true, false} {
		t.Run(fmt.Sprint("runs ", runs), func(t *testing.T) {
			cfg := Config{Data: dir(t), Roles: []string{RoleLive, RolePark}}
			var one, other wire.Address
			rand.Read(one[:])
			rand.Read(other[:])
			until := time.Now().Add(72 * time.Hour).Truncate(24 * time.Hour)
			putRows := func(r *Relay) {
				for i, a := range []wire.Address{one, one, other} {
					row := park.Row{Address: a, Until: until.Unix()}
					row.Cell[0] = byte(i)
					if said, err := r.parked.disk.Put(t.Context(), []park.Row{row}, time.Now()); err != nil || said[0] != wire.ParkKept {
						t.Fatal(said, err)
					}
				}
			}
			if runs {
				x := start(t, cfg)
				x.realm(t)
				putRows(x.Relay)
			} else {
				r, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				parts := newGroup(t.Context())
				r.runStores(parts)
				putRows(r)
				parts.cancel()
				if err := errors.Join(parts.wait(), r.Close()); err != nil {
					t.Fatal(err)
				}
			}
			d, err := Disclose(t.Context(), cfg, strings.ToUpper(hex.EncodeToString(one[:])))
			if err != nil {
				t.Fatal(err)
			}
			if len(d.Parked) != 2 || d.Parked[0].Until != until.UTC().Format("2006-01-02 15:04") || d.Running != runs || d.Watching != 0 || len(d.Not) == 0 {
				t.Errorf("got %+v, want two cells until %v", d, until)
			}
			rand.Read(one[:])
			if d, err = Disclose(t.Context(), cfg, hex.EncodeToString(one[:])); err != nil || len(d.Parked) != 0 {
				t.Errorf("of an address that nobody used: got %+v, %v", d, err)
			}
			for _, bad := range []string{"", "00", strings.Repeat("0", 63), strings.Repeat("g", 64), strings.Repeat("0", 66)} {
				if _, err := Disclose(t.Context(), cfg, bad); err == nil || !strings.Contains(err.Error(), "no address") {
					t.Errorf("%q: got %v, want a refusal", bad, err)
				}
			}
		})
	}
}
