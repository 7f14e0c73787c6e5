package view

import (
	"fmt"
	"slices"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Flag is a word that marks the figures of a cell. It follows from the figures alone; whatever else a record has to say is in
// its warnings.
type Flag struct {
	Name  string `json:"name"`
	Word  string `json:"text"`  // with a count, if there is one: "drifts 2/5"
	Means string `json:"means"` // the same in a line; help marks has a paragraph
	Doubt bool   `json:"doubt"` // the figures are not valid as they stand
}

// flag is a row of the table of flags.
type flag struct {
	name  string
	quote string                       // why not to quote the figures; empty: they are valid as they stand
	word  func(c *results.Cell) string // "" if it does not apply
	means string
}

// origins are why figures are not valid that follow from how they came about: what a cell is called by, and no flags of it.
var origins = []flag{
	when("partial", "it ended early: don't quote it", func(c *results.Cell) bool { return c.Partial() != "" },
		"it ended early"),
	when("embedded", "the embedded server's speed says nothing of a real one: don't quote it",
		func(c *results.Cell) bool { return c.First().Server.Kind == "embedded" },
		"a stand-in inside lockbench, not a real server"),
	when("shared", "other runs had its keys, and what they held is not seen: don't quote it as the lock's",
		func(c *results.Cell) bool { return c.Plan().Shared },
		"other runs had the same keys"),
}

// flags are in the order of their weight.
var flags = []flag{
	when("saturated", "lockbench's machine was the limit: don't quote it", func(c *results.Cell) bool { return c.Generator.Saturated },
		"lockbench or its machine was the limit, not the lock"),
	when("paused", "lockbench itself stood still for a while: don't quote the waits", func(c *results.Cell) bool { return len(c.Generator.Pauses) > 0 },
		"lockbench itself stood still for a while: latencies include it"),
	when("unbalanced", "its figures contradict each other: don't quote them", Unbalanced, "by Little's law its figures contradict each other"),
	when("behind", "it did not keep up with the arrivals: don't quote the waits, they grow with time",
		func(c *results.Cell) bool { return !c.KeptUp() },
		"clients did not keep up with the arrivals"),
	{"drifts", "it had not settled: don't quote it", drifting, "the two halves of the window differ: it had not settled"},
	{"stuck", "keys stayed locked after errors: don't quote it",
		func(c *results.Cell) string { return format.Labelled("stuck", c.Counts.StuckKeys) },
		"keys stayed locked after requests that failed"},
	when("unverified", "", func(c *results.Cell) bool { return c.First().Server.Network == results.Unverified },
		"the server's certificate was not verified"),
	when("beaten", "", (*results.Cell).Beaten,
		"it was faster than the estimated bound"),
	counted("overflow", Overflows, "latencies above one hour, counted as one hour"),
	counted("starved", Starved,
		"clients got no lock: their waits are in no latency"),
	counted("errors", func(c *results.Cell) int64 { return c.Counts.Failed() },
		"requests failed"),
	counted("lost", func(c *results.Cell) int64 { return c.Counts.LostRenewal },
		"holds ended early because a renewal failed"),
	counted("unknown", func(c *results.Cell) int64 { return c.Counts.Unknown },
		"unknown outcomes may have left locks behind"),
}

// Flags returns the flags of c.
func Flags(c *results.Cell) (all []Flag) {
	for _, f := range flags {
		if word := f.word(c); word != "" {
			all = append(all, Flag{f.name, word, f.means, f.quote != ""})
		}
	}
	return all
}

// AllFlags returns every flag that a cell can have.
func AllFlags() (all []Flag) {
	for _, f := range slices.Concat(origins, flags) {
		all = append(all, Flag{f.name, f.name, f.means, f.quote != ""})
	}
	return all
}

// Meaning returns what a flag says of the figures, as a clause.
func Meaning(name string) string {
	all := slices.Concat(origins, flags)
	return all[slices.IndexFunc(all, func(f flag) bool { return f.name == name })].means
}

// doubts returns why the figures of c are not valid as they stand, what weighs most first.
func doubts(c *results.Cell) []flag {
	return slices.DeleteFunc(slices.Concat(origins, flags), func(f flag) bool { return f.quote == "" || f.word(c) == "" })
}

// Doubts returns the names of those.
func Doubts(c *results.Cell) (words []string) {
	for _, f := range doubts(c) {
		words = append(words, f.name)
	}
	return words
}

func when(name, quote string, is func(*results.Cell) bool, means string) flag {
	return flag{name, quote, func(c *results.Cell) string {
		if is(c) {
			return name
		}
		return ""
	}, means}
}

func counted(name string, of func(*results.Cell) int64, means string) flag {
	return flag{name, "", func(c *results.Cell) string { return format.Labelled(name, of(c)) }, means}
}

// Unbalanced reports whether the figures of c contradict each other by Little's law, where no errors explain it.
func Unbalanced(c *results.Cell) bool {
	return c.Bound.Little > 0 && !c.Bound.Balanced() && (c.Bound.Little > 1 || c.Counts.Failed() == 0)
}

// drifting flags cells with trials that were not steady, and says in how many of several.
func drifting(c *results.Cell) string {
	switch {
	case c.Drifting == 0:
		return ""
	case len(c.Trials) == 1:
		return "drifts"
	}
	return fmt.Sprintf("drifts %d/%d", c.Drifting, len(c.Trials))
}

// Overflows returns how many values of all latencies were beyond the range of a histogram.
func Overflows(c *results.Cell) (n int64) {
	for _, l := range c.Latency {
		n += l.Overflow
	}
	return n
}

// Starved returns how many clients wanted locks and got none. One that tries once and goes without waits for no turn.
func Starved(c *results.Cell) int64 {
	if TriesOnce(c.Plan()) {
		return 0
	}
	return int64(c.Fairness.Starved)
}
