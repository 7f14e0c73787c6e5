package view

// The axes in which cells can differ. They make the names of cells and the titles of loads, or are mentioned once for all cells.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Axis is one thing in which cells can differ.
type Axis struct {
	Title  string
	Value  func(c *results.Cell) string // "" if it does not apply
	Absent string                       // what an empty value is written as in a name; empty: it is left out
	Zero   string                       // what an empty value means, for a name that would be empty too: off
	Unsaid string                       // the value that need not be mentioned if all cells have it
	Some   bool                         // applies to some cells only: that it does not to others is no difference
	Wide   bool                         // too long for a name
	Server bool                         // a fact about the server

	usual string // the default; see Usual
	quiet bool
}

// Usual reports whether a value need not be mentioned of cells that share it: it is empty, the default, or follows from another.
func (a Axis) Usual(v string) bool { return a.quiet || v == "" || v == a.Unsaid || v == a.usual }

// Axes are all axes, in the order in which names have them.
var Axes = slices.Concat(
	[]Axis{
		{Title: "side", Value: func(c *results.Cell) string { return c.First().Side }},
		{Title: "revision", Value: func(c *results.Cell) string { return c.First().Env.Revision }},
		{Title: "workload", Value: func(c *results.Cell) string { return c.Plan().Workload }},
	},
	Settings,
	[]Axis{
		{Title: "classes", Wide: true, Value: func(c *results.Cell) string { return classList(c.Plan()) }},
		{Title: "trials", Unsaid: "1", Value: func(c *results.Cell) string { return strconv.Itoa(len(c.Trials)) }},
		{Title: "kind", Value: func(c *results.Cell) string { return ServerKind(c) }},
		{Title: "server", Some: true, Server: true, Value: ofServer(func(s results.Server) string { return strings.TrimSpace(s.Name + " " + s.Version) })},
		{Title: "mode", Some: true, Wide: true, Server: true, Value: ofServer(func(s results.Server) string { return s.Mode })},
		{Title: "persistence", Some: true, Server: true, Value: Persistence},
		{Title: "replicas", Wide: true, Server: true, Value: func(c *results.Cell) string {
			if n := c.First().Server.Replicas; n > 0 {
				return strconv.Itoa(n)
			}
			return ""
		}},
		{Title: "network", Some: true, Wide: true, Server: true, Value: ofServer(func(s results.Server) string { return s.Network })},
		{Title: "address", Wide: true, Server: true, Value: func(c *results.Cell) string {
			if ServerKind(c) != "external" {
				return "" // made up for the run
			}
			return c.First().Server.Addr
		}},
		{Title: "claims", Value: func(c *results.Cell) string { return Claims(c.First().Traits) }},
		{Title: "machine", Wide: true, Value: func(c *results.Cell) string { return Machine(c.First().Env) }},
		{Title: "lockbench", Wide: true, Value: func(c *results.Cell) string { return c.First().Env.Lockbench }},
		{Title: "libraries", Wide: true, Value: func(c *results.Cell) string { return libraries(c.First().Env, isModule) }},
		// A record has the library of an adapter only if the run had its driver.
		{Title: "library", Some: true, Wide: true, Value: func(c *results.Cell) string {
			return libraries(c.First().Env, func(name string) bool { return !isModule(name) })
		}},
	},
)

// Settings are the axes of settings, most of them under their names and as package spec writes them.
var Settings = settingAxes()

func settingAxes() (all []Axis) {
	for _, s := range spec.Recorded {
		if slices.Contains(covered, s.Name) {
			continue
		}
		all = append(all, AxisOf(s))
	}
	return all
}

// AxisOf returns the axis of a setting.
func AxisOf(s spec.Setting) Axis {
	a := Axis{
		Title: strings.ReplaceAll(s.Name, "-", " "),
		Value: settingText(s),
		Zero:  pretty(s, s.Zero),
		Some:  s.Zero == "",
		usual: pretty(s, s.Default),
		quiet: s.Constant && s.Default == "",
	}
	if change := unlike[s.Name]; change != nil {
		change(&a)
	}
	return a
}

// covered are the settings that another axis shows: the topology's, and the load's.
var covered = []string{"nodes", "replicas", "acks", "arrival", "burst"}

