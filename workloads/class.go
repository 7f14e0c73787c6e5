// Classes of clients: what a plan says of each, made ready for the client loop.

package workloads

import (
	"fmt"
	"math"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/pace"
	"github.com/lockbench/lockbench/workloads/shape"
)

// class is one class of clients. Its clients read it in every cycle, so that what changes while the load runs is behind
// pointers.
type class struct {
	spec.Load // as planned; Hold and Think are the fixed times if there are no samplers

	number      int                // among the classes
	first       int                // the number of its first client; the others follow
	before      int                // clients of the whole load before that one, less first: those of other processes
	keys        []shape.KeySampler // client first+i's at i; nil: keys are drawn uniformly
	holds       *shape.Times       // nil: each takes Hold
	thinks      *shape.Times
	timedHold   bool // holds take time
	thinking    bool // there is a time to think
	managedHold bool // there is more to a hold than a sleep; see hold.go
	open        bool // its clients serve arrivals
	recorder    *results.Recorder
	tryers      int         // its first clients, which try once and never wait
	queue       *pace.Queue // of arrivals; nil in a closed loop
	arrivals    *arrivals
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
	c := &class{Load: l, open: l.Open(), recorder: results.NewRecorder(0)}
	c.Clients = high - low
	const rounding = 1e-9 // 10 % of 30 clients are a little more than 3 in floating point
	c.tryers = r.Share.Of(int(math.Ceil(l.TryOnly*float64(l.Clients) - rounding)))
	if l.MaxQueue > 0 {
		c.MaxQueue = max(1, r.Share.Of(l.MaxQueue))
	}
	if !l.KeyDist.Uniform() {
		c.keys = shape.KeySamplers(l.KeyDist, r.Plan.Keys, l.Clients)[low:high]
	}
	var err error
	if c.holds, err = openTimes("hold", l.HoldDist); err != nil {
		return nil, err
	}
	if c.thinks, err = openTimes("think", l.ThinkDist); err != nil {
		return nil, err
	}
	if c.open {
		c.queue, c.arrivals = new(pace.Queue), &arrivals{}
	}
	c.timedHold = l.Hold > 0 || c.holds != nil || r.Plan.Reentry > 1
	c.thinking = l.Think > 0 || c.thinks != nil
	c.managedHold = r.Plan.Renew || r.Plan.Reentry > 1 || l.Crash > 0
	return c, nil
}

// openTimes makes a distribution of times ready; nil for a fixed time.
func openTimes(flag string, t spec.Times) (*shape.Times, error) {
	if t.IsZero() {
		return nil, nil
	}
	times, err := shape.OpenTimes(t)
	if err != nil {
		return nil, fmt.Errorf("-%s %v: %w", flag, t, err)
	}
	return times, nil
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

func (c *client) pick() int32 {
	if cl := c.class; cl.keys != nil {
		return int32(cl.keys[int(c.id)-cl.first].Next(&c.rng))
	}
	n := uint64(len(c.e.keys))
	if n == 1 {
		return 0
	}
	return int32((c.rng.Uint64() >> 32) * n >> 32) // Lemire's reduction; its bias is below n/2^32
}

// unit returns a random number from 0 to less than 1.
func (c *client) unit() float64 { return float64(c.rng.Uint64()>>11) / (1 << 53) }

func (c *client) drawHold() time.Duration {
	cl := c.class
	if cl.holds == nil {
		return cl.Hold
	}
	return cl.holds.Next(&c.rng)
}

// drawThink returns how long the next think pause takes.
func (c *client) drawThink() time.Duration {
	cl := c.class
	if cl.thinks == nil {
		return cl.Think
	}
	return cl.thinks.Next(&c.rng)
}
