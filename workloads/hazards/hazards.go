// Package hazards makes locks fail on purpose, one hazard after another, and tells what was seen.
//
// A hazard is a story of a few clients and a fault (Hazard.Tell), in a file with its relatives. The order of its events is forced, by
// answers that are waited for and by faults of the connection, and not by sleeps: a lease is the only clock in it. All that
// happens goes into a history (judges.go), from which independent judges tell who held the key when. An attempt counts only
// if there is evidence that the fault struck, and if the machine was fast enough for the lease.
//
// It knows the contract in package drivers and no implementation of it. Servers that it may break are given to it (Servers).
package hazards

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Lock is a design of a driver that is held against hazards.
type Lock struct {
	Driver   string
	Topology drivers.Topology // of its servers; empty: one server
	Design   drivers.Design
}

// Name returns "driver design", with the topology if it is not one server: "rueidis@redlock set-nx".
func (l Lock) Name() string { return l.Where() + " " + l.Design.Name }

// Where returns the driver with its topology.
func (l Lock) Where() string {
	if l.Topology == "" {
		return l.Driver
	}
	return l.Driver + "@" + string(l.Topology)
}

func (l Lock) driver() (drivers.Driver, error) {
	return matrix.Driver(&spec.Plan{Driver: l.Driver, Topology: string(l.Topology)})
}

// kinds are the topologies that hazards know, and the kinds of their servers.
var kinds = map[drivers.Topology]Kind{
	"": Single, drivers.TopologyRedlock: IsQuorum, drivers.TopologyReplicated: IsReplicated, drivers.TopologySentinel: IsSentinel,
}

// Locks returns the designs of a driver, which may name its topology: rueidis@redlock.
func Locks(where string) (list []Lock, err error) {
	driver, topology, named := matrix.CutTopology(where)
	l := Lock{Driver: driver, Topology: drivers.Topology(topology)}
	d, err := l.driver()
	if err != nil {
		return nil, err
	}
	_, known := kinds[l.Topology]
	switch {
	case !named:
	case !known:
		return nil, fmt.Errorf("%s: locks are held against hazards on one server, or as @%s, @%s or @%s", where,
			drivers.TopologyRedlock, drivers.TopologyReplicated, drivers.TopologySentinel)
	case !slices.Contains(matrix.Topologies(driver), topology):
		return nil, fmt.Errorf("%s: it knows %s servers only", where, strings.Join(matrix.Topologies(driver), ", "))
	}
	for _, l.Design = range d.Designs() {
		if l.Topology == drivers.TopologyReplicated {
			l.Design.Loses = slices.DeleteFunc(slices.Clone(l.Design.Loses), survives)
		}
		list = append(list, l)
	}
	return list, nil
}

// Find returns the lock with a name; see Lock.Name.
func Find(name string) (l Lock, ok bool) {
	where, _, _ := strings.Cut(name, " ")
	known, _ := Locks(where) // none in a program with drivers of its own only
	if i := slices.IndexFunc(known, func(l Lock) bool { return l.Name() == name }); i >= 0 {
		return known[i], true
	}
	return Lock{}, false
}

// survives reports whether a grant that replicas have acknowledged survives a hazard: one of them becomes the primary.
func survives(h drivers.Hazard) bool {
	return h == drivers.HazardFailover || h == drivers.HazardFenceFailover
}

// Server is a server that lockbench has started itself and may break.
type Server interface {
	URL() string
	PID() int
	Kill() error
	Restart(context.Context) error
	Close() error
}

// What some servers can do besides; a hazard asks for it by Hazard.Kind.
type (
	// Replicated is a primary with replicas. URL names the primary, which is another one after FailOver.
	Replicated interface {
		// HoldLink keeps what the primary writes from now on from its first replica.
		HoldLink(context.Context) error
		// FailOver kills the primary, and a replica takes its place as it is. The evidence is the offset of each in the stream of
		// changes. It is an error if a replica whose link is held lacks nothing.
		FailOver(context.Context, FailOver) (evidence string, err error)
		// Followers returns how many replicas the primary has.
		Followers(context.Context) (int64, error)
	}

	// Quorum is several servers that grant a lock by a majority.
	Quorum interface{ Nodes() []Server }

	// Clocked is a server whose clock can be set.
	Clocked interface {
		SetClock(ctx context.Context, offset time.Duration) error
	}

	// Evicter is a server that can be short of memory.
	Evicter interface {
		// Evict makes it evict keys until those named are gone, or it has no more to evict.
		Evict(ctx context.Context, policy string, keys ...string) error
		// KeysWith returns the keys whose names contain a part.
		KeysWith(ctx context.Context, part string) (keys []string, err error)
	}
)

