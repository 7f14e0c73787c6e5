package render

// One cell in detail: first what ran and where, then what came of it.

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
)

const labelWidth = 15

// item adds a labelled, wrapped paragraph; an empty text adds nothing.
func (p *page) item(color, label, text string) {
	if text != "" {
		p.para(color, fmt.Sprintf("  %-*s", labelWidth-2, label), text)
	}
}

func (p *page) detail(c *results.Cell) error {
	p.asked(c)
	p.blank()
	p.throughput(c)
	p.blank()
	if err := p.latencies(c); err != nil {
		return err
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
		p.para(yellow, "  warning: ", Many(int64(c.Duplicates), "record")+" that had been read before left out")
	}
	return nil
}

// asked says what ran and where.
func (p *page) asked(c *results.Cell) {
	r := c.First()
	title := r.Plan.Driver + " " + r.Plan.Lock
	if r.Plan.Wait != "" {
		title += ", wait " + r.Plan.Wait
	}
	p.para(bold, "", title+": "+Many(int64(r.Plan.Clients), "client")+" on "+Many(int64(r.Plan.Keys), "key")+", closed loop")
	if why := c.Partial(); why != "" {
		p.item(yellow, "PARTIAL", fmt.Sprintf("%s, after %s of %s", why, measured(r.Elapsed), asked(r.Plan.Duration)))
	}
	var settings []string
	for _, a := range axes {
		switch a.title {
		case "renew", "re-entry", "hold", "think", "ttl", "timeout", "poll", "backoff min", "backoff max", "conns", "pipelining", "flush delay", "io timeout":
			if v := a.value(c); v != "" {
				settings = append(settings, a.title+" "+v)
			}
		}
	}
	p.item("", "asked", list(settings...))
	window := "measured " + measured(r.Elapsed)
	if n := len(c.Trials); n > 1 {
		window = fmt.Sprintf("%d trials of %s", n, asked(r.Plan.Duration))
	}
	p.item("", "window", list(window, "warm-up "+asked(r.Plan.Warmup), "started "+r.Started.UTC().Format(time.DateTime)+" UTC"))
	p.item("", "claims", traitWords(r.Traits))
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
		replicas = Many(int64(s.Replicas), "replica")
	}
	durability := ""
	if s.Durability != "" {
		durability = "durability " + s.Durability
	}
	p.item("", "server", list(strings.TrimSpace(s.Name+" "+s.Version), serverKind(c), s.Mode, durability, persistence, replicas,
		connections(s.Connections), s.Network, s.Addr))
	p.item("", "machine", machine(r.Env))
	p.item("", "with", list(strings.TrimSpace("lockbench "+r.Env.Lockbench), libraries(r.Env)))
	p.item("", "command", r.Plan.Command)
}

// throughput says how fast, and how near that is to what is possible.
func (p *page) throughput(c *results.Cell) {
	rate := perSecond.format(c.Rate.Median) + " locks/s"
	if n := len(c.Trials); n > 1 {
		rate += fmt.Sprintf(", the median of %d trials (%s – %s)", n, perSecond.format(c.Rate.Min), perSecond.format(c.Rate.Max))
	}
	p.item(bold, "throughput", rate)
	if c.Bound.LocksPerS > 0 {
		p.item("", "bound", fmt.Sprintf("%s locks/s, of which %s was reached: the least of keys / (hold + round trip) and "+
			"clients / (hold + think + 2 round trips), with the measured hold of %s and a round trip of %s",
			perSecond.format(c.Bound.LocksPerS), percent(c.Bound.Efficiency),
			glue(measured(c.Latency[results.Hold].Mean)), glue(measured(c.Bound.RTT))))
	}
	if c.Bound.Little > 0 {
		color, verdict := "", "the books balance"
		switch {
		case c.Bound.Balanced():
		case c.Bound.Little < 1 && errorCount(c.Counts) > 0:
			verdict = unaccounted
		default:
			color, verdict = yellow, unbalanced
		}
		p.item(color, "Little's law", fmt.Sprintf("recorded times account for %.0f %% of the clients' time: %s", 100*c.Bound.Little, verdict))
	}
}

