package hazards

import (
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
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

// quorumNodesGone lets servers hang, and the next time be dead.
func quorumNodesGone(s *Stage) {
	const acts = 2
	if s.outcome.Gaps = acts; s.number%acts == 0 {
		s.nodesHang()
	} else {
		s.nodesDie()
	}
}

func (s *Stage) nodesHang() {
	a, b := s.Client("A"), s.Client("B")
	hung := Network{a.Network().nodes[a.network.minority():], s.placebo}
	began, links := s.Now(), hung.Hold()
	held, _ := a.Try()
	s.FaultSince(began, links, "%d of %d servers do not answer A", len(hung.nodes), len(a.network.nodes))
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

// nodesDie leaves A a minority and B a majority, of which A has asked all but one.
func (s *Stage) nodesDie() {
	a, b := s.Client("A"), s.Client("B")
	nodes, minority := a.Network().nodes, a.network.minority()
	majority := len(nodes) - minority
	began, links := s.Now(), Network{nodes[minority:], s.placebo}.Outage()
	held, _ := a.Try()
	s.FaultSince(began, links, "%d of %d servers are dead to A", majority, len(nodes))
	if held {
		s.Fail("A was granted the key by a minority")
		return
	}
	if took := s.Now() - a.Asked; took > s.nodeTimeout { // what the living have not answered in time cannot be given back for sure
		s.leave(safety.Stalled, "A waited %v for the servers that are alive", took.Round(time.Millisecond))
	}
	links = Network{b.Network().nodes[majority:], s.placebo}.Outage()
	s.Fault(links, "%d of %d servers are dead to B", minority, len(nodes))
	s.Before(a.Sure()-s.TTL()/2, "the refusal of A")
	asked := s.Now()
	if !b.AcquireBy(a.Sure() - s.TTL()/10) {
		s.endIfStalled(asked, s.ttl/tolerable, "that B is refused")
		s.Fail("A was not granted the key and keeps its votes: %d servers do not grant it to B after %s", majority, format.Duration(s.Now()-asked))
	}
}
