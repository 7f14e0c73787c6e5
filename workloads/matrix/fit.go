// Settings that do not go together, or not with the design and its library.

package matrix

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// Misfit is an error about settings that make no sense together. In a matrix it is a reason to leave a cell out.
type Misfit struct {
	What string // the part of the cell that does not fit: "memory mutex -wait block"
	Why  string
}

func (m *Misfit) Error() string {
	if strings.HasPrefix(m.Why, m.What+": ") {
		return m.Why
	}
	return m.What + ": " + m.Why
}

// misfit returns a Misfit about a driver and what follows.
func misfit(p *spec.Plan, why, format string, args ...any) *Misfit {
	return &Misfit{What: p.Driver + " " + fmt.Sprintf(format, args...), Why: why}
}

// ofClass returns a Misfit about a design, a class if it has a name, and what follows.
func ofClass(p *spec.Plan, class, why, format string, args ...any) *Misfit {
	if class != "" {
		class = " class " + class
	}
	return misfit(p, why, "%s%s %s", p.Lock, class, fmt.Sprintf(format, args...))
}

// fit returns what of p does not go together, and nil if all does. Values that are out of bounds are left to others.
func fit(p *spec.Plan, t drivers.Traits) *Misfit {
	if m := fitDesign(p, t); m != nil {
		return m
	}
	if m := fitLibrary(p); m != nil {
		return m
	}
	for _, c := range p.Groups() {
		if m := fitLoad(p, c, t); m != nil {
			return m
		}
	}
	return fitBatch(p)
}

// Batched reports whether clients are carried in batches instead of by goroutines.
func Batched(p *spec.Plan) bool { return p.Pipelining == string(drivers.PipeliningBatch) }

// Batches returns how many goroutines carry the clients of p, each with a connection of its own: two for each processor, so that
// one has work while another waits for answers (1.06 to 1.2 times the locks/s of one for each, with 512 clients), unless
// -conns says otherwise.
func Batches(p *spec.Plan) int { return cmp.Or(p.Conns, 2*runtime.GOMAXPROCS(0)) }

// fitBatch returns what of p cannot be done in batches: what would keep the goroutine that carries a client waiting.
func fitBatch(p *spec.Plan) *Misfit {
	const batch = "-pipelining batch"
	kind, _ := wait.Find(p.Wait)
	switch {
	case !Batched(p):
		return nil
	case kind.Blocks || kind.Native:
		return misfit(p, "a client in a batch has no goroutine that could wait like this; all others go with it", "%s %s -wait %s", p.Lock, batch, p.Wait)
	case p.Topology != "":
		return misfit(p, "a batch goes to a single server", "%s %s -topology %s", p.Lock, batch, p.Topology)
	}
	return nil
}

// Unbatched is the error of a service that cannot send the requests of p in batches, for that reason.
func Unbatched(p *spec.Plan, why error) error {
	return misfit(p, why.Error(), "%s -pipelining batch", p.Lock)
}

// fitDesign returns what the design of p cannot do.
func fitDesign(p *spec.Plan, t drivers.Traits) *Misfit {
	kind, _ := wait.Find(p.Wait)
	waits := p.Lock + " -wait " + p.Wait
	switch {
	case kind.Native && !t.Waits:
		return misfit(p, "its sessions have no way of waiting of their own", "%s", waits)
	case kind.Wakes && !t.Wakes:
		return misfit(p, "its releases wake nobody", "%s", waits)
	case kind.Blocks && p.Topology != "":
		return misfit(p, "a client can sleep on a single server only", "%s -topology %s", waits, p.Topology)
	case kind.Blocks && !t.Blocks:
		return misfit(p, "its releases wake nobody who sleeps on the server", "%s", waits)
	case kind.Blocks && p.Release != "" && p.Release != string(drivers.ReleaseLua):
		return misfit(p, "the release that wakes a sleeper is a script", "%s -release %s", waits, p.Release)
	case p.Handover == wait.HandoverSwap && p.Topology == string(drivers.TopologyRedlock):
		return misfit(p, "several servers cannot hand a lock over in one step", "%s -handover swap -topology redlock", waits)
	case p.Renew && !t.Renews && t.Session:
		return misfit(p, "it is kept alive by its session", "%s -renew", p.Lock)
	case p.Renew && !t.Renews:
		return misfit(p, "its leases cannot be renewed", "%s -renew", p.Lock)
	case p.Reentry > 1 && !t.Reentrant:
		return misfit(p, "its holder cannot enter it again", "%s -reentry %d", p.Lock, p.Reentry)
	case p.Processes > 1 && t.Exclusive && !Addressed(p.Driver):
		return misfit(p, "it excludes the clients of one process only", "%s -processes %d", p.Lock, p.Processes)
	case p.Lockers > 1 && p.Processes > 1:
		return misfit(p, "processes are what lockers imitate", "-lockers %d -processes %d", p.Lockers, p.Processes)
	case p.Lockers > 1 && !kind.Local && !Library(p.Driver).Outside && !(kind.Native && Library(p.Driver).Locks):
		return misfit(p, "clients that wait like this share nothing, whatever their process", "%s -lockers %d", waits, p.Lockers)
	}
	return nil
}

