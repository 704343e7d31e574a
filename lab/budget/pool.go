package budget

const (
	poolFloor  = 1024 // cells of a pool, at least
	columnsMax = 1 << 18
)

// catchup returns the bytes of one read of a pool of n cells with k private
// queries, and the relay's CPU seconds for it. It is design: nothing of it is built.
func catchup(n, k int) (mode string, up, down, cpu float64) {
	n = max(n, poolFloor)
	stack := (n + columnsMax - 1) / columnsMax
	columns := float64((n + stack - 1) / stack)
	up = float64(k) * 4 * columns
	down = float64(hintSize*stack) + 5*float64(n) + float64(k*2*cellSize*stack)
	whole := float64(n) * (cellSize + 5)
	if whole <= 1.5*(up+down) {
		return "whole", 300, whole, whole / 2e9
	}
	return "LWE", up, down, float64(k) * float64(n) * cellSize * cpuScan / batchGain
}
