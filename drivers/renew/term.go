package renew

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// Term is what a holder knows of its lease. A Scheduler keeps it; a harness that sends renewals itself, in batches, does it in the
// same way.
type Term struct {
	Due   time.Duration // when to renew it
	Valid time.Duration // when it ends, as far as confirmed
	Lost  bool          // a renewal said so, or came too late
}

// Begun returns the term of a lease that was granted in answer to a request sent at began.
func Begun(l *drivers.Lease, began time.Duration, clock *drivers.Clock) Term {
	t := Term{Due: began + l.TTL/periods, Valid: began + l.TTL}
	if !l.ValidUntil.IsZero() {
		t.Valid = clock.Reading(l.ValidUntil)
		t.Due = min(t.Due, t.Valid)
	}
	return t
}

// Asks prepares a renewal, of which only its own ValidUntil counts, and returns the one before.
func (t *Term) Asks(l *drivers.Lease) (before time.Time) {
	before, l.ValidUntil = l.ValidUntil, time.Time{}
	return before
}

// Answered records a renewal that Asks has prepared. One that failed is tried again when the next would have been due, as long as
// the lease is alive. Even if the answer is "yours", it may be over by now.
func (t *Term) Answered(l *drivers.Lease, before time.Time, r Renewal, clock *drivers.Clock) {
	switch {
	case r.Err != nil || !r.Owned:
		l.ValidUntil = before
	case l.ValidUntil.IsZero():
		t.Valid = r.Sent + l.TTL
	default:
		t.Valid = clock.Reading(l.ValidUntil)
	}
	t.Lost = r.Err == nil && !r.Owned || r.Answered >= t.Valid
	t.Due = min(max(r.Sent+l.TTL/periods, r.Answered), t.Valid)
}
