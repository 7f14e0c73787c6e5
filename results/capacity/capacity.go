// Package capacity answers the question that comes before a lock is chosen: which design carries a load under a
// service-level objective, with how much head-room, and what breaks first?
//
// A load has a level on one axis: arrivals a second, or the clients of a closed loop. A Search is given a Question and
// the records of the trials so far, and says what to run next (Next) or what is known (Answer). It is pure: the same
// records give the same answer. A candidate goes through
//
//  1. Analysis, without a server: no lock serves a key faster than its holds follow one another.
//  2. A pilot at the level that is asked for and above it, or lower and lower, until one level kept the objectives and
//     one broke them or is near what is possible.
//  3. A search. A fit of the share of late arrivals over the level (Fit) chooses the levels. Candidates take turns.
//  4. If the most is wanted, a confirmation by fresh trials at the lower end of the interval, since the best of several
//     estimates is an overestimate (the winner's curse). A level that is asked for has its trials in the search.
//
// It has no prose: a Reason is a code with its figures, which package report puts into words.
package capacity

import (
	"encoding/json"
	"io"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// Axis is what a plan searches over: the unit of a level.
type Axis string

const (
	Rates   Axis = ""        // arrivals a second, of an open loop
	Clients Axis = "clients" // clients of a closed loop, which ask again once they have released
)

// Question is what is asked.
type Question struct {
	Axis       Axis
	SLO        SLO
	Asked      float64       // level that has to be sustained; 0: the most is wanted
	Most       float64       // level that no trial exceeds; 0: no limit
	Candidates []Candidate   // all with the same load
	Budget     time.Duration // of measuring, warm-ups and the time around a trial included; 0: see Time
	Seed       uint64

	// Shares are those of the keys of all arrivals, the most wanted key first; they add up to 1.
	Shares       []float64
	FixedClients bool // the user has said how many clients serve the arrivals
}

// Candidate is a lock under the load: a cell that has no level yet.
type Candidate struct {
	Name   string         // what tells it from the other candidates
	Plan   spec.Plan      // Rate, Clients, Warmup and Duration are the search's, but for Clients if they are fixed
	Traits results.Traits // that the design claims
	Wrong  string         // what is wrong with it, the main risk first
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
	Level     float64
	Plan      spec.Plan // whole: with the level, clients, warm-up, window and seed

	// QueueLimit is the number of arrivals that may wait, for a client or for a lock: if there are more and their
	// number grows, the trial can be stopped, since it has failed. 0: there is no limit.
	QueueLimit int
}

// Verdict is what has become of a candidate, or of the whole question.
type Verdict string

const (
	// Sustains: trials at the level asked for, or if the most is wanted those that confirm it, kept the objectives
	// together, and the lower end of the interval is no less.
	Sustains  Verdict = "sustains"
	RulesOut  Verdict = "ruled out" // the upper end is below it, or no lock can carry the load
	Undecided Verdict = "undecided" // the interval holds it, the budget was too small, or the machine was the limit
	Violated  Verdict = "violated"  // two clients held a key at once
	Failed    Verdict = "failed"    // no trial worked
)

// Code names a reason.
type Code string

// The reasons why a candidate does not sustain a level, why a trial does not count, and what to know of an answer.
const (
	Impossible  Code = "impossible" // the hottest key would have to be held for Share of the time
	Rare        Code = "too few arrivals"
	Untried     Code = "not tried"
	AtMost      Code = "at most"           // Level is the upper end of what it sustains
	ServerFull  Code = "server full"       // likewise, and beyond that its server used Cores of the Of that it can use
	Failing     Code = "failing"           // Share of the arrivals fail at Level, and Allowed may
	Late        Code = "late at low level" // Share of the arrivals are late at Level, which is low, and Allowed may be
	Unproven    Code = "failures unproven" // too few arrivals to show that no more than Allowed fail
	Others      Code = "other programs"    // they used Cores of the Of that this machine has
	Host        Code = "host"              // it gave Cores of the Of to others
	Machine     Code = "machine"           // lockbench, with its server, used Cores of the Of; Level was carried
	Slow        Code = "slow sender"       // lockbench was late by Time, and used but Cores of the Of
	Within      Code = "within"            // the level asked for lies within its interval, Low to High
	Refuted     Code = "refuted"           // trials at Level broke the objectives, and the interval lies above
	Unconfirmed Code = "unconfirmed"       // the budget was used up before fresh trials
	Chance      Code = "chance"            // its interval is just above, which is no proof among N candidates
	Broken      Code = "violations"        // N of them
	Partial     Code = "partial"           // Text says why

	SharedHost Code = "shared machine"  // the server runs on the Of cores of lockbench
	LeftOut    Code = "trials left out" // N trials do not count, since Text
)

// Reason is a code with the figures that belong to it. Others are 0.
type Reason struct {
	Code    Code          `json:"code,omitempty"`
	Level   float64       `json:"level,omitempty"`
	Low     float64       `json:"low,omitempty"`
	High    float64       `json:"high,omitempty"`
	Share   float64       `json:"share,omitempty"`
	Allowed float64       `json:"allowed,omitempty"`
	Cores   float64       `json:"cores,omitempty"`
	Of      float64       `json:"of,omitempty"`
	Time    time.Duration `json:"time_ns,omitempty"`
	N       int64         `json:"n,omitempty"`
	Text    string        `json:"text,omitempty"` // of a record, or of an older answer, which has no codes
}

// UnmarshalJSON reads the text of an older answer, too.
func (r *Reason) UnmarshalJSON(data []byte) error {
	type plain Reason
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &r.Text)
	}
	return json.Unmarshal(data, (*plain)(r))
}

