// Servers that restart, lose keys, or fail over.

package hazards

import (
	"context"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

func init() {
	register(Hazard{
		Number: 14, Name: drivers.HazardRestartEmpty, Tell: serverFails, Strike: restart, MinTTL: longLease,
		Fails: []string{"rueidis set-nx"}, Sound: []string{"etcd lease", "mysql unique-row"},
	})
	register(Hazard{
		Number: 15, Name: drivers.HazardEviction, Tell: keyEvicted, Services: []string{"redis"}, Lone: true,
		Strike: evict, MinTTL: longLease, Fails: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 16, Name: drivers.HazardServerClock, Applies: needsEnd, Tell: serverFails,
		Services: []string{"redis"}, Kind: HasClock, Fresh: true, Strike: jump, MinTTL: longLease,
		Fails: []string{"rueidis set-nx"},
	})
	register(Hazard{
		Number: 12, Name: drivers.HazardFailover, Tell: failOver, Services: []string{"redis"}, Kind: IsPair,
		Fresh: true, Prepare: holdLink, Strike: failsOver(FailOver{}), MinTTL: longLease,
		Fails: []string{"rueidis set-nx"},
		Sound: []string{"rueidis@replicated set-nx"}, // the replica that has acknowledged it becomes the primary
	})
	register(Hazard{
		Number: 26, Name: drivers.HazardFenceFailover, Applies: needsFence, Tell: fenceFailOver,
		Services: []string{"redis"}, Kind: IsPair, Fresh: true, Prepare: holdLink, Strike: failsOver(FailOver{}),
		MinTTL: longLease, Fails: []string{"rueidis fenced"}, Sound: []string{"rueidis@replicated fenced"},
	})
	register(Hazard{
		Number: 13, Name: drivers.HazardWaitOne, Tell: failOver, Services: []string{"redis"}, Kind: IsReplicated,
		Fresh: true, Acked: true, OnlyAcked: true, Prepare: holdLink, Strike: failsOver(FailOver{Behind: true}),
		MinTTL: longLease,
		Fails:  []string{"rueidis set-nx"}, // it survives hazard 12 on such servers, where the other replica is promoted
	})
	register(Hazard{
		Number: 30, Name: drivers.HazardWaitForever, Tell: waitForever, Services: []string{"redis"},
		Kind: IsReplicated, Fresh: true, Acked: true, Strike: failsOver(FailOver{Alone: true}),
		Fails: []string{"rueidis set-nx"}, Sound: []string{"rueidis fair"}, // which no replica has to acknowledge
	})
	register(Hazard{
		Number: 17, Name: drivers.HazardQuorumRestart, Tell: quorumRestart, OfQuorum: true, Strike: restart,
		MinTTL: longLease, Fails: []string{"rueidis@redlock set-nx"},
	})
	register(Hazard{
		Number: 18, Name: drivers.HazardQuorumPause, Tell: overrun, // whose holder works on as if nothing were
		Local: true, OfQuorum: true, Fails: []string{"rueidis@redlock set-nx"},
	})
	register(Hazard{
		Number: 19, Name: drivers.HazardQuorumNodesGone, Tell: quorumNodesGone, OfQuorum: true,
		Sound: []string{"rueidis@redlock set-nx"},
	})
}

// longLease is longer than any fault of a server.
const longLease = 30 * time.Second

// restart restarts a server; of a Quorum the first one.
func restart(ctx context.Context, server Server, _ []string) (evidence string, err error) {
	if q, ok := server.(Quorum); ok {
		server = q.Nodes()[0]
	}
	before := server.PID()
	if err := server.Kill(); err != nil {
		return "", err
	}
	if err := server.Restart(ctx); err != nil {
		return "", err
	}
	return fmt.Sprintf("the server's process %d was killed, and %d answers at its address", before, server.PID()), nil
}

// evict evicts all keys of the locks, whatever else is in their names. The evidence is that they are gone, and not that some key is.
func evict(ctx context.Context, server Server, locks []string) (evidence string, err error) {
	e := server.(Evicter)
	var keys []string
	for _, lock := range locks {
		of, err := e.KeysWith(ctx, lock)
		if err != nil {
			return "", err
		}
		keys = append(keys, of...)
	}
	if err := e.Evict(ctx, "allkeys-random", keys...); err != nil {
		return "", err
	}
	for _, lock := range locks {
		switch left, err := e.KeysWith(ctx, lock); {
		case err != nil:
			return "", err
		case len(left) > 0:
			return "", fmt.Errorf("the key %s was not evicted", left[0])
		}
	}
	return "the server was short of memory and evicted the keys: " + format.Few(keys, 3), nil
}

func jump(ctx context.Context, server Server, _ []string) (evidence string, err error) {
	const by = 2 * longLease
	if err := server.(Clocked).SetClock(ctx, by); err != nil {
		return "", err
	}
	return fmt.Sprintf("the server's clock has jumped ahead by %v", by), nil
}

// serverFails is the story of a fault of the server while a key is held.
func serverFails(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	s.failsUnder(a, b)
}

// keyEvicted is that story for a fault that is known by the keys of the lock.
func keyEvicted(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	if len(ask(s, func(ctx context.Context) ([]string, error) { return s.server.(Evicter).KeysWith(ctx, s.key) })) == 0 {
		s.leave(safety.NotExercised, "the server has no key with the name of the lock")
	}
	s.failsUnder(a, b)
}

// failsUnder lets the fault of the server strike while A has the key.
func (s *Stage) failsUnder(a, b *Client) {
	s.Strike()
	const patience = 300 * time.Millisecond // of a client that has an answer
	s.leaveIf(!b.AnswerBy(a.Sure()), safety.NotExercised, "the server does not answer B")
	b.AcquireWhile(a, patience)
	a.Release()
	s.FailIfBoth(a, b)
}

func holdLink(ctx context.Context, s Server) error { return s.(Replicated).HoldLink(ctx) }

// failsOver returns a Strike.
func failsOver(f FailOver) func(context.Context, Server, []string) (evidence string, err error) {
	return func(ctx context.Context, s Server, _ []string) (string, error) {
		return s.(Replicated).FailOver(ctx, f)
	}
}

func failOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	s.Strike()
	b := s.Client("B")
	s.leaveIf(!b.AnswerBy(a.Sure()), safety.NotExercised, "the new primary grants B no other key")
	const patience = 300 * time.Millisecond
	if b.AcquireWhile(a, patience) {
		b.Release()
	}
	s.FailIfBoth(a, b)
}

