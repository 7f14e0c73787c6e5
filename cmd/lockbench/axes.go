// What tells the cells of a matrix apart, for progress and for messages.

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results/spec"
)

// label tells a cell from the others: the axes in which they differ, with their values.
func (p plan) label(i int) string {
	var parts []string
	if side := p.cells[i].side; side != "" {
		parts = append(parts, side)
	}
	for _, a := range p.differ {
		if mine := a.text(p.cells[i].plan); mine != "" {
			parts = append(parts, a.show(mine))
		}
	}
	return strings.Join(parts, " ")
}

// differing are the axes in which cells differ.
func differing(cells []cell) (all []axis) {
	for _, a := range axes {
		if slices.ContainsFunc(cells, func(c cell) bool { return a.text(c.plan) != a.text(cells[0].plan) }) {
			all = append(all, a)
		}
	}
	return all
}

// labelOfPair tells the pair of the cell from the others, by the axes in which both of its cells agree.
func (p plan) labelOfPair(i int) string {
	partner, _ := p.partner(i)
	var parts []string
	for _, a := range p.differ {
		if mine := a.text(p.cells[i].plan); mine != "" && mine == a.text(p.cells[partner].plan) {
			parts = append(parts, a.show(mine))
		}
	}
	return strings.Join(parts, " ")
}

// name begins a message about a cell: nothing if it is the only one.
func (p plan) name(i int) string {
	if l := p.label(i); l != "" {
		return l + ": "
	}
	return ""
}

// axis is one column of the matrix.
type axis struct {
	flag string
	text func(spec.Plan) string
}

var axes = []axis{
	{"driver", func(p spec.Plan) string { return p.Driver }},
	{"lock", func(p spec.Plan) string { return p.Lock }},
	{"topology", func(p spec.Plan) string { return cmp.Or(p.Topology, "single") }},
	{"durability", func(p spec.Plan) string { return p.Durability }},
	{"release", func(p spec.Plan) string { return cmp.Or(p.Release, "default") }},
	{"wait", func(p spec.Plan) string { return p.Wait }},
	{"renew", func(p spec.Plan) string { return onOff(p.Renew) }},
	{"clients", func(p spec.Plan) string { return fmt.Sprint(p.Clients) }},
	{"keys", func(p spec.Plan) string { return fmt.Sprint(p.Keys) }},
	{"key-dist", func(p spec.Plan) string { return cmp.Or(p.KeyDist.String(), uniformKeys) }},
	{"hold", func(p spec.Plan) string { return p.HoldTimes().String() }},
	{"reentry", func(p spec.Plan) string { return fmt.Sprint(max(p.Reentry, 1)) }},
	{"think", func(p spec.Plan) string { return p.ThinkTimes().String() }},
	{"ttl", func(p spec.Plan) string { return p.TTL.String() }},
	{"timeout", func(p spec.Plan) string { return p.Timeout.String() }},
	{"try-only", func(p spec.Plan) string { return spec.FormatShare(p.TryOnly) }},
	{"crash", func(p spec.Plan) string { return spec.FormatShare(p.Crash) }},
	{"overstay", func(p spec.Plan) string { return spec.FormatShare(p.Overstay) }},
	{"rate", func(p spec.Plan) string { return cmp.Or(p.Rate.String(), closedLoop) }},
	{"arrival", func(p spec.Plan) string { return p.Arrival }},
	{"burst", func(p spec.Plan) string { return p.Burst.String() }},
	{"max-queue", func(p spec.Plan) string { return fmt.Sprint(p.MaxQueue) }},
	{"handover", func(p spec.Plan) string { return p.Handover }},
	{"lockers", func(p spec.Plan) string { return fmt.Sprint(max(p.Lockers, 1)) }},
	{"conns", func(p spec.Plan) string { return fmt.Sprint(p.Conns) }},
	{"pipelining", func(p spec.Plan) string { return cmp.Or(p.Pipelining, "default") }},
	{"flush-delay", func(p spec.Plan) string { return p.FlushDelay.String() }},
	{"param", func(p spec.Plan) string { return cmp.Or(p.Params, "default") }},
	{"nodes", func(p spec.Plan) string { return fmt.Sprint(p.Nodes) }},
	{"replicas", func(p spec.Plan) string { return fmt.Sprint(p.Replicas) }},
	{"acks", func(p spec.Plan) string { return fmt.Sprint(p.Acks) }},
	{"node-timeout", func(p spec.Plan) string { return p.NodeTimeout.String() }},
}

func onOff(on bool) string {
	if on {
		return switchOn
	}
	return switchOff
}

// show names a value; some axes' values speak for themselves.
func (a axis) show(v string) string {
	switch a.flag {
	case "driver", "lock", "wait", "topology", "arrival":
		return v
	}
	return a.flag + " " + v
}
