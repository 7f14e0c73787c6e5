// Package export writes records and comparisons for other programs: spreadsheets, benchstat, HdrHistogram's plotter, the
// test pages of CI servers, GitHub and its benchmark action. What people read is package report's.
//
// All of it is made from cells (results.Collector) or from a comparison, and none of it from anything else, so that one file of
// records gives the same output everywhere. Errors are those of the writer.
package export

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
)

// plain returns s on one line, without what a terminal or a parser would take for more than text: what a server has answered
// stands in records too.
func plain(s string) string { return strings.TrimSpace(format.Clean(s)) }

// digits writes a figure with all its digits, and without an exponent; "" is one that is not known.
func digits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// machine returns where the load was made.
func machine(e results.Env) string {
	return strings.Join(strings.Fields(fmt.Sprintf("%d × %s %s/%s %s", e.CPUs, e.CPU, e.OS, e.Arch, e.Kernel)), " ")
}

// serverName returns what was measured, in a few words: "redis 7.0.15 private".
func serverName(s results.Server) string {
	return strings.Join(strings.Fields(s.Name+" "+s.Version+" "+s.Kind), " ")
}

// knownTo returns the figures that any trial of the cells knows.
func knownTo(cells []*results.Cell) []*metric.Metric {
	return slices.DeleteFunc(metric.All(), func(f *metric.Metric) bool {
		return !slices.ContainsFunc(cells, func(c *results.Cell) bool {
			return slices.ContainsFunc(f.Values(c.Trials), func(v float64) bool { return !math.IsNaN(v) })
		})
	})
}

// direction returns which way a figure improves: "higher", "lower", or nothing.
func direction(f *metric.Metric) string {
	return map[metric.Better]string{metric.Higher: "higher", metric.Lower: "lower"}[f.Better]
}

// each returns what f makes of each element; the list is never nil.
func each[T, U any](list []T, f func(T) U) []U {
	all := make([]U, len(list))
	for i, v := range list {
		all[i] = f(v)
	}
	return all
}

func word(r compare.Reason) string { return string(r) }

func id(r *results.Record) string { return r.ID }

// settings are those of a plan, and its classes, by the names of the flags: machines read them, and a name must mean the same
// thing next year and in every file.
var settings = append(slices.Clone(spec.Recorded), spec.Derived("classes", typedClasses))

// typedClasses names the classes and what they have, in short: what a class is stands in its record alone, and four digits
// of a hash tell two sets of classes apart.
func typedClasses(p *spec.Plan) string {
	if len(p.Classes) == 0 {
		return ""
	}
	names := each(p.Classes, func(c spec.Class) string { return fmt.Sprintf("%s:%d", c.Name, c.Clients) })
	hash := sha256.New()
	_ = json.NewEncoder(hash).Encode(p.Classes) // which fails for numbers that no valid record has
	return strings.Join(names, "+") + "~" + hex.EncodeToString(hash.Sum(nil)[:2])
}