// fenceFailOver lets two clients have the key; every grant is checked for its fencing token.
func fenceFailOver(s *Stage) {
	a := s.Client("A")
	a.Acquire()
	a.Release()
	s.Strike()
	b := s.Client("B")
	s.leaveIf(!b.AcquireBy(a.Sure()), safety.NotExercised, "B was not granted the key")
}

// waitForever needs a client that lives through the fail-over: a lock that needs more replicas than there are cannot be opened.
// See redisson/redisson#4706.
func waitForever(s *Stage) {
	a, b := s.Client("A"), s.Client("B")
	a.Acquire()
	a.Release()
	s.Strike()
	if err := b.Network().Lead(s.server); err != nil {
		s.leave(safety.NotExercised, "B does not find the new primary: %v", err)
	}
	since := s.Now()
	held, err := b.Try()
	unacked := func() bool { return drivers.ClassOf(err) == drivers.ClassUnacked }
	for !held && !unacked() && s.Now() < since+slack { // B's connection was to the old one
		s.Until(s.Now() + tryEvery)
		held, err = b.Try()
	}
	switch {
	case held:
		s.Recovered(b.Granted - since)
		b.Release()
	case unacked():
		s.refusedForever(err)
	default:
		s.leave(safety.NotExercised, "the new primary does not grant B the key, though a replica is not what it lacks: %v", err)
	}
}

// refusedForever fails the attempt if the primary has no replica that could acknowledge anything: none comes by itself.
func (s *Stage) refusedForever(why error) {
	switch n, err := s.server.(Replicated).Followers(s.ctx); {
	case err != nil:
		s.leave(safety.NotExercised, "the new primary does not tell how many replicas it has: %v", err)
	case n > 0:
		s.leave(safety.NotExercised, "the new primary has %d replicas", n)
	}
	s.Never("the key that nobody holds is refused as long as the new primary has no replica: %v", why)
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
	s.comesFree(b, s.Now(), 2, "the key that nobody holds was not free %v after the servers were back")
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
	if s.Now()-a.Asked > s.nodeTimeout { // what the living have not answered in time cannot be given back for sure
		s.leave(safety.Stalled, "A waited %v for the servers that are alive", s.elapsed(a.Asked))
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
