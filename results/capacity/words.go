package capacity

// What an answer comes to, in sentences.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
)

// noisy is the scatter between trials from which the intervals are said to be wide because of it.
const noisy = 0.08

// verdict returns the answer in one sentence that can be quoted, or why there is none.
func verdict(a *Answer) string {
	if len(a.Candidates) == 0 {
		return "no answer: there was nothing to compare"
	}
	best := &a.Candidates[0]
	text := ""
	if n := slices.IndexFunc(a.Candidates, func(c CandidateAnswer) bool { return c.Verdict == Violated }); n >= 0 {
		text = fmt.Sprintf("do not use %s: two clients held a key at once", a.Candidates[n].Name)
		if len(a.Candidates) == 1 {
			return text
		}
		text += "; "
	}
	switch {
	case best.Verdict == Sustains && a.Rate > 0:
		response := a.response(best)
		if best.missed(a.SLO) { // at that very rate by chance, and not in the trials above it
			response = a.SLO
		}
		return text + fmt.Sprintf("%s carries %s/s with %s%s", best.Name, format.Three(a.Rate), response, upTo(a, best))
	case best.Verdict == Sustains:
		return text + fmt.Sprintf("%s carries the most under %s: %s", best.Name, a.SLO, sustained(best))
	case a.Verdict == RulesOut:
		return a.ruledOut(best)
	case best.Verdict == Failed:
		return text + "no answer: no trial of " + best.Name + " worked: " + best.Why
	}
	if a.Rate > 0 {
		text += fmt.Sprintf("no answer to whether %s/s are carried under %s", format.Three(a.Rate), a.SLO)
	} else {
		text += "no answer to what is carried under " + a.SLO
	}
	closest := best
	for i := range a.Candidates {
		if c := &a.Candidates[i]; len(c.Response) > 0 && (len(closest.Response) == 0 || slices.Compare(c.Response, closest.Response) < 0) {
			closest = c
		}
	}
	switch n := len(a.Candidates); {
	case len(closest.Response) > 0 && n > 1:
		text += fmt.Sprintf(": %s; of %d designs %s came closest, with %s at %s/s", best.Why, n, closest.Name, a.response(closest), format.Three(a.Rate))
	case len(closest.Response) > 0:
		text += fmt.Sprintf(": %s; %s had %s at %s/s", best.Why, best.Name, a.response(best), format.Three(a.Rate))
	case n > 1:
		text += fmt.Sprintf(": of the best of %d designs, %s, %s", n, best.Name, best.Why)
	default:
		text += ": of " + best.Name + " " + best.Why
	}
	if best.AtLeast && best.Sustains.Low > 0 && !strings.Contains(best.Why, " carried ") {
		text += fmt.Sprintf("; %s carried %s all the same", best.Name, sustained(best))
	}
	if best.Remedy != "" {
		text += "; " + best.Remedy
	}
	return text
}

// response returns the response of a candidate at the rate that is asked for, by each objective.
func (a *Answer) response(c *CandidateAnswer) string {
	slo, err := ParseSLO(a.SLO)
	if err != nil || len(c.Response) != len(slo.Objectives) {
		return a.SLO
	}
	var list []string
	for i, o := range slo.Objectives {
		name, _, _ := strings.Cut(o.String(), "<")
		list = append(list, fmt.Sprintf("%s %s (%s allowed)", strings.Replace(name, ".", " ", 1), format.Duration(c.Response[i]), format.Exact(o.Limit)))
	}
	return format.And(list)
}

// missed reports whether the responses at the rate that is asked for broke an objective.
func (c *CandidateAnswer) missed(objectives string) bool {
	slo, err := ParseSLO(objectives)
	for i, took := range c.Response {
		if err == nil && i < len(slo.Objectives) && took > slo.Objectives[i].Limit {
			return true
		}
	}
	return false
}

// upTo says how far beyond the rate that is asked for a candidate goes, as far as that is known.
func upTo(a *Answer, c *CandidateAnswer) string {
	switch {
	case !c.AtLeast:
		return ", up to " + sustained(c)
	case c.Sustains.Low > a.Rate:
		return ", and " + sustained(c)
	}
	return ""
}

// sustained returns the rate of c in words.
func sustained(c *CandidateAnswer) string {
	if c.AtLeast {
		return fmt.Sprintf("%s/s or more", format.Three(c.Sustains.Low))
	}
	return fmt.Sprintf("%s/s (%s)", format.Three(c.Sustains.Mid), between(c.Sustains))
}

// ruledOut says that no candidate carries the load, and what would be possible.
func (a *Answer) ruledOut(best *CandidateAnswer) string {
	asked := "the load"
	if a.Rate > 0 {
		asked = format.Three(a.Rate) + "/s under " + a.SLO
	}
	for _, n := range a.Analysis {
		if n.Impossible == "" {
			continue
		}
		var fits []string
		if n.Ceiling > 0 {
			fits = append(fits, fmt.Sprintf("up to %s/s", format.Three(n.Ceiling)))
		}
		if n.FitsHold > 0 {
			fits = append(fits, "a hold of "+format.Duration(n.FitsHold))
		}
		if n.FitsShare > 0 && n.FitsShare < n.Hottest {
			fits = append(fits, fmt.Sprintf("no more than %s of the arrivals on one key", format.Percent(n.FitsShare)))
		}
		text := "no lock carries " + asked
		if len(fits) == 0 {
			return text + ": " + n.Impossible
		}
		return text + "; what fits on paper is " + strings.Join(fits, ", or ")
	}
	if len(a.Candidates) == 1 {
		return fmt.Sprintf("%s does not carry %s: %s", best.Name, asked, best.Why)
	}
	return fmt.Sprintf("none of %d designs carries %s: of the best, %s, %s", len(a.Candidates), asked, best.Name, best.Why)
}

