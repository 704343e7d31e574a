package relay

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write docs/inventory.md anew")

// The page is made of what audits check, so it cannot fall behind.
func TestTheInventoryPageIsUpToDate(t *testing.T) {
	const page = "../docs/inventory.md"
	if *update {
		if err := os.WriteFile(page, []byte(Inventory()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != Inventory() {
		t.Errorf("%s is not what `tacet-relay audit --inventory` prints: go test ./relay -run Inventory -update", page)
	}
}