// Pooler is a server and a pooler before it, which lends a client one of its connections for each transaction.
type Pooler interface {
	// Pool makes a pool that nobody else uses; or, to compare, what is the same but for the pooler: its clients reach the
	// server straight. The caller closes it.
	Pool(ctx context.Context, straight bool) (Pool, error)
}

// Pool is the connections that a pooler lends, the one that came back last first, and the server processes behind them. URL is
// what its clients connect to.
type Pool interface {
	Server

	// Clients returns the server processes by their numbers, each with the client that it serves or has served last.
	Clients(context.Context) (map[int]string, error)

	// Holders returns the numbers of those that hold a lock of their session.
	Holders(context.Context) ([]int, error)

	// Borrow begins a transaction, which lasts as long as the pool, and returns the process that serves it.
	Borrow(context.Context) (pid int, err error)
}

// FailOver says which replica takes the place of the primary, and what becomes of the others. Sentinels decide for themselves.
type FailOver struct {
	Behind bool // the first replica, whatever it lacks; otherwise the last one
	Alone  bool // the others do not follow it
}

// Kind is the kind of a server of a hazard's own.
type Kind int

const (
	Single       Kind = iota // one server
	IsQuorum                 // it is a Quorum
	IsPair                   // it is Replicated, with one replica
	IsReplicated             // with two
	IsSentinel               // it is Replicated, with one replica that a sentinel promotes: its URL is the sentinel's
	HasClock                 // it is Clocked
	HasPooler                // it is a Pooler
)

// Servers starts what a hazard needs. Its functions are safe for concurrent use.
type Servers interface {
	// Shared returns the server of a service and a kind that is alive throughout, and that Servers closes. The error says what to install.
	Shared(ctx context.Context, service string, k Kind) (Server, error)

	// Own starts a server of a kind that nobody else uses, and that the hazard may break. The caller closes it.
	Own(ctx context.Context, service string, k Kind) (Server, error)
}

// Hazard is one way in which locks fail.
type Hazard struct {
	Number int // its column
	Name   drivers.Hazard
	About  string // what happens and how a lock fails, if the Name does not tell
	After  string // likewise, as what goes before a loss

	// Stories are the hazards that this one has in it: a design that lists one of them may fail this one.
	Stories []drivers.Hazard

	// Applies returns why a design has nothing to fear of it; empty if it may. nil: needsExclusive.
	Applies func(drivers.Traits) (why string)

	// Tell makes one attempt. What it does not say by way of Stage's methods has not happened.
	Tell func(*Stage)

	// Strike is a fault of the server, for hazards that have one: Tell calls Stage.Strike when all is ready for it, and all
	// locks on that server suffer the same one. It is told their keys, and returns what shows that it happened. Prepare, if
	// there is one, comes before Tell.
	Strike  func(ctx context.Context, s Server, keys []string) (evidence string, err error)
	Prepare func(context.Context, Server) error
	Kind    Kind // of the server of a lock that is on one
	Fresh   bool // after the fault it is of no use

	// Acked says that locks which can be so are opened with the topology replicated: a replica has to acknowledge their grants.
	// OnlyAcked says that it is for no others.
	Acked, OnlyAcked bool

	// Services are those whose servers the fault is for; none: all. OfQuorum says that it is for a Quorum alone.
	Services []string
	Drivers  []string // likewise, of drivers
	OfQuorum bool
	Lone     bool // it is for a lock on one server alone

	// MinTTL is the least lease that leaves time for the fault; 0: none takes long.
	MinTTL time.Duration

	// Local says that locks within this process may suffer it too: the fault is neither one of the server nor of the way to it.
	Local bool

	// Fails and Sound are designs, as "driver design", that have to fail and to survive, or else the hazard shows nothing.
	// Those whose server is not here are left out. Where no design survives by its nature, Sound is empty.
	Fails, Sound []string
}

// All are the hazards in the order of their numbers.
func All() []Hazard {
	all := slices.Clone(registered)
	slices.SortFunc(all, func(a, b Hazard) int { return a.Number - b.Number })
	return all
}

var registered []Hazard

func register(h Hazard) {
	if h.Applies == nil {
		h.Applies = needsExclusive
	}
	registered = append(registered, h)
}

