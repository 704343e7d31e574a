package group_test

import (
	"fmt"
	"os"
)

func (w *town) trace(f string, a ...any) {
	if os.Getenv("TRACE") != "" {
		fmt.Printf("%s ", w.now.Format("02 15:04:05"))
		fmt.Printf(f+"\n", a...)
	}
}
