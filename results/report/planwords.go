package report

// What a plan says, in words.

import (
	"cmp"
	"math"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// planLook is how a verdict is drawn.
func planLook(v capacity.Verdict) look {
	switch v {
	case capacity.Sustains:
		return look{"✓", Good}
	case capacity.RulesOut, capacity.Violated, capacity.Failed:
		return look{"✗", Bad}
	case capacity.Dropped:
		return look{"?", Plain}
	}
	return look{"?", Warn}
}

// planSentence returns the verdict of the whole in one sentence.
func planSentence(a *capacity.Answer) string {
	a = a.Known()
	text := strings.TrimSuffix(a.Advice, ".")
	if text == "" {
		text = format.Upper(planAsked(a)) + ": " + cmp.Or(string(a.Verdict), string(capacity.Undecided))
	}
	if a.Partial != "" {
		text += " (" + a.Partial + ")"
	}
	return format.Line(text)
}

// planAsked returns the question: "3,000/s under response.p99<20ms".
func planAsked(a *capacity.Answer) string {
	switch {
	case a.SLO == "":
		return "the load"
	case a.Rate > 0:
		return format.Line(RateText(a.Rate) + " under " + a.SLO)
	}
	return format.Line("the most under " + a.SLO)
}

// RateText formats a rate; a dash is one that is not known.
func RateText(rate float64) string {
	if rate <= 0 {
		return format.None
	}
	return format.Three(rate) + "/s"
}

// intervalText formats the ends of an estimate, in a form that writes a number with its unit behind a blank or nothing.
func intervalText(r capacity.Range, write func(float64) string) string {
	if r.IsZero() || r.High <= 0 {
		return format.None
	}
	low, high := write(r.Low), write(r.High)
	if low == high {
		return high
	}
	if i := strings.LastIndexByte(high, ' '); i > 0 {
		low = strings.TrimSuffix(low, high[i:])
	}
	return low + "–" + high
}

// sustained returns the rate of a candidate with its interval: "3,470/s (3,300–3,640)".
func sustained(c capacity.CandidateAnswer) string {
	switch {
	case c.AtLeast && c.Sustains.Low > 0:
		return "at least " + RateText(c.Sustains.Low)
	case c.Sustains.Mid <= 0:
		return "no rate that is known"
	}
	return rateRange(c.Sustains)
}

// rateRange formats a rate with its interval: "3,470/s (3,300–3,640)".
func rateRange(r capacity.Range) string {
	return withInterval(RateText(r.Mid), format.Three(r.Mid), intervalText(r, format.Three))
}

// shareRange formats a share with its interval: "0.6 % (0.4–0.9 %)".
func shareRange(r capacity.Range) string {
	if r.IsZero() {
		return format.None
	}
	mid := format.Percent(r.Mid)
	return withInterval(mid, mid, intervalText(r, format.Percent))
}

// withInterval adds an interval that says more than its middle.
func withInterval(text, mid, reach string) string {
	if reach == format.None || reach == mid {
		return text
	}
	return text + " (" + reach + ")"
}

// unitsText formats how many units there are of a resource.
func unitsText(units float64) string {
	switch {
	case units <= 0:
		return format.None
	case units == math.Trunc(units) && units < 1e15:
		return format.Count(int64(units))
	}
	return format.Three(units)
}

// analysisText returns what is known of a load without a server, in two or three sentences.
func analysisText(an capacity.Analysis, rate float64) string {
	var all []string
	if an.Impossible != "" {
		all = append(all, "Impossible: "+an.Impossible+".")
	}
	// A key that is not held has no limit but that of all rates.
	limited := an.Stable > 0 && an.Stable < spec.MaxRate
	if an.Impossible == "" && an.Hottest > 0 {
		text := "The hottest key takes " + format.Percent(an.Hottest) + " of the arrivals"
		if rate > 0 && an.Busy > 0 {
			text += " and is busy " + format.Percent(an.Busy) + " of the time at " + RateText(rate)
		}
		all = append(all, text+".")
	}
	key := "It"
	if an.Impossible != "" || an.Hottest <= 0 {
		key = "The hottest key"
	}
	if limited {
		all = append(all, key+" is always busy from "+RateText(an.Stable)+".")
	}
	fifo := "free hand-off"
	if an.RoundTrip > 0 {
		fifo = "hand-offs of " + format.Duration(an.RoundTrip)
	}
	switch {
	case an.Ceiling > 0 && limited && an.Rough != "":
		all = append(all, "A FIFO lock with "+fifo+" may meet the SLO up to about "+RateText(an.Ceiling)+", a rough guess, since "+an.Rough+".")
	case an.Ceiling > 0 && limited:
		all = append(all, "A FIFO lock with "+fifo+" meets the SLO up to "+RateText(an.Ceiling)+".")
	case an.Ceiling == 0 && limited:
		all = append(all, "A FIFO lock with "+fifo+" meets the SLO at no rate.")
	}
	text := strings.Join(all, " ")
	if an.Load != "" {
		text = strings.TrimSpace(an.Load + ". " + text)
	}
	return text
}

// planClaims returns what a design guarantees.
func planClaims(c *capacity.CandidateAnswer) string {
	return cmp.Or(view.Claims(c.Traits), "guarantees nothing")
}

// planFirst returns the resource that saturates first: "hottest key at 4,270/s"; empty if it is not known.
func planFirst(c *capacity.CandidateAnswer) string {
	if len(c.Resources) == 0 {
		return ""
	}
	r := c.Resources[0]
	if r.Full.Mid <= 0 {
		return r.Name
	}
	return r.Name + " at " + RateText(r.Full.Mid)
}

// planBinding returns which of several objectives allows the lowest rate: the same one for all candidates, or that of each. It is
// empty if there is only one.
func planBinding(a *capacity.Answer) string {
	names := planGroups(a, func(c *capacity.CandidateAnswer) string { return c.Binding })
	var bindings []string
	for _, text := range names.Keys {
		if len(names.Keys) > 1 {
			text += " for " + format.Few(names.Of[text], view.NamedCells)
		}
		bindings = append(bindings, text)
	}
	return format.Line(strings.Join(bindings, "; "))
}

// planGroups returns the names of the candidates by what is said of them, but for those of which it is nothing.
func planGroups(a *capacity.Answer, say func(*capacity.CandidateAnswer) string) (names view.Grouped[string, string]) {
	for i := range a.Candidates {
		if text := say(&a.Candidates[i]); text != "" {
			names.Add(text, a.Candidates[i].Name)
		}
	}
	return names
}

// planWhy returns the verdict of a candidate with its reason: "ruled out: its upper end is below 3,000/s".
func planWhy(c *capacity.CandidateAnswer) string {
	text := string(c.Verdict)
	if c.Why != "" {
		text += ": " + c.Why
	}
	return text
}

// usedText formats how much of a resource is used.
func usedText(r capacity.Range) string {
	if r.IsZero() {
		return format.None
	}
	return format.Percent(r.Mid)
}

// planEffort returns how much was measured, on what.
func planEffort(a *capacity.Answer) string {
	trials := 0
	for _, c := range a.Candidates {
		trials += len(c.Points)
	}
	if trials == 0 {
		return ""
	}
	parts := []string{format.Plural(trials, "trial")}
	if a.Budget > 0 { // which counts a fixed time between trials
		parts = append(parts, "planned to take "+format.Duration(a.Spent)+" of the budget of "+format.Duration(a.Budget))
	}
	if a.Load.Lockers > 0 {
		parts = append(parts, format.Plural(a.Load.Lockers, "locker"))
	}
	if a.MaxRate > 0 {
		parts = append(parts, "no trial beyond "+RateText(a.MaxRate))
	}
	if a.Forced {
		parts = append(parts, "forced")
	}
	if a.Env.CPUs > 0 {
		parts = append(parts, view.CPU(a.Env))
	}
	return format.Join(parts...)
}

// planResponse returns the response at the rate that is asked for, by each objective.
func planResponse(c *capacity.CandidateAnswer) string {
	var list []string
	for _, took := range c.Response {
		list = append(list, format.Duration(took))
	}
	return strings.Join(list, ", ")
}

// planFacts returns what is known of a candidate beside its row and its tables.
func planFacts(c *capacity.CandidateAnswer) (all Facts) {
	add := func(label, text string) {
		if text != "" {
			all = append(all, Fact{Label: label, Lines: []string{format.Line(text)}})
		}
	}
	add("verdict", planWhy(c))
	add("remedy", c.Remedy)
	if c.Sustains.Mid > 0 || c.AtLeast {
		add("sustains", sustained(*c))
	}
	add("response", planResponse(c))
	add("limited by", c.Binding)
	if c.Floor > 0 {
		add("floor", format.Percent(c.Floor)+" of the arrivals are late at a low rate already")
	}
	if c.Occupies.Mid > 0 {
		add("occupies", "a key for "+intervalText(c.Occupies, metric.Duration.Format)+" a lock, "+format.Percent(c.Noise)+" scatter between trials")
	}
	add("waiting", c.Plan.Wait)
	add("claims", view.TraitWords(c.Traits))
	add("risk", c.Wrong)
	add("server", strings.TrimSpace(c.Server.Name+" "+c.Server.Version+" "+c.Server.Kind))
	add("command", c.Plan.Command)
	return all
}
