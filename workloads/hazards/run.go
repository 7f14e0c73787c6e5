package hazards

// From attempts to cells.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// Options say how to run hazards.
type Options struct {
	Attempts int           // that count, of each cell; 0: DefaultAttempts, or one for each gap if there are more; fewer if Each has no time for more
	Seed     int           // the number of the first attempt: the same number makes the same attempt
	TTL      time.Duration // of leases and sessions, if it is longer than what a service allows; 0: as short as that
	Each     time.Duration // that a hazard may take, about; 0: DefaultEach. One attempt is always made, and one for each gap.
	Prefix   string        // begins every name on a server
	Placebo  bool          // no fault happens: every attempt has to find that out
}

const (
	// DefaultAttempts without a failure leave a share of 14 % possible, with 95 % confidence.
	DefaultAttempts = 20
	DefaultEach     = 8 * time.Second

	// maxLeft are attempts in a row that do not count, after which no more are made.
	maxLeft = 5
)

// Run holds locks against a hazard, all of them at once. Cells are in the order of the locks.
func Run(ctx context.Context, h *Hazard, locks []Lock, servers Servers, o Options) []safety.Cell {
	if o.Each == 0 {
		o.Each = DefaultEach
	}
	began := time.Now()
	cells := make([]safety.Cell, len(locks))
	groups := map[place]*group{}
	for i, l := range locks {
		service := serviceOf(l)
		at := place{service, h.kind(l)}
		g := groups[at]
		if g == nil {
			g = &group{ctx: ctx, hazard: h, place: at, options: o, until: began.Add(o.Each)}
			groups[at] = g
		}
		cells[i] = safety.Cell{
			Hazard: string(h.Name), Driver: l.Where(), Lock: l.Design.Name, TTL: max(h.MinTTL, o.TTL, ttlOf(l)),
			Listed: h.listed(l.Design),
		}
		if why := h.applies(l, service); why != "" {
			cells[i].Verdict, cells[i].Why = safety.NotApplicable, why
			continue
		}
		g.members = append(g.members, member{l, &cells[i]})
	}
	var all sync.WaitGroup
	for _, g := range groups {
		all.Go(func() { g.run(servers) })
	}
	all.Wait()
	return cells
}

// serviceOf returns the kind of server that a lock needs; empty if it needs none.
func serviceOf(l Lock) string {
	d, err := drivers.Lookup(l.Driver)
	if err != nil {
		return ""
	}
	if a, ok := d.(drivers.Addressed); ok {
		return a.Service()
	}
	return ""
}

// ttlOf returns a lease that is as short as a service and a library allow, and a small machine keeps up with.
func ttlOf(l Lock) time.Duration {
	switch service := serviceOf(l); {
	case service == "etcd":
		return 2 * time.Second
	case service == "zookeeper", l.Topology == drivers.TopologyRedlock:
		return time.Second
	case l.Driver == "redsync": // which waits for an answer for a twentieth of the lease
		return 2 * time.Second
	}
	return 300 * time.Millisecond
}

// place is where locks meet a hazard.
type place struct {
	service string // empty: in this process
	kind    Kind
}

// group is the locks of a hazard that are in one place.
type group struct {
	ctx    context.Context
	hazard *Hazard
	place
	options Options
	until   time.Time     // when no more attempts begin
	round   time.Duration // that the last round took; the next one has to end before until
	members []member
	server  Server // nil without one
}

// member is a lock of a group.
type member struct {
	lock Lock
	cell *safety.Cell
}

// run makes the attempts of all members and judges their cells.
func (g *group) run(servers Servers) {
	if len(g.members) == 0 {
		return
	}
	if err := g.open(servers); err != nil {
		for _, m := range g.members {
			m.cell.NotStarted(err)
		}
		return
	}
	if g.hazard.Strike != nil {
		g.together(servers)
	} else {
		g.apart()
	}
	for _, m := range g.members {
		judge(m.cell)
	}
}

// open starts the server, if there is to be one.
func (g *group) open(servers Servers) (err error) {
	switch {
	case g.service == "":
	case g.hazard.Strike != nil:
		g.server, err = servers.Own(g.ctx, g.service, g.kind)
	default:
		g.server, err = servers.Shared(g.ctx, g.service, g.kind)
	}
	return err
}

