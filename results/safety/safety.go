// Package safety is the record of lockbench prove: which lock failed which hazard, how often, and the story of one attempt.
// Package hazards makes it, and packages text and export write it.
package safety

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Version is the version of Report that this program writes.
const Version = 1

// Verdict is what became of a lock under a hazard.
type Verdict string

const (
	Fails         Verdict = "fails"          // it lost what it claims, in one attempt at least
	Survives      Verdict = "survives"       // in no attempt, and the fault struck in all that count
	NotApplicable Verdict = "not applicable" // the hazard needs what the design does not have
	NotExercised  Verdict = "not exercised"  // the fault did not strike, or there is no evidence that it did
	Stalled       Verdict = "stalled"        // the machine was too slow for the lease in all attempts
	NoServer      Verdict = "no server"      // its server is not here
	Invalid       Verdict = "invalid"        // the judges disagree
)

// Verdicts are all of them.
var Verdicts = []Verdict{Fails, Survives, NotApplicable, NotExercised, Stalled, NoServer, Invalid}

// Open reports whether nothing is known of the lock, although the hazard applies to it.
func (v Verdict) Open() bool { return v == NotExercised || v == Stalled || v == Invalid }

// Report is the outcome of a run. All durations are nanoseconds.
type Report struct {
	Schema  int           `json:"schema"` // version of this form
	Env     results.Env   `json:"env"`
	Spent   time.Duration `json:"spent_ns"`
	Partial string        `json:"partial,omitempty"` // why it ended before its time

	Asked Asked `json:"asked,omitzero"` // what was named: each has to be exercised

	Baseline string `json:"baseline,omitempty"` // the file of an earlier report that the cells were held against

	Hazards []Hazard `json:"hazards"` // that were run, in the order of their numbers
	Cells   []Cell   `json:"cells"`   // a lock under a hazard each, those of a hazard together
}

// Hazard is one way in which locks fail, as listings describe it.
type Hazard struct {
	Number int    `json:"number"`
	Name   string `json:"name"`
	About  string `json:"about"`           // one sentence
	After  string `json:"after,omitempty"` // the hazard as what goes before a loss

	// Control says why nothing that this hazard shows is to be believed; empty if its controls are as they have to be. Wrong says
	// that one of them has the wrong verdict; otherwise none is known.
	Control string `json:"control,omitempty"` // why nothing that the hazard shows is to be believed; absent if its controls are as they have to be
	Wrong   bool   `json:"wrong,omitempty"`   // a control has the wrong verdict; otherwise control says why none is known
}

