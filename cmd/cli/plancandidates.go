// The candidates of lockbench plan: the cells of all drivers, with the designs that are worth a trial.

package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/shape"
)

// lacking returns the claims that a design does not have.
func (q *question) lacking(t drivers.Traits) (names []string) {
	for _, c := range catalog.Claimed {
		if slices.Contains(q.need, c.Name) && !c.Has(t) {
			names = append(names, c.Name)
		}
	}
	return names
}

// addCandidates adds the cells of all drivers.
func (q *question) addCandidates() error {
	r := reader{o: q.options}
	seed := scalar(&r, "seed", spec.ParseSeed)
	axes, err := q.options.axes()
	if err = cmp.Or(r.err, err); err != nil {
		return err
	}
	for _, axes := range q.byDriver(q.nominal(axes)) {
		if err := q.addCells(axes, seed); err != nil {
			return err
		}
	}
	switch {
	case len(q.Cells) == 0 && len(q.Skipped) > 0:
		return usageErrorf("there is no candidate: %s", q.Skipped[0])
	case len(q.Cells) == 0:
		return usageErrorf("there is no candidate: %s", q.skipped[0])
	}
	return q.checkRead()
}

// axisOf returns the values of a setting.
func axisOf(axes []matrix.Axis, setting string) []spec.Plan {
	for _, a := range axes {
		if a.Setting.Name == setting {
			return a.Values
		}
	}
	return nil
}

// withAxis returns axes with other values of a setting, behind that of the driver if it had none.
func withAxis(axes []matrix.Axis, setting string, texts ...string) []matrix.Axis {
	s, _ := spec.Find(setting)
	a := matrix.Axis{Setting: s}
	for _, text := range texts {
		var p spec.Plan
		_ = s.Set(&p, text) // which is a name, or a value of ours
		a.Values = append(a.Values, p)
	}
	axes = slices.Clone(axes)
	if i := slices.IndexFunc(axes, func(a matrix.Axis) bool { return a.Setting.Name == setting }); i >= 0 {
		axes[i] = a
		return axes
	}
	return slices.Insert(axes, 1, a)
}

// nominalRate stands for whatever rate a trial has while settings are read, some of which only an open loop reads.
const nominalRate = "1"

// nominal returns axes as those of an open loop, if they are one load without a rate.
func (q *question) nominal(axes []matrix.Axis) []matrix.Axis {
	if w := q.options.workload; w != nil && len(w.Classes) > 0 {
		return axes
	}
	if axisOf(axes, "rate")[0].Rate.IsZero() && axisOf(axes, "burst")[0].Burst == 0 {
		axes = withAxis(axes, "rate", nominalRate)
	}
	return withAxis(axes, "think", "0s")
}

// byDriver returns the axes of each driver with the designs that are candidates by default; or all, if the locks are
// named.
func (q *question) byDriver(axes []matrix.Axis) (list [][]matrix.Axis) {
	if axisOf(axes, "lock") != nil {
		return [][]matrix.Axis{axes}
	}
	reentrant := slices.Contains(q.need, "reentrant") || axisOf(axes, "reentry")[0].Reentry > 1
	for _, value := range axisOf(axes, "driver") {
		one := withAxis(axes, "driver", value.Driver)
		driver, _, _ := matrix.CutTopology(value.Driver)
		if drivers.Unstarted(driver) {
			list = append(list, one)
			continue
		}
		var locks, worse, better []string
		d, _ := drivers.Lookup(driver)
		sound := slices.DeleteFunc(slices.Clone(d.Designs()), func(d drivers.Design) bool {
			return !d.Traits.Exclusive || !d.Traits.Owned || !d.Traits.Expires && !d.Traits.Session
		})
		for _, design := range sound {
			if other := dominating(sound, design, reentrant); other != "" {
				worse, better = append(worse, design.Name), append(better, other)
				continue
			}
			locks = append(locks, design.Name)
		}
		if len(worse) > 0 {
			slices.Sort(better)
			q.skipped = append(q.skipped, fmt.Sprintf("%s %s: %s claims as much and loses to fewer hazards; -lock takes any",
				value.Driver, format.And(worse), strings.Join(slices.Compact(better), " or ")))
		}
		if len(locks) == 0 {
			q.skipped = append(q.skipped, value.Driver+
				": none of its designs excludes, is released by its holder alone, and ends with it; -lock takes another one")
			continue
		}
		list = append(list, withAxis(one, "lock", locks...))
	}
	return list
}

// dominating returns the first design that claims all that one claims, and loses only to what that loses to as well, if
// the reverse is not true; empty if there is none. Reentrancy counts only if it is asked for.
func dominating(list []drivers.Design, one drivers.Design, reentrant bool) string {
	dominates := func(a, b drivers.Design) bool {
		a.Traits.Reentrant = a.Traits.Reentrant || !reentrant
		return !slices.ContainsFunc(catalog.Claimed, func(c catalog.Claim) bool { return c.Has(b.Traits) && !c.Has(a.Traits) }) &&
			!slices.ContainsFunc(a.Loses, func(h drivers.Hazard) bool { return !slices.Contains(b.Loses, h) })
	}
	for _, other := range list {
		if dominates(other, one) && !dominates(one, other) {
			return other.Name
		}
	}
	return ""
}

// keepClaiming leaves out the cells that do not claim what is needed.
func (q *question) keepClaiming() error {
	for _, s := range q.Skipped {
		q.skipped = append(q.skipped, s.String())
	}
	q.Skipped = nil
	q.Schedule(1, q.Cells[0].Plan.Seed)
	var lacks []string
	var keep []matrix.Cell
	for i, c := range q.Cells {
		if missing := q.lacking(c.Traits); missing != nil && !drivers.Unstarted(c.Plan.Driver) {
			lacks = append(lacks, q.Name(i)+" lacks "+strings.Join(missing, ", "))
		} else {
			keep = append(keep, c)
		}
	}
	if len(keep) == 0 {
		return usageErrorf("%s: no candidate claims all of that: %s", q.options.get("need").written(), strings.Join(lacks, "; "))
	}
	q.skipped = append(q.skipped, lacks...)
	q.Cells = keep
	q.Schedule(1, q.Cells[0].Plan.Seed)
	return nil
}

// candidate makes one of a cell, and takes the rate of the workload for what is asked if no flag asks for another.
func (q *question) candidate(i int) capacity.Candidate {
	cell, o := &q.Cells[i], q.options
	p := cell.Plan
	if p.Rate.String() == nominalRate && o.get("rate").from == fromDefault {
		p.Rate = spec.Rate{}
	}
	c := capacity.Candidate{
		Name: q.Name(i), Traits: workloads.Recorded(cell.Traits), Wrong: cell.Wrong, FixedClients: o.get("clients").from > fromFile,
		LocalLine: matrix.LocalLine(&p),
	}
	if q.Rate == 0 {
		q.Rate = capacity.Offered(&p)
	}
	c.Shares = make([]float64, p.Keys)
	weights := capacity.ArrivalShares(&p)
	for i, g := range p.Groups() {
		for key, share := range shape.Shares(g.KeyDist, p.Keys, max(1, g.Clients)) {
			c.Shares[key] += weights[i] * share
		}
	}
	slices.SortFunc(c.Shares, func(a, b float64) int { return cmp.Compare(b, a) })
	p.Duration, p.Warmup, p.Ops, p.Command = 0, 0, 0, ""
	if len(p.Classes) == 0 && p.Burst == 0 {
		p.Rate = spec.Rate{}
		if !c.FixedClients {
			p.Clients = 0
		}
	}
	c.Plan = p
	return c
}
