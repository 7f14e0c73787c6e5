// lockbench plan: which lock carries a load under an objective, with how much to spare, and what breaks first?

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/runner"
)

func (p *program) planCommand() *cobra.Command {
	c := p.command(&cobra.Command{
		Use:   "plan FLAGS",
		Short: "Find the locks that carry a load under an objective",
		Args:  noArgs,
	}, planFlags, func(c *cobra.Command, o *options, _ []string) error { return p.plan(c.Context(), o) })
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return planFlagError(err) })
	return c
}

// notOfAPlan are flags of a run that a plan has none of, each with the reason.
var notOfAPlan = map[string]string{
	"think":    "a plan is about arrivals, which come whatever clients do: say how many with -rate",
	"n":        "a plan chooses the length of each trial: say how long all may take with -budget",
	"duration": "a plan chooses the length of each trial: say how long all may take with -budget",
	"warmup":   "a plan chooses the warm-up of each trial: say how long all may take with -budget",
	"trials":   "a plan chooses how many trials it needs: say how long all may take with -budget",
	"oracle":   "a plan always checks mutual exclusion",
	"vs":       "a plan compares all its candidates: give lists, as in -wait backoff,queue",
	"baseline": "a plan compares its candidates with one another; lockbench compare compares records",
	"fail-on":  "-slo says what must be true",
	"revision": "a plan compares candidates, not revisions",
	"probe":    "a neighbour is no part of the objective",
}

// planFlags are those of lockbench plan.
var planFlags = func() (defs []flagDef) {
	load := map[string]string{
		"rate":    "arrivals a second that have to be sustained, of all classes together;\nwithout it, the most is found (5k)",
		"arrival": "how arrivals follow one another: poisson, or constant, which hides\nthe queue (default poisson)",
		"lock":    "lock design (default: the best of each driver, see above)",
		"clients": "clients that serve the arrivals (default: as many as it takes)",
	}
	defs = []flagDef{
		sloFlag,
		{"need", "", groupQuestion, "CLAIMS", "", false, "what a candidate has to claim: " + strings.Join(claimNames(), ", ")},
		{"budget", "", groupQuestion, "TIME", "", false, "how long it may take (default 60s a candidate, 90s without -rate,\nat most 20m)"},
		{"max-rate", "", groupQuestion, "RATE", "", false, "arrivals a second that no trial exceeds (default: none; for your own\nserver twice -rate)"},
		{"force", "", groupQuestion, "", "false", false, "measure even if no lock can carry the load"},
	}
	for _, f := range measuringFlags {
		if notOfAPlan[f.name] != "" {
			continue
		}
		if s, ok := spec.Find(f.name); ok && ofTheLoad(s) {
			f.axis = false
		}
		if usage := load[f.name]; usage != "" {
			f.usage, f.def = usage, ""
		}
		if f.name == "arrival" {
			f.def = spec.Poisson
		}
		defs = append(defs, f)
	}
	output := flagDef{"output", "o", groupOutput, "FILE", "", false, "append one JSON line per trial to FILE; if it has some of this plan,\ngo on from them"}
	return append(defs, output,
		metricsFlag,
		liveFlag,
		quietFlag,
		flagDef{"dry-run", "", groupOutput, "", "false", false, "print the analysis and the candidates, run nothing"},
		formatFlag,
		flagDef{"verbose", "v", groupOutput, "", "false", false, "all that is known of each candidate: its trials and risks"},
	)
}()

// planFlagError explains flags that a run has and a plan has not.
func planFlagError(err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		if why := notOfAPlan[unknown.GetSpecifiedName()]; why != "" {
			return usageErrorf("-%s: %s", unknown.GetSpecifiedName(), why)
		}
	}
	return flagError(err, planFlags)
}

// answers are what plan writes.
var answers = kind[*capacity.Answer]{
	document: report.Plan,
	exit:     exitOfAnswer,
	formats: []exporter[*capacity.Answer]{
		{name: tableFormat},
		{name: markdownFormat},
		{name: htmlFormat},
		{name: "json", write: func(w io.Writer, a *capacity.Answer) error {
			return export.JSON(w, a.Known()) // what is not known is 0 or absent
		}},
	},
}

