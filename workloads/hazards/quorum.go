package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func init() {
	register(Hazard{
		Number: 17, Name: drivers.HazardQuorumRestart,
		Applies:  needsExclusive,
		Tell:     quorumRestart,
		Server:   true,
		OfQuorum: true,
		Strike:   restart,
		MinTTL:   longLease,
		Fails:    []string{"rueidis@redlock set-nx"},
	})
	register(Hazard{
		Number: 18, Name: drivers.HazardQuorumPause,
		Applies:  needsExclusive,
		Tell:     overrun, // whose holder works on as if nothing were
		OfQuorum: true,
		Fails:    []string{"rueidis@redlock set-nx"},
	})
}

func quorumRestart(s *Stage) {
	a := s.Client("A")
	nodes := a.Network().nodes
	majority := len(nodes) - a.network.minority()
	cut := Network{nodes[majority:], s.placebo}.Outage()
	a.Acquire()
	s.Fault(cut, "A was granted the key by %d of %d servers", majority, len(nodes))
	s.Strike()
	b := s.Client("B")
	const patience = time.Second
	if b.AcquireWhile(a, patience) {
		b.Release()
	}
	s.FailIfBoth(a, b)
}
