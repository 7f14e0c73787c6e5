package report

// The top of a page: the picture that the sentence rests on, and what all of it means for who reads it.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/view"
)

// picture returns the section that shows what the verdict says: of a lock that failed who held a key when, of a single run its waits,
// and of several rows what ranks them.
func (v runPage) picture(verdict view.Finding) Section {
	if s := v.overlap(); verdict.Kind == view.Bad && s.Blocks != nil {
		return s
	}
	switch {
	case !v.several():
		return v.percentiles()
	case v.Rivals && slices.ContainsFunc(v.Cells, (*results.Cell).Open):
		return v.latency(shownFirst)
	}
	return v.throughput(shownFirst)
}

// overlap shows the longest time for which two clients held a lock that claims to exclude, of those that the records have.
func (v runPage) overlap() Section {
	var worst results.Violation
	name := ""
	for i, c := range v.Cells {
		for _, event := range c.Safety.Events {
			if c.Violated() && event.Overlap > worst.Overlap {
				worst, name = event, v.Names[i]
			}
		}
	}
	if worst.Overlap == 0 {
		return Section{}
	}
	end := worst.At + worst.Overlap
	l := Lanes{Title: "Who held the key when", From: max(0, worst.At-worst.Overlap/2), To: end + worst.Overlap/2}
	l.Lanes = []Lane{
		{strconv.Itoa(worst.Holder), []Span{{l.From, end}}},
		{strconv.Itoa(worst.Intruder), []Span{{worst.At, l.To}}},
	}
	l.Moments = []Moment{{worst.At, "the second grant"}}
	return Section{ID: "overlap", Title: "Two holders at once", Blocks: []Block{l, Paragraph{Note: true, Text: fmt.Sprintf(
		"%s, key %d: client %d held it when client %d was granted it, at %s; for %s both did. How long each held it besides is not recorded.",
		name, worst.Key, worst.Holder, worst.Intruder, format.Duration(worst.At), format.Duration(worst.Overlap))}}}
}

// means says what to do with the figures: which lock to take, what can go wrong with it, how far they go, and what to try next.
func (v runPage) means(verdict view.Finding) Facts {
	if !v.several() {
		c := v.Cells[0]
		trust := []string{reach(c.Trials)}
		for _, f := range v.Reservations() {
			trust = append(trust, f.Lead+" "+f.Text)
		}
		return filled(fact("limited by", view.Limit(c)), fact("safety", view.SafetyWords(c)), fact("risk", view.Risk(c)), fact("trust", trust...),
			fact("next", cmp.Or(view.Next(c, v.missed), proveIt(c))))
	}
	trust := []string{reach(v.trials())}
	if !slices.ContainsFunc(v.Cells, func(c *results.Cell) bool { return !manyTrials(c) }) { // or a finding says so
		trust = append(trust, "a figure is the median over the trials of its row; rows whose 95 % intervals overlap may differ by chance")
	}
	if verdict.Kind == view.Bad {
		at := slices.IndexFunc(v.Cells, (*results.Cell).Violated)
		return filled(fact("risk", view.Risk(v.Cells[at])), fact("next", v.Names[at]+": "+view.Next(v.Cells[at], v.missed)))
	}
	best, choose := v.chosen()
	if best < 0 {
		return filled(fact("trust", trust...))
	}
	c := v.Cells[best]
	risk := view.Risk(c)
	if risk != "" && len(v.byText(func(c *results.Cell) []string { return []string{view.Risk(c)} }).Keys) > 1 {
		risk = v.Names[best] + ": " + risk
	}
	return filled(fact("choose", choose), fact("risk", risk), fact("trust", trust...), fact("next", proveIt(c)))
}

// chosen returns the cell to take, of the load with most contention, and why if the verdict does not say so: of those whose rate cannot
// be told from the best one's the one that guarantees more. It is -1 if no cell may be believed as it stands.
func (v runPage) chosen() (best int, why string) {
	g := v.Groups[0]
	fit := slices.DeleteFunc(g.Best(), func(i int) bool {
		return g.Cells[i].Breaches() > 0 || len(view.Doubts(g.Cells[i])) > 0 || g.Cells[i].Counts.Acquired == 0
	})
	if len(fit) == 0 {
		return -1, ""
	}
	best = fit[0]
	if !v.Rivals || g.Cells[best].Open() {
		return g.Index[best], ""
	}
	top, has := view.Rate(g.Cells[best]), claimsOf(g.Cells[best])
	for _, i := range fit[1:] {
		more := claimsOf(g.Cells[i])
		all := !slices.ContainsFunc(has, func(claim string) bool { return !slices.Contains(more, claim) })
		if e := view.Rate(g.Cells[i]); top.Known() && e.Known() && top.Low <= e.High && all && len(more) > len(has) {
			own := slices.DeleteFunc(more, func(claim string) bool { return slices.Contains(has, claim) })
			return g.Index[i], fmt.Sprintf("%s: as far as these trials tell it is as fast as %s, and it guarantees more (%s)",
				g.Names[i], g.Names[best], strings.Join(own, ", "))
		}
	}
	return g.Index[best], ""
}

// proveIt returns the command that shows what can go wrong with the lock of a cell; empty if it claims nothing.
func proveIt(c *results.Cell) string {
	p := c.Plan()
	if !c.First().Traits.Exclusive || p.Driver == "" {
		return ""
	}
	driver := p.Driver
	if slices.Contains([]string{"redlock", "replicated", "sentinel"}, p.Topology) { // the others are proven on one server
		driver += "@" + p.Topology
	}
	return "lockbench prove -driver " + driver + " -lock " + p.Lock + ": which faults give it two holders, or leave it stuck"
}

// reach says how far figures go beyond where they were measured.
func reach(trials []*results.Record) string {
	var machines []string
	remote := false
	for _, r := range trials {
		if r.Env.CPUs > 0 {
			if cpu := view.CPU(r.Env); !slices.Contains(machines, cpu) {
				machines = append(machines, cpu)
			}
		}
		remote = remote || r.Server.Kind == "external"
	}
	switch {
	case len(machines) == 0:
		return ""
	case len(machines) > 1:
		return "measured on unlike machines: " + format.Few(machines, view.NamedCells)
	case remote:
		return "measured from one machine (" + machines[0] + "): the network to the server is in the figures"
	}
	return "clients and server shared one machine (" + machines[0] + "), without a network between them: compare figures with each other, not with those of " +
		"other machines"
}
