// Package pace makes arrivals in an open loop: a Schedule says when each is due, Run lets them go at that time and as
// little later as the machine allows, and a Queue hands them over to the clients.
package pace

import "time"

// Window is where a trial's load lies on its clock: it begins at 0, and is measured from Warmup to Warmup+Duration. A
// Duration of 0 has no end, and a rate that goes in steps needs one. Before Warmup the rate is the first one.
type Window struct{ Warmup, Duration time.Duration }

// Schedule tells when arrivals are due, in order, in time since the load began. It ends with the window.
type Schedule interface {
	Next() (due time.Duration, ok bool)
}

// Lane is one schedule and where its arrivals go. Due is called from one goroutine for all lanes, in the order of time,
// never before the arrival's time; it must not block. Several arrivals that have come due meanwhile follow one another
// at once.
type Lane struct {
	Schedule Schedule
	Due      func(at time.Duration)
}
