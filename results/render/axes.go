package render

// The axes in which cells can differ: they are the leading columns of a table, or stand above it.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// axis is one thing in which cells can differ. Axes that agree in all cells are stated once above the table; the
// others are its leading columns.
type axis struct {
	title  string
	value  func(c *results.Cell) string // "" if it does not apply
	absent string                       // what an empty value is written as in a column; empty: –
	right  bool                         // aligned right
	unsaid string                       // goes without saying if it is so in all cells
	some   bool                         // applies to some cells only: that it does not to others is no difference
	wide   bool                         // too long for a column: a difference goes into the notes of the row

	// server says that it is a fact about the server. Where drivers of several services stand in one table, each service
	// has its own, and what follows from the driver is said once for each below the table; see fold.
	server bool
}

var axes = []axis{
	{title: "side", value: func(c *results.Cell) string { return c.First().Side }},
	{title: "revision", value: func(c *results.Cell) string { return c.First().Env.Revision }},
	{title: "driver", value: func(c *results.Cell) string { return plan(c).Driver }},
	{title: "lock", value: func(c *results.Cell) string { return plan(c).Lock }},
	{title: "wait", value: func(c *results.Cell) string { return plan(c).Wait }},
	{title: "topology", value: func(c *results.Cell) string { return topology(plan(c)) }},
	{title: "node timeout", right: true, some: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.NodeTimeout })},
	{title: "release", value: func(c *results.Cell) string { return plan(c).Release }},
	{title: "renew", value: func(c *results.Cell) string {
		if plan(c).Renew {
			return "on"
		}
		return ""
	}},
	{title: "re-entry", right: true, value: func(c *results.Cell) string {
		if plan(c).Reentry <= 1 {
			return ""
		}
		return ifCount(plan(c).Reentry)
	}},
	{title: "workload", value: func(c *results.Cell) string { return plan(c).Workload }},
	{title: "load", value: func(c *results.Cell) string { return loadShort(plan(c)) }},
	{title: "max queue", right: true, some: true, unsaid: noLimit, value: maxQueue},
	{title: "classes", wide: true, value: func(c *results.Cell) string { return classList(plan(c)) }},
	{title: "clients", right: true, value: func(c *results.Cell) string { return Thousands(int64(plan(c).Clients)) }},
	{title: "keys", right: true, value: func(c *results.Cell) string { return Thousands(int64(plan(c).Keys)) }},
	{title: "key dist", absent: "uniform", value: ofClasses(func(l spec.Load) string { return l.KeyDist.String() })},
	{title: "hold", right: true, value: ofClasses(func(l spec.Load) string { return drawn(l.HoldTimes()) })},
	{title: "think", right: true, absent: "0", value: ofClasses(func(l spec.Load) string { return unlessZero(drawn(l.ThinkTimes())) })},
	{title: "ttl", right: true, value: ofClasses(func(l spec.Load) string { return unlessZero(asked(l.TTL)) })},
	{title: "timeout", right: true, absent: "endless", value: ofClasses(func(l spec.Load) string { return unlessZero(asked(l.Timeout)) })},
	{title: "try-only", right: true, absent: "0 %", value: ofClasses(func(l spec.Load) string { return ifShare(l.TryOnly) })},
	{title: "crash", right: true, absent: "0 %", value: ofClasses(func(l spec.Load) string { return ifShare(l.Crash) })},
	{title: "overstay", right: true, absent: "0 %", value: ofClasses(func(l spec.Load) string { return ifShare(l.Overstay) })},
	{title: "poll", right: true, some: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.Poll })},
	{title: "backoff min", right: true, some: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.BackoffMin })},
	{title: "backoff max", right: true, some: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.BackoffMax })},
	{title: "handover", some: true, value: func(c *results.Cell) string { return plan(c).Handover }},
	{title: "handover max", right: true, some: true, value: ifAny(func(p *spec.Plan) int { return p.HandoverMax })},
	{title: "lockers", right: true, value: ifAny(func(p *spec.Plan) int { return p.Lockers })},
	{title: "conns", right: true, value: ifAny(func(p *spec.Plan) int { return p.Conns })},
	{title: "pipelining", value: func(c *results.Cell) string { return plan(c).Pipelining }},
	{title: "flush delay", right: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.FlushDelay })},
	{title: "params", some: true, value: func(c *results.Cell) string { return plan(c).Params }},
	{title: "io timeout", right: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.IOTimeout })},
	{title: "ops", right: true, value: func(c *results.Cell) string { return ifCount64(plan(c).Ops) }},
	{title: "max errors", right: true, wide: true, absent: "never", value: func(c *results.Cell) string { return plan(c).MaxErrors.String() }},
	{title: "probe", right: true, absent: "off", value: func(c *results.Cell) string {
		if rate := plan(c).Probe; rate > 0 {
			return strconv.FormatFloat(rate, 'f', -1, 64) + "/s"
		}
		return ""
	}},
	{title: "duration", right: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.Duration })},
	{title: "warm-up", right: true, value: ifSet(func(p *spec.Plan) time.Duration { return p.Warmup })},
	{title: "trials", right: true, unsaid: "1", value: func(c *results.Cell) string { return strconv.Itoa(len(c.Trials)) }},
	{title: "oracle", wide: true, value: func(c *results.Cell) string {
		if plan(c).Oracle {
			return ""
		}
		return "off"
	}},
	{title: "kind", value: func(c *results.Cell) string { return serverKind(c) }},
	{title: "durability", some: true, value: func(c *results.Cell) string { return plan(c).Durability }},
	{title: "server", some: true, server: true, value: ofServer(func(s results.Server) string { return strings.TrimSpace(s.Name + " " + s.Version) })},
	{title: "mode", some: true, wide: true, server: true, value: ofServer(func(s results.Server) string { return s.Mode })},
	{title: "persistence", some: true, server: true, value: ofServer(func(s results.Server) string { return s.Persistence })},
	{title: "replicas", wide: true, server: true, value: func(c *results.Cell) string {
		if n := c.First().Server.Replicas; n > 0 {
			return strconv.Itoa(n)
		}
		return ""
	}},
	{title: "network", some: true, wide: true, server: true, value: ofServer(func(s results.Server) string { return s.Network })},
	{title: "address", wide: true, server: true, value: func(c *results.Cell) string {
		if serverKind(c) != "external" {
			return "" // made up for the run
		}
		return c.First().Server.Addr
	}},
	{title: "claims", value: func(c *results.Cell) string { return letters(c.First().Traits) }},
	{title: "machine", wide: true, value: func(c *results.Cell) string { return machine(c.First().Env) }},
	{title: "lockbench", wide: true, value: func(c *results.Cell) string { return c.First().Env.Lockbench }},
	{title: "libraries", wide: true, value: func(c *results.Cell) string { return libraries(c.First().Env) }},
}

