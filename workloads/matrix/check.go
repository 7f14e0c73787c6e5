// Package matrix has the rules of what goes together in a plan: which settings exclude each other, and which a design
// or its library cannot have. The engine refuses plans by them, and a program that measures a matrix skips its cells.
package matrix

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// Bounds of a plan that others know as well. Bounds catch a slip of the keyboard, not a large experiment.
const (
	MaxProcesses = 4096
	MaxDuration  = 7 * 24 * time.Hour
)

// The kinds of servers, as plans name them.
const (
	Private   = "private"    // one that lockbench starts, and that nobody else uses
	Embedded  = "embedded"   // a stand-in in the process of lockbench
	External  = "external"   // the user's, treated as production
	InProcess = "in-process" // none: the driver needs no server
)

// Auto is the way of waiting that leaves the choice to the design.
const Auto = "auto"

// Misfit is an error about settings that make no sense together. In a matrix it is a reason to leave a cell out.
type Misfit struct {
	What string // the part of the cell that does not fit: "memory mutex -wait block"
	Why  string
}

func (m *Misfit) Error() string { return m.What + ": " + m.Why }

// misfit returns a Misfit about the driver of p and other settings of it, for the load of a class.
func misfit(p *spec.Plan, c spec.Class, names, why string) *Misfit {
	what := []string{p.Driver}
	for _, name := range strings.Fields(names) {
		s, _ := spec.Find(name)
		text := s.Typed(p, &c.Load)
		switch {
		case name != "lock":
			text = strings.TrimSuffix("-"+name+" "+text, " "+spec.On)
		case c.Name != "":
			text += " class " + c.Name
		}
		what = append(what, text)
	}
	return &Misfit{strings.Join(what, " "), why}
}

// rule refuses plans in which settings of those names do not go together.
type rule struct {
	broken bool
	names  string // of those settings; the driver goes without saying
	why    string
}

// firstBroken returns the Misfit of the first broken rule, and nil if there is none.
func firstBroken(p *spec.Plan, c spec.Class, rules []rule) error {
	i := slices.IndexFunc(rules, func(r rule) bool { return r.broken })
	if i < 0 {
		return nil
	}
	return misfit(p, c, rules[i].names, rules[i].why)
}

// Check returns a *spec.FieldError for the first setting of p whose value cannot be run, a *Misfit for settings that
// do not go together or not with a design of those traits, and nil if p can run. It does not ask whether the driver
// knows the lock.
func Check(p spec.Plan, t drivers.Traits) error { return cmp.Or(checkValues(&p), unfit(&p, t)) }

// checkValues checks each setting that p reads, of its classes and of all of them together.
func checkValues(p *spec.Plan) error {
	endless := p.Duration == 0 && p.Ops > 0
	for _, g := range append(slices.Clone(p.Groups()), spec.Class{Load: p.Load}) {
		for _, s := range spec.Settings {
			read := s.Reads(p, &g.Load) && (s.Name != "duration" || !endless)
			if err := s.Check(p, &g.Load); err != nil && read {
				if field, ok := err.(*spec.FieldError); ok && s.Class {
					field.Class = g.Name
				}
				return err
			}
		}
	}
	return nil
}

