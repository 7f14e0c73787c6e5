// lockbench prove: how each lock fails, seen.

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
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
	{"attempts", "", groupProof, "N", "", false, "attempts of each cell, if there is time for them: none of 20 that\nfails leaves 14 % possible, none of 59 leaves 5 % (default 20, or one\nfor each gap of every-gap if there are more)"},
	{"seed", "", groupProof, "N", "0", false, "number of the first attempt: the same number makes the same attempt"},
	{"ttl", "", groupProof, "TIME", "0s", false, "lease of the locks, or time-out of their sessions (default: as short\nas each service allows, 300ms to 2s); longer for a slow machine"},
	{"each", "", groupProof, "TIME", hazards.DefaultEach.String(), false, "how long a hazard may take, about"},
	{"baseline", "", groupProof, "FILE", "", false, "an earlier report (-format json=FILE): fails if a design fails that\nsurvived there, or fails more than there"},
	{"evidence", "", groupOutput, "DIR", "", false, "write the story of each cell into DIR: who held the key when; and\nof each that fails the order of its requests, as far as there is one"},
	liveFlag,
	quietFlag,
	{"dry-run", "", groupOutput, "", "false", false, "print the hazards and the locks, run nothing"},
	{"format", "", groupOutput, "NAME[=FILE]", "", false, "other formats (a comma list, each into a file; one without a file\nreplaces the table)"},
	{"verbose", "v", groupOutput, "", "false", false, "all that was seen of each hazard, with a story"},
}

func (p *program) proveCommand() *cobra.Command {
	return p.command(&cobra.Command{
		Use:   "prove [FLAGS]",
		Short: "Make each lock fail on purpose, and show how it does",
		Args:  noArgs,
	}, proveFlags, func(c *cobra.Command, o *options, _ []string) error { return p.prove(c.Context(), o) })
}

// proofs are what prove writes.
var proofs = kind[*safety.Report]{
	document: report.Proof,
	exit: func(r *safety.Report) int {
		return map[safety.Outcome]int{safety.Lost: exitViolated, safety.Inconclusive: exitInconclusive}[r.Outcome()]
	},
	formats: []exporter[*safety.Report]{
		{name: tableFormat, about: "designs against hazards"},
		{name: htmlFormat, about: "one page with who held the key when; it needs no other file"},
		{name: "json", about: "all of it, for programs", write: export.JSON[*safety.Report]},
		{name: "junit", about: "a test case a cell", write: export.JUnitProof},
	},
}

// proof is a run of prove.
type proof struct {
	hazards  []hazards.Hazard
	locks    []hazards.Lock
	asked    safety.Asked
	options  hazards.Options
	baseline *safety.Report // nil: none
	evidence string
	printer  printer[*safety.Report]
}

// prove runs the hazards that the options name, one after another.
func (p *program) prove(ctx context.Context, o *options) error {
	r, err := p.readProof(o)
	if err != nil {
		return err
	}
	if o.on("dry-run") {
		return p.secrets.Hiding(r.print)(p.stdout)
	}
	page, metrics, err := p.openLive(ctx, o, "lockbench prove", host.Env().Lockbench)
	if err != nil {
		return err
	}
	defer (&observer{page: page, metrics: metrics}).close()
	p.draining.Store(true)
	say := p.say
	if o.on("quiet") {
		say = func(string, ...any) {}
	}
	found := r.run(ctx, say, page)
	if r.baseline != nil {
		found.Against(o.text("baseline"), r.baseline)
	}
	r.printer.write(found)
	if err := r.writeEvidence(found); err != nil {
		p.lose("-evidence: %s", err)
	}
	page.end(ctx, func(w io.Writer) error { return draw.Page(w, report.Proof(found)) })
	if ctx.Err() != nil {
		return exitCode(exitInterrupted)
	}
	return r.printer.code(found)
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
	if r.printer, err = proofs.printer(p, o); err != nil {
		return nil, err
	}
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
		i := slices.IndexFunc(all, func(h hazards.Hazard) bool { return string(h.Name) == name || strconv.Itoa(h.Number) == name })
		if i < 0 {
			return nil, o.complain(opt, "there is no hazard %q%s; lockbench prove -dry-run has all", name, suggest.DidYouMean("", name, names))
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
			hint := ""
			if !slices.Contains(drivers.AllNames(), driver) {
				hint = suggest.DidYouMean("", driver, drivers.AllNames())
			}
			return nil, asked, o.complain(o.get("driver"), "%w%s", err, hint)
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
			return nil, asked, o.complain(o.get("lock"), "no driver that is proven has a lock %q%s", lock, suggest.DidYouMean("", lock, matrix.Names("lock")))
		}
	}
	if len(list) == 0 {
		return nil, asked, o.complain(o.get("driver"), "it has no lock that claims to exclude; -lock names one that does not")
	}
	return list, asked, nil
}

