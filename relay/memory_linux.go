package relay

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// memoryPiece is how much of a process is read at a time, in bytes.
const memoryPiece = 16 << 20

// memoryOverlap is what two pieces have in common: a needle in all its forms is shorter.
const memoryOverlap = 8 << 10

// processMemory hands over what a process has written to its memory, piece by
// piece: all that is not mapped from a file, such as the program itself. The
// process goes on meanwhile.
func processMemory(pid int, f func(b []byte)) error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return err
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return err
	}
	defer mem.Close()
	piece, total := make([]byte, memoryPiece), 0
	defer clear(piece)
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var from, to int64
		var rights, offset, device, inode string
		// proc_pid_maps(5): address range, rights, offset, device, inode, name.
		n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %s", &from, &to, &rights, &offset, &device, &inode)
		if n != 6 || !strings.HasPrefix(rights, "rw") || inode != "0" || strings.HasSuffix(lines.Text(), "[vvar]") {
			continue
		}
		for at := from; at < to; at += memoryPiece - memoryOverlap {
			// What went away since, or is only reserved, cannot be read.
			n, err := mem.ReadAt(piece[:min(memoryPiece, to-at)], at)
			if errors.Is(err, fs.ErrPermission) {
				return err
			}
			f(piece[:n])
			total += n
		}
	}
	if total == 0 && lines.Err() == nil {
		return errors.New("nothing of it could be read")
	}
	return lines.Err()
}
