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

// addCandidates adds the cells of all drivers, one after another if each has designs of its own.
func (q *question) addCandidates() error {
	o := q.options
	r := reader{o: o}
	seed := scalar(&r, "seed", spec.ParseSeed)
	_, err := o.axes() // so that errors have the list of drivers
	if err = cmp.Or(r.err, err); err != nil {
		return err
	}
	driver, lock := o.get("driver"), o.get("lock")
	typed, given := driver.text, lock.text
	names := []string{typed}
	if given == "" {
		names = strings.Split(typed, ",")
	}
	for _, driver.text = range names {
		if given == "" {
			if lock.text = q.designs(strings.TrimSpace(driver.text)); lock.text == none {
				continue
			}
		}
		axes, err := o.axes()
		if err == nil {
			err = q.addCells(axes, seed)
		}
		if err != nil {
			return err
		}
	}
	driver.text, lock.text = typed, given
	for _, s := range q.Skipped {
		q.skipped = append(q.skipped, s.String())
	}
	q.Skipped = nil
	if len(q.Cells) == 0 {
		return usageErrorf("there is no candidate: %s", q.skipped[len(q.skipped)-1])
	}
	return nil
}

// none stands for the designs of a driver that has no candidate.
const none = "-"

// designs returns the designs of a driver that are candidates by default, as -lock names them; nothing if they are not
// known in a dry run.
func (q *question) designs(name string) string {
	driver, _, _ := matrix.CutTopology(name)
	if drivers.Unstarted(driver) {
		return ""
	}
	d, _ := drivers.Lookup(driver)
	sound := slices.DeleteFunc(slices.Clone(d.Designs()), func(d drivers.Design) bool {
		return !d.Traits.Exclusive || !d.Traits.Owned || !d.Traits.Expires && !d.Traits.Session
	})
	var locks, worse []string
	for _, one := range sound {
		if slices.ContainsFunc(sound, func(d drivers.Design) bool { return q.dominates(d, one) && !q.dominates(one, d) }) {
			worse = append(worse, one.Name)
		} else {
			locks = append(locks, one.Name)
		}
	}
	if worse != nil {
		q.skipped = append(q.skipped, fmt.Sprintf(
			"%s %s: another design claims as much and loses to fewer hazards; -lock takes any", name, format.And(worse)))
	}
	if locks == nil {
		q.skipped = append(q.skipped, name+
			": none of its designs excludes, is released by its holder alone, and ends with it; -lock takes another one")
		return none
	}
	return strings.Join(locks, ",")
}

// dominates reports whether a claims all that b claims, and loses only to what b loses to as well. Reentrancy counts
// only if it is asked for.
func (q *question) dominates(a, b drivers.Design) bool {
	asked := slices.Contains(q.need, "reentrant") || !q.options.get("reentry").isDefault()
	a.Traits.Reentrant = a.Traits.Reentrant || !asked
	more := func(c catalog.Claim) bool { return c.Has(b.Traits) && !c.Has(a.Traits) }
	loses := func(h drivers.Hazard) bool { return !slices.Contains(b.Loses, h) }
	return !slices.ContainsFunc(catalog.Claimed, more) && !slices.ContainsFunc(a.Loses, loses)
}

// keepClaiming leaves out the cells that do not claim what is needed.
func (q *question) keepClaiming() error {
	q.Schedule(1, q.Cells[0].Plan.Seed)
	var out []string
	var keep []matrix.Cell
	for i, c := range q.Cells {
		var lacks []string
		for _, claim := range catalog.Claimed {
			if slices.Contains(q.need, claim.Name) && !claim.Has(c.Traits) && !drivers.Unstarted(c.Plan.Driver) {
				lacks = append(lacks, claim.Name)
			}
		}
		if lacks == nil {
			keep = append(keep, c)
		} else {
			out = append(out, q.Name(i)+" lacks "+strings.Join(lacks, ", "))
		}
	}
	if keep == nil {
		return usageErrorf("%s: no candidate claims all of that: %s", q.options.get("need").written(), strings.Join(out, "; "))
	}
	q.skipped, q.Cells = append(q.skipped, out...), keep
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
