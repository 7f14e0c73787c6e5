package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 11, Name: drivers.HazardOrphanWatchdog,
		Applies: needsRenewal,
		Tell:    orphanWatchdog,
		Server:  true,
		Fails:   []string{"rueidis set-nx"},
		Sound:   []string{"postgres advisory"},
	})
}

func orphanWatchdog(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.Fault(a.LoseRelease(), "the release of A was lost with its connection")
	failed := s.Now()
	renewals := a.Watch()
	if b.AcquireBy(failed + 2*s.TTL() + slack) {
		if a.renews.Load() {
			s.leave(safety.Stalled, "the lease of A was over before its renewal")
		}
		s.Recovered(b.Granted - failed)
		return
	}
	s.Never("the key that A has let go was not free after %v, with %s by A, whose client lives on",
		(s.Now() - failed).Round(time.Millisecond), format.Plural(renewals(), "renewal"))
}
