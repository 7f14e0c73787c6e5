// Package pace makes arrivals in an open loop: a Schedule says when each is due, and Run lets them go at that time and as
// little later as the machine allows.
package pace

import (
	"errors"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Rate is how many arrivals a second there are in the course of a trial. The zero value is none.
//
//	5000  5k               constant
//	1k:50k:10s             rises evenly from the one to the other in that time, then stays
//	steps:1k:50k:10        10 steps of the same length over the measured window, up
//	ladder:1k:50k:10       those steps shuffled, then the same backwards: a step that differs from its mirror image shows
//	                       hysteresis
type Rate struct{ text string }

// ParseRate reads a rate. The error says what is wrong and what would be right, without the flag's name.
func ParseRate(text string) (Rate, error) { return Rate{text}, errors.ErrUnsupported }

// String is the canonical spelling; empty for none.
func (r Rate) String() string { return r.text }

// Max is the highest rate that is reached.
func (r Rate) Max() float64 { return 0 }

// Step is one step of a rate that goes in steps; times are since the measured window opened.
type Step struct {
	From, To time.Duration
	Rate     float64
}

// Steps are the steps within a window of that length, in the order in which they come; none if the rate has none. seed
// shuffles a ladder.
func (r Rate) Steps(window time.Duration, seed uint64) []Step { return nil }

// Window is where a trial's load lies on its clock: it begins at 0, and is measured from Warmup to Warmup+Duration. A
// Duration of 0 has no end, and a rate that goes in steps needs one. Before Warmup the rate is the first one.
type Window struct{ Warmup, Duration time.Duration }

// Schedule tells when arrivals are due, in order, in time since the load began. It ends with the window.
type Schedule interface {
	Next() (due time.Duration, ok bool)
}

// Kinds of arrivals.
const (
	Constant = "constant" // the same distance each (for that rate); schedules of different seeds begin at different phases
	Poisson  = "poisson"  // independent of one another: exponential distances
)

// Arrivals is a schedule of that rate and kind. Equal seeds make equal schedules.
func Arrivals(r Rate, kind string, w Window, seed uint64) Schedule { return nil }

// Bursts is a schedule in which size arrivals are due at the same moment, every so often: at the opening of the measured
// window, every time after it, and in the warm-up at the times that lie as far before it.
func Bursts(size int, every time.Duration, w Window) Schedule { return nil }

// Lane is one schedule and where its arrivals go. Due is called from one goroutine for all lanes, in the order of time,
// never before the arrival's time; it must not block. Several arrivals that have come due meanwhile follow one another
// at once.
type Lane struct {
	Schedule Schedule
	Due      func(at time.Duration)
}

// Run lets the arrivals of all lanes go until they end or stop is closed; it returns then. The clock's 0 is the load's
// begin.
func Run(clock drivers.Clock, stop <-chan struct{}, lanes ...Lane) {}
