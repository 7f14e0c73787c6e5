// lockbench prove: how each lock fails, seen.

package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

const groupProof = "What is proven"

// proveFlags are the flags of lockbench prove.
var proveFlags = []flagDef{
	{"hazard", "", groupProof, "LIST", "", false, "hazards: names or numbers (default: all; -dry-run lists them)"},
	{"driver", "", groupProof, "LIST", "", false, "drivers whose locks are proven (default: all)"},
	{"lock", "", groupProof, "LIST", "", false, "their lock designs (default: all that claim to exclude)"},
	{"attempts", "", groupProof, "N", "", false, "attempts of each cell, if there is time for them: after 20\n" +
		"that survive up to 14 % may still fail, after 59 up to 5 % (default\n20, or one for each gap of every-gap if more)"},
	{"seed", "", groupProof, "N", "0", false, "number of the first attempt: the same number makes the same attempt"},
	{"ttl", "", groupProof, "TIME", "0s", false, "lease of the locks, or time-out of their sessions (default: as short\n" +
		"as each service allows, 300ms to 2s); longer for a slow machine"},
	{"each", "", groupProof, "TIME", hazards.DefaultEach.String(), false, "how long a hazard may take, about"},
	{"baseline", "", groupProof, "FILE", "", false,
		"an earlier report (-format json=FILE): fails if a design fails that\nsurvived there, or fails more than there"},
	{"evidence", "", groupOutput, "DIR", "", false, "write the story of each cell into DIR: who held the key when; and\n" +
		"for each that fails how its requests can be ordered, if at all"},
	liveFlag,
	quietFlag,
	{"dry-run", "", groupOutput, "", "false", false, "print the hazards and the locks, run nothing"},
	formatFlag,
	{"verbose", "v", groupOutput, "", "false", false, "all that was seen of each hazard, with a story"},
}

// proofs are what prove writes.
var proofs = kind[*safety.Report]{
	document: report.Proof,
	exit: func(r *safety.Report) int {
		return map[safety.Outcome]int{safety.Lost: exitViolated, safety.Inconclusive: exitInconclusive}[r.Outcome()]
	},
	formats: []output[*safety.Report]{
		{name: "json", write: export.JSON[*safety.Report]},
		{name: "junit", write: export.JUnitProof},
	},
}

// prove runs the hazards that the options name, one after another.
func (p *program) prove(ctx context.Context, o *options, _ []string) error {
	r, err := proofOf(o)
	if err != nil {
		return err
	}
	var base *safety.Report
	baseline, evidence := o.get("baseline"), o.get("evidence")
	if baseline.text != "" {
		if base, err = readFrom(p, baseline.text, safety.Read); err != nil {
			return fmt.Errorf("%s: %w", baseline.written(), err)
		}
	}
	if evidence.text != "" {
		if err := files.CheckDir(evidence.flagOrVariable(), evidence.text); err != nil {
			return err
		}
	}
	out, err := proofs.printer(p, o)
	if err != nil {
		return err
	}
	if o.on("dry-run") {
		return p.secrets.Hiding(r.print)(p.stdout)
	}
	w := &observer{program: p, command: "lockbench prove"}
	if err := w.open(ctx, o, host.Env().Lockbench); err != nil {
		return err
	}
	defer w.close()
	p.draining.Store(true)
	found := r.run(ctx, w)
	if base != nil {
		found.Against(baseline.text, base)
	}
	out.write(found)
	if evidence.text != "" {
		if err := writeEvidence(found, p.into(evidence.text)); err != nil {
			p.lose("-evidence: %s", err)
		}
	}
	w.end(ctx, report.Proof(found))
	return p.interrupted(ctx, out.code(found))
}

// proof is a run of prove.
type proof struct {
	asked   safety.Asked
	options hazards.Options
	hazards []hazards.Hazard
	locks   []hazards.Lock
}

