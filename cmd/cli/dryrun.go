// -dry-run: the plans of a run, as YAML that -workload reads.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/file"
)

// print writes the plan of a run as a workload, or those of a matrix as a list of workloads. Comments say where they run,
// what is left out, and what to expect.
func (e experiment) print(w io.Writer) error {
	var b strings.Builder
	comment := func(text string) {
		if line := "# " + oneLine(text) + "\n"; !strings.Contains(b.String(), line) {
			b.WriteString(line)
		}
	}
	for _, side := range []string{"", results.SideBase, results.SideHead} {
		if targets, is := e.Targets[side]; is {
			for _, line := range targets.Lines() {
				comment(strings.TrimSpace(side+" server: ") + " " + line)
			}
		}
	}
	cells, each := format.Plural(len(e.Cells), "cell"), format.Plural(e.Trials, "trial")
	comment(fmt.Sprintf("%s, %s of each, at least %s", cells, each, spec.Brief(e.Length(0))))
	for _, s := range e.Skipped {
		comment("skipped: " + s.String())
	}
	for _, c := range e.Cells {
		if drivers.Unstarted(c.Plan.Driver) {
			comment(c.Plan.Driver + ": " + unstarted)
		}
		for _, text := range warnings(c) {
			comment("warning: " + text)
		}
	}
	for _, c := range e.Cells {
		plan := workloadOf(&c.Plan)
		plan.Top = append(plan.Top, file.Setting{Field: "trials", Text: strconv.Itoa(e.Trials)},
			file.Setting{Field: "seed", Text: strconv.FormatUint(c.Plan.Seed, 10)})
		text, err := plan.YAML(len(e.Cells) > 1)
		if err != nil {
			return err
		}
		if c.Side != "" {
			text = strings.TrimSuffix(text, "\n") + " # " + c.Side + "\n"
		}
		b.WriteString(text)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// alwaysShown are the settings that a workload shows though they have their default values.
var alwaysShown = []string{"driver", "lock", "wait", "clients", "keys", "hold", "ttl", "duration", "warmup"}

// workloadOf returns a plan as a workload. What its classes have they have in full.
func workloadOf(p *spec.Plan) *file.Workload {
	w := &file.Workload{Name: p.Workload}
	add := func(to *file.Settings, s spec.Setting, l *spec.Load) {
		if text := s.Typed(p, l); text != "" && (text != s.Default || slices.Contains(alwaysShown, s.Name)) {
			*to = append(*to, file.Setting{Field: s.Name, Text: text})
		}
	}
	for _, c := range p.Classes {
		own := file.Class{Name: c.Name}
		for _, s := range spec.Settings {
			if s.Class {
				add(&own.Settings, s, &c.Load)
			}
		}
		w.Classes = append(w.Classes, own)
	}
	for _, s := range spec.Settings {
		if !s.Class || w.Classes == nil {
			add(&w.Top, s, &p.Load)
		}
	}
	return w
}

// unstarted is what a dry run says of an adapter.
const unstarted = "not started here, so that its locks are not known"
