package drivertest

// The suite's own test: drivers that are broken on purpose, each of which it must reject.

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// broken is a driver with one defect, and the case that must find it.
type broken struct {
	name   string
	driver drivers.Driver
	caught string
}

// brokenFor is how long the window of a broken driver is open in which a call ends and is granted: longer than the timers of a
// busy machine are late.
const brokenFor = 2 * time.Millisecond

// TestBroken also checks that no case is superfluous: for each there must be a driver that it alone rejects.
func TestBroken(t *testing.T) {
	var all []broken
	for _, some := range [][]broken{
		brokenClaims, brokenHolding, brokenReleasing, brokenLeases, brokenSessions, brokenCrashes, brokenWaiting, brokenQueues, brokenBlocking,
		brokenListening, brokenOutages, brokenServices, brokenProbes,
	} {
		all = append(all, some...)
	}
	alone := map[string]bool{}
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) {
			failures := check(t, b.driver)
			found := map[string]bool{}
			for _, f := range failures {
				found[f.Case] = true
				t.Log(f)
			}
			if !found[b.caught] {
				t.Errorf("the case %q accepts it", b.caught)
			}
			if len(found) == 1 {
				alone[b.caught] = true
			}
		})
	}
	for _, c := range cases {
		if !alone[c.name] {
			t.Errorf("no broken driver shows that the case %q is necessary", c.name)
		}
	}
	names := map[string]bool{}
	for _, b := range all {
		if names[b.name] {
			t.Errorf("two broken drivers are called %q", b.name)
		}
		names[b.name] = true
		if !slices.ContainsFunc(cases, func(c oneCase) bool { return c.name == b.caught }) {
			t.Errorf("%q is to be caught by %q, which is no case", b.name, b.caught)
		}
	}
}
