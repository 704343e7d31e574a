package lab

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets the test binary play the roles of its own processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == RoleCommand {
		if os.Args[2] == roleStranger {
			os.Exit(playStranger())
		}
		os.Exit(Role(os.Args[2]))
	}
	flag.Parse()
	if os.Getenv("TACET_CHAOS") == "1" {
		flag.Set("test.parallel", "8") // they mostly wait
	}
	os.Exit(m.Run())
}
