package report

// How the acquisitions of a cell ended, whether the lock excluded, what a lock cost, and the verdict on lockbench.

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

// ends says how the acquisitions and releases ended: in short, those of which not all went well.
func (p *cellPage) ends(c *results.Cell) {
	n := c.Counts
	acquired := []string{"acquired " + format.Count(n.Acquired), format.Labelled("contended", n.Contended), format.Labelled("timed out", n.TimedOut),
		format.Labelled("cancelled", n.Canceled), format.Labelled("unknown", n.Unknown), format.Labelled("refused", n.Refused),
		format.Labelled("unfinished", n.Unfinished)}
	released := []string{"released " + format.Count(n.Released), format.Labelled("lost", n.Lost), format.Labelled("lost to a renewal", n.LostRenewal),
		format.Labelled("failed", n.ReleaseError), format.Labelled("holder died", n.Crashed)}
	if p.verbose {
		p.item(Plain, "outcomes", format.Join(acquired...))
		p.item(Plain, "releases", format.Join(released...))
		return
	}
	if n.Contended+n.TimedOut+n.Canceled+n.Unknown+n.Refused == 0 {
		acquired = nil
	}
	if n.Canceled+n.Unknown+n.Refused+n.Lost+n.LostRenewal+n.ReleaseError == 0 && task(c) != "" {
		return // it has the other counts
	}
	if n.Lost+n.LostRenewal+n.ReleaseError+n.Crashed == 0 {
		released = nil
	}
	p.item(Plain, "outcomes", format.Join(slices.Concat(acquired, released)...))
}

// outcomes says how acquisitions and releases ended, and what else came of the plan: in short, what did not go well.
func (p *cellPage) outcomes(c *results.Cell) {
	p.ends(c)
	n := c.Counts
	if n.LostRenewal > 0 {
		p.item(Warn, "", "lost to a renewal: "+view.Meaning("lost"))
	}
	if c.Plan().Renew && (p.verbose || n.RenewError > 0) {
		p.item(Plain, "renewals", format.Join("answered "+format.Count(n.Renewals-n.RenewError), format.Labelled("failed", n.RenewError)))
	}
	if c.Plan().Reentry > 1 && (p.verbose || n.ReentryRefused+n.ReentryError > 0) {
		p.item(Plain, "re-entries", format.Join("granted "+format.Count(n.Reentries), format.Labelled("refused", n.ReentryRefused), format.Labelled("failed", n.ReentryError)))
	}
	if n.SplitVotes > 0 && p.verbose {
		p.item(Plain, "votes", format.Labelled("split", n.SplitVotes))
	}
	var failed []string
	for i, count := range n.NodeErrors {
		if count > 0 {
			failed = append(failed, fmt.Sprintf("node %d: %s", i+1, format.Count(count)))
		}
	}
	if failed != nil {
		p.item(Warn, "unanswered", format.Join(failed...))
	}
	for _, text := range view.Errors(n) {
		p.item(Warn, "errors", text)
	}
	if n.Unknown > 0 {
		p.item(Warn, "", view.Meaning("unknown"))
	}
}

// fairness says who got the locks.
func (p *cellPage) fairness(c *results.Cell) {
	f := c.Fairness
	starved := view.Starved(c)
	if c.Counts.Acquired == 0 || !p.verbose && starved == 0 {
		return
	}
	jain := fmt.Sprintf("Jain %.2f", f.Jain)
	if math.IsNaN(c.Figures().Jain()) {
		jain = "too few grants"
	}
	without := "starved"
	if view.TriesOnce(c.Plan()) {
		without = "got none"
	}
	words := []string{jain,
		fmt.Sprintf("%s to %s grants a client", format.Count(f.MinClient), format.Count(f.MaxClient)),
		fmt.Sprintf("%s of %s %s", format.Count(f.Starved), format.Count(int64(c.Wanting())), without),
		"longest wait " + format.Duration(f.LongestWait)}
	if p.verbose && !c.Plan().Shared {
		words = append(words, format.Plural(f.OwnerChanges, "owner change"), "longest run "+format.Count(f.LongestRun))
	}
	tone := Plain
	if starved > 0 {
		tone = Warn
	}
	p.item(tone, "fairness", format.Join(words...))
	if starved > 0 && p.verbose {
		p.item(Warn, "", view.Meaning("starved"))
	}
}