// unstartedLock reports whether a lock stands for those of an adapter that a dry run does not start.
func unstartedLock(l hazards.Lock) bool { return l.Design.Name == "" }

// print writes what would be run.
func (r *proof) print(w io.Writer) error {
	var b strings.Builder
	for _, h := range r.hazards {
		fmt.Fprintf(&b, "hazard %d, %s: %s\n", h.Number, h.Name, h.Tells())
	}
	b.WriteString("\n")
	for _, l := range r.locks {
		if unstartedLock(l) {
			fmt.Fprintf(&b, "lock %s (%s)\n", l.Where(), unstarted)
		} else {
			fmt.Fprintf(&b, "lock %s (%s)\n", l.Name(), catalog.Claims(l.Design.Traits))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// run runs the hazards, and draws what is known after each.
func (r *proof) run(ctx context.Context, say func(string, ...any), page *livePage) *safety.Report {
	began := time.Now()
	found := &safety.Report{Schema: safety.Version, Env: host.With(host.Env(), drivers.Found()...), Asked: r.asked}
	var started breakable.Servers
	defer started.Close()
	for i := range r.hazards {
		h := &r.hazards[i]
		page.begin(fmt.Sprintf("hazard %d of %d: %s", i+1, len(r.hazards), h.Name), 0)
		cells := hazards.Judged(ctx, found, h, r.locks, &started, r.options)
		if ctx.Err() != nil {
			found.Partial = fmt.Sprint(context.Cause(ctx))
			break
		}
		for j := range cells {
			cells[j].Command = r.command(&cells[j])
		}
		say("%d of %d, %s: %s", i+1, len(r.hazards), h.Name, report.ProofTally(cells))
		page.soFar(func() *report.Document {
			known := *found
			known.Partial, known.Spent = "it goes on", time.Since(began)
			return report.Proof(&known)
		})
	}
	found.Spent = time.Since(began)
	return found
}

// command returns the command that makes a cell again, with the program that is running: of one that fails, the attempt of its
// story.
func (r *proof) command(c *safety.Cell) string {
	o, attempts, ttl := r.options, "", r.options.TTL
	switch {
	case c.Verdict == safety.Fails:
		attempts = fmt.Sprintf(" -seed %d -attempts 1", c.Seed)
		if c.Left > 0 { // its lease may be a longer one, of an attempt that was made again
			ttl = c.TTL
		}
	case o.Attempts > 0:
		attempts = fmt.Sprintf(" -seed %d -attempts %d -each %v", o.Seed, o.Attempts, o.Each)
	default:
		attempts = fmt.Sprintf(" -seed %d -each %v", o.Seed, o.Each)
	}
	if ttl > 0 {
		attempts += fmt.Sprintf(" -ttl %v", ttl)
	}
	return fmt.Sprintf("%s prove -hazard %s -driver %s -lock %s%s", filepath.Base(os.Args[0]), c.Hazard, shell.Quote(c.Driver), c.Lock, attempts)
}

// inFileName makes a file's name of any text: the driver may be a command.
var inFileName = strings.NewReplacer("%", "%25", "/", "%2F")

// writeEvidence writes the stories.
func (r *proof) writeEvidence(found *safety.Report) error {
	if r.evidence == "" {
		return nil
	}
	return files.Into(r.evidence, func(create files.Create) (err error) {
		create = r.printer.hidden(create)
		for _, c := range found.Cells {
			name := inFileName.Replace(strings.Join([]string{c.Hazard, c.Driver, c.Lock}, "-"))
			if err == nil && len(c.Story) > 0 {
				err = create(name+".txt", func(w io.Writer) error { return safety.WriteStory(w, &c) })
			}
			if err == nil && len(c.Story) > 0 && c.Verdict == safety.Fails {
				err = create(name+".html", func(w io.Writer) error { return hazards.Picture(w, &c) })
			}
		}
		return err
	})
}