// unfit returns what of p does not go together, and nil if all does.
func unfit(p *spec.Plan, t drivers.Traits) error {
	d, err := drivers.Lookup(p.Driver)
	known, design := err == nil, drivers.Design{} // nothing is known of a driver that is not registered
	if known {
		design, _ = drivers.FindDesign(d, p.Lock)
	}
	library, remote := Library(p.Driver), Addressed(p.Driver)
	batched, topology := Batched(p), drivers.Topology(p.Topology)
	kind, _ := wait.Find(p.Wait)
	m := firstBroken(p, spec.Class{Load: p.Load}, []rule{
		{kind.Native && !t.Waits, "lock wait", "its sessions have no way of waiting of their own"},
		{kind.Blocks && topology != "", "lock wait topology", "a client can sleep on a single server only"},
		{kind.Wakes && !t.Wakes || kind.Blocks && !t.Blocks, "lock wait", "its releases wake nobody who waits like this"},
		{p.Renew && !t.Renews && t.Session, "lock renew", "it is kept alive by its session"},
		{p.Renew && !t.Renews, "lock renew", "its leases cannot be renewed"},
		{p.Reentry > 1 && !t.Reentrant, "lock reentry", "its holder cannot enter it again"},
		{p.Processes > 1 && t.Exclusive && !remote, "lock processes", "it excludes the clients of one process only"},
		{p.Lockers > 1 && p.Processes > 1, "lockers processes", "processes are what lockers imitate"},
		{p.Lockers > 1 && !kind.Local && !library.Outside && !(kind.Native && library.Locks),
			"lock wait lockers", "clients that wait like this share nothing, whatever their process"},
		{p.Lockers > max(p.Clients, 1), "lock lockers clients", "each locker needs a client"},

		{topology == drivers.TopologyReplicated && p.Replicas > 0 && p.Acks > p.Replicas,
			"acks replicas", "there are not as many to acknowledge"},
		{p.Server == Embedded && topology != "" && topology != drivers.TopologyRedlock,
			"topology", "the embedded server cannot be part of one; -addr private can"},
		{p.Server == Private && topology == drivers.TopologyEnsemble && p.Nodes != 1 && p.Nodes != usualNodes[topology],
			"topology nodes", fmt.Sprintf("lockbench starts ensembles of 1 or %d", usualNodes[topology])},

		{known && p.Release != "" && !slices.Contains(design.Releases, drivers.Release(p.Release)),
			"lock release", "this design has one release of its own"},
		{known && !remote && p.Conns > 0, "conns", "it runs in-process and has no connections"},
		{p.Conns > 0 && library.Pinned(p.Lock), "lock conns", "each client needs a connection of its own"},
		{known && p.Pipelining != "" && !slices.Contains(library.Pipelining, drivers.Pipelining(p.Pipelining)),
			"pipelining", "its library leaves no choice"},
		{batched && (kind.Blocks || kind.Native), "lock pipelining wait",
			"a client in a batch has no goroutine that could wait like this; all others go with it"},
		{batched && topology != "", "lock pipelining topology", "a batch goes to a single server"},
	})
	for _, c := range p.Groups() {
		rate, immortal := !c.Rate.IsZero(), !t.Expires && !t.Session
		m = cmp.Or(m, firstBroken(p, c, []rule{
			{rate && c.Burst > 0, "lock rate burst", "clients come at a rate or in bursts, not both"},
			{c.Open() && c.Think > 0, "lock think", "arrivals of an open loop come when they are due"}, // Resolve clears it
			{c.BurstRate() > spec.MaxRate, "lock burst clients", "more than 10M arrivals a second: give a longer -burst"},
			{c.Crash > 0 && library.Shared(p.Conns), "lock crash",
				"its clients hold their locks together, and none can die alone"},
			{c.Crash > 0 && immortal && c.Timeout == 0 && p.Duration == 0, "lock crash",
				"its locks outlive their holders, and -n operations would never end: give -duration or -timeout too"},
			{p.Keys < c.KeyDist.Needs(c.Clients), "lock key-dist",
				fmt.Sprintf("it needs %d keys at least", c.KeyDist.Needs(c.Clients))},
			{p.Processes > max(c.Clients, 1), "lock processes clients", "each process needs a client"},
		}))
	}
	return m
}

// CheckSession returns a *Misfit if a class of p asks of a session what it does not offer, although its design does.
func CheckSession(p *spec.Plan, c spec.Class, t drivers.Traits, s drivers.Session) error {
	_, renews := drivers.As[drivers.Renewer](s)
	_, passes := drivers.As[drivers.Passer](s)
	_, dies := drivers.As[drivers.Crasher](s)
	return firstBroken(p, c, []rule{
		{p.Renew && !renews, "lock renew", "its sessions cannot renew, although the design says so"},
		{p.Handover == wait.HandoverSwap && !passes, "lock wait handover",
			"its sessions cannot pass a lock on; -handover release works with it"},
		{c.Crash > 0 && t.Session && !dies, "lock crash",
			"its sessions keep their locks as long as lockbench lives, and cannot die alone"},
	})
}

// Batched reports whether clients are carried in batches instead of by goroutines.
func Batched(p *spec.Plan) bool { return p.Pipelining == string(drivers.PipeliningBatch) }

// Batches returns how many goroutines carry the clients of p, each with a connection of its own: two for each
// processor, so that one has work while another waits for answers (1.06 to 1.2 times the locks/s of one for each,
// with 512 clients), unless -conns says otherwise.
func Batches(p *spec.Plan) int { return cmp.Or(p.Conns, 2*runtime.GOMAXPROCS(0)) }

// LocalLine reports whether clients of one process wait for each other within it, before the server hears of them.
func LocalLine(p *spec.Plan) bool {
	kind, _ := wait.Find(p.Wait)
	return kind.Local || kind.Native && Library(p.Driver).Queues
}

// Waits returns the ways of waiting that go with a design, that of -wait auto first.
func Waits(driver string, d drivers.Design) []string {
	names := []string{automatic(d.Traits)}
	for _, k := range wait.Kinds() {
		p := spec.Plan{Driver: driver, Lock: d.Name, Wait: k.Name, Keys: 1}
		if k.Name != names[0] && unfit(&p, d.Traits) == nil {
			names = append(names, k.Name)
		}
	}
	return names
}

// automatic returns the way of waiting that -wait auto chooses.
func automatic(t drivers.Traits) string {
	return map[bool]string{true: wait.Native, false: wait.Backoff}[t.Waits]
}