const noLimit = "no limit"

// maxQueue tells a queue without a limit from no queue at all, which a closed loop has.
func maxQueue(c *results.Cell) string {
	if p := plan(c); len(p.Classes) == 0 && p.Open() && p.MaxQueue == 0 {
		return noLimit
	}
	return ofClasses(func(l spec.Load) string { return ifCount(l.MaxQueue) })(c)
}

func plan(c *results.Cell) *spec.Plan { return &c.First().Plan }

func ifSet(get func(*spec.Plan) time.Duration) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if d := get(plan(c)); d != 0 {
			return asked(d)
		}
		return ""
	}
}

// topology is how the servers belong together and how many they are, as "redlock 5": what it does not name is the
// user's own.
func topology(p *spec.Plan) string {
	switch {
	case p.Topology == "replicated" && p.Replicas > 0:
		return fmt.Sprintf("replicated %d/%d", p.Acks, p.Replicas)
	case p.Topology == "replicated":
		return fmt.Sprintf("replicated %d", p.Acks)
	case p.Nodes+p.Replicas > 0:
		return fmt.Sprintf("%s %d", p.Topology, p.Nodes+p.Replicas)
	}
	return p.Topology
}

func ifAny(get func(*spec.Plan) int) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if n := get(plan(c)); n != 0 {
			return Thousands(int64(n))
		}
		return ""
	}
}

// ofServer is what a record says of its server; it does not apply where there is none.
func ofServer(get func(results.Server) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if serverKind(c) == "in-process" {
			return ""
		}
		return cmp.Or(get(c.First().Server), "unknown")
	}
}

// serverKind is what was measured, or what was asked for if the record does not say.
func serverKind(c *results.Cell) string {
	if kind := c.First().Server.Kind; kind != "" {
		return kind
	}
	return plan(c).Server
}

// machine describes where the load was made, and with what.
func machine(e results.Env) string {
	cpu := Many(int64(e.CPUs), "CPU")
	if e.CPU != "" {
		cpu = fmt.Sprintf("%d × %s", e.CPUs, e.CPU)
	}
	if e.GOMAXPROCS != e.CPUs {
		cpu += fmt.Sprintf(" (GOMAXPROCS %d)", e.GOMAXPROCS)
	}
	return list(cpu, strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go)
}

func libraries(e results.Env) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Libraries)) {
		all = append(all, strings.TrimPrefix(name, "github.com/")+" "+e.Libraries[name])
	}
	return strings.Join(all, ", ")
}

// variables are the settings of the environment that change what is measured.
func variables(e results.Env) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Variables)) {
		all = append(all, name+"="+e.Variables[name])
	}
	return strings.Join(all, ", ")
}

// traitNames are the traits. Those that are guarantees have a letter that stands for them in a column; the others
// are abilities, which make no two designs unlike.
var traitNames = []struct {
	letter, name string
	has          func(results.Traits) bool
}{
	{"x", "exclusive", func(t results.Traits) bool { return t.Exclusive }},
	{"o", "owned", func(t results.Traits) bool { return t.Owned }},
	{"e", "expires", func(t results.Traits) bool { return t.Expires }},
	{"s", "session-bound", func(t results.Traits) bool { return t.Session }},
	{"f", "fenced", func(t results.Traits) bool { return t.Fenced }},
	{"q", "fair", func(t results.Traits) bool { return t.Fair }},
	{"r", "reentrant", func(t results.Traits) bool { return t.Reentrant }},
	{"", "renews", func(t results.Traits) bool { return t.Renews }},
	{"", "wakes", func(t results.Traits) bool { return t.Wakes }},
	{"", "waits", func(t results.Traits) bool { return t.Waits }},
}

func letters(t results.Traits) string {
	s := ""
	for _, trait := range traitNames {
		if trait.has(t) {
			s += trait.letter
		}
	}
	return s
}

func traitWords(t results.Traits) string {
	var words []string
	for _, trait := range traitNames {
		if trait.has(t) {
			words = append(words, trait.name)
		}
	}
	if words == nil {
		return "nothing"
	}
	return strings.Join(words, ", ")
}
