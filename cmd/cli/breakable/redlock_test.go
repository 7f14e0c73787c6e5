package breakable_test

// A small Redlock, which can be broken where the one of package quorum cannot.

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// redlock is a majority of nodes. It is sound unless it is told otherwise.
type redlock struct {
	drivers.Driver // of a node
	drivers.Addressed

	counts   int  // votes that it counts as a majority; 0: more than half
	timeless bool // it does not compare the lease with the time that the votes took
	keeps    bool // it does not give back its votes when too few nodes answer
	twice    bool // it counts the vote of its first node twice
	hears    bool // it counts a node that does not answer
	one      bool // it releases at its first node alone
	stays    bool // it does not give back its votes when others have the majority
}

var inMajorities = []defect{
	{"quorum-nodes-gone", "counts a minority as a majority", inRedlock(func(r *redlock) { r.counts = 2 }), onFive, "minority"},
	{"quorum-nodes-gone", "keeps its votes when too few nodes answer", inRedlock(func(r *redlock) { r.keeps = true }), onFive, "keeps its votes"},
	{"quorum-nodes-gone", "counts a node twice", inRedlock(func(r *redlock) { r.twice = true }), onFive, "minority"},
	{"quorum-nodes-gone", "counts nodes that do not answer", inRedlock(func(r *redlock) { r.hears = true }), onFive, "minority"},
	{"unlock-after-refusal", "releases at one node alone", inRedlock(func(r *redlock) { r.one = true }), onFive, "not free"},
	{"late-grant", "does not compare its lease with the time of the votes", inRedlock(func(r *redlock) { r.timeless = true }), onFive, "at once"},
}

var onFive = []string{"redlock@redlock set-nx"}

// inRedlock returns a Redlock with a defect.
func inRedlock(breaks func(*redlock)) func(drivers.Driver) drivers.Driver {
	return func(sound drivers.Driver) drivers.Driver {
		r := sound.(redlock)
		breaks(&r)
		return r
	}
}

func (r redlock) Library() drivers.Library {
	return drivers.Library{Locks: true, Topologies: []drivers.Topology{drivers.TopologyRedlock}}
}

func (r redlock) Designs() []drivers.Design {
	return []drivers.Design{{Name: "set-nx", Traits: drivers.Traits{Exclusive: true, Owned: true, Expires: true}}}
}

func (r redlock) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	v := &voters{redlock: r, timeout: cmp.Or(cfg.NodeTimeout, drivers.DefaultNodeTimeout)}
	if v.counts == 0 {
		v.counts = len(cfg.Addrs)/2 + 1
	}
	for _, addr := range cfg.Addrs {
		one := cfg
		one.Addrs, one.Topology, one.Conns = []string{addr}, "", 1
		n, err := r.Driver.Open(ctx, one)
		if err != nil {
			return nil, errors.Join(err, v.Close())
		}
		v.nodes = append(v.nodes, n)
	}
	return v, nil
}

type voters struct {
	redlock
	timeout time.Duration
	nodes   []drivers.Service
}

func (v *voters) Traits() drivers.Traits { return v.Designs()[0].Traits }

func (v *voters) Close() error {
	var errs []error
	for _, n := range v.nodes {
		errs = append(errs, n.Close())
	}
	return errors.Join(errs...)
}

func (v *voters) Session(ctx context.Context, id int) (drivers.Session, error) {
	s := &voter{voters: v}
	for _, n := range v.nodes {
		one, err := n.Session(ctx, id)
		if err != nil {
			return nil, err
		}
		s.members = append(s.members, &member{session: one})
	}
	return s, nil
}

type voter struct {
	*voters
	owners  drivers.Owners
	members []*member
}

// member is the session with a node, for one request at a time.
type member struct {
	sync.Mutex
	session drivers.Session
}

func (v *voter) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	l.Reset()
	l.Owner = v.owners.Next()
	start := time.Now()
	yes, no := v.ask(ctx, l, func(ctx context.Context, s drivers.Session, l *drivers.Lease) (bool, error) {
		adopter, _ := drivers.As[drivers.Adopter](s)
		adopter.Adopt(l.Owner)
		return s.Try(ctx, l)
	})
	inTime := time.Since(start) < l.TTL-l.TTL/100-2*time.Millisecond
	if yes >= v.counts && (inTime || v.timeless) {
		return true, nil
	}
	tooFew := yes+no < v.counts
	if tooFew && !v.keeps || !tooFew && !v.stays {
		v.ask(ctx, l, release)
	}
	if tooFew {
		return false, errors.New("too few nodes have answered")
	}
	return false, nil
}

func (v *voter) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if v.one {
		return v.members[0].session.Release(ctx, l)
	}
	yes, no := v.ask(ctx, l, release)
	if yes+no < v.counts {
		return false, errors.New("too few nodes have answered")
	}
	return yes >= v.counts, nil
}

func release(ctx context.Context, s drivers.Session, l *drivers.Lease) (bool, error) {
	return s.Release(ctx, l)
}

// ask asks all nodes at once, and counts what they answer in time. The next request to a node waits for the end of this one.
func (v *voter) ask(ctx context.Context, l *drivers.Lease, do func(context.Context, drivers.Session, *drivers.Lease) (bool, error)) (yes, no int) {
	ctx, cancel := context.WithTimeout(ctx, v.timeout)
	defer cancel()
	answers := make(chan bool, 1+len(v.members)) // of nodes that answer
	var all sync.WaitGroup
	for i, m := range v.members {
		one := &drivers.Lease{Key: l.Key, TTL: l.TTL, Owner: l.Owner}
		all.Go(func() {
			m.Lock()
			defer m.Unlock()
			vote, err := do(ctx, m.session, one)
			if err == nil {
				answers <- vote
			}
			if err == nil && i == 0 && v.twice {
				answers <- vote
			}
		})
	}
	answered := make(chan struct{})
	go func() {
		all.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	for range len(answers) {
		if <-answers {
			yes++
		} else {
			no++
		}
	}
	if v.hears {
		yes = len(v.members) - no
	}
	return yes, no
}
