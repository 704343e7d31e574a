package load

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// GroupReport is what came out of a run of Group.
type GroupReport struct {
	CPUs    int           `json:"cpus"`
	System  string        `json:"system"`
	Rounds  int           `json:"rounds"`
	Acks    float64       `json:"acks_seconds"` // over which acks came in
	Results []GroupResult `json:"results"`
}

// GroupResult is a group of one size.
type GroupResult struct {
	Leaves int         `json:"leaves"`
	Whole  int         `json:"whole"` // members with an engine; the others are ears
	Hybrid bool        `json:"hybrid"`
	Shared bool        `json:"shared"`
	Load   string      `json:"load"`       // of the machine, when it began
	Made   float64     `json:"made"`       // seconds that it took to make and connect all
	Memory float64     `json:"memory_kib"` // of the relay, for one member's connection with 16 addresses
	Texts  []GroupText `json:"texts"`
	Add    *GroupStep  `json:"add,omitempty"`
	Remove *GroupStep  `json:"remove,omitempty"`
}

// GroupText is one text. Times are in ms since the sender's call began.
type GroupText struct {
	CPU        float64 `json:"cpu_ms"`      // of the sender's process, until all members had it
	CPUAll     float64 `json:"cpu_rest_ms"` // until the sender rested, before any ack
	Call       float64 `json:"call_ms"`     // until the call returned: the text is in the vault
	Have       float64 `json:"have_ms"`     // until the last member had its cell, the outer seal opened
	Opened     float64 `json:"opened_ms"`   // until the last whole member's engine showed it
	Sent       int64   `json:"sent_bytes"`  // that left the sender's sockets
	Cells      int     `json:"cells"`       // that came in at members
	RelayCPU   float64 `json:"relay_us"`    // of the relay, for each member
	MemberGot  float64 `json:"member_got"`  // bytes of TCP payload from the relay to each member
	MemberSent float64 `json:"member_sent"` // and from each
	Reached    int     `json:"reached"`     // members whose ack the sender took
	AckCPU     float64 `json:"ack_ms"`      // of the sender, for each ack
	Acked      float64 `json:"acked_s"`     // until all acks were taken, from when the first was let go
}

// GroupStep is an addition or a removal.
type GroupStep struct {
	CPU        float64 `json:"cpu_ms"`          // of the sender, until all members knew
	CPUAll     float64 `json:"cpu_rest_ms"`     // until it rested
	In         float64 `json:"in_ms,omitempty"` // until the joiner was in
	All        float64 `json:"all_ms"`          // until the last whole member was in the next epoch, and the last ear had read the slot
	Sent       int64   `json:"sent_bytes"`      // that left the sender's sockets
	Got        int64   `json:"got_bytes"`       // and came in
	Cells      int     `json:"cells"`           // that came in at members
	Puts       int     `json:"puts"`            // cells that members put
	JoinerCPU  float64 `json:"joiner_ms"`
	JoinerGot  int64   `json:"joiner_got"` // bytes that came in at its sockets
	RelayCPU   float64 `json:"relay_ms"`
	MemberGot  float64 `json:"member_got"`
	MemberSent float64 `json:"member_sent"`
}

// median of a figure over the texts.
func (r *GroupResult) median(f func(*GroupText) float64) float64 {
	var all []float64
	for i := range r.Texts {
		all = append(all, f(&r.Texts[i]))
	}
	return over(all).Median
}

// Line is the last line of a report.
func (r *GroupReport) Line() string {
	var all []string
	for i := range r.Results {
		x := &r.Results[i]
		all = append(all, fmt.Sprintf("%d leaves send %.1f ms CPU, all have it after %.0f ms", x.Leaves, x.median(func(t *GroupText) float64 { return t.CPU }), x.median(func(t *GroupText) float64 { return t.Have })))
	}
	return "group: " + strings.Join(all, "; ")
}

// Table writes the report for people.
func (r *GroupReport) Table(w io.Writer) error {
	fmt.Fprintf(w, "%d CPUs, %s, medians of %d texts, acks within %.1f s\n\n", r.CPUs, r.System, r.Rounds, r.Acks)
	fmt.Fprintf(w, "a text   %8s %8s %9s %9s %9s %6s %10s %10s %8s %9s %7s %5s\n", "CPU ms", "at rest", "bytes", "have ms", "opened", "cells", "relay us", "B to each", "B from", "ack ms", "acks s", "load")
	for i := range r.Results {
		x := &r.Results[i]
		m := func(f func(*GroupText) float64) float64 { return x.median(f) }
		fmt.Fprintf(w, "%-8d %8.1f %8.1f %9.0f %9.0f %9.0f %6.0f %10.1f %10.0f %8.0f %9.2f %7.1f %5s\n", x.Leaves,
			m(func(t *GroupText) float64 { return t.CPU }), m(func(t *GroupText) float64 { return t.CPUAll }), m(func(t *GroupText) float64 { return float64(t.Sent) }),
			m(func(t *GroupText) float64 { return t.Have }), m(func(t *GroupText) float64 { return t.Opened }), m(func(t *GroupText) float64 { return float64(t.Cells) }),
			m(func(t *GroupText) float64 { return t.RelayCPU }), m(func(t *GroupText) float64 { return t.MemberGot }), m(func(t *GroupText) float64 { return t.MemberSent }),
			m(func(t *GroupText) float64 { return t.AckCPU }), m(func(t *GroupText) float64 { return t.Acked }), x.Load)
	}
	fmt.Fprintf(w, "\na change        %8s %8s %8s %8s %10s %10s %6s %6s %10s %11s %9s %10s\n", "CPU ms", "at rest", "in ms", "all ms", "bytes", "bytes in", "cells", "puts", "joiner ms", "joiner B in", "relay ms", "B to each")
	for i := range r.Results {
		x := &r.Results[i]
		for _, c := range []struct {
			name string
			s    *GroupStep
		}{{"add", x.Add}, {"remove", x.Remove}} {
			if s := c.s; s != nil {
				fmt.Fprintf(w, "%-8d %-6s %8.0f %8.0f %8.0f %8.0f %10d %10d %6d %6d %10.0f %11d %9.0f %10.0f\n", x.Leaves, c.name,
					s.CPU, s.CPUAll, s.In, s.All, s.Sent, s.Got, s.Cells, s.Puts, s.JoinerCPU, s.JoinerGot, s.RelayCPU, s.MemberGot)
			}
		}
	}
	fmt.Fprintln(w)
	for i := range r.Results {
		x := &r.Results[i]
		fmt.Fprintf(w, "%d leaves: made in %.0f s, %d whole members and %d ears, hybrid %t, shared %t, %.1f KiB of the relay's memory for each member\n",
			x.Leaves, x.Made, x.Whole, x.Leaves-1-x.Whole, x.Hybrid, x.Shared, x.Memory)
	}
	_, err := fmt.Fprintln(w, "\n"+r.Line())
	return err
}

// JSON writes the report as one document.
func (r *GroupReport) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