// breaks returns what breaks first if the load of the best candidate grows.
func breaks(a *Answer) string {
	if len(a.Candidates) == 0 {
		return ""
	}
	best := &a.Candidates[0]
	for _, r := range best.Resources {
		if r.Full.Mid <= 0 {
			continue
		}
		is := "is"
		if strings.HasSuffix(r.Name, "s") { // clients, connections
			is = "are"
		}
		text := fmt.Sprintf("The %s of %s %s used up first, at %s/s (%s)", r.Name, best.Name, is, format.Three(r.Full.Mid), between(r.Full))
		if best.Sustains.Mid > 0 && best.Sustains.Mid < r.Full.Low {
			text += fmt.Sprintf("; its queue breaks %s before that, at %s/s", cmp.Or(best.Binding, a.SLO), format.Three(best.Sustains.Mid))
		}
		return text + "."
	}
	return ""
}

// unseen says what is too rare to have been seen: what happens at random once in a time T/3 is missed in a time T with a
// probability of 5 %.
func unseen(a *Answer) string {
	if len(a.Candidates) == 0 {
		return ""
	}
	best := &a.Candidates[0]
	measured := 0.0
	for _, p := range best.Points {
		if p.Left == "" && p.Rate > 0 {
			measured += float64(p.Arrivals) / p.Rate
		}
	}
	switch {
	case len(best.Points) == 0:
		return ""
	case measured == 0:
		return fmt.Sprintf("No trial of %s counts, so that nothing rare can have been seen.", best.Name)
	}
	each := time.Duration(measured / 3 * float64(time.Second))
	return fmt.Sprintf("%s was measured for %s in all: nothing rarer than once in %s can have been seen.",
		best.Name, format.Duration(3*each), format.Duration(each))
}

// warnings returns what changes how the figures are read.
func (s *Search) warnings(a *Answer) (list []string) {
	say := func(text string, args ...any) { list = append(list, fmt.Sprintf(text, args...)) }
	names := func(is func(t *track) bool) string {
		var names []string
		for _, t := range s.tracks {
			if is(t) {
				names = append(names, t.c.Name)
			}
		}
		return format.Few(names, 3)
	}
	if who := names(func(t *track) bool { _, opened := arrivalShares(&t.c.Plan); return opened }); who != "" {
		say("no class of the load is open: all are, in the proportions in which their clients would ask for locks, and think times are left out")
	}
	if who := names(func(t *track) bool { return holds(&t.c.Plan).guessed }); who != "" {
		say("holds that are read from a file count as exponential in the analysis")
	}
	if who := names(func(t *track) bool { return t.shares(func(k string) bool { return k == "private" || k == "embedded" }) }); who != "" {
		say("the server ran on the same %s as lockbench: rates are those of both together", format.Plural(a.Env.CPUs, "core"))
	}
	if who := names(func(t *track) bool { return t.crowded() != "" }); who != "" {
		say("other programs kept this machine busy in the trials of %s: rates are those beside them", who)
	}
	if who := names((*track).localLine); who != "" {
		say("%s: clients of one process stand in a local line, and there were lines for %s (-lockers): more processes contend more",
			who, s.lockers())
	}
	if who := names(func(t *track) bool { return t.fits != nil && t.fits[t.binding()].Noise().Mid >= noisy }); who != "" {
		say("the speed of %s differs by %s or more from trial to trial, so that its interval is wide", who, format.Percent(noisy))
	}
	left := map[string]int{}
	for _, t := range s.tracks {
		for _, o := range t.trials {
			if !t.shows(&o) {
				left[o.leftOf()]++
			}
		}
	}
	delete(left, "")
	for _, why := range slices.Sorted(maps.Keys(left)) {
		say("%s left out: %s", format.Plural(left[why], "trial"), why)
	}
	return list
}

// leftOf returns why a trial does not count, without its figures.
func (o *observed) leftOf() string {
	kind, _, _ := strings.Cut(o.left, ":")
	switch server := o.record.Server.Kind; {
	case kind != leftSaturated:
		return kind
	case server == "private" || server == "embedded":
		return "the machine was the limit, which lockbench and the server share"
	}
	return "lockbench or its machine was the limit"
}

// shares reports whether the server of t was of a kind.
func (t *track) shares(kind func(string) bool) bool {
	return slices.ContainsFunc(t.trials, func(o observed) bool { return kind(o.record.Server.Kind) })
}

// localLine reports whether clients of t have waited for each other within their process.
func (t *track) localLine() bool {
	return len(t.trials) > 0 && t.c.LocalLine ||
		slices.ContainsFunc(t.trials, func(o observed) bool { return o.record.Counts.LocalRefusals > 0 })
}

// lockers returns for how many processes there were lines.
func (s *Search) lockers() string {
	var counts []int
	for _, t := range s.tracks {
		if n := max(1, t.c.Plan.Lockers); t.localLine() && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	switch {
	case len(counts) > 1:
		return "as many processes as each has lockers"
	case counts[0] > 1:
		return fmt.Sprintf("%d processes alone", counts[0])
	}
	return "one process alone"
}
