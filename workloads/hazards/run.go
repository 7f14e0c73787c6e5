// From attempts to cells.

package hazards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
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
	DefaultEach     = 7 * time.Second

	// maxLeft are attempts of one number that do not count, after which no more are made. There are fewer when time is up, but
	// not for a machine that is too slow, which gets longer leases, and overtime times as long as the hazard may take.
	maxLeft  = 5
	overtime = 3
)

// Run holds locks against a hazard, all of them at once. Cells are in the order of the locks.
func Run(ctx context.Context, h *Hazard, locks []Lock, servers Servers, o Options) []safety.Cell {
	o.Each = cmp.Or(o.Each, DefaultEach)
	began := time.Now()
	machine := newWitness()
	defer machine.close()
	cells := make([]safety.Cell, len(locks))
	groups := map[place]*group{}
	for i, l := range locks {
		service := serviceOf(l)
		at := place{service, h.kind(l)}
		g := groups[at]
		if g == nil {
			g = &group{ctx: ctx, hazard: h, place: at, options: o, until: began.Add(o.Each), witness: machine}
			groups[at] = g
		}
		cells[i] = safety.Cell{
			Hazard: string(h.Name), Driver: l.Where(), Lock: l.Design.Name, TTL: max(h.MinTTL, o.TTL, ttlOf(l)),
			Listed: h.Admits(l.Design),
		}
		if why := h.applies(l, service); why != "" {
			cells[i].Verdict, cells[i].Why = safety.NotApplicable, why
			continue
		}
		g.members = append(g.members, &member{lock: l, cell: &cells[i]})
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
	members []*member
	server  Server // nil without one
	witness *witness
}

// member is a lock of a group. It makes attempts by their numbers, which tell their gaps, and each one again that does not count.
type member struct {
	lock Lock
	cell *safety.Cell

	made int            // attempts that have counted or were given up
	left safety.Verdict // why the last attempt does not count; empty: it does
	row  int            // of those that do not, of the same number
	slow int            // attempts that the machine was too slow for: the next ones have longer leases
}

func (m *member) take(a safety.Attempt) {
	m.cell.Take(a)
	if m.left = a.Left; m.left == "" {
		m.next()
	} else {
		m.row++
	}
	if a.Left == safety.Stalled {
		m.slow = min(m.slow+1, maxLeft-1)
	}
}

func (m *member) next() { m.made, m.row, m.left = m.made+1, 0, "" }

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
			for g.wants(m) {
				m.take(g.tell(m, nil))
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
		var want []*member
		for _, m := range g.members {
			if g.wants(m) {
				want = append(want, m)
			}
		}
		if len(want) == 0 {
			return
		}
		if err := g.ready(servers, i); err != nil {
			for _, m := range want {
				m.take(safety.Attempt{Number: g.options.Seed + m.made, Left: safety.NotExercised, Why: "its server is not ready: " + err.Error()})
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
				m.take(g.tell(m, r))
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

// wants reports whether a member has an attempt to make: of each gap one that counts, whatever time that takes, and more while
// there is time. A control that has to fail may do so at any gap.
func (g *group) wants(m *member) bool {
	c := m.cell
	gaps := max(1, c.Gaps)
	want := cmp.Or(g.options.Attempts, max(DefaultAttempts, gaps))
	if c.Failed == 0 && slices.Contains(g.hazard.Fails, m.lock.Name()) {
		want = max(want, gaps)
	}
	inTime := time.Now().Add(g.round).Before(g.until)
	if m.row > 0 && m.row >= g.most(m, inTime) {
		m.next()
	}
	return g.ctx.Err() == nil && m.left != safety.NotApplicable && c.Verdict != safety.Invalid && m.made < want && (m.made < gaps || inTime)
}

// most returns how many attempts of one number a member makes if none counts.
func (g *group) most(m *member, inTime bool) int {
	switch {
	case g.options.Placebo: // none is to count
		return 1
	case inTime, m.left == safety.Stalled && time.Now().Before(g.until.Add(overtime*g.options.Each)):
		return maxLeft
	case m.left == safety.Stalled:
		return 1
	}
	return 2
}

// tell makes the next attempt of a member.
func (g *group) tell(m *member, r *round) (a safety.Attempt) {
	l, number, longer := m.lock, g.options.Seed+m.made, time.Duration(1+m.slow)
	ttl := max(g.hazard.MinTTL, g.options.TTL, ttlOf(l))
	s := &Stage{
		ctx: g.ctx, lock: l, topology: g.hazard.topology(l), server: g.server, round: r, number: number, placebo: g.options.Placebo, prefix: g.options.Prefix,
		ttl: max(ttl, min(ttl*longer, longLease)), ioTimeout: ioTimeout * longer, nodeTimeout: nodeTimeout * longer,
		key:     fmt.Sprintf("%s%s:%s:%s:%d-%d", g.options.Prefix, g.hazard.Name, l.Where(), l.Design.Name, number, m.row),
		history: &history{clock: drivers.NewClock()}, witness: g.witness,
	}
	defer s.close()
	defer func() {
		end := recover()
		s.checkClaims()
		a = s.outcome
		a.Number, a.TTL = number, s.ttl
		a.Events = s.history.all()
		a.Overlap = longest(overlaps(a.Events))
		switch end := end.(type) {
		case nil:
		case over:
			if a.Failure == "" { // what was found before counts
				a.Left, a.Why = end.verdict, end.why
			}
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

// judge says what became of a cell. It survives only if an attempt counts at each gap that was tried.
func judge(c *safety.Cell) {
	gaps := c.ByGap()
	blank, tried := blanks(gaps)
	if c.Gaps > 0 {
		c.Tried = tried
		for n, attempts := range gaps {
			if slices.ContainsFunc(attempts, func(a safety.Attempt) bool { return a.Failure != "" }) {
				c.LostAt = append(c.LostAt, n)
			}
		}
	}
	switch {
	case c.Attempts == 0 && c.Left == 0:
		c.Verdict, c.Why = safety.NotExercised, "no attempt was made"
	case c.Verdict == safety.Invalid, c.Attempts == 0: // as the last attempt left it
	case c.Failed > 0:
		c.Verdict = safety.Fails
	case len(blank) > 0:
		last := gaps[blank[0]][len(gaps[blank[0]])-1]
		c.Verdict, c.Why = last.Left, fmt.Sprintf("no attempt counts at %s of %d: %s", gapNames(blank), len(gaps), last.Why)
	default:
		c.Verdict, c.Why, c.Bound = safety.Survives, "", safety.Bound(c.Attempts)
		if tried < len(gaps) {
			c.Why = fmt.Sprintf("%d of %d gaps were tried", tried, len(gaps))
		}
	}
}

// blanks returns the gaps with attempts none of which counts, and how many have one that does.
func blanks(gaps [][]safety.Attempt) (blank []int, tried int) {
	for n, attempts := range gaps {
		switch {
		case slices.ContainsFunc(attempts, func(a safety.Attempt) bool { return a.Left == "" }):
			tried++
		case len(attempts) > 0:
			blank = append(blank, n)
		}
	}
	return blank, tried
}

// gapNames returns "gap 1" or "gaps 1 and 3", counted from 1.
func gapNames(gaps []int) string {
	var names []string
	for _, n := range gaps {
		names = append(names, strconv.Itoa(n+1))
	}
	if len(names) == 1 {
		return "gap " + names[0]
	}
	return "gaps " + format.And(names)
}

// round is one fault that several attempts suffer together: it strikes once all of them are ready for it or over.
type round struct {
	strike func(keys []string) (evidence string, err error)
	struck chan struct{} // closed after the fault

	mu       sync.Mutex
	present  int // attempts that are not over
	ready    int // of them
	keys     []string
	over     bool
	began    time.Time // of the fault
	evidence string
	err      error
}

func newRound(attempts int, strike func([]string) (string, error)) *round {
	return &round{strike: strike, struck: make(chan struct{}), present: attempts}
}

// wait says that an attempt with that key is ready, and returns after the fault.
func (r *round) wait(key string) (began time.Time, evidence string, err error) {
	r.change(func() {
		r.ready++
		r.keys = append(r.keys, key)
	})
	<-r.struck
	return r.began, r.evidence, r.err
}

// leave says that an attempt is over.
func (r *round) leave() { r.change(func() { r.present-- }) }

func (r *round) change(count func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count()
	if r.over || r.ready == 0 || r.ready < r.present {
		return
	}
	r.began = time.Now()
	r.evidence, r.err = r.strike(r.keys)
	r.over = true
	close(r.struck)
}
