package text

// One cell in detail: first what ran and where, then what came of it.

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

const labelWidth = 15

// item adds a labelled, wrapped paragraph; an empty text adds nothing.
func (p *page) item(color, label, text string) {
	switch {
	case text == "":
	case p.items != nil:
		p.collect(color, label, text)
	default:
		p.para(color, fmt.Sprintf("  %-*s", labelWidth-2, label), text)
	}
}

func (p *page) detail(c *results.Cell) error {
	p.asked(c)
	p.blank()
	p.throughput(c)
	for _, part := range []func(*results.Cell) error{p.latencies, p.classes, p.steps, p.trials} {
		if err := part(c); err != nil {
			return err
		}
	}
	p.blank()
	p.outcomes(c)
	p.safety(c)
	p.costs(c)
	p.generator(c)
	if len(c.Warnings) > 0 || c.Duplicates > 0 {
		p.blank()
	}
	for _, warning := range c.Warnings {
		p.para(yellow, "  warning: ", warning)
	}
	if c.Duplicates > 0 {
		p.para(yellow, "  warning: ", format.Plural(c.Duplicates, "record")+" that had been read before left out")
	}
	return nil
}

// lastedInstead stands behind the hold that was asked for if the holds did not last as long.
func lastedInstead(c *results.Cell, title string) string {
	load := &c.First().Plan.Load
	if lasted := results.Lasted(load, c.Latency[results.Hold]); title == "hold" && len(c.First().Plan.Classes) == 0 && results.Apart(load.Hold, lasted) {
		return " (lasted " + format.Duration(lasted) + ")"
	}
	return ""
}

// toldOtherwise are the settings that a run tells in its first line, with its window or with its server.
var toldOtherwise = []string{"driver", "lock", "wait", "load", "clients", "keys", "duration", "warm-up", "durability"}

// asked says what ran and where.
func (p *page) asked(c *results.Cell) {
	r := c.First()
	title := r.Plan.Driver + " " + r.Plan.Lock
	if r.Plan.Wait != "" {
		title += ", wait " + r.Plan.Wait
	}
	p.para(bold, "", title+": "+format.Plural(r.Plan.Clients, "client")+" on "+format.Plural(r.Plan.Keys, "key")+", "+view.LoadLine(&r.Plan))
	if why := c.Partial(); why != "" {
		p.item(yellow, "PARTIAL", fmt.Sprintf("%s, after %s of %s", why, format.Duration(r.Elapsed), length(&r.Plan)))
	}
	var wanted []string
	if r.Plan.Workload != "" {
		wanted = append(wanted, "workload "+r.Plan.Workload)
	}
	for _, a := range view.Settings {
		if v := a.Value(c); v != "" && v != view.ByClass && v != a.Unsaid && !slices.Contains(toldOtherwise, a.Title) {
			wanted = append(wanted, a.Title+" "+v+lastedInstead(c, a.Title))
		}
	}
	p.item("", "asked", format.Join(wanted...))
	for _, g := range r.Plan.Classes {
		p.item("", "class", g.Name+": "+view.ClassText(&r.Plan, g))
	}
	window := "measured " + format.Duration(r.Elapsed)
	if n := len(c.Trials); n > 1 {
		window = fmt.Sprintf("%d trials of %s", n, length(&r.Plan))
	}
	p.item("", "window", format.Join(window, "warm-up "+format.Exact(r.Plan.Warmup), "started "+r.Started.UTC().Format(time.DateTime)+" UTC"))
	p.item("", "claims", view.TraitWords(r.Traits))
	s := r.Server
	persistence := ""
	switch {
	case s.Persistence != "":
		persistence = "persistence " + s.Persistence
	case s.Name != "": // without a server there is none to wonder about
		persistence = "persistence unknown"
	}
	replicas := ""
	if s.Replicas > 0 {
		replicas = format.Plural(s.Replicas, "replica")
	}
	durability := ""
	if s.Durability != "" {
		durability = "durability " + s.Durability
	}
	p.item("", "server", format.Join(strings.TrimSpace(s.Name+" "+s.Version), view.ServerKind(c), s.Mode, durability, persistence, replicas,
		connections(s.Connections), s.Network, s.Addr))
	p.item("", "machine", view.Machine(r.Env))
	p.item("", "variables", view.Variables(r.Env))
	p.item("", "revision", r.Env.Revision)
	p.item("", "side", r.Side)
	p.item("", "with", format.Join(strings.TrimSpace("lockbench "+r.Env.Lockbench), view.Libraries(r.Env)))
	p.item("", "command", r.Plan.Command)
}

// length returns that of the window as it was planned.
func length(p *spec.Plan) string {
	switch {
	case p.Ops == 0:
		return format.Exact(p.Duration)
	case p.Duration == 0:
		return format.Plural(p.Ops, "operation")
	}
	return format.Plural(p.Ops, "operation") + " or " + format.Exact(p.Duration)
}

