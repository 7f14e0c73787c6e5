package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	// trialOverhead is about what a trial takes beside its warm-up and window: to set up, to wait for the last answers, and
	// to write the record. It is a constant since what comes next depends on records alone.
	trialOverhead = 500 * time.Millisecond

	budgetEach  = 90 * time.Second // that one candidate has by default
	budgetAsked = 60 * time.Second // the same if it only has to carry a rate
	budgetAll   = 20 * time.Minute // of all together

	minWindow = 3 * time.Second
	minWarmup = 500 * time.Millisecond

	// windowLimits and warmupLimits are in times of the longest limit. A queue that is overloaded by a part x makes its last
	// arrival late only after limit/x, and what waits for less than the limit when a window ends is not late yet: a window as
	// long as the limit shows no late arrival at twice the rate at which the queue grows without end.
	windowLimits = 5
	warmupLimits = 1

	// windowArrivals are how many a window is to have: 20 late ones at the limit of a p99.
	windowArrivals = 2000
	minBursts      = 4 // in a window
	// lowArrivals are enough to see whether a low rate breaks the objective too.
	lowArrivals = 300
	// windowRelaxations and warmupRelaxations are in times in which a queue forgets its past.
	windowRelaxations = 30
	warmupRelaxations = 10

	// turns are the trials that a candidate gets of a budget that is just enough for all.
	turns = 12
)

// Time returns how long all trials may take.
func (q *Question) Time() time.Duration {
	each := budgetEach
	switch {
	case q.Budget > 0:
		return q.Budget
	case q.Rate > 0:
		each = budgetAsked
	}
	return max(min(budgetAll, time.Duration(len(q.Candidates))*each), 3*q.minBudget()) // which is more if bursts are rare or limits long
}

// Check returns what makes q impossible to answer, with the remedy. It is not about what no lock can do, which
// Analyse tells.
func (q *Question) Check() error {
	switch {
	case len(q.Candidates) == 0:
		return errors.New("there is no candidate")
	case len(q.SLO.Objectives) == 0:
		return errors.New("there is no objective")
	case bad(q.Rate) || bad(q.MaxRate):
		return fmt.Errorf("a rate has to be 0, or a number up to %s/s", format.Count(int64(spec.MaxRate)))
	case q.MaxRate > 0 && q.Rate > q.MaxRate:
		return fmt.Errorf("the rate that is asked for, %s/s, is above the highest one that may be tried, %s/s: raise that or lower the rate",
			exact(q.Rate), exact(q.MaxRate))
	}
	for i := range q.Candidates {
		c := &q.Candidates[i]
		if err := c.check(); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		if q.MaxRate == 0 {
			continue
		}
		least := c.at(max(q.MaxRate, minRate), q.SLO.Strictest().Limit, 1, math.Floor)
		if rate := Offered(&least); above(rate, q.MaxRate) {
			return fmt.Errorf("%s: no trial has fewer than %s arrivals a second, and the highest rate that may be tried is %s/s", c.Name, exact(rate), exact(q.MaxRate))
		}
	}
	if least := q.minBudget(); q.Time() < least {
		return fmt.Errorf("a budget of %s is too short: the pilot of %s and the confirmation of the best take %s, and a good search several times as long",
			format.Exact(q.Time()), format.Plural(len(q.Candidates), "candidate"), format.Exact(least))
	}
	return nil
}

// exact returns a rate with all its digits.
func exact(rate float64) string {
	_, part, found := strings.Cut(strconv.FormatFloat(rate, 'f', -1, 64), ".")
	if found {
		part = "." + part
	}
	return format.Count(int64(rate)) + part
}

func bad(rate float64) bool { return !(rate >= 0 && rate <= spec.MaxRate) }

func (c *Candidate) check() error {
	sum := 0.0
	for i, s := range c.Shares {
		if !(s >= 0) || i > 0 && s > c.Shares[i-1] {
			return errors.New("the shares of its keys have to be positive, the greatest first")
		}
		sum += s
	}
	if math.Abs(sum-1) > 1e-6 {
		return fmt.Errorf("the shares of its keys have to add up to 1, and they are %v", sum)
	}
	open := false
	for _, g := range c.Plan.Groups() {
		if g.Rate.Over > 0 {
			return fmt.Errorf("its rate changes (%s), and each trial has a rate of its own: give a constant one", g.Rate)
		}
		open = open || g.Open()
		if c.FixedClients && g.Clients < 1 {
			return errors.New("it has no clients")
		}
	}
	if c.FixedClients && len(c.Plan.Classes) == 0 && c.Plan.Burst > 0 {
		return errors.New("its bursts grow with the rate, so that the number of clients cannot be fixed: leave that out")
	}
	if len(c.Plan.Classes) == 0 && !open && c.Plan.Think > 0 {
		return errors.New("arrivals come whatever the clients do, so that think time means nothing: leave it out")
	}
	return nil
}

// minBudget returns how long the pilots of all candidates take, with the time that is kept for the confirmation.
func (q *Question) minBudget() (sum time.Duration) {
	var trials []time.Duration
	for i := range q.Candidates {
		trials = append(trials, q.minTrial(&q.Candidates[i]))
		sum += pilotTrials * trials[i]
	}
	slices.Sort(trials)
	for _, one := range trials[max(0, len(trials)-fewest):] {
		sum += confirmTrials * one
	}
	return sum
}

// minTrial returns how long a trial of c takes at the least.
func (q *Question) minTrial(c *Candidate) time.Duration {
	return q.shortestWarmup() + q.shortestWindow(c) + trialOverhead
}

func (q *Question) shortestWarmup() time.Duration {
	return max(minWarmup, warmupLimits*q.SLO.Strictest().Limit)
}

// shortestWindow returns the shortest window for c, in which the longest limit passes several times, and several bursts if there
// are any.
func (q *Question) shortestWindow(c *Candidate) time.Duration {
	return max(minWindow, windowLimits*q.SLO.Strictest().Limit, minBursts*longestBurst(&c.Plan))
}

// windows returns warm-up and window of a trial of c at a rate, where a lock occupies its key for so many seconds: long
// enough for late arrivals to be counted and for a queue to forget its past, as far as the budget allows.
func (q *Question) windows(c *Candidate, rate, occupied, arrivals float64) (warmup, window time.Duration) {
	each := q.Time()/time.Duration(turns*len(q.Candidates)) - trialOverhead
	relaxation := c.relaxation(rate, occupied)
	warmup = clamp(q.shortestWarmup(), nanoseconds(warmupRelaxations*relaxation), each/4)
	window = clamp(q.shortestWindow(c), max(nanoseconds(arrivals/rate), nanoseconds(windowRelaxations*relaxation)), each-warmup)
	return warmup.Round(time.Millisecond), window.Round(time.Millisecond)
}

// relaxation returns the seconds in which the queue of the hottest key forgets its past, where a lock occupies it for so many: the
// relaxation time of M/M/1 (Cohen, The Single Server Queue, 1982, III.7.3); of an overloaded queue it means nothing.
func (c *Candidate) relaxation(rate, occupied float64) float64 {
	busy := min(0.95, rate*c.Shares[0]*occupied)
	free := 1 - math.Sqrt(busy)
	return occupied / (free * free)
}

// clamp returns a time that is wanted, or the longest one if that is shorter, but never less than the shortest.
func clamp(shortest, wanted, longest time.Duration) time.Duration {
	return max(shortest, min(wanted, longest))
}
