package capacity

// Which trial comes next, and how long it takes: that depends on the question and the records so far, and on nothing
// else.

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	// trialOverhead is about what a trial takes beside its warm-up and window: to set up, to wait for the last answers,
	// and to write the record. It is a constant since what comes next depends on records alone.
	trialOverhead = 500 * time.Millisecond

	budgetEach  = 90 * time.Second // that one candidate has by default
	budgetAsked = 60 * time.Second // the same if it only has to carry a level
	budgetAll   = 20 * time.Minute // of all together

	minWindow = 3 * time.Second
	minWarmup = 500 * time.Millisecond
	// windowLimits are in times of the longest limit, as long as which the warm-up is. A queue that is overloaded by a
	// part x makes its last arrival late only after limit/x, and what waits for less than the limit when a window ends
	// is not late yet: a window as long as the limit shows no late arrival at twice the rate at which the queue grows
	// without end. patienceLimits are the same for the patience after which an arrival fails.
	windowLimits   = 5
	patienceLimits = 2
	minBursts      = 4 // in a window
	// windowArrivals are how many a window is to have: 20 late ones at the limit of a p99.
	windowArrivals = 2000
	// windowRelaxations and warmupRelaxations are in times in which a queue forgets its past.
	windowRelaxations = 30
	warmupRelaxations = 10

	turns       = 12 // trials that a candidate gets of a budget that is just enough for all
	maxTrials   = 32 // of one candidate in its search
	spareTrials = 1  // that time is kept for besides those that confirm: one that something disturbs does not count
	bestFew     = 3  // candidates that are confirmed, if there are as many

	queueLimits   = 5 // times what may wait if the last of the queue is just in time
	minQueueLimit = 100
)

// Time returns how long all trials may take.
func (q *Question) Time() time.Duration {
	if q.Budget > 0 {
		return q.Budget
	}
	each := budgetEach
	if q.Asked > 0 {
		each = budgetAsked
		if q.SLO.HasErrors && q.Axis == Rates { // as long as it takes to see that few enough fail
			each = max(each, nanoseconds(2*normal95*normal95/q.SLO.Errors/q.Asked))
		}
	}
	// The latter is more if bursts are rare or limits long.
	return max(min(budgetAll, time.Duration(len(q.Candidates))*each), 3*q.minBudget())
}

// Check returns what makes q impossible to answer, with the remedy. It is not about what no lock can do, which Analyse
// tells.
func (q *Question) Check() error {
	switch {
	case q.SLO.Closed != (q.Axis == Clients):
		return errors.New("objectives are of acquire with -max-clients, and of response without")
	case q.Most > 0 && q.Asked > q.Most:
		return fmt.Errorf("what is asked for, %v, is above the most, %v", q.Asked, q.Most)
	}
	p, open := q.load(), false
	for _, g := range p.Groups() {
		if g.Rate.Over > 0 {
			return fmt.Errorf("the rate changes (%s): give a constant one", g.Rate)
		}
		open = open || g.Open()
		if q.FixedClients && g.Clients < 1 {
			return errors.New("there are no clients")
		}
	}
	least := q.at(*p, max(q.Most, minRate))
	level := q.Level(&least)
	switch {
	case q.Axis == Clients && (open || len(p.Classes) > 0):
		return errors.New("-max-clients is about one closed loop: leave rates, bursts and classes out")
	case q.Axis == Rates && len(p.Classes) == 0 && !open && p.Think > 0:
		return errors.New("arrivals come whatever the clients do: leave think time out")
	case q.FixedClients && len(p.Classes) == 0 && p.Burst > 0:
		return errors.New("bursts grow with the rate: leave the number of clients out")
	case q.Most > 0 && above(level, q.Most):
		return fmt.Errorf("no trial has fewer than %v arrivals a second, and the most is %v", level, q.Most)
	case q.Time() < q.minBudget():
		return fmt.Errorf("a budget of %s is too short: pilot and confirmation take %s, and a search longer",
			format.Exact(q.Time()), format.Exact(q.minBudget()))
	}
	return nil
}

// minBudget returns how long the pilots of all candidates take, with the time that is kept for the confirmation.
func (q *Question) minBudget() time.Duration {
	n := len(q.Candidates)
	return time.Duration(n*pilotTrials+min(n, bestFew)*confirmTrials) * q.minTrial()
}

// shortest returns the shortest warm-up and window, in which the longest limit passes several times.
func (q *Question) shortest() (warmup, window time.Duration) {
	limit := q.SLO.Strictest().Limit
	warmup, window = max(minWarmup, limit), max(minWindow, windowLimits*limit, minBursts*q.load().Longest(burst))
	if patience := q.load().Longest(timeout); q.Axis == Clients {
		warmup, window = max(warmup, patience), max(window, patienceLimits*patience)
	}
	return warmup, window
}

// minTrial returns how long a trial takes at the least.
func (q *Question) minTrial() time.Duration {
	warmup, window := q.shortest()
	return warmup + window + trialOverhead
}

// windows returns warm-up and window of a trial at a level, where a lock occupies its key for so many seconds:
// long enough for late arrivals to be counted and for a queue to forget its past, as far as the budget allows. A window
// of bursts ends where one more would begin.
func (q *Question) windows(level, occupied, arrivals float64) (warmup, window time.Duration) {
	each, relaxation := q.each(), q.relaxation(level, occupied)
	clamp := func(shortest, wanted, longest time.Duration) time.Duration {
		return max(shortest, min(wanted, longest))
	}
	warmup, window = q.shortest()
	warmup = clamp(warmup, nanoseconds(warmupRelaxations*relaxation), each/4).Round(time.Millisecond)
	wanted := max(arrivals/q.throughput(level, occupied), windowRelaxations*relaxation)
	window = clamp(window, nanoseconds(min(wanted, budgetAll.Seconds())), each-warmup).Round(time.Millisecond)
	if every := q.load().Longest(burst); every > 0 {
		window = (window + every - 1) / every * every
	}
	return warmup, window
}