// Cell is one lock under one hazard.
type Cell struct {
	Hazard string `json:"hazard"`
	Driver string `json:"driver"`
	Lock   string `json:"lock"`

	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`     // in words
	Listed  bool    `json:"listed"`            // the design says that it loses to this hazard
	Before  Verdict `json:"before,omitempty"`  // its verdict in the baseline; absent if it is not there
	More    string  `json:"more,omitempty"`    // in which way it fails more than in the baseline
	Missing string  `json:"missing,omitempty"` // what has to be installed to exercise it
	Control bool    `json:"control,omitempty"` // it is there only as a control
	Doubted bool    `json:"doubted,omitempty"` // its verdict is not to be believed; control of its hazard says why

	Attempts int     `json:"attempts"`          // that count
	Failed   int     `json:"failed"`            // of the attempts that count
	Left     int     `json:"left,omitempty"`    // attempts that do not count: the fault did not strike, or the machine was too slow for the lease
	Gaps     int     `json:"gaps,omitempty"`    // places at which the fault can strike: attempt n strikes at place n modulo gaps; absent: one
	Tried    int     `json:"tried,omitempty"`   // of the gaps, by an attempt that counts
	LostAt   []int   `json:"lost_at,omitempty"` // the gaps at which an attempt failed, from 0
	Bound    float64 `json:"bound,omitempty"`   // share of failures that attempts without one leave possible, with 95 % confidence

	Longest  time.Duration `json:"longest_overlap_ns,omitempty"` // for which two clients held the key
	Recovery time.Duration `json:"recovery_ns,omitempty"`        // the longest, from the fault to the next grant
	Never    bool          `json:"never,omitempty"`              // the key does not come free

	TTL     time.Duration `json:"ttl_ns"`          // the lease, or the time-out of a session
	Command string        `json:"command"`         // that makes the cell again
	Seed    int           `json:"seed"`            // number of the attempt of the story; prove -seed makes it again
	Story   []Event       `json:"story,omitempty"` // of the first attempt that fails, or else the first one

	taken []Attempt // without their events
}

// Attempt is the outcome of one attempt of a cell.
type Attempt struct {
	Number   int
	Events   []Event
	Failure  string        // what the lock lost, in words; empty if nothing
	Left     Verdict       // why it does not count; empty if it does
	Why      string        // likewise, in words
	Overlap  time.Duration // the longest
	Recovery time.Duration
	Never    bool
	Gaps     int           // 0: one, or not known yet
	TTL      time.Duration // of its leases
}

// Take adds an attempt. The story is that of the first on which the judges disagree, or else of the first that fails, or else of
// the one that took longest to recover.
func (c *Cell) Take(a Attempt) {
	tell := func() { c.Story, c.Seed, c.TTL = a.Events, a.Number, cmp.Or(a.TTL, c.TTL) }
	c.Gaps = max(c.Gaps, a.Gaps)
	light := a
	light.Events = nil
	c.taken = append(c.taken, light)
	if a.Left != "" {
		c.Left++
		if c.Verdict != Invalid && (c.Attempts == 0 || a.Left == Invalid) {
			c.Verdict, c.Why = a.Left, a.Why
			tell()
		}
		return
	}
	c.Attempts++
	c.Recovery = max(c.Recovery, a.Recovery)
	if a.Failure != "" {
		c.Failed++
		c.Never = c.Never || a.Never
		c.Longest = max(c.Longest, a.Overlap)
	}
	switch {
	case c.Verdict == Invalid:
	case a.Failure != "" && c.Failed == 1:
		tell()
		c.Why = a.Failure
	case c.Attempts == 1, c.Failed == 0 && a.Recovery > 0 && a.Recovery == c.Recovery:
		tell()
	}
}

// ByGap returns the attempts at each gap.
func (c *Cell) ByGap() [][]Attempt {
	gaps := make([][]Attempt, max(1, c.Gaps))
	for _, a := range c.taken {
		n := a.Number % len(gaps)
		gaps[n] = append(gaps[n], a)
	}
	return gaps
}

// Unseen reports whether the design says that it fails a hazard, and no attempt has shown it.
func (c *Cell) Unseen() bool { return c.Verdict == Survives && c.Listed }

// Unlisted reports whether the design fails a hazard and does not say that it does.
func (c *Cell) Unlisted() bool { return c.Verdict == Fails && !c.Listed }

// Event is a moment of a story, on one clock for all clients.
type Event struct {
	At     time.Duration `json:"at_ns"`            // since the attempt began, on one clock for all clients
	Client string        `json:"client,omitempty"` // absent of what befalls the server or the way to it
	Kind   Kind          `json:"kind"`
	Owner  string        `json:"owner,omitempty"`
	Fence  uint64        `json:"fence,omitempty"`
	Until  time.Duration `json:"until_ns,omitempty"` // of a grant: until when the lease lasts, as the lock has told its holder
	Text   string        `json:"text,omitempty"`     // the rest, in words
}

// Kind is the kind of an event.
type Kind string

const (
	Asks     Kind = "asks"    // sends an attempt to acquire
	Granted  Kind = "granted" // and holds the key from here on, as far as it knows
	Refused  Kind = "refused"
	Errs     Kind = "error"     // the answer was not heard
	Renewed  Kind = "renewed"   // has its whole lease again
	Lets     Kind = "lets go"   // sends a release: from here on it does not hold the key
	Released Kind = "released"  // the server removed a lock
	NotThere Kind = "not there" // the server had nothing to remove
	Dies     Kind = "dies"
	Fault    Kind = "fault"
	Finding  Kind = "finding" // what the attempt shows
)

// Kinds are all of them.
var Kinds = []Kind{Asks, Granted, Refused, Errs, Renewed, Lets, Released, NotThere, Dies, Fault, Finding}

// Hold is the time in which a client believes that it holds the key: from its grant, which is recorded after the answer was read,
// to its release, which is recorded before that is sent. Each lies inside the client's own belief, so that an overlap is never a
// false alarm.
type Hold struct {
	Client   string
	From, To time.Duration
	ended    bool
}

// Holds returns those of a story. One that does not end lasts longer than the story.
func Holds(events []Event) (list []Hold) {
	for _, e := range events {
		open := slices.IndexFunc(list, func(h Hold) bool { return h.Client == e.Client && !h.ended })
		switch e.Kind {
		case Granted:
			if open < 0 { // else it acquires what it holds
				list = append(list, Hold{Client: e.Client, From: e.At})
			}
		case Lets, Dies:
			if open >= 0 {
				list[open].To, list[open].ended = e.At, true
			}
		}
	}
	for i := range list {
		if !list[i].ended {
			list[i].To = events[len(events)-1].At + 1
		}
	}
	return list
}

// Bound returns the highest share of failures that n attempts without one leave possible, with 95 % confidence: 1 − 0.05^(1/n)
// (Clopper and Pearson 1934, for no success). It is 1 for none.
func Bound(n int) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// WriteStory writes what happened in the attempt that a cell tells of.
func WriteStory(w io.Writer, c *Cell) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s: %s", c.Hazard, c.Driver, c.Lock, c.Verdict)
	if c.Why != "" {
		fmt.Fprintf(&b, ": %s", c.Why)
	}
	fmt.Fprintf(&b, "\n%s\n", c.Command)
	if c.TTL > 0 {
		fmt.Fprintf(&b, "TTL %s\n", format.Exact(c.TTL))
	}
	b.WriteByte('\n')
	for _, e := range c.Story {
		fmt.Fprintf(&b, "%10.3f ms  %-6s %s", float64(e.At)/1e6, e.Client, e.Kind)
		if e.Fence != 0 {
			fmt.Fprintf(&b, ", fence %d", e.Fence)
		}
		if e.Text != "" {
			fmt.Fprintf(&b, ": %s", e.Text)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}
