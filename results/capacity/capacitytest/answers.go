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

const (
	slo    = "response.p99<20ms,errors<0.1%"
	unseen = "Nothing rarer than once in 14 s can have been seen: each candidate was confirmed for 42 s."
)

// Names are those of the answers, in a fixed order.
var Names = []string{
	"five", "one", "most", "paper", "noslo", "violated", "undecided", "atleast", "partial", "floor", "failed", "crowd", "hostile", "wild", "nothing",
}

// Answer returns the answer of a name, made anew each time. It panics if there is none of that name.
func Answer(name string) *capacity.Answer {
	a := &capacity.Answer{
		Schema: capacity.AnswerVersion, SLO: slo, Rate: 3000,
		Load:     spec.Plan{Load: spec.Load{Hold: time.Millisecond, Arrival: "poisson", TTL: 30 * time.Second}, Keys: 100, Lockers: 8, Server: "private"},
		Env:      results.Env{Lockbench: "v0.1.0", Go: "go1.26.8", OS: "linux", Arch: "amd64", CPU: "AMD EPYC 7B13", CPUs: 8, GOMAXPROCS: 8},
		Budget:   10 * time.Minute,
		Spent:    9*time.Minute + 10*time.Second,
		Analysis: []capacity.Analysis{analysis()},
		Unseen:   unseen,
	}
	best := candidate("rueidis queue", capacity.Sustains, 1)
	switch name {
	case "five":
		a.Verdict = capacity.Sustains
		a.Candidates = []capacity.CandidateAnswer{
			best,
			candidate("rueidis set-nx (wait pubsub)", capacity.Sustains, 0.92),
			candidate("go-redis set-nx (wait backoff)", capacity.Undecided, 0.88),
			candidate("etcd", capacity.RulesOut, 0.21),
			candidate("postgres advisory", capacity.Dropped, 0.5),
		}
		a.Candidates[2].Remedy = "give it a larger budget"
		a.Candidates[2].Why = "the interval from 2,903/s to 3,203/s holds 3,000/s; 16 more trials would tell"
		a.Candidates[3].Why = "its upper end, 764/s, is below 3,000/s"
		a.Candidates[3].Traits = results.Traits{Exclusive: true, Owned: true, Session: true, Fenced: true, Fair: true}
		a.Candidates[3].Wrong = "a session that a pause outlasts frees the lock while its holder works; keys are not fenced by themselves"
		a.Candidates[3].Resources[0], a.Candidates[3].Resources[1] = a.Candidates[3].Resources[1], a.Candidates[3].Resources[0]
		a.Candidates[4].Why = "others did better after 4 trials"
		a.Candidates[4].Traits = results.Traits{Exclusive: true, Owned: true, Session: true}
		a.Candidates[4].Wrong = "needs a connection a holder"
		a.Advice = "rueidis queue carries 3,000/s with response p99 9.31 ms (20 ms allowed), up to 3,470/s (3,300 to 3,640/s)"
		a.Breaks = "The hottest key is full first, at 4,270/s (4,120 to 4,430)."
		a.Warnings = []string{"the machine was noisy (9 % between trials): intervals are wider for it"}
		a.Skipped = []string{"mysql get-lock: no server: mysqld is not installed"}
	case "one":
		a.SLO, best.Binding = "response.p99<20ms,response.p99.9<50ms", "response.p99<20ms"
		a.Verdict, a.Candidates = capacity.Sustains, []capacity.CandidateAnswer{best}
		a.Advice = "rueidis queue carries 3,000/s with response p99 9.31 ms (20 ms allowed), up to 3,470/s (3,300 to 3,640/s)"
		a.Breaks = "The hottest key is full first, at 4,270/s (4,120 to 4,430)."
	case "most":
		a.Rate, a.Analysis[0].Busy = 0, 0
		best.Headroom = 0
		second := candidate("etcd", capacity.Sustains, 0.21)
		second.Headroom = 0
		a.Verdict, a.Candidates = capacity.Sustains, []capacity.CandidateAnswer{best, second}
		a.Advice = "rueidis queue carries the most, 3,300/s at least."
		a.Breaks = "The hottest key is full first, at 4,270/s (4,120 to 4,430)."
	case "paper", "noslo":
		an := &a.Analysis[0]
		a.Load.Hold, an.Hold, an.Load = 5*time.Millisecond, 5*time.Millisecond, "zipf:1.1 on 100 keys, hold 5 ms"
		a.Spent = 0
		an.Hottest, an.Busy, an.Stable, an.Ceiling = 0.234, 3.51, 856, 582
		an.Impossible = "the hottest key gets 23 % of the arrivals and would have to be held for 351 % of the time"
		an.FitsHold, an.FitsShare = 971*time.Microsecond, 0.0454
		a.Verdict, a.Unseen = capacity.RulesOut, ""
		a.Advice = "Ask for less, or for a looser objective: what fits on paper is up to 582/s, or a hold of 971 µs, or no more than 4.5 % of the arrivals on one key."
		a.Candidates = []capacity.CandidateAnswer{untried("rueidis queue", capacity.RulesOut, an.Impossible), untried("etcd", capacity.RulesOut, an.Impossible)}
		if name == "noslo" {
			// An SLO that no rate meets, and nothing that would help.
			*an = capacity.Analysis{Load: "uniform on 1 key, hold 25 ms", Hold: 25 * time.Millisecond, Hottest: 1, Busy: 75, Stable: 40,
				Impossible: "a lock that comes free is as late as the SLO allows"}
			a.Candidates = a.Candidates[:1]
			a.Candidates[0].Why = "no lock can carry the load"
			a.Advice = ""
		}
	case "violated":
		broken := candidate("redsync", capacity.Violated, 1.2)
		broken.Why = "3 of 61,022 grants came while another client held the lock"
		broken.Traits = results.Traits{Expires: true}
		broken.Wrong = "a majority of clocks that drift grants a lock twice; its default options drop the check"
		a.Verdict, a.Candidates = capacity.Violated, []capacity.CandidateAnswer{best, broken}
		a.Advice = "Do not take redsync: two clients held a key at once. rueidis queue carries the load."
		a.Breaks = "The hottest key is full first, at 4,270/s (4,120 to 4,430)."
	case "undecided":
		c := candidate("rueidis queue", capacity.Undecided, 0.9)
		c.Why = "the interval from 2,970/s to 3,276/s holds 3,000/s"
		a.Verdict, a.Candidates = capacity.Undecided, []capacity.CandidateAnswer{c}
		a.Advice = "Nothing can be told yet: -budget 20m would halve the interval."
	case "atleast":
		c := candidate("memory mutex", capacity.Undecided, 20)
		c.AtLeast, c.Sustains = true, capacity.Range{Low: 51_300}
		c.Headroom = 0 // as of all that is not decided since lockbench was the limit
		c.Why = "lockbench used 1.97 of 2 cores: it was the limit"
		c.Server, c.Cost.Commands, c.Cost.ServerCPUUs, c.Conns = results.Server{Kind: "in-process"}, -1, -1, 0
		c.Resources = []capacity.Resource{{Name: "generator", Demand: around(38e-6, 0.03), Units: 2, Used: around(0.975, 0.03), Full: around(52_600, 0.03)}}
		a.Rate, a.Analysis[0].Busy = 100_000, 0.8
		a.Verdict, a.Candidates = capacity.Undecided, []capacity.CandidateAnswer{c}
		a.Advice = "Make the load on another machine: this one carries no more."
	case "partial":
		c := candidate("rueidis queue", capacity.Undecided, 1)
		c.Why = "3 of its trials are done"
		c.Points = c.Points[:3]
		a.Verdict, a.Candidates, a.Partial, a.Spent = capacity.Undecided, []capacity.CandidateAnswer{c}, "stopped by interrupt", 40*time.Second
		a.Advice = "Go on: the same command with the same -o file takes up where this one ended."
	case "floor":
		a.Analysis[0].Rough = "clients have keys of their own, where no two of them meet"
		c := candidate("rueidis queue", capacity.RulesOut, 0.2)
		c.Sustains, c.Headroom, c.Floor = capacity.Range{}, 0, 0.08
		c.Why = "8.0 % of the arrivals are late at 382/s already"
		c.Curve = nil
		c.Points = c.Points[:2]
		for i := range c.Points {
			c.Points[i].Share = around(0.08, 0.06)
		}
		a.Verdict, a.Candidates = capacity.RulesOut, []capacity.CandidateAnswer{c}
		a.Advice = "Look for what stops the server for 100 ms each second before you look at locks."
	case "failed":
		a.Verdict, a.Unseen = capacity.Failed, ""
		a.Candidates = []capacity.CandidateAnswer{untried("etcd", capacity.Failed, "etcd: acquire: context deadline exceeded"), untried("redsync", capacity.Undecided, "it was not tried")}
	case "crowd":
		for i, lock := range []string{"set-nx", "set-nx-get-del", "reentrant-count", "redisson", "fenced", "fair"} {
			for j, wait := range []string{"backoff", "queue, handover release"} {
				v := capacity.Sustains
				if i > 0 {
					v = capacity.Dropped
				}
				c := candidate("rueidis "+lock+" (wait "+wait+")", v, 1.5-0.2*float64(i)-0.1*float64(j))
				if i > 0 {
					c.Why = "others did better after 4 trials"
				}
				a.Candidates = append(a.Candidates, c)
			}
		}
		a.Verdict, a.Advice = capacity.Sustains, "Use rueidis set-nx (wait backoff)."
	case "hostile":
		const evil = "`x`](http://e.example)|**b**<script>alert(1)</script>\"'&\x00\x1b[31m\u202e::error::y\nz"
		c, long := candidate(evil, capacity.Undecided, 1), candidate(strings.Repeat("very-long-name-", 20), capacity.RulesOut, 0.5)
		c.Why, c.Wrong, long.Why = evil, evil, strings.Repeat("because ", 60)
		c.Points[0].Left = evil
		c.Resources[0].Name = evil
		a.Load.Driver, a.SLO, a.Partial, a.Advice, a.Breaks, a.Unseen = evil, evil, evil, evil, evil, evil
		a.Warnings, a.Skipped, a.Analysis[0].Load, a.Analysis[0].Impossible, a.Env.CPU = []string{evil}, []string{evil}, evil, evil, evil
		a.Analysis[0].Rough = evil
		a.Verdict, a.Candidates = capacity.Undecided, []capacity.CandidateAnswer{c, long}
	case "wild":
		nan, inf := math.NaN(), math.Inf(1)
		wild := capacity.Range{Low: nan, Mid: inf, High: -inf}
		c := candidate("rueidis queue", capacity.Sustains, 1)
		c.Sustains, c.Occupies, c.Headroom, c.Noise, c.Floor = wild, wild, inf, nan, inf
		c.Cost = results.Cost{Commands: nan, ServerCPUUs: inf}
		c.Resources = []capacity.Resource{{Name: "clients", Demand: wild, Units: nan, Used: wild, Full: wild}}
		c.Points = []capacity.Point{{Rate: nan, Share: wild}, {Rate: inf, Share: wild, Stage: capacity.StageSearch}, {Rate: 100, Share: wild, P99: time.Second}}
		c.Curve = []capacity.Point{{Rate: nan, Share: wild}, {Rate: 10, Share: capacity.Range{Mid: inf}}}
		a.Rate, a.MaxRate, a.Verdict, a.Candidates = nan, inf, capacity.Sustains, []capacity.CandidateAnswer{c}
		a.Analysis = []capacity.Analysis{{Load: "x", Hottest: nan, Busy: inf, Stable: inf, Ceiling: nan, FitsShare: nan}}
	case "nothing":
		return &capacity.Answer{Schema: capacity.AnswerVersion}
	default:
		panic("capacitytest: no answer " + name)
	}
	return a
}