// LocalLine reports whether clients of one process wait for each other within it, before the server hears of them.
func LocalLine(p *spec.Plan) bool {
	kind, _ := wait.Find(p.Wait)
	return kind.Local || kind.Native && Library(p.Driver).Queues
}

// Waits returns the ways of waiting that go with a design, that of -wait auto first.
func Waits(driver string, d drivers.Design) (names []string) {
	auto := automatic(d.Traits)
	for _, k := range wait.Kinds() {
		if fitDesign(&spec.Plan{Driver: driver, Lock: d.Name, Wait: k.Name}, d.Traits) == nil && k.Name != auto {
			names = append(names, k.Name)
		}
	}
	return append([]string{auto}, names...)
}

// automatic returns the way of waiting that -wait auto chooses.
func automatic(t drivers.Traits) string {
	if t.Waits {
		return wait.Native
	}
	return wait.Backoff
}

// fitLibrary returns what the client library of p cannot do. Nothing is known of a driver that is not registered.
func fitLibrary(p *spec.Plan) *Misfit {
	d, err := drivers.Lookup(p.Driver)
	if err != nil {
		return nil
	}
	if design, err := drivers.FindDesign(d, p.Lock); err == nil && p.Release != "" && !slices.Contains(design.Releases, drivers.Release(p.Release)) {
		return misfit(p, "this design has one release of its own", "%s -release %s", p.Lock, p.Release)
	}
	const inside = "it runs in-process and has no connections"
	remote, library := Addressed(p.Driver), drivers.LibraryOf(d)
	switch {
	case !remote && p.Conns > 0:
		return misfit(p, inside, "-conns %d", p.Conns)
	case !remote && p.Pipelining != "" && p.Pipelining != string(drivers.PipeliningBatch):
		return misfit(p, inside, "-pipelining %s", pipelining.Text(p, nil))
	case p.Conns > 0 && library.Pinned(p.Lock):
		return misfit(p, "each client needs a connection of its own", "%s -conns %d", p.Lock, p.Conns)
	case p.Pipelining != "" && !slices.Contains(library.Pipelining, drivers.Pipelining(p.Pipelining)):
		return misfit(p, "its library leaves no choice", "-pipelining %s", pipelining.Text(p, nil))
	}
	return nil
}

var (
	keyDist, _    = spec.Find("key-dist")
	pipelining, _ = spec.Find("pipelining")
)

// fitLoad returns what of a class's load makes no sense, or not with the design.
func fitLoad(p *spec.Plan, c spec.Class, t drivers.Traits) *Misfit {
	l := c.Load
	rate, burst := "-rate "+l.Rate.String(), "-burst "+spec.FormatTime(l.Burst)
	switch {
	case !l.Rate.IsZero() && l.Burst > 0:
		return ofClass(p, c.Name, "clients come at a rate or in bursts, not both", "%s %s", rate, burst)
	case l.Open() && l.Think > 0:
		if !l.Rate.IsZero() {
			burst = rate
		}
		return ofClass(p, c.Name, "in an open loop arrivals come when they are due, and nobody thinks in between",
			"%s -think %s", burst, spec.FormatTimes(l.ThinkTimes()))
	case l.Crash > 0 && Library(p.Driver).Shared(p.Conns):
		return ofClass(p, c.Name, "its clients hold their locks together, and none can die alone", "-crash %s", spec.FormatShare(l.Crash))
	case l.Crash > 0 && !t.Expires && !t.Session && l.Timeout == 0 && p.Duration == 0:
		return ofClass(p, c.Name, "its locks outlive their holders, and -n operations would never end: give -duration or -timeout too",
			"-crash %s", spec.FormatShare(l.Crash))
	}
	if p.Keys < 1 || l.Clients < 1 {
		return nil
	}
	if n := l.KeyDist.Needs(l.Clients); p.Keys < n {
		return ofClass(p, c.Name, fmt.Sprintf("it needs %d keys at least", n), "-key-dist %s", keyDist.Typed(p, &l))
	}
	return nil
}

// CheckSession returns a *Misfit if a class of p asks of a session what it does not offer, although its design does.
func CheckSession(p *spec.Plan, c spec.Class, t drivers.Traits, s drivers.Session) error {
	if _, ok := drivers.As[drivers.Renewer](s); p.Renew && !ok {
		return misfit(p, "its sessions cannot renew, although the design says so", "%s -renew", p.Lock)
	}
	if _, ok := drivers.As[drivers.Passer](s); p.Handover == wait.HandoverSwap && !ok {
		return misfit(p, "its sessions cannot pass a lock on; -handover release works with it", "%s -wait %s -handover swap", p.Lock, p.Wait)
	}
	if _, ok := drivers.As[drivers.Crasher](s); c.Crash > 0 && t.Session && !ok {
		return ofClass(p, c.Name, "its sessions keep their locks as long as lockbench lives, and cannot die alone",
			"-crash %s", spec.FormatShare(c.Crash))
	}
	return nil
}
