package report

// One cell in detail: first what ran and where, then what came of it.

import (
	"fmt"
	"math"
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

// cellPage collects what is said of one cell.
type cellPage struct {
	verbose bool
	missed  bool  // a threshold
	facts   Facts // since the last block
	blocks  []Block
}

// add adds a block behind the facts before it.
func (p *cellPage) add(blocks ...Block) {
	if len(p.facts) > 0 {
		p.blocks = append(p.blocks, p.facts)
		p.facts = nil
	}
	p.blocks = append(p.blocks, blocks...)
}

// item adds a fact; one without a label goes on with the last. An empty text adds nothing.
func (p *cellPage) item(tone Tone, label, text string) {
	if text != "" {
		p.facts = append(p.facts, Fact{Label: label, Lines: []string{text}, Tone: tone})
	}
}

// cellBlocks returns what is said of one cell. The short form has what a reader needs to believe the figure and to go on from it;
// the verbose one adds to each part what else the record holds.
func cellBlocks(c *results.Cell, verbose, missed bool) []Block {
	p := &cellPage{verbose: verbose, missed: missed}
	p.settings(c)
	p.add()
	p.throughput(c)
	p.safety(c)
	p.fairness(c)
	p.latencies(c)
	if len(c.Classes) > 0 {
		p.add(classTable(c))
	}
	if verbose {
		p.trials(c)
		p.ranks(c)
	}
	p.add()
	p.outcomes(c)
	p.costs(c)
	p.claims(c)
	p.generator(c)
	p.notes(c)
	p.item(Plain, "next", view.Next(c, p.missed))
	if !verbose {
		p.item(Plain, "more", "-v: all percentiles, hand-offs, fairness, the cost of a lock, what the design claims")
	}
	p.add()
	return p.blocks
}

// CellFacts returns all facts of a cell, of which a threshold may have been missed, those apart that a page has a table or a chart for.
// What has no label goes on with the one before it.
func CellFacts(c *results.Cell, missed bool) Facts {
	p := &cellPage{verbose: true}
	p.settings(c)
	p.throughput(c)
	p.safety(c)
	p.fairness(c)
	p.outcomes(c)
	p.costs(c)
	p.claims(c)
	p.generator(c)
	p.item(Plain, "next", view.Next(c, missed))
	var facts Facts
	for _, f := range p.facts {
		switch last := len(facts) - 1; {
		case f.Course != nil:
		case f.Label == "":
			facts[last].Lines, facts[last].Tone = append(facts[last].Lines, f.Lines...), max(facts[last].Tone, f.Tone)
		default:
			facts = append(facts, f)
		}
	}
	return facts
}

// claims says what the design promises, and what is wrong with it.
func (p *cellPage) claims(c *results.Cell) {
	p.full("claims", view.TraitWords(c.First().Traits))
	risk := view.Risk(c)
	if p.verbose {
		risk = c.First().Wrong
	}
	p.item(Plain, "risk", risk)
}

// mostNotes is how many notes the short form has.
const mostNotes = 3

// notes say what changes how the figures are read and is not said elsewhere on the page.
func (p *cellPage) notes(c *results.Cell) {
	var notes []string
	for _, f := range view.Flags(c) {
		if slices.Contains([]string{"paused", "unbalanced", "behind", "overflow"}, f.Name) && !p.verbose {
			notes = append(notes, f.Word+": "+f.Means)
		}
	}
	for _, w := range c.Warnings {
		if p.verbose || !saidElsewhere(c, w) {
			notes = append(notes, w)
		}
	}
	if c.Duplicates > 0 {
		notes = append(notes, format.Plural(c.Duplicates, "record")+" that had been read before left out")
	}
	left := 0
	if len(notes) > mostNotes && !p.verbose {
		left = len(notes) - mostNotes
		notes = notes[:mostNotes]
	}
	for _, n := range notes {
		p.item(Warn, "note", n)
	}
	if left > 0 {
		p.item(Warn, "", format.Plural(left, "more note")+": -v")
	}
}

// saidElsewhere reports whether another line of the short form says what the warning does.
func saidElsewhere(c *results.Cell, warning string) bool {
	switch {
	case marked(warning) && !strings.HasSuffix(warning, pausedOnly):
		return true // see steady, and the flags
	case strings.Contains(warning, "gave up or were refused"):
		return c.Limit().By == results.ByRate && c.Counts.Contended > 0 // which says how many
	}
	return false
}

// pausedOnly ends the warning of pauses that explain no violation.
const pausedOnly = "latencies have it in them"

// marked reports whether a mark of the row says what the warning does.
func marked(warning string) bool {
	return strings.Contains(warning, "not steady, lengthen -warmup") || strings.Contains(warning, "(Little's law)") ||
		strings.HasSuffix(warning, pausedOnly)
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

// trialTitle says what a trial measures.
func trialTitle(p *spec.Plan) string {
	title := p.Driver + " " + p.Lock
	if waits := view.Waits(p); waits != "" {
		title += ", " + waits
	}
	return title + ": " + format.Plural(p.Clients, "client") + " on " + format.Plural(p.Keys, "key") + ", " + view.LoadLine(p)
}

// settings says what ran and where: in short, what is not as usual.
func (p *cellPage) settings(c *results.Cell) {
	r := c.First()
	title := trialTitle(&r.Plan)
	var wanted []string
	switch name := r.Plan.Workload; {
	case p.verbose && name != "":
		wanted = append(wanted, "workload "+name)
	case name != "":
		title += " (" + name + ")"
	}
	for _, a := range view.Settings {
		v := a.Value(c)
		said := v == "" || v == view.ByClass || v == a.Unsaid || slices.Contains(toldOtherwise, a.Title)
		switch {
		case said || !p.verbose && a.Usual(v) && a.Title != "hold":
			continue
		case !p.verbose && a.Title == "hold":
			title += ", hold " + v + lastedInstead(c, "hold")
			continue
		}
		wanted = append(wanted, a.Title+" "+v+lastedInstead(c, a.Title))
	}
	p.add(Paragraph{Text: title, Strong: true})
	if why := c.Partial(); why != "" {
		p.item(Warn, "PARTIAL", fmt.Sprintf("%s, after %s of %s", why, format.Duration(r.Elapsed), length(&r.Plan)))
	}
	p.item(Plain, "settings", format.Join(wanted...))
	texts := view.ClassTexts(&r.Plan)
	for i, g := range r.Plan.Classes {
		p.item(Plain, "class", g.Name+": "+texts[i])
	}
	window := "measured " + format.Duration(r.Elapsed)
	if n := len(c.Trials); n > 1 {
		window = fmt.Sprintf("%d trials of %s", n, length(&r.Plan))
	}
	p.full("window", format.Join(window, "warm-up "+format.Exact(r.Plan.Warmup), "started "+r.Started.UTC().Format(time.DateTime)+" UTC"))
	p.place(c)
	p.full("machine", view.Machine(r.Env))
	p.item(Plain, "variables", view.Variables(r.Env))
	p.item(Plain, "revision", r.Env.Revision)
	p.item(Plain, "side", r.Side)
	p.full("with", format.Join(strings.TrimSpace("lockbench "+r.Env.Lockbench), view.Libraries(r.Env)))
	p.full("command", r.Plan.Command)
}

// place says which server it was.
func (p *cellPage) place(c *results.Cell) {
	s := c.First().Server
	words := []string{strings.TrimSpace(s.Name + " " + s.Version), view.ServerKind(c), s.Mode}
	if s.Durability != "" {
		words = append(words, "durability "+s.Durability)
	}
	switch {
	case s.Persistence != "":
		words = append(words, "persistence "+s.Persistence)
	case s.Name != "": // without a server there is none to wonder about
		words = append(words, "persistence unknown")
	}
	if s.Replicas > 0 {
		words = append(words, format.Plural(s.Replicas, "replica"))
	}
	if p.verbose {
		words = append(words, connections(s.Connections))
	}
	words = append(words, s.Network)
	if p.verbose || s.Kind == "external" {
		words = append(words, s.Addr)
	}
	p.item(Plain, "server", format.Join(words...))
}

// full adds an item of the verbose form.
func (p *cellPage) full(label, text string) {
	if p.verbose {
		p.item(Plain, label, text)
	}
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

// throughput says how fast, how steadily, and what limits it.
func (p *cellPage) throughput(c *results.Cell) {
	p.full("task", task(c))
	rate := metric.PerSecond.Format(c.Rate.Median) + " locks/s"
	if e := stats.Trials(c.Trials, (*results.Record).Throughput); e.Known() {
		rate += fmt.Sprintf(", the median of %d trials (%s – %s with 95 %% confidence)",
			e.N, metric.PerSecond.Format(e.Low), metric.PerSecond.Format(e.High))
	} else if n := len(c.Trials); n > 1 {
		rate += fmt.Sprintf(", the median of %d trials (%s – %s; an interval of 95 %% confidence takes %d)",
			n, metric.PerSecond.Format(c.Rate.Min), metric.PerSecond.Format(c.Rate.Max), stats.MinTrials)
	}
	if p.verbose {
		p.item(Plain, "throughput", rate)
		p.facts[len(p.facts)-1].Strong = true
		p.bound(c)
		p.little(c)
		p.course(c)
	} else {
		tone, drift := Plain, ""
		if c.Drifting > 0 {
			tone, drift = Warn, Steadiness(c)
		}
		p.item(tone, "throughput", format.Join(rate, drift))
		p.facts[len(p.facts)-1].Strong = true
	}
	p.arrivals(c)
	if !p.verbose {
		p.waits(c)
	}
	p.item(Plain, "limited by", view.Limit(c))
}

// little says whether the books balance.
func (p *cellPage) little(c *results.Cell) {
	if c.Bound.Little > 0 {
		tone, verdict := Plain, "the books balance"
		switch {
		case c.Bound.Balanced():
		case view.Unbalanced(c):
			tone, verdict = Warn, "figures contradict each other"
		default:
			verdict = "the rest went into requests that failed and the pauses after them"
		}
		p.item(tone, "Little's law", fmt.Sprintf("recorded times account for %.0f %% of the clients' time: %s", 100*c.Bound.Little, verdict))
	}
	if b := c.Bound; b.InSystem > 0 {
		tone, verdict := Plain, "the clients kept up"
		if !c.KeptUp() {
			tone, verdict = Warn, "BEHIND, what still waited when the window closed is in no latency"
			switch {
			case b.LittleOpen < 1 && c.Counts.Failed() > 0:
				verdict = "BEHIND, what failed or still waited when the window closed is in no latency"
			case b.LittleOpen > 1:
				verdict = "BEHIND, a backlog of the warm-up was worked off in the window"
			case c.Plan().Ops > 0 && c.Counts.Unfinished == 0:
				verdict = "BEHIND in the warm-up, and what was due then is in no figure, whenever it was served"
			}
		}
		p.item(tone, "", fmt.Sprintf("and for %.0f %% of the %s arrivals that were in the system on average: %s",
			100*b.LittleOpen, format.Three(b.InSystem), verdict))
	}
}

// arrivals says what an open loop asked for, and what became of it.
func (p *cellPage) arrivals(c *results.Cell) {
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
		if served > n.Offered {
			granted += ", with arrivals of the warm-up"
		}
	}
	tone := Plain
	if n.Dropped > 0 {
		tone, lost = Warn, share(n.Dropped, n.Offered)+" found the queue full and were dropped"
	}
	waited := ""
	if part := c.Backlogged(); part > 0 {
		waited = format.Percent(part) + " found all clients busy"
	} else if c.Latency[results.Lag].Count > 0 && c.KeptUp() {
		waited = "all found a free client"
	}
	came := metric.PerSecond.Format(offered(c)) + " arrivals/s"
	if c.Plan().Ops > 0 {
		came = format.Plural(n.Offered, "arrival")
	}
	p.item(tone, "offered", format.Join(came, granted, waited, lost))
}

func (p *cellPage) bound(c *results.Cell) {
	b := c.Bound
	if math.IsNaN(c.Figures().Efficiency()) {
		return
	}
	by := ""
	if b.By != "" {
		by = ", by " + b.By
	}
	text := fmt.Sprintf("about %s locks/s%s, of which %s was reached: %s", metric.PerSecond.Format(b.LocksPerS), by, format.Percent(b.Efficiency),
		idealOf(c))
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
	if !c.Beaten() {
		p.item(Plain, "bound", text)
		return
	}
	p.item(Warn, "bound", text)
	p.item(Warn, "", "BEATEN: "+view.Meaning("beaten"))
}
