package park

import "runtime"

// Scour overwrites 16 KiB of stack below its caller, and the wide registers. It is
// called before and after cells are handled by a goroutine: before, so that the
// stack does not grow with copies of them on it, which would leave the old one as
// it is; after, because what functions had on the stack and in registers stays
// there when they return, and is written to memory when a thread is interrupted.
//
//go:noinline
func Scour() {
	var space [16 << 10]byte
	clear(space[:])
	// A copy of this size goes through all registers that copies go through.
	rinse(space[:registers], space[registers:2*registers])
	runtime.KeepAlive(&space)
}

// registers is the size in bytes of a copy that goes through all of them.
const registers = 512

//go:noinline
func rinse(to, from []byte) { copy(to, from) }
