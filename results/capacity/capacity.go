// Package capacity answers the question that comes before a lock is chosen: which design carries a load under a
// service-level objective, with how much head-room, and what breaks first?
//
// It is pure. A Search is given a Question and the records of the trials so far, and says what to run next (Next) or
// what is known (Answer). Both depend on nothing else, so that the same records give the same answer. It goes through
// four stages:
//
//  1. Analysis, without a server: no lock serves a key faster than its holds follow one another.
//  2. A pilot at the rate that is asked for, or at half of that ceiling, and at three quarters of it, which measures how
//     long a lock occupies its key.
//  3. A search. Each trial is a run of its own: a few at the rate that is asked for, then at rates that a fit of the share
//     of late arrivals over the rate (Fit) chooses. Candidates take turns, and the worse half of them is left out after
//     each round of turns.
//  4. A confirmation by fresh trials at the lower end of the interval, since the best of several estimates is an
//     overestimate (the winner's curse).
package capacity

import (
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Question is what is asked.
type Question struct {
	SLO        SLO
	Rate       float64 // arrivals a second that have to be sustained; 0: the most is wanted
	Candidates []Candidate
	MaxRate    float64       // arrivals a second that no trial exceeds; 0: no limit
	Budget     time.Duration // of measuring, warm-ups and the time around a trial included; 0: by default, see Time
	Seed       uint64
	Force      bool // measure also what no lock can do
}

// Candidate is a lock under the load: a cell that has no rate yet.
type Candidate struct {
	Name   string         // what tells it from the other candidates
	Plan   spec.Plan      // Rate, Clients, Warmup and Duration are the search's, but for Clients if FixedClients
	Traits results.Traits // that the design claims
	Wrong  string         // what is wrong with it, the main risk first

	FixedClients bool // the user has said how many clients there are
	LocalLine    bool // clients of one process wait for each other within it, before the server hears of them

	// Shares are those of the keys of all arrivals, the most wanted key first; they add up to 1.
	Shares []float64
}

// Stage is a part of a plan.
type Stage string

const (
	StagePilot   Stage = "pilot"
	StageSearch  Stage = "search"
	StageConfirm Stage = "confirm"
)

// Trial is the next trial to run.
type Trial struct {
	Candidate int // its place among those of the Question
	Number    int // of the candidate's trials, from 0
	Stage     Stage
	Rate      float64   // arrivals a second
	Plan      spec.Plan // whole: with the rate, clients, warm-up, window and seed

	// QueueLimit is the number of arrivals that may wait, for a client or for a lock: if there are more and their number
	// grows, the trial can be stopped, since it has failed.
	QueueLimit int
}

// Verdict is what has become of a candidate, or of the whole question.
type Verdict string

const (
	// Sustains: trials at the rate asked for kept the SLO, and the lower end of its own is no less, or the machine was the
	// limit of them; without Rate: its own is known.
	Sustains  Verdict = "sustains"
	RulesOut  Verdict = "ruled out" // the upper end is below it, or no lock can carry the load
	Undecided Verdict = "undecided" // the interval holds it, the budget was too small, or lockbench was the limit
	Violated  Verdict = "violated"  // two clients held a key at once
	Dropped   Verdict = "left out"  // others did better, after few trials
	Failed    Verdict = "failed"    // no trial worked
)

// Range is an estimate with its 95 % interval. All are 0 if it is unknown.
type Range struct {
	Low  float64 `json:"low"` // of the 95 % interval
	Mid  float64 `json:"mid"`
	High float64 `json:"high"` // of the 95 % interval
}

// AnswerVersion is the version of Answer that this program writes.
const AnswerVersion = 1

// Answer is all that is known of a Question. All durations are nanoseconds; rates are a second.
type Answer struct {
	Schema  int           `json:"schema"`             // version of this form
	SLO     string        `json:"slo"`                // what must be true of the arrivals; mutual exclusion is always part of it
	Rate    float64       `json:"rate,omitempty"`     // arrivals that were asked for; absent: the most was wanted
	MaxRate float64       `json:"max_rate,omitempty"` // that no trial exceeded; absent: no limit
	Load    spec.Plan     `json:"load"`               // what all candidates have in common
	Env     results.Env   `json:"env"`
	Budget  time.Duration `json:"budget_ns"`
	Spent   time.Duration `json:"spent_ns"`          // of the budget: windows and warm-ups
	Partial string        `json:"partial,omitempty"` // why it ended before its time
	Forced  bool          `json:"forced,omitempty"`  // measured although no lock can do it

	Verdict    Verdict           `json:"verdict"`
	Analysis   []Analysis        `json:"analysis"`   // what is known without a server, one for each load among the candidates
	Candidates []CandidateAnswer `json:"candidates"` // ranked, the best first

	Advice   string   `json:"advice"`             // one sentence
	Breaks   string   `json:"breaks"`             // what breaks first, and at what rate
	Unseen   string   `json:"unseen"`             // what cannot have been seen
	Warnings []string `json:"warnings,omitempty"` // what changes how the figures are read
	Skipped  []string `json:"skipped,omitempty"`  // candidates that could not run, and why
}

// Analysis is what is known of a load without a server. Its formulas are in package queue.
type Analysis struct {
	Load       string        `json:"load"` // in words
	Hold       time.Duration `json:"hold_ns"`
	RoundTrip  time.Duration `json:"rtt_ns,omitempty"` // assumed in each hand-off; absent before one was measured
	Hottest    float64       `json:"hottest_share"`
	Busy       float64       `json:"utilisation,omitempty"` // of the hottest key at the rate asked for; 1 or more: no lock can do it
	Stable     float64       `json:"stability_limit"`       // arrivals a second at which the hottest key is always busy
	Ceiling    float64       `json:"ceiling"`               // arrivals a second at which a FIFO lock with free hand-off still meets the SLO; 0: none
	Rough      string        `json:"rough,omitempty"`       // why the ceiling is an approximation for this load; absent if it is not
	Impossible string        `json:"impossible,omitempty"`  // why no lock can carry the rate, or meet the SLO at any

	// What would make the rate possible, each by itself; 0: nothing of the kind would, or it is possible.
	FitsHold  time.Duration `json:"fits_hold_ns,omitempty"` // the hold that would make the rate possible
	FitsShare float64       `json:"fits_share,omitempty"`   // the share of the hottest key that would make the rate possible
}

// CandidateAnswer is what is known of one candidate.
type CandidateAnswer struct {
	Name    string         `json:"name"`
	Plan    spec.Plan      `json:"plan"`            // with the most clients that it took
	Traits  results.Traits `json:"traits"`          // what the design claims
	Wrong   string         `json:"wrong,omitempty"` // what is wrong with the design, the main risk first
	Server  results.Server `json:"server"`
	Verdict Verdict        `json:"verdict"`
	Why     string         `json:"why,omitempty"`    // of a verdict other than sustains, in words
	Remedy  string         `json:"remedy,omitempty"` // what would decide it, in words

	Sustains Range           `json:"sustains"`              // arrivals a second under the SLO
	AtLeast  bool            `json:"at_least,omitempty"`    // lockbench, its machine or max_rate was the limit: low is all that is known
	Headroom float64         `json:"headroom,omitempty"`    // sustains.low by the rate asked for
	Response []time.Duration `json:"response_ns,omitempty"` // at the rate asked for, at the quantile of each objective
	Binding  string          `json:"binding,omitempty"`     // the objective that allows the lowest rate, of several
	Floor    float64         `json:"floor,omitempty"`       // share of late arrivals at a low rate, if that alone breaks the SLO

	Occupies Range   `json:"occupies_ns"` // for how long a lock occupies its key: hold and hand-off
	Noise    float64 `json:"noise"`       // relative scatter of occupies_ns between trials

	Resources []Resource   `json:"resources,omitempty"` // the first to saturate first
	Clients   int          `json:"clients"`             // that the sustained rate took
	Conns     int          `json:"connections,omitempty"`
	Cost      results.Cost `json:"cost"` // of a lock at the highest rate that kept the SLO; a negative number is not known

	Points []Point `json:"points,omitempty"` // its trials
	Curve  []Point `json:"curve,omitempty"`  // the fit; share only
}

// Resource is what an arrival takes of something there is only so much of (utilisation law, U = X·D; Denning and Buzen 1978).
type Resource struct {
	Name   string  `json:"name"`   // "hottest key", "server CPU", "connections", "clients", "generator"
	Demand Range   `json:"demand"` // of one arrival, in seconds of one unit
	Units  float64 `json:"units"`  // cores, connections; 0: nobody knows
	Used   Range   `json:"used"`   // share at the rate asked for, or at Sustains.Low
	Full   Range   `json:"full"`   // arrivals a second at which it is used up; 0: unknown
}

// Point is a trial, or a place on a curve.
type Point struct {
	Rate     float64       `json:"rate"`
	Share    Range         `json:"share"`            // of late arrivals
	P99      time.Duration `json:"p99_ns,omitempty"` // of the response
	Arrivals int64         `json:"arrivals,omitempty"`
	Stage    Stage         `json:"stage,omitempty"`
	Left     string        `json:"left_out,omitempty"` // why the trial does not count
}