// apart lets each member make its attempts in its own time.
func (g *group) apart() {
	var all sync.WaitGroup
	for _, m := range g.members {
		all.Go(func() {
			for i := 0; g.wants(m, i); i++ {
				m.cell.Take(g.tell(m.lock, g.options.Seed+i, nil))
			}
		})
	}
	all.Wait()
}

// together lets all members make an attempt at once, since all suffer the same fault, and then the next one.
func (g *group) together(servers Servers) {
	defer func() {
		if g.server != nil {
			_ = g.server.Close() // it may be dead
		}
	}()
	for i := 0; ; i++ {
		began := time.Now()
		var want []member
		for _, m := range g.members {
			if g.wants(m, i) {
				want = append(want, m)
			}
		}
		if len(want) == 0 {
			return
		}
		if err := g.ready(servers, i); err != nil {
			for _, m := range want {
				m.cell.Take(safety.Attempt{Left: safety.NotExercised, Why: "its server is not ready: " + err.Error()})
			}
			return
		}
		r := newRound(len(want), func(keys []string) (string, error) {
			if g.options.Placebo {
				return "", nil
			}
			return g.hazard.Strike(g.ctx, g.server, keys)
		})
		var all sync.WaitGroup
		for _, m := range want {
			all.Go(func() {
				defer r.leave()
				m.cell.Take(g.tell(m.lock, g.options.Seed+i, r))
			})
		}
		all.Wait()
		g.round = time.Since(began)
	}
}

// ready makes the server ready for the i-th round.
func (g *group) ready(servers Servers, i int) error {
	if i > 0 && g.hazard.Fresh {
		_ = g.server.Close() // it may be dead
		g.server = nil
		if err := g.open(servers); err != nil {
			return err
		}
	}
	if g.hazard.Prepare == nil {
		return nil
	}
	return g.hazard.Prepare(g.ctx, g.server)
}

// wants reports whether a member is to have its i-th attempt. A control that has to fail may do so at any gap.
func (g *group) wants(m member, i int) bool {
	c := m.cell
	want := cmp.Or(g.options.Attempts, max(DefaultAttempts, c.Gaps))
	if c.Failed == 0 && slices.Contains(g.hazard.Fails, m.lock.Name()) {
		want = max(want, c.Gaps)
	}
	return g.ctx.Err() == nil && c.Attempts < want && c.InRow < maxLeft && (i < max(1, c.Gaps) || time.Now().Add(g.round).Before(g.until))
}

// tell makes one attempt.
func (g *group) tell(l Lock, number int, r *round) (a safety.Attempt) {
	s := &Stage{
		ctx: g.ctx, lock: l, topology: g.hazard.topology(l), server: g.server, round: r, number: number, placebo: g.options.Placebo, ttl: max(g.hazard.MinTTL, g.options.TTL, ttlOf(l)), prefix: g.options.Prefix,
		key:     fmt.Sprintf("%s%s:%s:%s:%d", g.options.Prefix, g.hazard.Name, l.Where(), l.Design.Name, number),
		history: &history{clock: drivers.NewClock()},
	}
	defer s.close()
	defer func() {
		end := recover()
		s.checkFences()
		a = s.outcome
		a.Number = number
		a.Events = s.history.all()
		a.Overlap = longest(overlaps(a.Events))
		switch end := end.(type) {
		case nil:
		case over:
			a.Left, a.Why = end.verdict, end.why
		default:
			panic(end)
		}
		if why := disagreement(a.Events); why != "" {
			a.Left, a.Why = safety.Invalid, why
		}
	}()
	g.hazard.Tell(s)
	return a
}

// judge says what became of a cell.
func judge(c *safety.Cell) {
	switch {
	case c.Attempts == 0 && c.Left == 0:
		c.Verdict, c.Why = safety.NotExercised, "no attempt was made"
	case c.Verdict == safety.Invalid, c.Attempts == 0: // as the last attempt left it
	case c.Failed > 0:
		c.Verdict = safety.Fails
	default:
		c.Verdict, c.Why, c.Bound = safety.Survives, "", safety.Bound(c.Attempts)
	}
}
