package lab

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// maxMapping is the largest piece of memory that is read, in bytes.
const maxMapping = 512 << 20

// memory hands over what a process has written to its memory: everything that
// is not mapped from a file, such as the program itself.
func (p *process) memory(f func(place string, b []byte)) error {
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", p.pid()))
	if err != nil {
		return fmt.Errorf("reading memory: %w", err)
	}
	defer maps.Close()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", p.pid()))
	if err != nil {
		return fmt.Errorf("reading memory: %w", err)
	}
	defer mem.Close()
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		var from, to uint64
		var rights, offset, device, inode string
		// proc_pid_maps(5): address range, rights, offset, device, inode, name.
		n, _ := fmt.Sscanf(lines.Text(), "%x-%x %s %s %s %s", &from, &to, &rights, &offset, &device, &inode)
		if n != 6 || !strings.HasPrefix(rights, "rw") || inode != "0" || to-from > maxMapping {
			continue
		}
		b := make([]byte, to-from)
		if n, err := mem.ReadAt(b, int64(from)); err == nil {
			f("memory", b[:n])
		}
	}
	return lines.Err()
}
