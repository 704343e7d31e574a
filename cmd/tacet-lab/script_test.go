package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tacet-chat/tacet/lab"
	"github.com/tacet-chat/tacet/lab/leak"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == lab.RoleCommand { // a process of a demo that is tested
		os.Exit(play(os.Args[2]))
	}
	if len(os.Args) == 3 && os.Args[1] == leak.ChildCommand { // a process of a measurement that is tested
		leak.Child(os.Args[2])
	}
	testscript.Main(m, map[string]func(){"tacet-lab": main})
}

// TestScripts drives the program as a visitor would.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata"})
}
