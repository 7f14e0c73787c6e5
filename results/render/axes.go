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
	"github.com/lockbench/lockbench/results/format"
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

var axes = slices.Concat(
	[]axis{
		{title: "side", value: func(c *results.Cell) string { return c.First().Side }},
		{title: "revision", value: func(c *results.Cell) string { return c.First().Env.Revision }},
		{title: "workload", value: func(c *results.Cell) string { return plan(c).Workload }},
	},
	settings,
	[]axis{
		{title: "classes", wide: true, value: func(c *results.Cell) string { return classList(plan(c)) }},
		{title: "trials", right: true, unsaid: "1", value: func(c *results.Cell) string { return strconv.Itoa(len(c.Trials)) }},
		{title: "kind", value: func(c *results.Cell) string { return serverKind(c) }},
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
	},
)

// settings are the axes of settings, most of them under their names and as package spec writes them.
var settings = settingAxes()

func settingAxes() (all []axis) {
	for _, s := range spec.Settings {
		if slices.Contains(elsewhere, s.Name) {
			continue
		}
		all = append(all, axisOf(s))
	}
	return all
}

func axisOf(s spec.Setting) axis {
	a := axis{
		title: strings.ReplaceAll(s.Name, "-", " "),
		value: settingText(s),
		right: s.Value != "NAME" && s.Value != "NAME=VALUE" && s.Value != "",
		some:  s.Zero == "",
	}
	if change := unlike[s.Name]; change != nil {
		change(&a)
	}
	return a
}

// elsewhere are the settings that another axis tells: the topology's, and the load's.
var elsewhere = []string{"nodes", "replicas", "acks", "arrival", "burst"}

// unlike is what is particular to a setting's axis.
var unlike = map[string]func(a *axis){
	"topology": func(a *axis) { a.value = func(c *results.Cell) string { return topology(plan(c)) } },
	"reentry":  func(a *axis) { a.title = "re-entry" },
	"clients":  func(a *axis) { a.value = func(c *results.Cell) string { return format.Count(int64(plan(c).Clients)) } }, // of all classes
	"rate": func(a *axis) {
		a.title, a.right, a.value = "load", false, func(c *results.Cell) string { return loadShort(plan(c)) }
	},
	"max-queue": func(a *axis) { a.some, a.unsaid, a.value = true, noLimit, maxQueue },
	"key-dist":  func(a *axis) { a.right, a.absent = false, "uniform" },
	"hold":      func(a *axis) { a.value = ofClasses(func(l spec.Load) string { return drawn(l.HoldTimes()) }) },
	"think": func(a *axis) {
		a.absent, a.value = "0", ofClasses(func(l spec.Load) string { return unlessZero(drawn(l.ThinkTimes())) })
	},
	"timeout":    func(a *axis) { a.absent = "endless" },
	"try-only":   func(a *axis) { a.title, a.absent = "try-only", "0 %" },
	"crash":      func(a *axis) { a.absent = "0 %" },
	"overstay":   func(a *axis) { a.absent = "0 %" },
	"pipelining": func(a *axis) { a.right = false },
	"param":      func(a *axis) { a.title = "params" },
	"n":          func(a *axis) { a.title = "ops" },
	"warmup":     func(a *axis) { a.title = "warm-up" },
	"max-errors": func(a *axis) { a.wide, a.absent = true, "never" },
	"oracle":     func(a *axis) { a.wide, a.value = true, onlyIf(func(p *spec.Plan) bool { return !p.Oracle }, spec.Off) },
	"probe": func(a *axis) {
		text := a.value
		a.absent, a.value = "off", func(c *results.Cell) string {
			if rate := text(c); rate != "" {
				return rate + "/s"
			}
			return ""
		}
	},
}

func onlyIf(holds func(*spec.Plan) bool, text string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		if holds(plan(c)) {
			return text
		}
		return ""
	}
}

// settingText returns a setting's value in a cell; of a setting of classes byClass if they do not agree.
func settingText(s spec.Setting) func(*results.Cell) string {
	if s.Class {
		return ofClasses(func(l spec.Load) string { return pretty(s, s.Text(nil, &l)) })
	}
	return func(c *results.Cell) string { return pretty(s, s.Text(plan(c), nil)) }
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
	case "TIME":
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

// maxQueue tells a queue without a limit from no queue at all, which a closed loop has.
func maxQueue(c *results.Cell) string {
	if p := plan(c); len(p.Classes) == 0 && p.Open() && p.MaxQueue == 0 {
		return noLimit
	}
	return ofClasses(func(l spec.Load) string { return ifCount(l.MaxQueue) })(c)
}

func plan(c *results.Cell) *spec.Plan { return &c.First().Plan }

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
	cpu := format.Plural(e.CPUs, "CPU")
	if e.CPU != "" {
		cpu = fmt.Sprintf("%d × %s", e.CPUs, e.CPU)
	}
	if e.GOMAXPROCS != e.CPUs {
		cpu += fmt.Sprintf(" (GOMAXPROCS %d)", e.GOMAXPROCS)
	}
	return format.Join(cpu, strings.TrimSpace(e.OS+"/"+e.Arch+" "+e.Kernel), e.Go)
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
