// Classes of clients: what a plan says of each, made ready for the client loop.

package workloads

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
	"github.com/lockbench/lockbench/workloads/shape"
)

// class is one class of clients. Its clients read it in every cycle, so that what changes while the load runs is behind
// pointers.
type class struct {
	spec.Load // as planned

	number      int                // among the classes
	first       int                // the number of its first client; the others follow
	before      int                // clients of the whole load before that one, less first: those of other processes
	keys        []shape.KeySampler // client first+i's at i
	holds       *shape.Times
	thinks      *shape.Times
	timedHold   bool // holds take time
	thinking    bool // there is a time to think
	managedHold bool // there is more to a hold than a sleep; see hold.go
	open        bool // its clients serve arrivals
	recorder    *results.Recorder
	tryers      int         // its first clients, which try once and never wait
	queue       *pace.Queue // of arrivals; nil in a closed loop
	arrivals    *arrivals
	waiting     *atomic.Int64 // clients whose first request was refused, or that are in a call of a library
	name        string
}

// newClasses resolves the classes of a plan that Check has passed.
func newClasses(r *Run) ([]*class, error) {
	var all []*class
	first, before := 0, 0
	for _, g := range r.Plan.Groups() {
		c, err := newClass(r, g.Load)
		if err != nil {
			return nil, err
		}
		low, _ := r.Share.Range(g.Clients)
		c.name, c.number, c.first, c.before = g.Name, len(all), first, before+low-first
		first += c.Clients
		before += g.Clients
		all = append(all, c)
	}
	return all, nil
}

// newClass resolves the part of a class that this process has.
func newClass(r *Run, l spec.Load) (*class, error) {
	low, high := r.Share.Range(l.Clients)
	c := &class{Load: l, open: l.Open(), recorder: results.NewRecorder(0), waiting: new(atomic.Int64)}
	c.Clients = high - low
	const rounding = 1e-9 // 10 % of 30 clients are a little more than 3 in floating point
	c.tryers = r.Share.Of(int(math.Ceil(l.TryOnly*float64(l.Clients) - rounding)))
	if l.MaxQueue > 0 {
		c.MaxQueue = max(1, r.Share.Of(l.MaxQueue))
	}
	c.keys = shape.KeySamplers(l.KeyDist, r.Plan.Keys, l.Clients)[low:high]
	var err error
	if c.holds, err = shape.OpenTimes(l.HoldTimes()); err != nil {
		return nil, fmt.Errorf("-hold %v: %w", l.HoldDist, err)
	}
	if c.thinks, err = shape.OpenTimes(l.ThinkTimes()); err != nil {
		return nil, fmt.Errorf("-think %v: %w", l.ThinkDist, err)
	}
	if c.open {
		c.queue, c.arrivals = new(pace.Queue), &arrivals{}
	}
	c.timedHold = l.HoldTimes() != (spec.Times{}) || r.Plan.Reentry > 1
	c.thinking = l.ThinkTimes() != (spec.Times{})
	c.managedHold = r.Plan.Renew || r.Plan.Reentry > 1 || l.Crash > 0
	return c, nil
}

// tries reports whether a client of the class tries once and never waits. These clients come first in the class, so that
// they are spread evenly over the lockers, which are assigned by the clients' numbers. In an open loop each arrival tries
// once with that probability: clients that never wait would be free again before all others, and serve nearly every arrival
// of a contended lock.
func (c *class) tries(id int) bool {
	if c.open {
		return false
	}
	return id-c.first < c.tryers
}

func (c *client) pick() int32 { return int32(c.class.keys[int(c.id)-c.class.first].Next(&c.rng)) }
