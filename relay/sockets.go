package relay

// spareFiles are the open files that connections leave to the rest: the store,
// the status socket, the data directory, the runtime.
const spareFiles = 64

// sockets returns how many connections of all sorts this process has files for,
// 0 if the system does not say. Beyond that the system would refuse the next
// one, whoever it is from; the gate refuses whoever has most.
func sockets() int {
	n, ok := fileLimit()
	if !ok || n > 1<<30 {
		return 0
	}
	return max(16, int(n)-spareFiles)
}
