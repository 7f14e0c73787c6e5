// lockbench prove: how each lock fails, seen.

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
	"github.com/lockbench/lockbench/workloads/host"
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
	formats: []output[*safety.Report]{
		{name: "json", write: export.JSON[*safety.Report]},
		{name: "junit", write: export.JUnitProof},
	},
}

// prove runs the hazards that the options name, one after another.
func (p *program) prove(ctx context.Context, o *options) error {
	r, err := p.readProof(o)
	if err != nil {
		return err
	}
	out, err := proofs.printer(p, o)
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
	found := r.run(ctx, page, func(format string, args ...any) {
		if !o.on("quiet") {
			p.say(format, args...)
		}
	})
	if r.baseline != nil {
		found.Against(o.text("baseline"), r.baseline)
	}
	out.write(found)
	if err := r.writeEvidence(found, p.into(r.evidence)); err != nil {
		p.lose("-evidence: %s", err)
	}
	page.end(ctx, func(w io.Writer) error { return draw.Page(w, report.Proof(found)) })
	if ctx.Err() != nil {
		return exitCode(exitInterrupted)
	}
	return out.code(found)
}

// print writes what would be run.
func (r *proof) print(w io.Writer) (err error) {
	for _, h := range r.hazards {
		fmt.Fprintf(w, "hazard %d, %s: %s\n", h.Number, h.Name, h.Tells())
	}
	fmt.Fprintln(w)
	for _, l := range r.locks {
		name, about := l.Name(), catalog.Claims(l.Design.Traits)
		if unstartedLock(l) {
			name, about = l.Where(), unstarted
		}
		_, err = fmt.Fprintf(w, "lock %s (%s)\n", name, about)
	}
	return err
}

// run runs the hazards, and draws what is known after each.
func (r *proof) run(ctx context.Context, page *livePage, say func(string, ...any)) *safety.Report {
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

// command returns the command that makes a cell again, with the program that is running: of one that fails, the
// attempt of its story.
func (r *proof) command(c *safety.Cell) string {
	o := r.options
	if c.Verdict == safety.Fails {
		o.Seed, o.Attempts, o.Each = c.Seed, 1, 0
		if c.Left > 0 { // its lease may be a longer one, of an attempt that was made again
			o.TTL = c.TTL
		}
	}
	text := fmt.Sprintf("%s prove -hazard %s -driver %s -lock %s -seed %d",
		filepath.Base(os.Args[0]), c.Hazard, quote(c.Driver), c.Lock, o.Seed)
	given := func(flag string, value any, is bool) {
		if is {
			text += fmt.Sprintf(" -%s %v", flag, value)
		}
	}
	given("attempts", o.Attempts, o.Attempts > 0)
	given("each", o.Each, o.Each > 0)
	given("ttl", o.TTL, o.TTL > 0)
	return text
}

// inFileName makes a file's name of any text: the driver may be a command.
var inFileName = strings.NewReplacer("%", "%25", "/", "%2F")

// writeEvidence writes the stories.
func (r *proof) writeEvidence(found *safety.Report, create create) (err error) {
	for _, c := range found.Cells {
		name := inFileName.Replace(strings.Join([]string{c.Hazard, c.Driver, c.Lock}, "-"))
		if r.evidence == "" || err != nil || len(c.Story) == 0 {
			continue
		}
		err = create(name+".txt", func(w io.Writer) error { return safety.WriteStory(w, &c) })
		if err == nil && c.Verdict == safety.Fails {
			err = create(name+".html", func(w io.Writer) error { return hazards.Picture(w, &c) })
		}
	}
	return err
}