// unlike has the settings whose axis differs from what AxisOf makes of a setting.
var unlike = map[string]func(a *Axis){
	"topology": func(a *Axis) { a.Value = func(c *results.Cell) string { return topology(c.Plan()) } },
	"reentry":  func(a *Axis) { a.Title = "re-entry" },
	"clients":  func(a *Axis) { a.Value = func(c *results.Cell) string { return format.Count(int64(c.Plan().Clients)) } }, // of all classes
	"rate": func(a *Axis) {
		a.Title, a.Value = "load", func(c *results.Cell) string { return loadShort(c.Plan()) }
	},
	"max-queue": func(a *Axis) { a.Some, a.Unsaid, a.Value = true, noLimit, maxQueue },
	"key-dist":  func(a *Axis) { a.Absent = "uniform" },
	"hold":      func(a *Axis) { a.Value = ofClasses(func(l spec.Load) string { return Drawn(l.HoldTimes()) }) },
	"think": func(a *Axis) {
		a.Absent, a.Value = "0", ofClasses(func(l spec.Load) string { return unlessZero(Drawn(l.ThinkTimes())) })
	},
	"timeout":  func(a *Axis) { a.Absent = "endless" },
	"try-only": func(a *Axis) { a.Title, a.Absent = "try-only", "0 %" },
	"crash":    func(a *Axis) { a.Absent = "0 %" },
	"overstay": func(a *Axis) { a.Absent = "0 %" },
	"param":    func(a *Axis) { a.Title = "params" },
	"n":        func(a *Axis) { a.Title = "ops" },
	"warmup":   func(a *Axis) { a.Title = "warm-up" },
	"oracle": func(a *Axis) {
		a.Wide, a.Value = true, func(c *results.Cell) string {
			if c.Plan().Oracle {
				return ""
			}
			return spec.Off
		}
	},
	"probe": func(a *Axis) {
		text := a.Value
		a.Absent, a.Value = "off", func(c *results.Cell) string {
			if rate := text(c); rate != "" {
				return rate + "/s"
			}
			return ""
		}
	},
}

// settingText returns a setting's value in a cell; of a setting of classes ByClass if they do not agree.
func settingText(s spec.Setting) func(*results.Cell) string {
	if s.Class {
		return ofClasses(func(l spec.Load) string { return pretty(s, s.Text(nil, &l)) })
	}
	return func(c *results.Cell) string { return pretty(s, s.Text(c.Plan(), nil)) }
}

// pretty writes what is typed as people read it: 10,000 and 5 ms.
func pretty(s spec.Setting, typed string) string {
	if typed == "" {
		return ""
	}
	switch s.Value {
	case "N", "OPS":
		if n, err := spec.ParseInt(typed); err == nil {
			return format.Count(n)
		}
	case "TIME", "TIME|auto":
		if d, err := time.ParseDuration(typed); err == nil {
			return format.Exact(d)
		}
	case "SHARE":
		if f, err := spec.ParseShare(typed); err == nil {
			return format.Percent(f)
		}
	}
	return typed
}

const noLimit = "no limit"

// maxQueue returns the limit of the queue. It distinguishes a queue without a limit from a closed loop, which has no queue.
func maxQueue(c *results.Cell) string {
	if p := c.Plan(); len(p.Classes) == 0 && p.Open() && p.MaxQueue == 0 {
		return noLimit
	}
	return ofClasses(func(l spec.Load) string { return ifCount(l.MaxQueue) })(c)
}

// topology returns how the servers belong together and how many they are, as "redlock 5": what it does not name is the
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

// ofServer returns what a record says of its server; it does not apply where there is none.
func ofServer(get func(results.Server) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if ServerKind(c) == "in-process" {
			return ""
		}
		return cmp.Or(get(c.First().Server), "unknown")
	}
}

// Persistence returns what is on disk when the lock of a cell is granted; empty of one that has no server.
var Persistence = ofServer(func(s results.Server) string { return s.Persistence })

// ServerKind returns what was measured, or what was asked for if the record does not say.
func ServerKind(c *results.Cell) string {
	if kind := c.First().Server.Kind; kind != "" {
		return kind
	}
	return c.Plan().Server
}

