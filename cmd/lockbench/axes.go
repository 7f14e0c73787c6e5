// What tells the cells of a matrix apart, for progress and for messages.

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
)

// label tells a cell from the others: the axes in which they differ, with their values.
func (p plan) label(i int) string {
	var parts []string
	for _, a := range axes {
		mine := a.text(p.cells[i].plan)
		if slices.ContainsFunc(p.cells, func(c cell) bool { return a.text(c.plan) != mine }) {
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
	text func(results.Plan) string
}

var axes = []axis{
	{"driver", func(p results.Plan) string { return p.Driver }},
	{"lock", func(p results.Plan) string { return p.Lock }},
	{"wait", func(p results.Plan) string { return p.Wait }},
	{"clients", func(p results.Plan) string { return fmt.Sprint(p.Clients) }},
	{"keys", func(p results.Plan) string { return fmt.Sprint(p.Keys) }},
	{"hold", func(p results.Plan) string { return p.Hold.String() }},
	{"think", func(p results.Plan) string { return p.Think.String() }},
	{"ttl", func(p results.Plan) string { return p.TTL.String() }},
	{"timeout", func(p results.Plan) string { return p.Timeout.String() }},
	{"conns", func(p results.Plan) string { return fmt.Sprint(p.Conns) }},
	{"pipelining", func(p results.Plan) string { return cmp.Or(p.Pipelining, "default") }},
	{"flush-delay", func(p results.Plan) string { return p.FlushDelay.String() }},
	{"param", func(p results.Plan) string { return cmp.Or(p.Params, "default") }},
}

// show names a value; the first three axes speak for themselves.
func (a axis) show(v string) string {
	switch a.flag {
	case "driver", "lock", "wait":
		return v
	}
	return a.flag + " " + v
}
