// lockbench plan: which lock carries a load under an objective, with how much to spare, and what breaks first?

package cli

import (
	"cmp"
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
)

func (p *program) planCommand() *cobra.Command {
	c := p.command(&cobra.Command{
		Use:   "plan FLAGS",
		Short: "Find the locks that carry a load under an objective",
		Args:  noArgs,
	}, planFlags, func(c *cobra.Command, o *options, _ []string) error { return p.plan(c.Context(), o) })
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
			if why := notOfAPlan[unknown.GetSpecifiedName()]; why != "" {
				return usageErrorf("-%s: %s", unknown.GetSpecifiedName(), why)
			}
		}
		return flagError(err, planFlags)
	})
	return c
}

const byBudget = "a plan chooses its trials and their length: say how long all may take with -budget"

// notOfAPlan are flags of a run that a plan has none of, each with the reason.
var notOfAPlan = map[string]string{
	"think":    "a plan is about arrivals, which come whatever clients do: say how many with -rate",
	"n":        byBudget,
	"duration": byBudget,
	"warmup":   byBudget,
	"trials":   byBudget,
	"oracle":   "a plan always checks mutual exclusion",
	"vs":       "a plan compares all its candidates: give lists, as in -wait backoff,queue",
	"fail-on":  "-slo says what must be true",
	"probe":    "a neighbour is no part of the objective",
	"shared":   "a plan cannot tell what other runs took from what a lock can do",
}

// planFlags are those of lockbench plan: its question, and those of a run with which the load is one.
var planFlags = func() []flagDef {
	load := map[string]string{
		"rate":    "arrivals a second that have to be sustained, of all classes together;\nwithout it, the most is found (5k)",
		"arrival": "how arrivals follow one another: poisson, or constant, which hides\nthe queue (default poisson)",
		"lock":    "lock design (default: the best of each driver, see above)",
		"clients": "clients that serve the arrivals (default: as many as it takes)",
	}
	defs := []flagDef{
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
			f.usage, f.def = usage, map[string]string{"arrival": spec.Poisson}[f.name]
		}
		defs = append(defs, f)
	}
	return append(defs,
		flagDef{"output", "o", groupOutput, "FILE", "", false, "append one JSON line per trial to FILE, and the answer at the end"},
		metricsFlag,
		liveFlag,
		quietFlag,
		flagDef{"dry-run", "", groupOutput, "", "false", false, "print the analysis and the candidates, run nothing"},
		formatFlag,
		flagDef{"verbose", "v", groupOutput, "", "false", false, "all that is known of each candidate: its trials and risks"},
	)
}()

// answers are what plan writes.
var answers = kind[*capacity.Answer]{
	document: report.Plan,
	exit:     exitOfAnswer,
	formats: []output[*capacity.Answer]{
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
	config, err := p.config(o, q.Experiment)
	if err != nil {
		return err
	}
	config.Allows = q.Allows
	s := newSearch(p, q, config)
	if s.printer, err = answers.printer(p, o, append(q.files(), config.Output)...); err != nil {
		return err
	}
	return p.conduct(ctx, o, q.Experiment, config, &s.watch, s.print, s.search)
}

// print writes what is known beforehand, and what would be run.
func (s *search) print(w io.Writer) error {
	paper := &report.Document{Blocks: []report.Block{{Table: report.PlanAnalysis(s.answer())}}}
	err := draw.Terminal(w, paper, s.printer.table)
	say := func(format string, args ...any) { fmt.Fprintln(w, oneLine(fmt.Sprintf(format, args...))) }
	for _, line := range s.Targets[""].Lines() {
		say("server: %s", line)
	}
	for i, c := range s.Candidates {
		about := catalog.Claims(s.Cells[i].Traits)
		if drivers.Unstarted(c.Plan.Driver) {
			about = unstarted
		}
		say("candidate %d: %s (%s)", i+1, c.Name, about)
		for _, text := range warnings(s.Cells[i]) {
			say("  warning: %s", text)
		}
	}
	s.announcePlan(say)
	if t, more := s.known.Next(); more {
		first, wrong := workloadOf(&t.Plan).YAML(true)
		say("first:")
		fmt.Fprint(w, "  "+first)
		return cmp.Or(err, wrong)
	}
	say("nothing would be run")
	return err
}

// announcePlan says what there is to know before the load begins.
func (s *search) announcePlan(say func(string, ...any)) {
	for _, line := range s.skipped {
		say("left out: %s", line)
	}
	if s.MaxRate > 0 {
		say("no trial offers more than %s", report.PlanRate(s.MaxRate))
	}
	say("%s, at most %s of trials", format.Plural(len(s.Candidates), "design"), progress.Seconds(s.Time()))
}

// exitOfAnswer returns the exit code of an answer.
func exitOfAnswer(a *capacity.Answer) int {
	works := func(c capacity.CandidateAnswer) bool { return c.Verdict != capacity.Failed }
	if len(a.Candidates) > 0 && !slices.ContainsFunc(a.Candidates, works) {
		return exitError
	}
	return map[capacity.Verdict]int{
		capacity.RulesOut: exitRegressed, capacity.Violated: exitViolated, capacity.Undecided: exitInconclusive,
	}[a.Verdict]
}
