package relay

// giveAs: files are the folder's here.
func giveAs(string, string) error { return nil }

func giveAll(string) error { return nil }
