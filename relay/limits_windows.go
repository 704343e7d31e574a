package relay

// fileLimit returns how many files this program may have open.
func fileLimit() (n uint64, ok bool) { return 0, false }
