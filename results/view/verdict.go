package view

// The verdict on a run: one sentence that can be quoted, or that says why it cannot.

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// Verdict returns the sentence that comes first. Its kind says how it is to be taken: bad if a lock has failed, a warning if figures
// are not to be quoted.
func (v *Run) Verdict() Finding {
	switch broken := v.Broken(); {
	case len(broken) > 0 && broken[0].Kind == Bad && len(v.Cells) == 1:
		return Finding{Kind: Bad, Text: "MUTUAL EXCLUSION VIOLATED: " + violation(v.Cells[0])}
	case len(broken) > 0 && broken[0].Kind == Bad:
		return Finding{Kind: Bad, Text: broken[0].Lead + " " + strings.TrimSuffix(broken[0].Text, ".")}
	case len(v.Cells) == 1:
		return verdictOn(v.Cells[0])
	}
	kind, text := Note, v.first()
	doubtful, why := 0, []string(nil)
	for _, c := range v.Cells {
		words := Doubts(c)
		if len(words) > 0 {
			doubtful++
		}
		for _, word := range words {
			if !slices.Contains(why, word) {
				why = append(why, word)
			}
		}
	}
	if doubtful > 0 {
		kind = Warn
		text += fmt.Sprintf("; don't quote %s (%s)", rows(doubtful, len(v.Cells)), strings.Join(why, ", "))
	}
	return Finding{Kind: kind, Text: text}
}

// first says which row came first; of many loads, which name how often.
func (v *Run) first() string {
	const most = 2 // loads that are named
	var brief []string
	if v.Rivals {
		var sum Finding
		if _, brief, sum = v.ranks(); len(v.Groups) > most && len(brief) > 0 {
			return strings.TrimSuffix(sum.Lead+" "+sum.Text, ".")
		}
	} else {
		f := v.across()
		brief = []string{strings.TrimSuffix(f.Lead+" "+f.Text, ".")}
	}
	if len(brief) == 0 {
		return "No two rows can be ranked"
	}
	return strings.Join(brief, ". ")
}

// violation says what has happened in a cell whose lock claims to exclude.
func violation(c *results.Cell) string {
	what := OtherWitnesses(c)
	if n := c.Safety.Violations; n > 0 {
		what = fmt.Sprintf("%s of %s came while another client held the lock", format.Count(n), format.Plural(c.Safety.Grants, "grant"))
	}
	if ended := Ended(c.Safety); ended != "" && !strings.Contains(what, ended) {
		what += "; " + ended
	}
	return what
}

// verdictOn returns the verdict on one cell: how many locks a second, how long the slowest wait, whether it excluded, and why that
// is not to be quoted.
func verdictOn(c *results.Cell) Finding {
	if c.Counts.Acquired == 0 {
		return Finding{Kind: Warn, Text: strings.TrimPrefix(c.Partial()+": no lock was granted", ": ")}
	}
	parts := []string{metric.PerSecond.Format(c.Rate.Median) + " locks/s"}
	l := c.Latency[Waiting(c)]
	if t := l.Quantile(0.99); !math.IsNaN(t) {
		parts = append(parts, fmt.Sprintf("1 %s in 100 takes over %s", waitNoun(c), metric.Duration.Format(t)))
	} else {
		parts = append(parts, fmt.Sprintf("the longest %s took %s", waitNoun(c), format.Duration(l.Max)))
	}
	if _, bounded := c.Figures().MaxRate(); bounded && c.Breaches() == 0 {
		text := "no violation was seen"
		if c.Plan().Shared {
			text += " among its own clients"
		}
		parts = append(parts, text)
	} else if c.Breaches() > 0 {
		parts = append(parts, "two clients at a time held a lock, and its design does not rule that out")
	}
	n := c.Counts
	for _, lost := range []struct {
		n    int64
		what string
	}{{n.Contended, "were refused"}, {n.TimedOut, "gave up"}, {n.Failed(), "failed"}} {
		if part := float64(lost.n) / float64(lost.n+n.Acquired); part >= 0.01 {
			parts = append(parts, format.Percent(part)+" "+lost.what)
		}
	}
	kind, why := Note, unquotable(c)
	if why != "" {
		kind, parts = Warn, append(parts, why)
	}
	return Finding{Kind: kind, Text: strings.Join(parts, "; ")}
}

// waitNoun is what a client of a cell waits for. Where many are refused it is a grant: their waits are not among these.
func waitNoun(c *results.Cell) string {
	n := c.Counts
	switch refused := n.Contended + n.TimedOut; {
	case TriesOnce(c.Plan()), refused > 0 && 100*refused >= n.Acquired:
		return "grant"
	case Waiting(c) == results.Response:
		return "answer"
	}
	return "wait"
}

// unquotable returns why the figures of a cell are not to be quoted as those of its lock: what weighs most; empty if they are.
func unquotable(c *results.Cell) string {
	by := c.Limit().By
	if all := doubts(c); len(all) > 0 {
		if all[0].name == "saturated" && by == results.ByRate {
			return "lockbench's machine delayed it: don't quote the waits"
		}
		return all[0].quote
	}
	switch {
	case by.Busy():
		return "lockbench's machine was the limit: don't quote it"
	case by == results.ByErrors:
		return "requests that failed were the limit: don't quote it"
	}
	return ""
}
