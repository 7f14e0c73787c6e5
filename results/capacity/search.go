package capacity

// Which trial comes next: that depends on the question and the records so far, and on nothing else.

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	maxRounds     = 32 // trials of the pilot and the search that a candidate gets
	confirmTrials = 4
	spareTrials   = 1 // that time is kept for besides: one that something disturbs does not count
	fewest        = 3 // candidates that are confirmed, if there are as many
	precise       = 0.05
	roughly       = 0.15 // the same of one that carries the rate that is asked for: of that only the head-room is open
	catchUp       = 0.6  // of the width of the widest interval
)

// halvings are the rounds after which the worse half of the candidates is left out (successive halving; Jamieson and
// Talwalkar, Non-stochastic best arm identification, AISTATS 2016).
var halvings = []int{4, 8, 16}

// phase is what a plan does with its time.
//
//	phase       trials                                         becomes
//	exploring   of pilot and search; keeps time to confirm     ratifying; stretching if its time ends with nothing to confirm; or done
//	stretching  the same in the time that was kept             ratifying or done
//	ratifying   of the candidates that are confirming          done
type phase int

const (
	exploring phase = iota
	stretching
	ratifying
	done
)

// Search is a plan under way. It depends on its question and on the records alone, and is used by one goroutine at a time.
type Search struct {
	q      *Question
	tracks []*track
	round  int      // from 1
	turn   []*track // that have a trial left in this round
	spent  time.Duration
	phase  phase
	broke  bool // the budget ended a phase
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

// Next returns the next trial to run, and false if there is none: the budget is used up, or nothing more is to be learnt.
func (s *Search) Next() (Trial, bool) {
	if s.phase == done {
		return Trial{}, false
	}
	return s.turn[0].trial(), true
}

// Add takes in the record of the trial that Next has returned, with its histogram of the response.
func (s *Search) Add(r *results.Record) {
	s.spent += r.Plan.Warmup + r.Plan.Duration + trialOverhead
	if again := s.turn[0].add(r); !again {
		s.turn = s.turn[1:]
	}
	s.advance()
}

// advance finds whose turn it is.
func (s *Search) advance() {
	for s.phase != done {
		if len(s.turn) == 0 {
			s.nextRound()
			continue
		}
		switch t := s.turn[0]; {
		case t.stage() == "":
			s.turn = s.turn[1:]
		case s.spent+t.cost+s.reserve() > s.q.Time():
			s.broke = true
			s.endPhase()
		default:
			return
		}
	}
}

// those returns the candidates for which is reports true.
func (s *Search) those(is func(*track) bool) []*track {
	return slices.DeleteFunc(slices.Clone(s.tracks), func(t *track) bool { return !is(t) })
}

// reserve returns the time that is kept for the confirmation.
func (s *Search) reserve() (sum time.Duration) {
	if s.phase != exploring {
		return 0
	}
	var costs []time.Duration
	for _, t := range s.those((*track).inPlay) {
		costs = append(costs, (confirmTrials+spareTrials)*t.most)
	}
	slices.Sort(costs)
	for _, cost := range costs[max(0, len(costs)-fewest):] {
		sum += cost
	}
	return sum
}

// endPhase goes on to the next phase.
func (s *Search) endPhase() {
	s.turn = nil
	switch {
	case s.phase == ratifying:
		s.phase = done
	case s.choose():
		s.phase = ratifying
	case s.phase == exploring && s.broke:
		s.phase = stretching
	default:
		s.phase = done
	}
}

// nextRound lets every candidate have its turn once more, in another order, so that no candidate always runs after the same
// one. In the confirmation the best candidate comes first, until it is decided on.
func (s *Search) nextRound() {
	if s.phase == ratifying {
		in := s.those(func(t *track) bool { return t.state == confirming })
		if len(in) == 0 {
			s.phase = done
			return
		}
		s.turn = []*track{slices.MaxFunc(in, func(a, b *track) int { return cmp.Compare(a.confirm.rate, b.confirm.rate) })}
		return
	}
	if slices.Contains(halvings, s.round) {
		s.halve()
	}
	if s.phase == stretching && s.choose() {
		s.phase = ratifying
		return
	}
	s.round++
	enough := s.enough()
	s.turn = s.those(func(t *track) bool { return t.stage() != "" && (enough == 0 || t.width() > enough) })
	if len(s.turn) == 0 || s.round > maxRounds {
		s.endPhase()
		return
	}
	rng := rand.New(rand.NewPCG(s.q.Seed, uint64(s.round)))
	rng.Shuffle(len(s.turn), func(i, j int) { s.turn[i], s.turn[j] = s.turn[j], s.turn[i] })
}

// enough returns the relative width of an interval that is narrow enough for its candidate to miss a round, so that those of
// which less is known catch up; 0 while there are too few trials for a width to mean something.
func (s *Search) enough() (width float64) {
	if s.round <= halvings[1] {
		return 0
	}
	for _, t := range s.tracks {
		if t.stage() != "" {
			width = max(width, t.width())
		}
	}
	return catchUp * width
}

// halve leaves out the worse half of the candidates, but for those whose interval overlaps that of one of the best few.
func (s *Search) halve() {
	in := s.those((*track).inPlay)
	slices.SortStableFunc(in, func(a, b *track) int { return cmp.Compare(b.estimate().Mid, a.estimate().Mid) })
	keep := (len(in) + 1) / 2
	if keep == 0 || len(in) == 1 {
		return
	}
	low := in[0].estimate().Low
	for _, t := range in[:min(fewest, keep)] {
		low = min(low, t.estimate().Low)
	}
	for _, t := range in[keep:] {
		switch {
		case t.fits == nil || t.estimate().High >= low:
		case t.asked > 0 && t.carries():
			t.state = settled
		case t.excluded():
			t.end(RulesOut, t.atMost())
		default:
			t.end(Dropped, fmt.Sprintf("after %d trials it was behind the best", len(t.trials)))
		}
	}
}

// choose picks the candidates whose rate is confirmed: the best of those that may carry what is asked for, as many as there
// is time for. It reports whether there is one. What is asked for is carried without that, so that only the best is confirmed then.
func (s *Search) choose() bool {
	in := s.those(func(t *track) bool { return t.inPlay() && t.fits != nil && t.claim() >= t.leastClaim() })
	slices.SortStableFunc(in, func(a, b *track) int { return cmp.Compare(b.claim(), a.claim()) })
	left := s.q.Time() - s.spent
	for i, t := range in {
		if i > 0 && t.carries() {
			continue
		}
		if left -= confirmTrials * t.most; left < 0 && i > 0 {
			break
		}
		t.startConfirmation()
	}
	return len(in) > 0
}

// trial returns the next trial of t.
func (t *track) trial() Trial {
	rate, arrivals := t.nextRate()
	strictest := t.q.SLO.Strictest()
	p := t.c.at(rate, strictest.Limit, t.more, math.Round)
	if most := t.q.MaxRate; most > 0 && above(Offered(&p), most) {
		p = t.c.at(rate, strictest.Limit, t.more, math.Floor)
	}
	p.Warmup, p.Duration = t.q.windows(t.c, rate, t.occupied(), arrivals)
	number := len(t.trials)
	p.Seed = spec.SeedOf(t.q.Seed+uint64(t.index)<<32, number+1)
	return Trial{
		Candidate: t.index, Number: number, Stage: t.stage(), Rate: Offered(&p), Plan: p,
		QueueLimit: int(queueLimits*strictest.Limit.Seconds()*rate) + minQueueLimit,
	}
}

const (
	queueLimits   = 5 // times what may wait if the last of the queue is just in time
	minQueueLimit = 100
)