// metricTitles are the metrics as the table names them.
var metricTitles = map[results.Metric]string{
	results.Refusal: "gave up", results.Handoff: "hand-off", results.Reentry: "re-entry", results.AcquireAll: "all nodes",
}

// latencies writes the distributions that have values, a row each; acquire and release always.
func (p *page) latencies(c *results.Cell) error {
	g := grid{head: []string{"latency", "count", "mean", "p50", "p90", "p99", "p99.9", "max"}}
	g.right = []bool{false, true, true, true, true, true, true, true}
	var overflow []string
	for _, m := range results.Metrics {
		l := c.Latency[m]
		if l.Count == 0 && m != results.Acquire && m != results.Release {
			continue
		}
		title := metricTitles[m]
		if title == "" {
			title = string(m)
		}
		row := []string{title, Thousands(l.Count)}
		for _, d := range []time.Duration{l.Mean, l.P50, l.P90, l.P99, l.P999, l.Max} {
			if l.Count == 0 {
				row = append(row, none)
				continue
			}
			row = append(row, measured(d))
		}
		g.rows = append(g.rows, row)
		if l.Overflow > 0 {
			overflow = append(overflow, title+" "+Thousands(l.Overflow))
		}
	}
	lines, err := g.text()
	if err != nil {
		return err
	}
	for i, line := range lines {
		lines[i] = "  " + line
	}
	p.add(bold, lines[0])
	p.add("", lines[1:]...)
	if overflow != nil {
		p.item(yellow, "", "above one hour, counted as one hour: "+strings.Join(overflow, ", "))
	}
	return nil
}

// outcomes says how the acquisitions and releases ended, and who got the locks.
func (p *page) outcomes(c *results.Cell) {
	n := c.Counts
	p.item("", "outcomes", list("acquired "+Thousands(n.Acquired), some("contended", n.Contended), some("timed out", n.TimedOut),
		some("cancelled", n.Canceled), some("unknown", n.Unknown), some("refused", n.Refused), some("unfinished", n.Unfinished)))
	p.item("", "releases", list("released "+Thousands(n.Released), some("lost", n.Lost), some("lost to a renewal", n.LostRenewal),
		some("failed", n.ReleaseError)))
	if n.LostRenewal > 0 {
		p.item(yellow, "", "lost to a renewal: "+lostRenewal)
	}
	if plan(c).Renew {
		p.item("", "renewals", list("answered "+Thousands(n.Renewals-n.RenewError), some("failed", n.RenewError)))
	}
	if plan(c).Reentry > 1 {
		p.item("", "re-entries", list("granted "+Thousands(n.Reentries), some("refused", n.ReentryRefused), some("failed", n.ReentryError)))
	}
	if n.SplitVotes+n.LateGrants > 0 {
		p.item("", "votes", list(some("split", n.SplitVotes), some("late", n.LateGrants)))
	}
	var failed []string
	for i, count := range n.NodeErrors {
		if count > 0 {
			failed = append(failed, fmt.Sprintf("node %d: %s", i+1, Thousands(count)))
		}
	}
	if failed != nil {
		p.item(yellow, "unanswered", list(failed...))
	}
	for _, class := range slices.Sorted(maps.Keys(n.Errors)) {
		text := class + " " + Thousands(n.Errors[class])
		if sample := n.ErrorSample[class]; sample != "" {
			text += ", the first: " + sample
		}
		p.item(yellow, "errors", text)
	}
	if n.Unknown > 0 {
		p.item(yellow, "", unknownOutcome)
	}
	f := c.Fairness
	if n.Acquired == 0 {
		return
	}
	p.item("", "fairness", list(fmt.Sprintf("Jain %.2f", f.Jain),
		fmt.Sprintf("%s to %s grants a client", Thousands(f.MinClient), Thousands(f.MaxClient)),
		fmt.Sprintf("%s of %s starved", Thousands(int64(f.Starved)), Thousands(int64(plan(c).Clients))),
		"longest wait "+measured(f.LongestWait),
		Many(f.OwnerChanges, "owner change"), "longest run "+Thousands(f.LongestRun)))
	if f.Starved > 0 {
		p.item(yellow, "", starved)
	}
}

