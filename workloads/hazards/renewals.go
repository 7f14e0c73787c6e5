package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 28, Name: drivers.HazardRenewalReacquires,
		Applies: needsRenewer,
		Tell:    renewalReacquires,
		Fails:   []string{"redsync set-nx-on-extend"},
		Sound:   []string{"rueidis set-nx", "redsync library"},
	})
}

// renewalReacquires lets a renewal come too late, the next time when the lease still lasts, then while another client holds the
// key, and then not at all.
func renewalReacquires(s *Stage) {
	acts := []func(*Stage){renewsLate, renewsInTime, renewsBesideNext, renewsInVain}
	if s.server == nil {
		acts = acts[:3] // no connection can break
	}
	s.outcome.Gaps = len(acts)
	acts[s.number%len(acts)](s)
}

func renewsLate(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.AwaitExpiry(a)
	if !b.AcquireBy(a.Ends() + s.TTL() + slack) {
		s.leave(safety.NotExercised, "the key of A was not free after its lease")
	}
	b.Release()
	held, err := a.Renew()
	if err != nil {
		s.leave(safety.NotExercised, "A has no answer to its renewal: %v", err)
	}
	if held {
		s.Fail("A was told that it still holds the key, which B has had meanwhile")
	}
}

func renewsInTime(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	first := a.Ends()
	renewed := s.Act(func() {
		s.Until(a.Granted + s.TTL()*6/10)
		held, err := a.Renew()
		s.Before(first, "the renewal")
		if !held {
			s.leave(safety.NotExercised, "A has not renewed its lease: %v", err)
		}
	})
	s.Fault(renewed, "A renewed its lease when %v of it were left", (first - a.Granted).Round(time.Millisecond))
	granted := b.AcquireBy(min(first+s.TTL()/10, a.Sure()))
	if granted && b.Granted >= a.Sure() {
		s.leave(safety.Stalled, "B was granted the key after the renewed lease")
	}
	a.Release()
	s.FailIfBoth(a, b)
}

func renewsBesideNext(s *Stage) {
	a, b, c := s.Client("A"), s.Client("B"), s.Client("C")
	a.Acquire()
	s.AwaitExpiry(a)
	if !b.AcquireBy(a.Ends() + s.TTL() + slack) {
		s.leave(safety.NotExercised, "the key of A was not free after its lease")
	}
	s.Until(b.Granted + s.TTL()*6/10)
	told, err := a.Renew()
	if err != nil {
		s.leave(safety.NotExercised, "A has no answer to its renewal: %v", err)
	}
	taken, err := c.Try()
	s.Before(b.Sure(), "the renewal of A and the attempt of C")
	switch {
	case told:
		s.Fail("A was told that it still holds the key, which B holds")
	case err != nil:
		s.leave(safety.NotExercised, "C has no answer: %v", err)
	case taken:
		b.Release()
		c.Release()
		s.FailIfBoth(b, c)
	default:
		s.failIfExtended(b, c, "the renewal of A")
	}
}

// failIfExtended fails the attempt if the next client is refused the key after the lease of its holder, which has not renewed it.
// If what extends a lease does so when more than half of it is over, the key is not free for another half.
func (s *Stage) failIfExtended(holder, next *Client, what string) {
	free := next.AcquireBy(holder.Ends() + s.TTL()*3/10)
	switch {
	case next.unheard > 0:
		s.leave(safety.NotExercised, "%s has no answer", next.name)
	case free && next.Granted > holder.Ends()+s.TTL()/2, !free && next.Asked < holder.Ends()+s.TTL()/10:
		s.leave(safety.Stalled, "%s did not ask in time whether the lease of %s was over", next.name, holder.name)
	case !free:
		s.Fail("%s has extended the lease of %s: %s was refused the key %s after its end", what, holder.name, next.name, format.Duration(next.Asked-holder.Ends()))
	}
}

func renewsInVain(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	links := a.Network().Outage()
	s.Fault(links, "nothing of A reaches a server")
	if held, _ := a.Renew(); held {
		s.Fail("A was told that it still holds the key, and no answer has reached it")
	}
}
