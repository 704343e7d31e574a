package bus_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain lets tests that wait for real answers, 1.5 s each, wait together.
func TestMain(m *testing.M) {
	flag.Parse()
	flag.Set("test.parallel", "16")
	os.Exit(m.Run())
}