// some is a labelled count, or nothing for none.
func some(label string, n int64) string {
	if n == 0 {
		return ""
	}
	return label + " " + Thousands(n)
}

// safety is the oracle's verdict.
func (p *page) safety(c *results.Cell) {
	s := c.Safety
	color := ""
	if s.Violations > 0 {
		color = alarm(c)
	}
	p.item(color, "safety", safetyLine(s))
	if s.Violations > 0 {
		claim := "the design does not claim mutual exclusion"
		if c.First().Traits.Exclusive {
			claim = "the design claims mutual exclusion"
		}
		p.item(color, "", list(claim, "longest overlap "+measured(s.Longest), "in all "+measured(s.Overlap)))
	}
	p.item(red, "", otherWitnesses(s))
	const shown = 3
	for i, v := range s.Events {
		if i == shown {
			break
		}
		lasted := "lasted " + measured(v.Overlap)
		if v.Overlap == 0 {
			lasted = "did not end with the run"
		}
		p.item("", "", fmt.Sprintf("at %s client %d was granted key %d, which client %d held; that %s",
			measured(v.At), v.Intruder, v.Key, v.Holder, lasted))
	}
}

// safetyLine says how many violations there were and, if none, how rare they still may be: with none in n grants
// the rate is below 3/n at 95 % confidence, if grants are independent (Hanley and Lippman-Hand, JAMA 249, 1983: "If
// nothing goes wrong, is everything all right?").
func safetyLine(s results.Safety) string {
	grants := Many(s.Grants, "grant")
	switch {
	case !s.Checked:
		return "mutual exclusion: not checked, the oracle was off"
	case s.Grants == 0:
		return "mutual exclusion: no grants to check"
	case s.Violations > 0:
		return fmt.Sprintf("mutual exclusion: %s in %s (%s each)", Many(s.Violations, "violation"), grants,
			odds(float64(s.Violations)/float64(s.Grants)))
	case s.Grants <= 3:
		return "mutual exclusion: 0 violations in " + grants + ", too few to tell anything"
	}
	return fmt.Sprintf("mutual exclusion: 0 violations in %s (< %s each, 95 %%)", grants, odds(3/float64(s.Grants)))
}

// costs is what one granted lock cost.
func (p *page) costs(c *results.Cell) {
	per := func(v float64, noun string) string {
		if v < 0 {
			return ""
		}
		return three(v) + " " + noun
	}
	k := c.Cost
	p.item("", "per lock", list(per(k.Tries, "tries"), per(k.Commands, "commands"),
		per(k.BytesIn, "bytes in"), per(k.BytesOut, "bytes out"), per(k.ServerCPUUs, "µs server CPU"),
		per(k.ClientCPUUs, "µs client CPU"), per(k.Wakeups, "wake-ups"), per(k.Allocs, "allocations")))
	if k.Trafficked() {
		some := func(v float64, noun string) string {
			switch {
			case v <= 0:
				return ""
			case v < 0.01:
				return "< 0.01 " + noun
			}
			return per(v, noun)
		}
		p.item("", "", list(some(k.RoundTrips, "round trips"), some(k.Notices, "notices from the server"), some(k.KeepAlives, "keep-alives")))
	}
}

func connections(n int) string {
	if n == 0 {
		return ""
	}
	return Many(int64(n), "connection")
}

// generator is the verdict on lockbench itself.
func (p *page) generator(c *results.Cell) {
	g := c.Generator
	machine := ""
	if g.Machine >= 0 {
		machine = "machine " + percent(g.Machine) + " busy"
	}
	figures := list(three(g.CPU)+" cores", machine, "GC pauses "+measured(g.GCPauses))
	if !g.Saturated {
		p.item("", "generator", list("not the limit", figures))
		return
	}
	p.item(yellow, "generator", list("SATURATED: this is not the lock's limit", g.Why, figures))
}
