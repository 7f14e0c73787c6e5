package all_test

import (
	"slices"
	"testing"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/quorum"
)

// everyDesign calls check with each design of each driver, and of each majority of its servers.
func everyDesign(t *testing.T, check func(name string, d drivers.Design)) {
	for _, name := range drivers.Names() {
		d, err := drivers.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, design := range d.Designs() {
			check(name+" "+design.Name, design)
		}
		if node, ok := d.(quorum.Node); ok {
			for _, design := range (quorum.Driver{Node: node}).Designs() {
				check("a majority of "+name+" "+design.Name, design)
			}
		}
	}
}

// TestLoses: what a design loses to is known, is listed once, and fits its claims.
func TestLoses(t *testing.T) {
	known := drivers.Hazards()
	everyDesign(t, func(name string, d drivers.Design) {
		loses := func(h drivers.Hazard) bool { return slices.Contains(d.Loses, h) }
		for i, h := range d.Loses {
			if !slices.Contains(known, h) || slices.Contains(d.Loses[:i], h) {
				t.Errorf("%s: loses to %s, which is unknown or listed twice", name, h)
			}
		}
		c := d.Traits
		if !c.Exclusive {
			if d.Loses != nil {
				t.Errorf("%s: loses to %v, though it does not claim anything", name, d.Loses)
			}
			return
		}
		for _, rule := range []struct {
			hazard drivers.Hazard
			want   bool
		}{
			{drivers.HazardOverrun, c.Expires},
			{drivers.HazardOrphanWatchdog, c.Renews || c.Session && loses(drivers.HazardOrphanWatchdog)},
			{drivers.HazardHolderPauses, loses(drivers.HazardHolderPauses) || c.Expires},
			{drivers.HazardHolderDies, !c.Expires && !c.Session},
			{drivers.HazardUnlockAfterRefusal, !c.Owned},
			{drivers.HazardWrongReleaseChain, loses(drivers.HazardWrongReleaseChain) && !c.Owned && c.Expires},
			{drivers.HazardFenceFailover, c.Fenced && loses(drivers.HazardFailover)},
			{drivers.HazardWaitForever, loses(drivers.HazardWaitOne)},
		} {
			if got := loses(rule.hazard); got != rule.want {
				t.Errorf("%s: loses to %s: %v, want %v by its claims %+v", name, rule.hazard, got, rule.want, c)
			}
		}
	})
}

// TestLosesAgree: a design is the same over each client library.
func TestLosesAgree(t *testing.T) {
	first := map[string]drivers.Design{}
	everyDesign(t, func(name string, d drivers.Design) {
		known, seen := first[d.Models]
		if !seen {
			first[d.Models] = d
		} else if !slices.Equal(known.Loses, d.Loses) {
			t.Errorf("%s: loses to %v, and elsewhere to %v", name, d.Loses, known.Loses)
		}
	})
	if len(first) < 20 {
		t.Errorf("there are %d designs", len(first))
	}
}

// TestHazards: each hazard has a name and a line of its own.
func TestHazards(t *testing.T) {
	names, lines := map[drivers.Hazard]bool{}, map[string]bool{}
	for _, h := range drivers.Hazards() {
		names[h], lines[h.About()] = true, true
	}
	if n := len(drivers.Hazards()); len(names) != n || len(lines) != n || lines[""] {
		t.Errorf("%d hazards, %d names and %d lines", n, len(names), len(lines))
	}
	if drivers.Hazard("none").About() != "" {
		t.Error("an unknown hazard has a line")
	}
}
