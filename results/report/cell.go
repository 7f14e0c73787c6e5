package report

// What a reader needs to believe the figures of cells, and to go on from them.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// inCommon returns what all cells share that is not as usual, and how long they ran on what. The load of several stands
// above their rows.
func inCommon(v *view.Run) string {
	settings := view.Common(v.Cells, func(a view.Axis) bool {
		return a.Load && len(v.Cells) > 1 || a.Late && a.Title != "kind" && a.Title != "server" || a.Title == "partial"
	})
	ran := agreed(v, func(c *results.Cell) string {
		text := format.Plural(len(c.Trials), "trial") + " of " + format.Exact(c.Plan().Duration)
		return strings.TrimSuffix(text, " of 0") // those of a number of operations
	})
	return format.Join(settings, ran, agreed(v, func(c *results.Cell) string { return view.CPU(c.First().Env) }))
}

// agreed returns the text that is true of all cells; empty if there is none.
func agreed(v *view.Run, text func(*results.Cell) string) string {
	first := text(v.Cells[0])
	if slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return text(c) != first }) {
		return ""
	}
	return first
}

// runFacts returns what can go wrong with the lock of a cell, and what to do next; of a single one also how it went.
func runFacts(v *view.Run, c *results.Cell) *Table {
	t, todo := &Table{}, cmp.Or(view.Cause(c).Remedy, next(c))
	if len(v.Cells) == 1 {
		lists, tone := measured(c), toneOf(c)
		if c.Counts.Acquired+c.Breaches() > 0 {
			t.fact(Plain, "limited by", limited(c))
			t.fact(Plain, "waits", format.Join(lists.Of[string(view.Waiting(c))]...))
			t.fact(tone*Tone(min(1, c.Breaches())), "safety", view.Exclusion(c))
		}
		t.fact(max(tone, Warn), "also seen", view.Witnesses(c))
		t.fact(Plain, "outcomes", format.Join(lists.Of["outcomes"]...))
		t.fact(Warn, "errors", errorsOf(c.Counts))
		t.tellMarks(c)
		t.fact(Warn, "note", strings.Join(c.Warnings[:min(1, len(c.Warnings))], ""))
	} else if !c.Violated() {
		todo = map[bool]string{true: prove(c)}[v.Rivals]
	}
	t.fact(Plain, "risk", cmp.Or(agreed(v, view.Risk), titled(design(c)+":", view.Risk(c))))
	t.fact(Plain, "next", todo)
	return t
}

// errorsOf returns how many requests failed of each class, warm-up included, with the first error.
func errorsOf(n results.Counts) string {
	all := maps.Clone(n.Errors)
	results.Add(&all, n.EarlyErrors)
	var parts []string
	for _, class := range slices.Sorted(maps.Keys(all)) {
		text := class + " " + format.Count(all[class]) + format.Labelled(", in the warm-up", n.EarlyErrors[class])
		parts = append(parts, strings.TrimSuffix(text+": "+n.ErrorSample[class], ": "))
	}
	return strings.Join(parts, " · ")
}

// measured returns the metrics of a cell that are above 0, by their latency or group, and of how many values they are.
func measured(c *results.Cell) (lists view.Grouped[string, string]) {
	groups := []string{"speed", "fairness", "safety", "outcomes", "cost", "generator"}
	for _, m := range metric.All() {
		list, name, is := strings.Cut(m.Name, ".")
		if !is {
			list, name = groups[m.Group], strings.TrimSuffix(m.Name, "/lock")
		}
		if v := m.Of(c.Figures()); v > 0 {
			lists.Add(list, strings.Replace(name, "p999", "p99.9", 1)+" "+m.Unit.Format(v))
		}
	}
	for _, d := range metric.Distributions {
		lists.Add("samples", format.Labelled(string(d.Metric), c.Latency[d.Metric].Count))
	}
	return lists
}

// figures returns all metrics of each cell, what they rest on, and notes.
func figures(v *view.Run) (blocks []Block) {
	noted := 0
	for i, c := range v.Cells {
		t, lists, notes := &Table{}, measured(c), c.Warnings
		if len(v.Cells) > 1 {
			t = facts("row", v.Names[i], "limited by", limited(c))
		} else {
			notes = notes[min(1, len(notes)):]
		}
		for _, list := range lists.Keys {
			t.fact(Plain, list, format.Join(lists.Of[list]...))
		}
		bound := strings.TrimPrefix(format.Three(c.Bound.LocksPerS)+" locks/s by "+c.Bound.By, "0 locks/s by ")
		t.fact(Plain, "bound", format.Join(bound, lasting("round trip", c.Bound.RoundTrip())))
		for _, e := range c.Safety.Events[:min(1, len(c.Safety.Events))] {
			t.fact(Bad, "overlap", fmt.Sprintf("at %s: client %d was granted key %d, which %d held",
				format.Duration(e.At), e.Intruder, e.Key, e.Holder))
		}
		for _, note := range notes {
			t.fact(Warn, "note", note)
		}
		blocks, noted = append(blocks, Block{Detail: true, Table: t}), noted+len(notes)
	}
	blocks[0].Heading = strings.TrimSuffix("Figures with "+format.Plural(noted, "note"), " with 0 notes")
	return blocks
}

