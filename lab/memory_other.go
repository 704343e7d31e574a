//go:build !linux

package lab

func (p *process) memory(func(string, []byte)) error { return errMemory }