// What a hazard needs of a design.

func needsExclusive(t drivers.Traits) string {
	if !t.Exclusive {
		return "it does not claim to exclude"
	}
	return ""
}

// needs returns a Hazard.Applies: a design that lacks something has nothing to fear, for that reason. Others need the rest.
func needs(has func(drivers.Traits) bool, why string, rest func(drivers.Traits) string) func(drivers.Traits) string {
	return func(t drivers.Traits) string {
		if !has(t) {
			return why
		}
		return rest(t)
	}
}

var (
	needsLease   = needs(expires, "its holds do not expire", needsExclusive)
	needsFence   = needs(fenced, "its grants have no fencing token", needsExclusive)
	needsSession = needs(ofSession, "its holds belong to no session", needsExclusive)
	needsRenewer = needs(renews, "its leases are not renewed", needsLease)
	needsRenewal = needs(renewable, "nothing renews its holds", needsExclusive)
	needsEnd     = needs(ends, "its holds do not expire", needsExclusive) // by a clock, as those of sessions do
)

func expires(t drivers.Traits) bool   { return t.Expires }
func owned(t drivers.Traits) bool     { return t.Owned }
func fenced(t drivers.Traits) bool    { return t.Fenced }
func ofSession(t drivers.Traits) bool { return t.Session }
func renews(t drivers.Traits) bool    { return t.Renews }
func reentrant(t drivers.Traits) bool { return t.Reentrant }
func renewable(t drivers.Traits) bool { return t.Renews || t.Session }
func ends(t drivers.Traits) bool      { return t.Expires || t.Session }

// Spares returns why a lock has nothing to fear of h; empty if it may.
func (h *Hazard) Spares(l Lock) (why string) { return h.applies(l, serviceOf(l)) }

// AppliesTo reports whether a lock may have something to fear of h.
func (h *Hazard) AppliesTo(l Lock) bool { return h.Spares(l) == "" }

// applies returns why a lock has nothing to fear of h; empty if it may.
func (h *Hazard) applies(l Lock, service string) (why string) {
	switch why := h.Applies(l.Design.Traits); {
	case why != "":
		return why
	case !h.Local && service == "":
		return "it has no server"
	case h.OfQuorum && l.Topology != drivers.TopologyRedlock:
		return "it is on one server"
	case len(h.Services) > 0 && !slices.Contains(h.Services, service) && h.Admits(l.Design):
		return "it admits that it fails, which lockbench can only show on servers of " + format.And(h.Services)
	case len(h.Services) > 0 && !slices.Contains(h.Services, service):
		return "only servers of " + format.And(h.Services) + " have this fault here"
	case len(h.Drivers) > 0 && !slices.Contains(h.Drivers, l.Driver):
		return "its library does not do that"
	case (l.Topology == drivers.TopologyReplicated || l.Topology == drivers.TopologySentinel) && h.Kind != IsPair && !h.Acked:
		return "what happens is no fail-over of its servers"
	case l.Topology == drivers.TopologySentinel && h.Acked, (l.Topology == drivers.TopologyReplicated || h.OnlyAcked) && !l.acknowledged():
		return "no replica acknowledges it"
	case l.Topology == drivers.TopologyRedlock && (h.Lone || h.Kind != Single):
		return "its servers are several, of which the fault would befall one"
	}
	return ""
}

// acknowledged reports whether a lock can be opened with the topology replicated. A fair lock cannot: its releaser hands it over
// without waiting for a replica.
func (l Lock) acknowledged() bool {
	return slices.Contains(matrix.Topologies(l.Driver), string(drivers.TopologyReplicated)) && !l.Design.Traits.Fair
}

// topology returns the one that h opens a lock with.
func (h *Hazard) topology(l Lock) drivers.Topology {
	if h.Acked && l.acknowledged() {
		return drivers.TopologyReplicated
	}
	return l.Topology
}

func (h *Hazard) kind(l Lock) Kind {
	if l.Topology != "" {
		return kinds[l.Topology]
	}
	return h.Kind
}

// Admits reports whether a design says that it loses to h.
func (h *Hazard) Admits(d drivers.Design) bool {
	return slices.ContainsFunc(d.Loses, func(lost drivers.Hazard) bool { return lost == h.Name || slices.Contains(h.Stories, lost) })
}

// Tells returns what happens and how a lock fails, in a line.
func (h *Hazard) Tells() string { return cmp.Or(h.About, h.Name.About()) }