// Range is an estimate with its 95 % interval. All are 0 if it is unknown.
type Range struct {
	Low  float64 `json:"low"`
	Mid  float64 `json:"mid"`
	High float64 `json:"high"`
}

// AnswerVersion is the version of Answer that this program writes.
const AnswerVersion = 2

// Answer is all that is known of a Question. Durations are nanoseconds. Levels are arrivals a second, or clients.
type Answer struct {
	Schema  int           `json:"schema"`
	SLO     string        `json:"slo"` // mutual exclusion is always part of it
	Axis    Axis          `json:"axis,omitempty"`
	Asked   float64       `json:"rate,omitempty"`     // level that was asked for; absent: the most was wanted
	Most    float64       `json:"max_rate,omitempty"` // level that no trial exceeded; absent: no limit
	Env     results.Env   `json:"env"`
	Budget  time.Duration `json:"budget_ns"`
	Spent   time.Duration `json:"spent_ns"`
	Partial string        `json:"partial,omitempty"` // why it ended before its time

	Verdict    Verdict           `json:"verdict"`
	Analysis   []Analysis        `json:"analysis"`   // of the load
	Candidates []CandidateAnswer `json:"candidates"` // ranked, the best first
	Warnings   []Reason          `json:"warnings,omitempty"`
	Skipped    []string          `json:"skipped,omitempty"` // what was no candidate, and why
}

// CandidateAnswer is what is known of one candidate.
type CandidateAnswer struct {
	Name    string         `json:"name"`
	Plan    spec.Plan      `json:"plan"` // of the trial at the highest level that kept the objectives
	Traits  results.Traits `json:"traits"`
	Wrong   string         `json:"wrong,omitempty"` // what is wrong with the design, the main risk first
	Server  results.Server `json:"server"`
	Verdict Verdict        `json:"verdict"`
	Why     Reason         `json:"why,omitzero"` // of a verdict other than sustains

	Sustains Range           `json:"sustains"`
	AtLeast  bool            `json:"at_least,omitempty"`    // the machine, or max_rate, was the limit: low is known alone
	Headroom float64         `json:"headroom,omitempty"`    // sustains.low by the level asked for
	Response []time.Duration `json:"response_ns,omitempty"` // at the level asked for, or the highest kept; at each quantile

	Occupies  Range        `json:"occupies_ns"`         // hold and hand-off of a lock; 0: not measured
	Resources []Resource   `json:"resources,omitempty"` // the first to be used up first
	Cost      results.Cost `json:"cost"`                // of a lock at the highest level that kept the objectives

	Points []Point `json:"points,omitempty"` // its trials
}

// Resource is what an arrival takes of something there is only so much of (utilisation law, U = X·D; Denning and
// Buzen 1978).
type Resource struct {
	Name   string  `json:"name"`   // "hottest key", "server CPU", "clients", "connections", "generator"
	Demand Range   `json:"demand"` // of one arrival, in seconds of one unit
	Units  float64 `json:"units"`  // cores, connections; 0: nobody knows
	Full   Range   `json:"full"`   // arrivals a second at which it is used up; 0: unknown
}

// Point is a trial.
type Point struct {
	Level    float64       `json:"rate"`
	Share    Range         `json:"share"` // of arrivals that break the objective that binds
	P99      time.Duration `json:"p99_ns,omitempty"`
	Arrivals int64         `json:"arrivals,omitempty"`
	Stage    Stage         `json:"stage,omitempty"`
	Left     Reason        `json:"left_out,omitzero"` // why the trial does not count
}

// ReadAnswer reads what lockbench plan -format json has written.
func ReadAnswer(in io.Reader) (*Answer, error) {
	var a Answer
	if err := results.ReadForm(in, "an answer of lockbench plan -format json", &a, &a.Schema, AnswerVersion); err != nil {
		return nil, err
	}
	a.Schema = AnswerVersion // as which it is written again
	return &a, nil
}
