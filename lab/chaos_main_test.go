package lab

import (
	"os"
	"testing"
)

// TestMain lets the test binary play the roles of its own processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == RoleCommand {
		os.Exit(Role(os.Args[2]))
	}
	os.Exit(m.Run())
}