func analysis() capacity.Analysis {
	return capacity.Analysis{Load: "zipf:1.1 on 100 keys, hold 1 ms", Hold: time.Millisecond, RoundTrip: 60 * time.Microsecond,
		Hottest: 0.234, Busy: 0.744, Stable: 4031, Ceiling: 3690}
}

// around is an estimate whose interval reaches so far on both sides, as a share of it.
func around(mid, part float64) capacity.Range {
	return capacity.Range{Low: mid * (1 - part), Mid: mid, High: mid * (1 + part)}
}

// candidate returns one that sustains about 3,470/s, times factor.
func candidate(name string, v capacity.Verdict, factor float64) capacity.CandidateAnswer {
	sustains := capacity.Range{Low: 3300 * factor, Mid: 3470 * factor, High: 3640 * factor}
	c := capacity.CandidateAnswer{
		Name: name, Verdict: v, Traits: results.Traits{Exclusive: true, Owned: true, Expires: true, Wakes: true},
		Wrong:    "a holder that is paused beyond its lease works on without the lock; the queue is not fair to newcomers",
		Server:   results.Server{Kind: "private", Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none", Network: "unix"},
		Plan:     spec.Plan{Driver: strings.Fields(name)[0], Lock: "queue", Wait: "queue", Load: spec.Load{Clients: 64, Hold: time.Millisecond}, Keys: 100, Server: "private", Command: "lockbench run -driver rueidis -hold 1ms"},
		Sustains: sustains, Headroom: sustains.Low / 3000,
		Response: []time.Duration{9310 * time.Microsecond},
		Occupies: around(1.08e6, 0.02), Noise: 0.04, Clients: 64, Conns: 2,
		Cost: results.UnknownCost(),
	}
	c.Cost.Commands, c.Cost.ServerCPUUs = 3.1, 12.4
	full := 4270 * factor
	used := 3000 / full
	c.Resources = []capacity.Resource{
		{Name: "hottest key", Demand: around(1/full, 0.03), Units: 1, Used: around(used, 0.03), Full: around(full, 0.03)},
		{Name: "server CPU", Demand: around(1/(6*full), 0.1), Units: 1, Used: around(used/6, 0.1), Full: around(6*full, 0.1)},
		{Name: "connections"},
	}
	for i, at := range []float64{0.55, 0.8, 0.97, 1.06, 1.01, 0.99, 0.95, 1.16, 0.95, 0.95} {
		rate := 3470 * factor * at
		share := lateAt(at)
		p := capacity.Point{Rate: rate, Share: capacity.Range{Low: share / 1.3, Mid: share, High: share * 1.3}, Arrivals: int64(rate * 4), Stage: capacity.StageSearch,
			P99: time.Duration(20e6 * math.Pow(share/0.01, 0.3))}
		switch {
		case i < 2:
			p.Stage = capacity.StagePilot
		case i > 7:
			p.Stage = capacity.StageConfirm
		}
		c.Points = append(c.Points, p)
	}
	c.Points[7].Left = "lockbench was saturated"
	for i := range 21 {
		at := 0.5 + float64(i)*0.035
		share := lateAt(at)
		c.Curve = append(c.Curve, capacity.Point{Rate: 3470 * factor * at, Share: capacity.Range{Low: share / 1.4, Mid: share, High: min(1, share*1.4)}})
	}
	return c
}

// untried returns a candidate without any trial.
func untried(name string, v capacity.Verdict, why string) capacity.CandidateAnswer {
	return capacity.CandidateAnswer{Name: name, Verdict: v, Why: why, Traits: results.Traits{Exclusive: true, Owned: true}, Cost: results.UnknownCost()}
}

// lateAt returns a share of late arrivals that is 1 % at 1, in the form of Kingman's.
func lateAt(at float64) float64 { return min(1, 0.01*math.Exp(14*(at-1))) }
