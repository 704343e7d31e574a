package grouptest

import "testing"

func TestMemory(t *testing.T) { Run(t, func(*testing.T) Store { return &Memory{} }) }