// each returns how long a trial may take, so that the budget is enough for some turns.
func (q *Question) each() time.Duration {
	return q.Time()/time.Duration(turns*len(q.Candidates)) - trialOverhead
}

// throughput returns the arrivals a second of a level, about.
func (q *Question) throughput(level, occupied float64) float64 {
	if q.Axis == Rates {
		return level
	}
	return min(1/(q.Shares[0]*occupied), level/(occupied+q.load().Think.Seconds()))
}

// relaxation returns the seconds in which the queue of the hottest key forgets its past, where a lock occupies it for
// so many: the relaxation time of M/M/1 (Cohen, The Single Server Queue, 1982, III.7.3), of an overloaded queue it
// means nothing; of a closed loop, as long as all clients take their turn.
func (q *Question) relaxation(level, occupied float64) float64 {
	if q.Axis == Clients {
		return level * q.Shares[0] * occupied
	}
	free := 1 - math.Sqrt(min(0.95, level*q.Shares[0]*occupied))
	return occupied / (free * free)
}

// Search is a plan under way. It depends on its question and on the records alone, and is used by one goroutine at a
// time.
type Search struct {
	q        *Question
	tracks   []*track
	next     *track // whose trial is the next one; nil if there is none
	spent    time.Duration
	ratified bool // what is left of the budget is for confirmations
}

// NewSearch returns a search without records.
func NewSearch(q *Question) *Search {
	s := &Search{q: q}
	for i := range q.Candidates {
		s.tracks = append(s.tracks, newTrack(q, i))
	}
	s.advance()
	return s
}

// Spent returns how long the trials so far took, warm-ups and the time around them included.
func (s *Search) Spent() time.Duration { return s.spent }

// Next returns the next trial to run, and false if there is none: the budget is used up, or nothing more is to be
// learnt.
func (s *Search) Next() (Trial, bool) {
	if s.next == nil {
		return Trial{}, false
	}
	return s.next.trial(), true
}

// Add takes in the record of the trial that Next has returned, with its histogram of the time to a grant.
func (s *Search) Add(r *results.Record) {
	s.spent += r.Plan.Warmup + r.Plan.Duration + trialOverhead
	s.next.add(r)
	s.advance()
}

// advance finds whose turn it is: of those that need a trial and have the time, that of the candidate which had the
// fewest, in an order by chance, so that none always runs after the same one. The best is confirmed first.
func (s *Search) advance() {
	var in []*track
	reserve := s.reserve()
	for _, t := range s.tracks {
		if t.stage() != "" && s.spent+t.cost+reserve <= s.q.Time() {
			in = append(in, t)
		}
	}
	s.next = nil
	switch {
	case len(in) > 0:
		rng := rand.New(rand.NewPCG(s.q.Seed, uint64(s.spent)))
		rng.Shuffle(len(in), func(i, j int) { in[i], in[j] = in[j], in[i] })
		s.next = slices.MinFunc(in, func(a, b *track) int {
			return cmp.Or(cmp.Compare(b.confirm, a.confirm), cmp.Compare(len(a.trials), len(b.trials)))
		})
	case !s.ratified:
		s.ratify()
		s.advance()
	}
}

// confirmable returns the candidates whose claim fresh trials are to confirm, the best first. A level that is asked for
// has had them.
func (s *Search) confirmable() (list []*track) {
	for _, t := range s.tracks {
		if s.q.Asked == 0 && t.phase != over && t.fits != nil && t.claim() >= t.least() {
			list = append(list, t)
		}
	}
	slices.SortStableFunc(list, func(a, b *track) int { return cmp.Compare(b.claim(), a.claim()) })
	return list
}

// reserve returns the time that is kept to confirm those that are confirmable now.
func (s *Search) reserve() (sum time.Duration) {
	if s.ratified {
		return 0
	}
	list := s.confirmable()
	for _, t := range list[:min(bestFew, len(list))] {
		sum += (confirmTrials + spareTrials) * t.cost
	}
	return sum
}

// ratify ends the search, and has the best candidates confirmed, as many as there is time for.
func (s *Search) ratify() {
	list, left := s.confirmable(), s.q.Time()-s.spent
	for _, t := range s.tracks {
		t.phase = max(t.phase, settled)
	}
	for i, t := range list {
		if left -= confirmTrials * t.cost; left >= 0 || i == 0 {
			t.startConfirmation()
		}
	}
	s.ratified = true
}

// trial returns the next trial of t.
func (t *track) trial() Trial {
	level, arrivals := t.nextLevel()
	p := t.q.at(t.c.Plan, level)
	p.Warmup, p.Duration = t.q.windows(level, t.occupied(), arrivals)
	number, limit := len(t.trials), 0
	p.Seed = spec.SeedOf(t.q.Seed+uint64(t.index)<<32, number+1)
	if t.q.Axis == Rates {
		limit = int(queueLimits*t.q.SLO.Strictest().Limit.Seconds()*level) + minQueueLimit
	}
	return Trial{Candidate: t.index, Number: number, Stage: t.stage(), Level: t.q.Level(&p), Plan: p, QueueLimit: limit}
}
