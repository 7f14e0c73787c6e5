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
	register(Hazard{
		Number: 19, Name: drivers.HazardQuorumNodesGone,
		Applies:  needsExclusive,
		Tell:     quorumNodesGone,
		Server:   true,
		OfQuorum: true,
		Sound:    []string{"rueidis@redlock set-nx"},
	})
}

// minority are the servers that a majority can do without.
func (n Network) minority() int { return (len(n.nodes) - 1) / 2 }

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

func quorumNodesGone(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	hung := Network{a.Network().nodes[a.network.minority():], s.placebo}
	links := hung.Hold()
	held, _ := a.Try()
	s.Fault(links, "%d of %d servers do not answer A", len(hung.nodes), len(a.network.nodes))
	if held {
		s.Fail("A was granted the key by a minority")
		return
	}
	hung.Resume()
	back := s.Now()
	if !b.AcquireBy(back + 2*s.TTL() + slack) {
		s.Never("the key that nobody holds was not free %v after the servers were back", (s.Now() - back).Round(time.Millisecond))
		return
	}
	s.Recovered(b.Granted - back)
}
