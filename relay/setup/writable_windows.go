package setup

func writable(string) error { return nil }

func active(string) bool { return false }
