// -dry-run: the plans of a run, as YAML that -workload reads.

package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/drivers"
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
	for _, side := range slices.Sorted(maps.Keys(e.Targets)) {
		for _, line := range e.Targets[side].Lines() {
			comment(strings.TrimSpace(side+" server: ") + " " + line)
		}
	}
	cells, each := format.Plural(len(e.Cells), "cell"), format.Plural(e.Trials, "trial")
	comment(fmt.Sprintf("%s, %s of each, at least %s", cells, each, spec.Brief(e.Length(0))))
	for _, s := range e.Skipped {
		comment("skipped: " + s)
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

// workloadOf returns a plan as a workload, without what is off. What its classes have they have in full.
func workloadOf(p *spec.Plan) *file.Workload {
	w := &file.Workload{Name: p.Workload}
	of := func(l *spec.Load, class bool) (all file.Settings) {
		for _, s := range spec.Settings {
			text := s.Typed(p, l)
			if off := text == s.Usual() && s.Default == s.Usual(); text != "" && !off && (s.Class == class || p.Classes == nil) {
				all = append(all, file.Setting{Field: s.Name, Text: text})
			}
		}
		return all
	}
	w.Top = of(&p.Load, false)
	for _, c := range p.Classes {
		w.Classes = append(w.Classes, file.Class{Name: c.Name, Settings: of(&c.Load, true)})
	}
	return w
}

// unstarted is what a dry run says of an adapter.
const unstarted = "not started here, so that its locks are not known"
