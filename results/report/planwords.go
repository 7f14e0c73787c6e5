package report

// The words of the reasons of a plan.

import (
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
)

const larger = "give it a larger -budget"

// planWords has what each reason says, with its figures in braces, and what to do about it if there is something.
var planWords = map[capacity.Code][2]string{
	capacity.Impossible: {"the hottest key would be held for {share} of the time",
		"shorten the hold, use more keys, or ask for less"},
	capacity.Rare:       {"a trial at {level}, which is possible on paper, sees too few arrivals", larger},
	capacity.Untried:    {"it was not tried", larger},
	capacity.AtMost:     {"it sustains {level} at the most", ""},
	capacity.ServerFull: {"it sustains {level} at the most: its server used {cores}", ""},
	capacity.Failing:    {"{share} of the arrivals fail at {level}, and {allowed} may", ""},
	capacity.Late:       {"{share} of the arrivals are late at {level}, and {allowed} may be", ""},
	capacity.Unproven:   {"too few arrivals to show that {allowed} fail: it takes {n}", larger},
	capacity.Others:     {"other programs of this machine used {cores}", "let nothing else run on this machine"},
	capacity.Host:       {"the host of this machine gave others {cores}", "use a machine whose cores are its own"},
	capacity.Machine: {"this machine is too small: lockbench and its server used {cores}",
		"use a larger machine, or a server elsewhere"},
	capacity.Slow:        {"lockbench sent {time} late, and used {cores}", "allow more time, or fewer arrivals at once"},
	capacity.Within:      {"{asked} lies within its interval, {low} to {high}", larger},
	capacity.Refuted:     {"fresh trials at {level} broke the objective", larger},
	capacity.Unconfirmed: {"the budget ended before fresh trials confirmed it", larger},
	capacity.Chance:      {"just above what is asked for, by chance among {n} candidates", larger},
	capacity.Broken:      {"two clients held a key at once, {n} times", ""},
	capacity.SharedHost:  {"the server shared {of} with lockbench", ""},
	capacity.LeftOut:     {"trials left out: {n}, {text}", ""},
}

// PlanReason returns a reason in words, and what to do about it if there is something.
func PlanReason(a *capacity.Answer, r capacity.Reason) (why, next string) {
	words, coded := planWords[r.Code]
	if !coded {
		return r.Text, ""
	}
	level := func(v float64) string { return PlanLevel(a.Axis, v) }
	of := format.Plural(int(r.Of), "core")
	return strings.NewReplacer("{asked}", level(a.Asked), "{level}", level(r.Level), "{low}", level(r.Low),
		"{high}", level(r.High), "{share}", format.Percent(r.Share), "{allowed}", format.Percent(r.Allowed),
		"{cores}", format.Three(r.Cores)+" of "+of, "{of}", of, "{time}", format.Duration(r.Time),
		"{n} times", format.Plural(r.N, "time"), "{n}", format.Count(r.N), "{text}", r.Text).Replace(words[0]), words[1]
}
