package text

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgressTellsOnlyWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		p := &Progress{W: &out}
		p.Start("opening")
		time.Sleep(progressAfter / 2)
		synctest.Wait()
		p.Stop()
		if got := out.String(); got != "" {
			t.Errorf("quick work: got %q, want silence", got)
		}
		p.Start("opening")
		time.Sleep(2 * progressAfter)
		synctest.Wait()
		p.Start("asking\x1b[0m the relay")
		p.Stop()
		p.Stop()
		if got, want := out.String(), "\r\x1b[Kopening …\r\x1b[Kasking[0m the relay …\r\x1b[K"; got != want {
			t.Errorf("slow work: got %q, want %q", got, want)
		}
	})
}

func TestProgressOfNobodyIsSilent(t *testing.T) {
	var p *Progress
	p.Start("x")
	p.Stop()
	p = &Progress{}
	p.Start("x")
	p.Stop()
}
