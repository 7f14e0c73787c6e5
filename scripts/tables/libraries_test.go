package main

import (
	"testing"

	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
)

// TestFails: what another design of a driver fails is not said of its library.
func TestFails(t *testing.T) {
	r := &safety.Report{Cells: []safety.Cell{
		{Hazard: "overrun", Driver: "redsync", Lock: "library", Verdict: safety.Fails},
		{Hazard: "renewal-reacquires", Driver: "redsync", Lock: "set-nx-on-extend", Verdict: safety.Fails},
	}}
	if got := fails(r, &spec.Plan{Driver: "redsync", Lock: "library"}); got != "overrun" {
		t.Errorf("%q, want overrun alone", got)
	}
}
