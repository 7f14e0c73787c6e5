// What the options of lockbench prove ask for: hazards, locks, and how many attempts.

package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
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

// readProof reads what is to be proven, and the files that the options name.
func (p *program) readProof(o *options) (*proof, error) {
	r, err := proofOf(o)
	if err != nil {
		return nil, err
	}
	if opt := o.get("baseline"); opt.text != "" {
		if r.baseline, err = readFrom(p, opt.text, safety.Read); err != nil {
			return nil, fmt.Errorf("%s: %w", opt.written(), err)
		}
	}
	if r.evidence != "" {
		err = files.CheckDir(o.get("evidence").flagOrVariable(), r.evidence)
	}
	return r, err
}

// proofOf reads the options. What is wrong is a usage error that names the flag.
func proofOf(o *options) (*proof, error) {
	rd := reader{o: o}
	r := &proof{evidence: o.text("evidence"), asked: safety.Asked{
		Hazards: list(&rd, "hazard", hazardName), Drivers: list(&rd, "driver", parseText), Locks: list(&rd, "lock", parseText),
	}}
	r.options = hazards.Options{
		Prefix:   "prove:" + runner.NewID() + ":",
		Attempts: scalar(&rd, "attempts", within(spec.ParseInt, 1, 100_000, "must be a number from 1 to 100000")),
		Seed:     scalar(&rd, "seed", within(spec.ParseInt, 0, 1_000_000, "must be a number from 0 to 1000000")),
		Each:     scalar(&rd, "each", within(spec.ParseTime, 1, math.MaxInt64, "must be a time such as 7s")),
		TTL:      scalar(&rd, "ttl", within(spec.ParseTime, 0, time.Minute, "must be a time up to 1m, such as 1s")),
	}
	if rd.err != nil {
		return nil, rd.err
	}
	r.hazards = slices.DeleteFunc(hazards.All(), func(h hazards.Hazard) bool {
		return r.asked.Hazards != nil && !slices.Contains(r.asked.Hazards, string(h.Name))
	})
	return r, r.readLocks(o)
}

// hazardName returns the name of a hazard that is given by its name or its number.
func hazardName(text string) (string, error) {
	var names []string
	for _, h := range hazards.All() {
		if string(h.Name) == text || strconv.Itoa(h.Number) == text {
			return string(h.Name), nil
		}
		names = append(names, string(h.Name))
	}
	return "", fmt.Errorf("there is no hazard %q%s; lockbench prove -dry-run has all",
		text, suggest.DidYouMean("", text, names))
}

var (
	// severalServers are proven beside all drivers.
	severalServers = []string{"rueidis@redlock", "redsync@redlock", "rueidis@sentinel"}

	// underSentinel stand for all designs there: that a sentinel promotes the replica changes nothing about them.
	underSentinel = []string{"set-nx", "fenced"}
)

// readLocks finds the designs that are proven.
func (r *proof) readLocks(o *options) error {
	names := r.asked.Drivers
	if names == nil {
		names = append(drivers.Names(), severalServers...)
	}
	for _, name := range names {
		driver, topology, _ := matrix.CutTopology(name)
		if drivers.Unstarted(driver) && o.on("dry-run") {
			r.locks = append(r.locks, hazards.Lock{Driver: driver, Topology: drivers.Topology(topology)})
			continue
		}
		var locks []hazards.Lock
		_, err := drivers.Start(driver)
		if err == nil {
			locks, err = hazards.Locks(name)
		}
		if err != nil {
			return o.complain(o.get("driver"), "%w", err)
		}
		for _, l := range locks {
			chosen := slices.Contains(r.asked.Locks, l.Design.Name) || r.asked.Locks == nil && l.Design.Traits.Exclusive
			inAll := l.Topology != drivers.TopologySentinel || slices.Contains(underSentinel, l.Design.Name)
			if chosen && (inAll || r.asked.Drivers != nil) {
				r.locks = append(r.locks, l)
			}
		}
	}
	for _, lock := range r.asked.Locks {
		if !slices.ContainsFunc(r.locks, func(l hazards.Lock) bool { return l.Design.Name == lock || unstartedLock(l) }) {
			return o.complain(o.get("lock"), "no driver that is proven has a lock %q%s",
				lock, suggest.DidYouMean("", lock, matrix.Names("lock")))
		}
	}
	if len(r.locks) == 0 {
		return o.complain(o.get("driver"), "it has no lock that claims to exclude; -lock names one that does not")
	}
	return nil
}

// unstartedLock reports whether a lock stands for those of an adapter that a dry run does not start.
func unstartedLock(l hazards.Lock) bool { return l.Design.Name == "" }
