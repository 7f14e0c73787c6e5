// Package capacitytest has answers of every kind, made by hand, for the tests of what draws them.
package capacitytest

import (
	"math"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/spec"
)

// Names are those of the answers, in a fixed order.
var Names = []string{
	"five", "one", "most", "clients", "paper", "violated", "undecided", "atleast", "partial", "failed", "crowd", "hostile", "nothing",
}

// Answer returns the answer of a name, made anew each time. It panics if there is none of that name.
func Answer(name string) *capacity.Answer {
	a := &capacity.Answer{
		Schema: capacity.AnswerVersion, SLO: "response.p99<20ms,errors<0.1%", Asked: 3000, Verdict: capacity.Sustains,
		Env:    results.Env{Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7B13", CPUs: 8, GOMAXPROCS: 8},
		Budget: 10 * time.Minute, Spent: 9 * time.Minute,
		Analysis: []capacity.Analysis{{Load: "keys 100, key-dist zipf:1.1, hold 1ms", Hold: time.Millisecond, Hottest: 0.234, Busy: 0.702,
			Stable: 4274, Ceiling: 3690}},
	}
	one := func(name string, v capacity.Verdict, factor float64, why capacity.Reason) {
		c := candidate(name, v, factor)
		c.Why = why
		a.Candidates = append(a.Candidates, c)
	}
	one("rueidis queue", capacity.Sustains, 1, capacity.Reason{})
	best, undecided := &a.Candidates[0], capacity.Undecided
	switch name {
	case "five":
		one("rueidis set-nx (wait pubsub)", capacity.Sustains, 0.92, capacity.Reason{})
		one("go-redis set-nx (wait backoff)", undecided, 0.88, capacity.Reason{Code: capacity.Within, Low: 2903, High: 3203})
		one("etcd", capacity.RulesOut, 0.21, capacity.Reason{Code: capacity.ServerFull, Level: 764, Cores: 0.97, Of: 1})
		one("postgres advisory", capacity.RulesOut, 0.5, capacity.Reason{Code: capacity.AtMost, Level: 1822})
		a.Warnings = []capacity.Reason{{Code: capacity.SharedHost, Of: 8}}
		a.Skipped = []string{"mysql get-lock: no server: mysqld is not installed"}
	case "one":
		a.SLO = "response.p99<20ms,response.p99.9<50ms"
		best.Response = append(best.Response, 31*time.Millisecond)
	case "most":
		one("etcd", capacity.Sustains, 0.21, capacity.Reason{})
		a.Asked, a.Analysis[0].Busy, a.Candidates[0].Headroom, a.Candidates[1].Headroom = 0, 0, 0, 0
	case "clients":
		a.Axis, a.SLO, a.Asked, a.Most = capacity.Clients, "acquire.p95<500ms,errors<1%", 0, 400
		best.Sustains, best.Headroom, best.Response = capacity.Range{Low: 41, Mid: 44.2, High: 47}, 0, []time.Duration{471 * time.Millisecond}
		best.Points = nil
	case "paper":
		n := &a.Analysis[0]
		n.Hold, n.Load, n.Busy, n.Stable, n.Ceiling = 5*time.Millisecond, "keys 100, key-dist zipf:1.1, hold 5ms", 3.51, 856, 582
		n.Impossible = capacity.Reason{Code: capacity.Impossible, Share: 3.51}
		n.FitsHold = 971 * time.Microsecond
		a.Verdict, a.Spent, a.Candidates = capacity.RulesOut, 0, nil
		for _, name := range []string{"rueidis queue", "etcd"} {
			a.Candidates = append(a.Candidates, untried(name, capacity.RulesOut, n.Impossible))
		}
	case "violated":
		one("redsync", capacity.Violated, 1.2, capacity.Reason{Code: capacity.Broken, N: 3})
		a.Candidates[1].Traits = results.Traits{Expires: true}
		a.Candidates[1].Wrong = "a majority of clocks that drift grants a lock twice; its default options drop the check"
		a.Verdict = capacity.Violated
	case "undecided":
		a.Verdict, best.Verdict, best.Why = undecided, undecided, capacity.Reason{Code: capacity.Within, Low: 2970, High: 3276}
	case "atleast":
		best.Why = capacity.Reason{Code: capacity.Machine, Cores: 1.97, Of: 2, Level: 51_300}
		best.AtLeast, best.Sustains, best.Headroom = true, capacity.Range{Low: 51_300}, 0
		best.Server, best.Cost = results.Server{Kind: "in-process"}, results.UnknownCost()
		best.Resources = []capacity.Resource{{Name: "generator", Demand: around(38e-6, 0.03), Units: 2, Full: around(52_600, 0.03)}}
		a.Asked, a.Verdict, best.Verdict = 100_000, undecided, undecided
	case "partial":
		a.Verdict, a.Partial, a.Spent = undecided, "stopped by interrupt", 40*time.Second
		best.Verdict, best.Why, best.Points = undecided, capacity.Reason{Code: capacity.Unconfirmed}, best.Points[:3]
	case "failed":
		a.Verdict = undecided
		a.Candidates = []capacity.CandidateAnswer{
			untried("etcd", capacity.Failed, capacity.Reason{Code: capacity.Partial, Text: "etcd: acquire: context deadline exceeded"}),
			untried("redsync", undecided, capacity.Reason{Code: capacity.Untried})}
	case "crowd":
		for i := range 11 {
			one("rueidis "+strings.Repeat("set-nx ", 1+i/4)+"(wait "+string(rune('a'+i))+")", capacity.RulesOut, 0.9-0.05*float64(i),
				capacity.Reason{Code: capacity.AtMost, Level: 2900})
		}
	case "hostile":
		const evil = "`x`](http://e.example)|**b**<script>alert(1)</script>\"'&\x00\x1b[31m\u202e::error::y\nz"
		text := capacity.Reason{Text: evil}
		one(strings.Repeat("very-long-name-", 20), capacity.RulesOut, 0.5, capacity.Reason{Text: strings.Repeat("because ", 60)})
		best = &a.Candidates[0]
		best.Name, best.Verdict, best.Why, best.Wrong, best.Points[0].Left, best.Resources[0].Name = evil, undecided, text, evil, text, evil
		a.SLO, a.Partial, a.Warnings, a.Skipped, a.Env.CPU, a.Verdict = evil, evil, []capacity.Reason{text}, []string{evil}, evil, undecided
		a.Analysis[0].Load, a.Analysis[0].Impossible = evil, text
	case "nothing":
		return &capacity.Answer{Schema: capacity.AnswerVersion}
	default:
		panic("capacitytest: no answer " + name)
	}
	return a
}

// around is an estimate whose interval reaches so far on both sides, as a share of it.
func around(mid, part float64) capacity.Range {
	return capacity.Range{Low: mid * (1 - part), Mid: mid, High: mid * (1 + part)}
}

// candidate returns one that sustains about 3,470/s, times factor.
func candidate(name string, v capacity.Verdict, factor float64) capacity.CandidateAnswer {
	full := 4270 * factor
	c := capacity.CandidateAnswer{
		Name: name, Verdict: v, Traits: results.Traits{Exclusive: true, Owned: true, Expires: true, Wakes: true},
		Wrong:  "a holder that is paused beyond its lease works on without the lock; the queue is not fair to newcomers",
		Server: results.Server{Kind: "private", Name: "redis", Version: "7.0.15"},
		Plan: spec.Plan{Driver: strings.Fields(name)[0], Lock: "queue", Wait: "queue", Load: spec.Load{Clients: 64, Hold: time.Millisecond},
			Keys: 100, Server: "private", Command: "lockbench run -driver rueidis -lock queue -wait queue"},
		Sustains: around(3470*factor, 0.05), Headroom: 3300 * factor / 3000, Response: []time.Duration{9310 * time.Microsecond},
		Occupies: around(1.08e6, 0.02), Cost: results.UnknownCost(),
		Resources: []capacity.Resource{
			{Name: "hottest key", Demand: around(1/full, 0.03), Units: 1, Full: around(full, 0.03)},
			{Name: "server CPU", Demand: around(1/(6*full), 0.1), Units: 1, Full: around(6*full, 0.1)},
		},
	}
	lateAt := func(at float64) float64 { return min(1, 0.01*math.Exp(14*(at-1))) } // in the form of Kingman's
	for i, at := range []float64{0.55, 0.8, 0.97, 1.06, 1.16, 0.95} {
		stage := []capacity.Stage{capacity.StagePilot, capacity.StageSearch, capacity.StageConfirm}[i/2]
		c.Points = append(c.Points, capacity.Point{Level: 3470 * factor * at, Share: around(lateAt(at), 0.3), Arrivals: 14_000,
			P99: time.Duration(20e6 * math.Pow(lateAt(at)/0.01, 0.3)), Stage: stage})
	}
	c.Points[4].Left = capacity.Reason{Code: capacity.Machine, Cores: 7.9, Of: 8}
	return c
}

// untried returns a candidate without any trial.
func untried(name string, v capacity.Verdict, why capacity.Reason) capacity.CandidateAnswer {
	return capacity.CandidateAnswer{Name: name, Verdict: v, Why: why, Traits: results.Traits{Exclusive: true, Owned: true},
		Cost: results.UnknownCost()}
}