// throughput says how fast, and how near that is to what is possible.
func (p *page) throughput(c *results.Cell) {
	rate := metric.PerSecond.Format(c.Rate.Median) + " locks/s"
	if e := stats.Trials(c.Trials, (*results.Record).Throughput); e.Known() {
		rate += fmt.Sprintf(", the median of %d trials (%s – %s with 95 %% confidence)",
			e.N, metric.PerSecond.Format(e.Low), metric.PerSecond.Format(e.High))
	} else if n := len(c.Trials); n > 1 {
		rate += fmt.Sprintf(", the median of %d trials (%s – %s; an interval of 95 %% confidence takes %d)",
			n, metric.PerSecond.Format(c.Rate.Min), metric.PerSecond.Format(c.Rate.Max), stats.MinTrials)
	}
	p.item(bold, "throughput", rate)
	p.arrivals(c)
	p.bound(c)
	p.limit(c)
	if c.Bound.Little > 0 {
		color, verdict := "", "the books balance"
		switch {
		case c.Bound.Balanced():
		case view.Unbalanced(c):
			color, verdict = yellow, "figures contradict each other"
		default:
			verdict = "the rest went into requests that failed and the pauses after them"
		}
		p.item(color, "Little's law", fmt.Sprintf("recorded times account for %.0f %% of the clients' time: %s", 100*c.Bound.Little, verdict))
	}
	if b := c.Bound; b.LittleOpen > 0 {
		color, verdict := "", "the clients kept up"
		if !c.KeptUp() {
			color, verdict = yellow, "BEHIND, what still waited when the window closed is in no latency"
			switch {
			case b.LittleOpen < 1 && c.Counts.Failed() > 0:
				verdict = "BEHIND, what failed or still waited when the window closed is in no latency"
			case b.LittleOpen > 1:
				verdict = "BEHIND, a backlog of the warm-up was worked off in the window"
			case c.Plan().Ops > 0 && c.Counts.Unfinished == 0:
				verdict = "BEHIND in the warm-up, and what was due then is in no figure, whenever it was served"
			}
		}
		p.item(color, "", fmt.Sprintf("and for %.0f %% of the %s arrivals that were in the system on average: %s",
			100*b.LittleOpen, format.Three(b.InSystem), verdict))
	}
	p.course(c)
}

// arrivals says what an open loop asked for, and what became of it.
func (p *page) arrivals(c *results.Cell) {
	if !c.Open() {
		return
	}
	n := c.Counts
	served, granted, lost := n.Acquired, "", ""
	for i, g := range c.Plan().Classes {
		if i < len(c.Classes) && !g.Open() {
			served -= c.Classes[i].Counts.Acquired
		}
	}
	if n.Offered > 0 {
		granted = share(served, n.Offered) + " granted"
	}
	color := ""
	if n.Dropped > 0 {
		color, lost = yellow, share(n.Dropped, n.Offered)+" found the queue full and were dropped"
	}
	waited := "all found a free client"
	if part := c.Backlogged(); part > 0 {
		waited = format.Percent(part) + " found all clients busy"
	}
	came := metric.PerSecond.Format(offered(c)) + " arrivals/s"
	if c.Plan().Ops > 0 {
		came = format.Plural(n.Offered, "arrival")
	}
	p.item(color, "offered", format.Join(came, granted, waited, lost))
}

func (p *page) bound(c *results.Cell) {
	b := c.Bound
	if b.LocksPerS <= 0 {
		return
	}
	by := ""
	if b.By != "" {
		by = ", by " + b.By
	}
	text := fmt.Sprintf("about %s locks/s%s, of which %s was reached: %s", metric.PerSecond.Format(b.LocksPerS), by, format.Percent(b.Efficiency),
		idealOf([]*results.Cell{c}))
	switch b.By {
	case "rate":
	case "connections":
		text += fmt.Sprintf(", with %s that all clients share, and a round trip of %s", connections(b.Pool), format.Glue(format.Duration(b.RoundTrip())))
	default:
		if classed(c) {
			text += ", with the holds that were measured and a round trip of " + format.Glue(format.Duration(b.RoundTrip()))
			break
		}
		text += fmt.Sprintf(", with the measured hold of %s and a round trip of %s",
			format.Glue(format.Duration(c.Latency[results.Hold].Mean)), format.Glue(format.Duration(b.RoundTrip())))
	}
	if !b.Beaten() {
		p.item("", "bound", text)
		return
	}
	p.item(yellow, "bound", text)
	p.item(yellow, "", "BEATEN: "+view.Meaning("beaten"))
}

// limit says what limits the throughput, and what to try next.
func (p *page) limit(c *results.Cell) {
	p.item("", "limited by", view.Limit(c))
	p.item("", "next", view.Next(c))
}
