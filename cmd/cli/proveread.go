// What the options of lockbench prove ask for: hazards, locks, and how many attempts.

package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

// proof is a run of prove.
type proof struct {
	hazards  []hazards.Hazard
	locks    []hazards.Lock
	asked    safety.Asked
	options  hazards.Options
	baseline *safety.Report // nil: none
	evidence string
}

// readProof reads what is to be proven. What is wrong is a usage error that names the flag.
func (p *program) readProof(o *options) (r *proof, err error) {
	r = &proof{evidence: o.text("evidence")}
	if r.hazards, err = readHazards(o); err != nil {
		return nil, err
	}
	if r.locks, r.asked, err = readLocks(o); err != nil {
		return nil, err
	}
	if o.text("hazard") != "" {
		if err := r.apply(o); err != nil {
			return nil, err
		}
	}
	rd := reader{o: o}
	r.options.Attempts = scalar(&rd, "attempts", within(strconv.Atoi, 1, 100_000, "must be a number from 1 to 100000"))
	r.options.Seed = scalar(&rd, "seed", within(strconv.Atoi, 0, 1_000_000, "must be a number from 0 to 1000000"))
	r.options.Each = scalar(&rd, "each", within(time.ParseDuration, 1, math.MaxInt64, "must be a time such as 7s"))
	r.options.TTL = scalar(&rd, "ttl", within(time.ParseDuration, 0, time.Minute, "must be a time up to 1m, such as 1s"))
	if rd.err != nil {
		return nil, rd.err
	}
	r.options.Prefix = "prove:" + runner.NewID() + ":"
	if opt := o.get("baseline"); opt.text != "" {
		if r.baseline, err = readFrom(p, opt.text, safety.Read); err != nil {
			return nil, fmt.Errorf("%s: %w", opt.written(), err)
		}
	}
	if r.evidence != "" {
		err = files.CheckInto(o.get("evidence").flagOrVariable(), r.evidence)
	}
	return r, err
}

// within returns a parser that has bounds; nothing is 0.
func within[T int | time.Duration](parse func(string) (T, error), least, most T, must string) func(string) (T, error) {
	return func(text string) (T, error) {
		if text == "" {
			return 0, nil
		}
		v, err := parse(text)
		if err != nil || v < least || v > most {
			return 0, errors.New(must)
		}
		return v, nil
	}
}

// readHazards reads names and numbers.
func readHazards(o *options) (list []hazards.Hazard, err error) {
	all := hazards.All()
	opt := o.get("hazard")
	if opt.text == "" {
		return all, nil
	}
	named := map[int]bool{}
	var names []string
	for _, h := range all {
		names = append(names, string(h.Name))
	}
	for name := range strings.SplitSeq(opt.text, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(all, func(h hazards.Hazard) bool {
			return string(h.Name) == name || strconv.Itoa(h.Number) == name
		})
		if i < 0 {
			return nil, o.complain(opt, "there is no hazard %q%s; lockbench prove -dry-run has all",
				name, suggest.DidYouMean("", name, names))
		}
		named[all[i].Number] = true
	}
	return slices.DeleteFunc(all, func(h hazards.Hazard) bool { return !named[h.Number] }), nil
}

// apply notes which hazards were named, of which one has to apply to one of the locks.
func (r *proof) apply(o *options) error {
	var spared, names []string
	for _, h := range r.hazards {
		r.asked.Hazards = append(r.asked.Hazards, string(h.Name))
		spared = append(spared, fmt.Sprintf("%s: %s", h.Name, h.Spares(r.locks[0])))
	}
	for _, l := range r.locks {
		names = append(names, l.Name())
		if unstartedLock(l) || slices.ContainsFunc(r.hazards, func(h hazards.Hazard) bool { return h.AppliesTo(l) }) {
			return nil
		}
	}
	return o.complain(o.get("hazard"), "nothing applies to %s: %s", format.Few(names, 2), strings.Join(spared, "; "))
}

// underSentinel are proven as well. They stand for all designs there: that a sentinel promotes the replica changes
// nothing about them.
var underSentinel = []string{"rueidis@sentinel set-nx", "rueidis@sentinel fenced"}

// readLocks reads which designs are proven, and which drivers and designs were named.
func readLocks(o *options) (list []hazards.Lock, asked safety.Asked, err error) {
	for name, names := range map[string]*[]string{"driver": &asked.Drivers, "lock": &asked.Locks} {
		if opt := o.get(name); opt.text != "" {
			if *names, err = parseList(opt.text, parseText); err != nil {
				return nil, asked, o.complain(opt, "%w", err)
			}
		}
	}
	var known []hazards.Lock
	names := asked.Drivers
	if names == nil {
		names = append(drivers.Names(), catalog.Quorums...)
		for _, name := range underSentinel {
			if l, ok := hazards.Find(name); ok {
				known = append(known, l)
			}
		}
	}
	for _, name := range names {
		driver, topology, _ := matrix.CutTopology(name)
		if drivers.Unstarted(driver) && o.on("dry-run") {
			list = append(list, hazards.Lock{Driver: driver, Topology: drivers.Topology(topology)})
			continue
		}
		_, err := drivers.Start(driver)
		var locks []hazards.Lock
		if err == nil {
			locks, err = hazards.Locks(name)
		}
		if err != nil {
			return nil, asked, o.complain(o.get("driver"), "%w", err)
		}
		known = append(known, locks...)
	}
	for _, l := range known {
		if slices.Contains(asked.Locks, l.Design.Name) || asked.Locks == nil && l.Design.Traits.Exclusive {
			list = append(list, l)
		}
	}
	for _, lock := range asked.Locks {
		if !slices.ContainsFunc(list, func(l hazards.Lock) bool { return l.Design.Name == lock || unstartedLock(l) }) {
			return nil, asked, o.complain(o.get("lock"), "no driver that is proven has a lock %q%s",
				lock, suggest.DidYouMean("", lock, matrix.Names("lock")))
		}
	}
	if len(list) == 0 {
		return nil, asked, o.complain(o.get("driver"), "it has no lock that claims to exclude; -lock names one that does not")
	}
	return list, asked, nil
}

// unstartedLock reports whether a lock stands for those of an adapter that a dry run does not start.
func unstartedLock(l hazards.Lock) bool { return l.Design.Name == "" }
