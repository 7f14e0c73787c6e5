package drivers

import "time"

// Clock reads monotonic time as the distance from a fixed start. That costs about half of time.Now and fits into an
// int64, which can be stored atomically.
type Clock struct{ base time.Time }

// NewClock starts a clock at zero.
func NewClock() Clock { return Clock{time.Now()} }

// ClockAt returns a clock that is zero at that time, which may lie ahead.
func ClockAt(zero time.Time) Clock { return Clock{zero} }

// Now returns the time since the clock was started.
func (c Clock) Now() time.Duration { return time.Since(c.base) }

// Time converts a reading of the clock to a time.Time.
func (c Clock) Time(d time.Duration) time.Time { return c.base.Add(d) }

// Reading converts a time.Time to a reading of the clock; it is negative for times before the start.
func (c Clock) Reading(t time.Time) time.Duration { return t.Sub(c.base) }