// safety is the oracle's verdict.
func (p *cellPage) safety(c *results.Cell) {
	s := c.Safety
	tone := Plain
	if c.Breaches() > 0 {
		tone = alarm(c)
	}
	verdict := view.SafetyVerdict(c)
	if !p.verbose {
		verdict = view.SafetyWords(c)
	}
	p.item(tone, "safety", verdict)
	if p.verbose {
		p.item(Plain, "", powerLine(s))
		if s.Blind > 0 {
			p.item(Plain, "", fmt.Sprintf("across %d processes, whose clocks are known to agree within %s", len(c.First().Ranks), format.Duration(s.Blind)))
		}
	}
	claim := ""
	if c.Breaches() > 0 {
		claim = "the design does not claim mutual exclusion"
		if c.First().Traits.Exclusive {
			claim = "" // the first line says so
		}
	}
	overlaps := ""
	if s.Violations > 0 {
		overlaps = format.Join("longest overlap "+format.Duration(s.Longest), "in all "+format.Duration(s.Overlap))
	}
	p.item(tone, "", format.Join(claim, overlaps))
	p.item(Bad, "", view.OtherWitnesses(c))
	shown := 1
	if p.verbose {
		shown = 3
	}
	for i, v := range s.Events {
		if i == shown {
			break
		}
		lasted := "lasted " + format.Duration(v.Overlap)
		if v.Overlap == 0 {
			lasted = "did not end with the run"
		}
		p.item(Plain, "", fmt.Sprintf("at %s client %d was granted key %d, which client %d held; that %s",
			format.Duration(v.At), v.Intruder, v.Key, v.Holder, lasted))
	}
}

// powerLine explains what makes a grant watched, and says that the harness has made holds longer for that.
func powerLine(s results.Safety) string {
	if s.Power == nil || s.Power.Watched+s.Power.Sampled == 0 {
		return ""
	}
	text := "watched: a rival's try was answered during the hold"
	if n := s.Power.Sampled; n > 0 {
		text = fmt.Sprintf("%s, for which %s made longer, by %s on average", text, format.Verb(n, "hold was", "holds were"),
			format.Duration(s.Power.SampledTime/time.Duration(n)))
	}
	return text
}

// costs is what one granted lock cost.
func (p *cellPage) costs(c *results.Cell) {
	var costs []string
	for _, m := range metric.Of(metric.Cost) {
		switch v := m.Of(c.Figures()); {
		case v > 0 && v < 0.01:
			costs = append(costs, "< 0.01 "+m.Title())
		case v > 0:
			costs = append(costs, m.Unit.Format(v)+" "+m.Title())
		}
	}
	p.full("per lock", format.Join(costs...))
}

func connections(n int) string {
	if n == 0 {
		return ""
	}
	return format.Plural(n, "connection")
}

// generator is the verdict on lockbench itself: in short, if it was the limit.
func (p *cellPage) generator(c *results.Cell) {
	g := c.Generator
	if !p.verbose {
		if g.Saturated && !c.Limit().By.Busy() {
			p.item(Warn, "generator", "SATURATED: latencies have its delays in them: "+g.Why)
		}
		return
	}
	machine := ""
	if g.Machine >= 0 {
		machine = "machine " + format.Percent(g.Machine) + " busy"
	}
	pauses := "GC pauses " + format.Duration(g.GCPauses)
	if g.GCLongest > 0 {
		pauses += ", the longest " + format.Duration(g.GCLongest)
	}
	queue := ""
	if g.RunQueue > 0 {
		queue = "99 % of wake-ups within " + format.Duration(g.RunQueue)
	}
	late := func(what string, l results.Latency) string {
		if !results.Enough(l.Count, 0.99) {
			return ""
		}
		return "99 % of " + what + " at most " + format.Duration(l.P99) + " late"
	}
	memory := ""
	if g.Memory > 0 {
		memory = metric.Bytes.Format(float64(g.Memory)) + " of memory"
	}
	packed := ""
	if g.PerWrite > 0 {
		packed = format.Three(g.PerWrite) + " requests a write"
	}
	starved := ""
	switch {
	case g.Throttled > 0:
		starved = "stopped by its CPU quota for " + format.Duration(g.Throttled)
	case g.CoreWait > 0:
		starved = "waited " + format.Duration(g.CoreWait) + " for a core"
	}
	ticks := late("its ticks", c.Latency[results.Hiccup])
	if ticks != "" {
		ticks += ", all at most " + format.Duration(c.Latency[results.Hiccup].Max)
	}
	figures := format.Join(format.Three(g.CPU)+" cores", machine, starved, memory, pauses, queue, ticks,
		late("arrivals", c.Latency[results.Lag]), late("the requests", c.Latency[results.Worker]), packed)
	if !g.Saturated {
		verdict := "not the limit"
		if g.Throttled < 0 && g.CoreWait < 0 {
			verdict += " as far as can be told: no cgroup and no schedstat says whether it was starved of CPU time"
		}
		p.item(Plain, "generator", format.Join(verdict, figures))
		return
	}
	p.item(Warn, "generator", format.Join("SATURATED: this is not the lock's limit", g.Why, figures))
}