// plan answers the question that the options ask.
func (p *program) plan(ctx context.Context, o *options) error {
	q, err := p.readQuestion(o)
	if err != nil {
		return err
	}
	config, err := p.config(q.options, q.Experiment)
	if err != nil {
		return err
	}
	config.Allows = q.Allows
	s := newSearch(p, q, config)
	if s.printer, err = answers.printer(p, o, append(q.files(), config.Output)...); err != nil {
		return err
	}
	if err := s.readOutput(); err != nil {
		return err
	}
	return p.conduct(ctx, q.options, q.Experiment, config, &s.watch, s.print, func(ctx context.Context, r *runner.Runner) error {
		if _, more := s.known.Next(); more {
			s.announcePlan()
		}
		return s.search(ctx, r)
	})
}

// announcePlan says on stderr what there is to know before the load begins.
func (s *search) announcePlan() {
	for _, an := range s.answer().Analysis {
		if an.Ceiling < spec.MaxRate && !s.options.on("quiet") {
			most := "at most"
			if an.Rough != "" {
				most = "roughly"
			}
			s.say("on paper %s %s: %s", most, report.PlanRate(an.Ceiling), an.Load)
		}
	}
	s.announce(s.program)
	for _, line := range s.notes() {
		s.say("%s", line)
	}
	s.say("%s", s.beforehand())
}

// print writes what is known beforehand, and what would be run.
func (s *search) print(w io.Writer) error {
	var b strings.Builder
	paper := &report.Document{Blocks: []report.Block{{Table: report.PlanAnalysis(s.answer())}}}
	if err := draw.Terminal(&b, paper, draw.Options(s.printer.table)); err != nil {
		return err
	}
	for _, line := range s.Targets[""].Lines() {
		fmt.Fprintf(&b, "server: %s\n", oneLine(line))
	}
	b.WriteString("\n")
	for i, c := range s.Candidates {
		about := catalog.Claims(s.Cells[i].Traits)
		if drivers.Unstarted(c.Plan.Driver) {
			about = unstarted
		}
		fmt.Fprintf(&b, "candidate %d: %s (%s)\n", i+1, c.Name, about)
		for _, text := range warnings(s.Cells[i]) {
			fmt.Fprintf(&b, "  warning: %s\n", oneLine(text))
		}
	}
	for _, line := range s.notes() {
		fmt.Fprintf(&b, "%s\n", oneLine(line))
	}
	b.WriteString("\n")
	if t, more := s.known.Next(); !more {
		b.WriteString("nothing would be run\n")
	} else if first, err := workloadOf(&t.Plan).YAML(true); err != nil {
		return err
	} else {
		fmt.Fprintf(&b, "%s:\n  %s", s.beforehand(), first)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// notes returns what there is to know before the load begins, besides what is on paper.
func (s *search) notes() (lines []string) {
	for _, line := range s.skipped {
		lines = append(lines, "left out: "+line)
	}
	for _, line := range s.warnings {
		lines = append(lines, "warning: "+line)
	}
	if n := s.done; n > 0 {
		lines = append(lines, fmt.Sprintf("going on from %s in %s", format.Plural(n, "trial"), s.config.Output))
	}
	if s.MaxRate > 0 {
		lines = append(lines, fmt.Sprintf("no trial offers more than %s", report.PlanRate(s.MaxRate)))
	}
	return lines
}

// beforehand says how long all takes, and which rate is tried first.
func (s *search) beforehand() string {
	left := s.Time() - s.answer().Spent
	text := fmt.Sprintf("%s, at most %s of trials", format.Plural(len(s.Candidates), "design"), progress.Seconds(left))
	if s.Rate > 0 && s.done == 0 {
		text += ", " + report.PlanRate(s.Rate) + " first"
	}
	return text
}

// exitOfAnswer returns the exit code of an answer.
func exitOfAnswer(a *capacity.Answer) int {
	works := func(c capacity.CandidateAnswer) bool { return c.Verdict != capacity.Failed }
	if len(a.Candidates) > 0 && !slices.ContainsFunc(a.Candidates, works) {
		return exitError
	}
	return map[capacity.Verdict]int{
		capacity.RulesOut: exitRegressed, capacity.Violated: exitViolated, capacity.Undecided: exitInconclusive, capacity.Failed: exitError,
	}[a.Verdict]
}