// environment returns where cells ran, what is known of their designs, and what was asked for.
func environment(v *view.Run) *Table {
	t := &Table{}
	for _, a := range view.Axes {
		if slices.Contains([]string{"at", "machine", "lockbench", "libraries"}, a.Title) {
			t.tell(v, a.Title, func(c *results.Cell) string { return strings.TrimPrefix(a.Value(c), a.Title+" ") })
		}
	}
	t.tell(v, "claims", func(c *results.Cell) string { return view.Claims(c.First().Traits) })
	t.tell(v, "variables", func(c *results.Cell) string { return view.Variables(c.First().Env) })
	risk := agreed(v, view.Risk) // which has been told
	t.tell(v, "risks", func(c *results.Cell) string {
		return strings.TrimLeft(strings.TrimPrefix(c.First().Wrong, risk), "; ")
	})
	t.tell(v, "command", func(c *results.Cell) string { return c.Plan().Command })
	t.fact(Plain, "started", v.Cells[0].First().Started.UTC().Format(time.DateTime)+" UTC")
	return t
}

// limited returns what limits a throughput, with the figures that say so, most of them shares of time; empty if several
// clients held a key at once.
func limited(c *results.Cell) string {
	l, g := c.Limit(), c.Generator
	share := func(title string, of float64) string {
		return titled(title, map[bool]string{true: format.Percent(of)}[of >= 0.005]) // a small one is left out
	}
	cores := func(title string, n float64) string {
		return titled(title, map[bool]string{true: format.Three(n)}[n >= 0.005])
	}
	release := lasting("release", c.Latency[results.Release].Mean) +
		map[bool]string{true: fmt.Sprintf(", %.1f × unloaded", l.Slower)}[l.Slower >= 2]
	key := []string{share("held", l.Held), share("in transit", l.Moving), share("dead", l.Dead),
		map[bool]string{true: lasting("from", c.Bound.DeadFrom)}[l.By == results.ByDead && view.DeadKeys(c) > 0],
		share("free while wanted", l.Waited), share("free", l.Idle), release}
	var of []string
	switch l.By {
	case results.ByKey, results.ByLock, results.ByDead:
		of = key
	case results.ByClients, results.ByErrors, results.ByUnknown:
		of = []string{share("in requests", l.Requests), share("holding", l.Holding), share("waiting", l.Waiting),
			share("failing", l.Failing), share("stuck", l.Stuck)}
		if l.By == results.ByUnknown && l.Known {
			of = append(of, key...)
		}
	case results.ByServerCPU, results.ByGenerator, results.ByMachine, results.ByOthers, results.ByHost:
		of = []string{map[bool]string{true: "saturated, so the lock may do better"}[g.Saturated && l.By.Busy()],
			share(format.Plural(c.First().Env.CPUs, "core")+", busy for", g.Machine), cores("lockbench", g.CPU), cores("server", l.ServerCores),
			cores(map[bool]string{false: "others", true: "others and server"}[l.Mixed], l.Others), cores("stolen", l.Stolen),
			share("server waited for a core", l.Thread.Waited)}
	case results.ByConnections:
		of = []string{"requests at a time " + format.Three(c.Requests()), "connections " + format.Count(c.Bound.Pool)}
	}
	hottest := map[bool]string{true: "hottest "}[l.Hottest && (l.By == results.ByKey || l.By == results.ByLock)]
	return strings.TrimSuffix(hottest+string(l.By)+": "+format.Join(of...), ": ")
}

// remediesOf are what to change about a limit.
var remediesOf = map[results.LimitedBy]string{
	results.ByKey:         "more keys (-keys), or shorter holds",
	results.ByLock:        "another design: lockbench list",
	results.ByDead:        "a shorter -ttl",
	results.ByServerCPU:   "a faster server, or one of its own (-addr)",
	results.ByGenerator:   "fewer clients, or lockbench on a machine of its own",
	results.ByMachine:     "lockbench on another machine than the server (-addr)",
	results.ByOthers:      "end what else uses this machine",
	results.ByHost:        "a machine whose host does not share its cores",
	results.ByConnections: "more connections (-conns)",
	results.ByClients:     "more clients (-clients)",
	results.ByRate:        "the rate that it sustains: lockbench plan",
}

// next returns what to try; empty if nothing is known to help.
func next(c *results.Cell) string {
	p, l, own := c.Plan(), c.Limit(), slices.Contains([]string{"rueidis", "go-redis"}, c.Plan().Driver)
	polls := own && slices.Contains([]string{"poll", "backoff", "pubsub"}, p.Wait) && p.Lock != "fair"
	hold := max(p.Hold, c.Latency[results.Hold].Max)
	batches := own && p.Topology == "" && p.Wait != "block" && p.Wait != "native" && p.Pipelining != "batch"
	switch {
	case c.Violated() && c.First().Traits.Expires && hold >= p.TTL && !p.Renew:
		return "-renew, or -ttl above the longest hold, " + format.Duration(hold)
	case c.Violated(), l.By == results.ByDead && !c.First().Traits.Expires && !c.First().Traits.Session:
		return remediesOf[results.ByLock]
	case l.By == results.ByErrors && l.Stuck > l.Failing && c.First().Traits.Expires:
		return remediesOf[results.ByDead]
	case l.By == results.ByGenerator && p.Pipelining == "batch" && c.Generator.Delayed:
		return "-pipelining auto"
	case (l.By.Busy() || l.By == results.ByRate && c.Generator.Saturated) && batches && p.Clients >= 10_000:
		return "-pipelining batch" // without a goroutine for each
	case polls && (l.By == results.ByLock || l.By == results.ByKey && l.Moving > l.Held):
		return "-wait queue" // releases wake those in line
	case c.Open() && !c.KeptUp() && c.Bound.By == "keys":
		return "a lower -rate, " + remediesOf[results.ByKey]
	case l.By == results.ByOthers && l.Mixed:
		return remediesOf[l.By] + ", or move the server"
	case c.Open() && l.By == results.ByGenerator:
		return "a lower -rate, or lockbench on a machine of its own"
	}
	return remediesOf[l.By]
}
