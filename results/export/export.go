// Package export writes records and comparisons for other programs: spreadsheets, benchstat, HdrHistogram's plotter
// and the test pages of CI servers. What people read is package report's.
//
// All of it is made from cells (results.Collector), a comparison, a plan or a proof alone, so that one file of
// records gives the same output everywhere. Errors are those of the writer.
package export

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
)

// plain returns s on one line, without what a terminal or a parser would take for more than text: what a server has
// answered stands in records too.
func plain(s string) string { return strings.TrimSpace(format.Line(s)) }

// words joins what is not blank with single spaces.
func words(list ...any) string { return strings.Join(strings.Fields(fmt.Sprintln(list...)), " ") }

// serverName returns what was measured: "redis 7.0.15 private".
func serverName(s results.Server) string { return words(s.Name, s.Version, s.Kind) }

// endings are what the names of figures end with: in CSV their unit, in Go's benchmark format the one that benchstat
// scales, and by what a value is divided for that. What is not here has no unit but a number of something.
var endings = map[*metric.Unit]struct {
	csv, bench string
	divide     float64
}{metric.Duration: {"_ns", "-sec", 1e9}, metric.Micros: {"_us", "-sec", 1e6}, metric.Bytes: {"_bytes", "-B", 1}}

// each returns what f makes of each element; the list is never nil.
func each[T, U any](list []T, f func(T) U) []U {
	all := make([]U, len(list))
	for i, v := range list {
		all[i] = f(v)
	}
	return all
}

// settings are those of a plan, and its classes, by the names of the flags, which mean the same in every file.
var settings = append(slices.Clone(spec.Settings), spec.Derived("classes", typedClasses))

// textOf returns a setting of r as it is typed; empty if it was not set.
func textOf(s spec.Setting, r *results.Record) string { return s.Text(&r.Plan, &r.Plan.Load) }

// typedClasses names the classes and how many clients each has. What else a class is stands in its record alone; four
// digits of a hash tell two sets of classes apart.
func typedClasses(p *spec.Plan) string {
	if len(p.Classes) == 0 {
		return ""
	}
	names := each(p.Classes, func(c spec.Class) string { return fmt.Sprintf("%s:%d", c.Name, c.Clients) })
	text, _ := json.Marshal(p.Classes) // which fails for numbers that no valid record has
	return fmt.Sprintf("%s~%.2x", strings.Join(names, "+"), sha256.Sum256(append(text, '\n')))
}