// proofOf reads the options. What is wrong is a usage error that names the flag.
func proofOf(o *options) (*proof, error) {
	rd := reader{o: o}
	r := &proof{asked: safety.Asked{
		Hazards: list(&rd, "hazard", hazardName),
		Drivers: list(&rd, "driver", parseText),
		Locks:   list(&rd, "lock", parseText),
	}, options: hazards.Options{
		Prefix:   "prove:" + runner.NewID() + ":",
		Attempts: scalar(&rd, "attempts", within(spec.ParseInt, 1, 100_000, "must be a number from 1 to 100000")),
		Seed:     scalar(&rd, "seed", within(spec.ParseInt, 0, 1_000_000, "must be a number from 0 to 1000000")),
		Each:     scalar(&rd, "each", within(spec.ParseTime, 1, math.MaxInt64, "must be a time such as 7s")),
		TTL:      scalar(&rd, "ttl", within(spec.ParseTime, 0, time.Minute, "must be a time up to 1m, such as 1s")),
	}}
	if rd.err != nil {
		return nil, rd.err
	}
	r.hazards = slices.DeleteFunc(hazards.All(), func(h hazards.Hazard) bool {
		return r.asked.Hazards != nil && !slices.Contains(r.asked.Hazards, string(h.Name))
	})
	return r, r.findLocks(o)
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

// findLocks finds the designs that are proven. One without a name stands for those of an adapter that a dry run does
// not start. By default they are those of all drivers, with some on several servers: that a sentinel promotes the
// replica changes nothing about most.
func (r *proof) findLocks(o *options) error {
	names, all := r.asked.Drivers, r.asked.Drivers == nil
	if all {
		names = append(drivers.Names(), "rueidis@redlock", "redsync@redlock", "rueidis@sentinel")
	}
	for _, name := range names {
		driver, topology, _ := matrix.CutTopology(name)
		if err := o.startDrivers([]string{driver}); err != nil {
			return err
		}
		if drivers.Unstarted(driver) {
			r.locks = append(r.locks, hazards.Lock{Driver: driver, Topology: drivers.Topology(topology)})
			continue
		}
		locks, err := hazards.Locks(name)
		if err != nil {
			return o.complain(o.get("driver"), "%w", err)
		}
		for _, l := range locks {
			name := l.Design.Name
			chosen := slices.Contains(r.asked.Locks, name) || r.asked.Locks == nil && l.Design.Traits.Exclusive
			spared := all && l.Topology == drivers.TopologySentinel && name != "set-nx" && name != "fenced"
			if chosen && !spared {
				r.locks = append(r.locks, l)
			}
		}
	}
	for _, lock := range r.asked.Locks {
		if !slices.ContainsFunc(r.locks, func(l hazards.Lock) bool { return l.Design.Name == lock || l.Design.Name == "" }) {
			return o.complain(o.get("lock"), "no driver that is proven has a lock %q%s; see lockbench list",
				lock, suggest.DidYouMean("", lock, matrix.Names("lock")))
		}
	}
	if len(r.locks) == 0 {
		return o.complain(o.get("driver"), "it has no lock that claims to exclude; -lock names one that does not")
	}
	return nil
}

// print writes what would be run.
func (r *proof) print(w io.Writer) (err error) {
	for _, h := range r.hazards {
		fmt.Fprintf(w, "hazard %d, %s: %s\n", h.Number, h.Name, h.Tells())
	}
	fmt.Fprintln(w)
	for _, l := range r.locks {
		about := catalog.Claims(l.Design.Traits)
		if l.Design.Name == "" {
			about = unstarted
		}
		_, err = fmt.Fprintf(w, "lock %s (%s)\n", strings.TrimSpace(l.Name()), about)
	}
	return err
}

// run runs the hazards, and draws what is known after each.
func (r *proof) run(ctx context.Context, w *observer) *safety.Report {
	began := time.Now()
	found := &safety.Report{Schema: safety.Version, Env: host.With(host.Env(), drivers.Found()...), Asked: r.asked}
	var started breakable.Servers
	defer started.Close()
	for i := range r.hazards {
		h := &r.hazards[i]
		w.doing(fmt.Sprintf("hazard %d of %d: %s", i+1, len(r.hazards), h.Name))
		cells := hazards.Judged(ctx, found, h, r.locks, &started, r.options)
		if ctx.Err() != nil {
			found.Partial = fmt.Sprint(context.Cause(ctx))
			break
		}
		if !w.quiet {
			w.say("%d of %d, %s: %s", i+1, len(r.hazards), h.Name, report.ProofTally(cells))
		}
		w.soFar(func() *report.Document {
			known := *found
			known.Partial, known.Spent = "it goes on", time.Since(began)
			return report.Proof(&known)
		})
	}
	for i := range found.Cells {
		found.Cells[i].Command = r.command(&found.Cells[i])
	}
	found.Spent = time.Since(began)
	return found
}

// command returns the command that makes a cell again, with the program that is running: of one that fails, the
// attempt of its story, with the lease that it had.
func (r *proof) command(c *safety.Cell) string {
	text := fmt.Sprintf("%s prove -hazard %s -driver %s -lock %s",
		filepath.Base(os.Args[0]), c.Hazard, quote(c.Driver), c.Lock)
	if c.Verdict == safety.Fails {
		return text + fmt.Sprintf(" -seed %d -attempts 1 -ttl %v", c.Seed, c.TTL)
	}
	text += fmt.Sprintf(" -seed %d -each %v", r.options.Seed, r.options.Each)
	if n := r.options.Attempts; n > 0 {
		text += fmt.Sprintf(" -attempts %d", n)
	}
	if ttl := r.options.TTL; ttl > 0 {
		text += fmt.Sprintf(" -ttl %v", ttl)
	}
	return text
}

// writeEvidence writes the stories. The driver in a file's name may be a command.
func writeEvidence(found *safety.Report, create create) (err error) {
	inFileName := strings.NewReplacer("%", "%25", "/", "%2F")
	for _, c := range found.Cells {
		if err != nil || len(c.Story) == 0 {
			continue
		}
		name := inFileName.Replace(c.Hazard + "-" + c.Driver + "-" + c.Lock)
		err = create(name+".txt", func(w io.Writer) error { return safety.WriteStory(w, &c) })
		if err == nil && c.Verdict == safety.Fails {
			err = create(name+".html", func(w io.Writer) error { return hazards.Picture(w, &c) })
		}
	}
	return err
}
