package catalog

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// Claim is something that a design may claim. Its name is that of a field of drivers.Traits.
type Claim struct{ Name, Means string }

// Claimed are all claims.
var Claimed = []Claim{
	{"exclusive", "one client at a time, as long as each hold ends within its lease or session"},
	{"owned", "only the holder can release it: a late release changes nothing"},
	{"expires", "a hold ends by itself -ttl after its grant or renewal"},
	{"session", "a hold ends with its holder's session: -ttl after the service last heard of it, or, in a database, " +
		"when its connection breaks"},
	{"fenced", "each grant has a token that grows, which a resource can check"},
	{"fair", "waiters are served in the order of their arrival"},
	{"reentrant", "the holder may acquire it again (-reentry)"},
	{"renews", "a lease can be renewed (-renew)"},
	{"wakes", "a release can wake waiters (-wait pubsub, queue)"},
	{"blocks", "a client can sleep on the server (-wait block)"},
	{"waits", "it has a way of waiting of its own (-wait native)"},
}

// Has reports whether a design with these traits makes the claim.
func (c Claim) Has(t drivers.Traits) bool {
	return reflect.ValueOf(t).FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, c.Name) }).Bool()
}

// Claims lists what a design claims.
func Claims(t drivers.Traits) string {
	var names []string
	for _, c := range Claimed {
		if c.Has(t) {
			names = append(names, c.Name)
		}
	}
	return cmp.Or(strings.Join(names, ", "), "nothing")
}

// Row returns a head and a text beside it, which is wrapped.
func Row(head, text string) string { return strings.Join(format.Wrap(head, text, 98), "\n") + "\n" }

// table returns pairs of a label and a text, the texts beside the labels.
func table(pairs []string) (text string) {
	width := 0
	for pair := range slices.Chunk(pairs, 2) {
		width = max(width, utf8.RuneCountInString(pair[0]))
	}
	for pair := range slices.Chunk(pairs, 2) {
		text += Row(fmt.Sprintf("  %-*s  ", width, pair[0]), pair[1])
	}
	return text
}

func pairs[T any](list []T, pair func(T) (label, text string)) (all []string) {
	for _, v := range list {
		label, text := pair(v)
		all = append(all, label, text)
	}
	return all
}

// ClaimsMean returns all claims, and what they mean.
func ClaimsMean() string {
	return table(pairs(Claimed, func(c Claim) (string, string) { return c.Name, c.Means }))
}

// Waits returns all ways of waiting.
func Waits() string {
	auto := wait.Kind{Name: matrix.Auto, Text: "native if the design has a way of its own, else backoff: the default"}
	kinds := append([]wait.Kind{auto}, wait.Kinds()...)
	return table(pairs(kinds, func(k wait.Kind) (string, string) { return k.Name, k.Text }))
}

// Presets returns all presets.
func Presets() string {
	return table(pairs(presets.Names(), func(name string) (string, string) { return name, presets.About(name) }))
}

// groupTitles are the questions that the groups of metrics answer.
var groupTitles = []string{
	metric.Speed: "How fast", metric.Fairness: "How fair", metric.Safety: "How safe",
	metric.Outcomes: "What became of the requests", metric.Cost: "What a lock costs",
	metric.Machine: "What lockbench itself used",
}

// Metrics returns all metrics by their groups, each with an amount as a threshold writes it and what it is.
func Metrics() (text string) {
	add := func(name, amount, about string) { text += Row(fmt.Sprintf("  %-19s  %-5s  ", name, amount), about) }
	for group, title := range groupTitles {
		text += title + ":\n"
		for _, m := range metric.Of(metric.Group(group)) {
			if !strings.Contains(m.Name, ".") {
				add(m.Name, m.Unit.Example, m.About)
			}
		}
		if metric.Group(group) == metric.Speed {
			text += "\nLatencies, each with .p50 .p90 .p99 .p999 .mean .max, as in acquire.p99:\n"
			for _, d := range metric.Distributions {
				add(string(d.Metric), metric.Duration.Example, d.About)
			}
		}
		text += "\n"
	}
	return text
}
