package text

import (
	"fmt"
	"strings"
	"time"

	"github.com/tacet-chat/tacet/client"
)

// continued begins every further line of a message, so that no line of it can
// be taken for another event.
const continued = "      | "

// Event shows a message or a notice. Its first line has the time and a fixed
// word that says what it is, before anything that another person wrote:
//
//	14:03 from bob: hi
//	14:04 to bob: hello (on their device)
//	14:05 notice bob: accepted your request
//	14:06 from bob in walkers: hi
//	14:07 to walkers: hello (on 1 of 2 devices)
//
// A message of ours that can still be taken back, or still waits, has its
// number: (queued here, #12).
func Event(e client.Event, now time.Time, s Style) string {
	head, tail := "from ", ""
	switch {
	case e.State == client.Told:
		head = "notice "
	case e.Out:
		head = "to "
		tail = State(e.State)
		if e.GroupID != 0 && e.Of > 0 {
			tail = Reached(e)
		}
		if waits(e.State) {
			tail += fmt.Sprintf(", #%d", e.Seq)
		}
	}
	lines := Lines(e.Text)
	var b strings.Builder
	b.WriteString(s.Dim(Clock(e.At, now)) + " " + s.Dim(head) + s.Bold(heading(e)) + s.Dim(":"))
	for i, l := range lines {
		if i > 0 {
			b.WriteString("\n" + s.Dim(continued))
		} else {
			b.WriteByte(' ')
		}
		b.WriteString(l)
	}
	if tail != "" {
		b.WriteString(" " + s.Dim("("+tail+")"))
	}
	return b.String()
}

// Change shows that the state of a message of ours changed:
//
//	14:04 state #12 to bob: on their device
func Change(e client.Event, now time.Time, s Style) string {
	return s.Dim(fmt.Sprintf("%s state #%d to %s: ", Clock(now, now), e.Seq, Name(With(e)))) + changed(e)
}

func changed(e client.Event) string {
	if e.GroupID != 0 && e.Of > 0 {
		return Reached(e)
	}
	return State(e.State)
}

func waits(s client.State) bool {
	return s == client.Queued || s == client.Offered || s == client.Parked || s == client.Live
}

// heading says who said something, and where.
func heading(e client.Event) string {
	if e.GroupID == 0 {
		return Name(e.Contact)
	}
	if e.Out || e.State == client.Told || e.From == "" {
		return Name(e.Group)
	}
	return Name(e.From) + " in " + Name(e.Group)
}