// Machine describes where the load was made, and with what.
func Machine(e results.Env) string {
	return format.Join(CPU(e), strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go)
}

// CPU describes the processors, and how many of them Go used if not all.
func CPU(e results.Env) string {
	cpu := format.Plural(e.CPUs, "CPU")
	if e.CPU != "" {
		cpu = fmt.Sprintf("%d × %s", e.CPUs, e.CPU)
	}
	if e.GOMAXPROCS != e.CPUs {
		cpu += fmt.Sprintf(" (GOMAXPROCS %d)", e.GOMAXPROCS)
	}
	return cpu
}

// Libraries lists the client libraries with their versions.
func Libraries(e results.Env) string { return libraries(e, func(string) bool { return true }) }

// isModule reports whether a library is a Go module, by the host that its name begins with.
func isModule(name string) bool {
	host, _, _ := strings.Cut(name, "/")
	return strings.Contains(host, ".")
}

func libraries(e results.Env, of func(name string) bool) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Libraries)) {
		if !of(name) {
			continue
		}
		all = append(all, strings.TrimPrefix(name, "github.com/")+" "+e.Libraries[name])
	}
	return strings.Join(all, ", ")
}

// Variables returns the settings of the environment that change what is measured.
func Variables(e results.Env) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(e.Variables)) {
		all = append(all, name+"="+e.Variables[name])
	}
	return strings.Join(all, ", ")
}

// Trait is something that a design claims.
type Trait struct {
	Name string
	has  func(results.Traits) bool
}

// Has reports whether the design of c claims the trait.
func (t Trait) Has(c *results.Cell) bool { return t.has(c.First().Traits) }

// Guarantees are the traits that make two designs unlike.
var Guarantees = []Trait{
	{"exclusive", func(t results.Traits) bool { return t.Exclusive }},
	{"owned", func(t results.Traits) bool { return t.Owned }},
	{"expires", func(t results.Traits) bool { return t.Expires }},
	{"session", func(t results.Traits) bool { return t.Session }},
	{"fenced", func(t results.Traits) bool { return t.Fenced }},
	{"fair", func(t results.Traits) bool { return t.Fair }},
	{"reentrant", func(t results.Traits) bool { return t.Reentrant }},
}

// traits are the guarantees, and the abilities that guarantee nothing.
var traits = append(slices.Clone(Guarantees),
	Trait{"renews", func(t results.Traits) bool { return t.Renews }},
	Trait{"wakes", func(t results.Traits) bool { return t.Wakes }},
	Trait{"waits", func(t results.Traits) bool { return t.Waits }},
)

// TraitWords lists the traits.
func TraitWords(t results.Traits) string {
	return cmp.Or(claimed(traits, t), "nothing")
}

func claimed(of []Trait, t results.Traits) string {
	var words []string
	for _, trait := range of {
		if trait.has(t) {
			words = append(words, trait.Name)
		}
	}
	return strings.Join(words, ", ")
}

// Claims lists the guarantees among traits.
func Claims(of results.Traits) string { return claimed(Guarantees, of) }

// Compare reports whether cells differ in a, and returns the value of the first one that it applies to.
func (a Axis) Compare(cells []*results.Cell) (first string, differs bool) {
	for i, c := range cells {
		v := a.Value(c)
		switch {
		case i == 0 || a.Some && first == "":
			first = v
		case v != first && !(a.Some && v == ""):
			return first, true
		}
	}
	return first, false
}

// differing returns the axes in which cells differ.
func differing(cells []*results.Cell) []Axis {
	return slices.DeleteFunc(slices.Clone(Axes), func(a Axis) bool {
		_, differs := a.Compare(cells)
		return !differs
	})
}

// Differing returns whether cells differ in the axis of a title, which is looked up once.
func Differing(cells []*results.Cell) func(title string) bool {
	known := map[string]bool{}
	return func(title string) bool {
		differs, seen := known[title]
		if !seen {
			_, differs = Axes[slices.IndexFunc(Axes, func(a Axis) bool { return a.Title == title })].Compare(cells)
			known[title] = differs
		}
		return differs
	}
}
