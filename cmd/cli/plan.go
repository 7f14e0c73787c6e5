// lockbench plan: which lock carries a load under an objective, with how much to spare, and what breaks first?

package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

// answers are what plan writes.
var answers = kind[*capacity.Answer]{
	document: report.Plan,
	exit: func(a *capacity.Answer) int {
		if a.Verdict == capacity.Undecided && len(a.Candidates) > 0 && a.Candidates[0].Verdict == capacity.Failed {
			return exitError // no trial worked of the best, nor of any
		}
		return map[capacity.Verdict]int{
			capacity.RulesOut: exitRegressed, capacity.Violated: exitViolated, capacity.Undecided: exitInconclusive,
		}[a.Verdict]
	},
	formats: []output[*capacity.Answer]{{name: "json", write: export.JSON[*capacity.Answer]}},
}

// search is a plan under way.
type search struct {
	*program
	*question
	config  runner.Config
	printer printer[*capacity.Answer]
	watch   observer
	runner  *runner.Runner // nil as long as nothing runs
	known   *capacity.Search
	trials  int    // so far
	partial string // why it ended before its time
}

// plan answers the question that the options ask.
func (p *program) plan(ctx context.Context, o *options, _ []string) error {
	place, err := p.findPlace(o)
	if err != nil {
		return err
	}
	q, err := questionOf(o, p.env, p.stdin, (*servers.Service).Locate)
	if err != nil {
		return err
	}
	q.Place = place
	learnTargets(&p.secrets, q.AllTargets())
	s := &search{program: p, question: q, known: capacity.NewSearch(&q.Question)}
	if s.config, err = p.config(o, q.Experiment); err != nil {
		return err
	}
	s.config.Allows = q.Allows
	if s.printer, err = answers.printer(p, o, q.files()...); err != nil {
		return err
	}
	s.watch = observer{program: p, command: "lockbench plan", label: func(j runner.Job) string {
		return s.Candidates[j.Cell].Name + ", " + report.PlanLevel(s.Axis, s.Level(&j.Plan))
	}}
	return p.conduct(ctx, o, q.Experiment, s.config, &s.watch, s.print, s.search)
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
	if _, more := s.known.Next(); !more {
		say("nothing would be run: %s", report.Plan(s.answer()).Title)
	}
	return err
}

// announcePlan says what there is to know before the load begins.
func (s *search) announcePlan(say func(string, ...any)) {
	for _, line := range s.skipped {
		say("left out: %s", line)
	}
	most := ""
	if s.Most > 0 {
		most = ", at most " + report.PlanLevel(s.Axis, s.Most) + " in a trial"
	}
	say("%s%s, at most %s of trials", format.Plural(len(s.Candidates), "design"), most, seconds(s.Time()))
}

// search runs trials as long as there is something to learn, and writes the answer, also after an interruption.
func (s *search) search(ctx context.Context, r *runner.Runner) error {
	s.runner = r
	if _, more := s.known.Next(); !more {
		return s.finish(ctx)
	}
	s.announce(s.program)
	s.announcePlan(s.say)
	return r.Do(ctx, func() error {
		if err := s.runTrials(ctx, s.measure); err != nil {
			return err
		}
		r.SaveRest()
		return s.finish(ctx)
	})
}

// runTrials runs what is to run. Whatever ends it early, the trials so far make the answer; the error is that there are
// none.
func (s *search) runTrials(
	ctx context.Context, measure func(context.Context, capacity.Trial) (*results.Record, error),
) error {
	for t, more := s.known.Next(); more; t, more = s.known.Next() {
		s.watch.soFar(func() *report.Document {
			a := s.answer()
			a.Partial = "the search goes on"
			return report.Plan(a)
		})
		err := s.runner.Lost()
		if err == nil {
			var rec *results.Record
			if rec, err = measure(ctx, t); err == nil && ctx.Err() == nil {
				err = s.add(t, rec)
			}
		}
		switch {
		case ctx.Err() != nil: // what a signal has cut short tells nothing
			s.partial = fmt.Sprint(context.Cause(ctx))
			return nil
		case err != nil && s.trials == 0:
			return err
		case err != nil:
			s.partial = err.Error()
			s.lose("the search ends early: %s", err)
			return nil
		}
	}
	return nil
}

// add takes in the record of a trial, and says what it has found. The error is that its server is not the one before.
func (s *search) add(t capacity.Trial, rec *results.Record) error {
	was, is := s.known.Candidate(t.Candidate).Server.Version, rec.Server.Version
	if was != is && was != "" && is != "" { // both have answered
		return fmt.Errorf("%s: its server is %s now, and was %s", s.Candidates[t.Candidate].Name, is, was)
	}
	s.known.Add(rec)
	s.trials++
	s.runner.Save(rec)
	if s.options.on("quiet") {
		return nil
	}
	words := func(r capacity.Reason) string {
		why, _ := report.PlanReason(&capacity.Answer{Axis: s.Axis, Asked: s.Asked}, r)
		return why
	}
	c := s.known.Candidate(t.Candidate)
	last := c.Points[len(c.Points)-1]
	found := format.Percent(last.Share.Mid) + " late or failed"
	if last.Left != (capacity.Reason{}) {
		why, _, _ := strings.Cut(words(last.Left), "; ") // the main reason
		found = "does not count: " + why
	}
	if c.Verdict != capacity.Undecided {
		found += strings.TrimSuffix(fmt.Sprintf("; %s: %s", c.Verdict, words(c.Why)), ": ")
	}
	s.say("%d: %s at %s (%s): %s", s.trials, c.Name, report.PlanLevel(s.Axis, t.Level), t.Stage, found)
	if last.Left.Code == capacity.Others || c.Why.Code == capacity.Others {
		s.sayOnce("warning: other programs keep this machine busy: unless they end, the answer may be undecided")
	}
	return nil
}

// measure runs a trial. If it does not work the record says why. The error is that no other would: the very first one
// has not reached the user's server, or was not let in.
func (s *search) measure(ctx context.Context, t capacity.Trial) (*results.Record, error) {
	j := runner.Job{
		Trial: matrix.Trial{Cell: t.Candidate, Trial: t.Number}, Plan: t.Plan, Number: s.trials + 1,
		After: max(0, s.Time()-s.known.Spent()-t.Plan.Warmup-t.Plan.Duration), Stop: stopGrowing(t),
	}
	rec, err := s.runner.Measure(ctx, j)
	unasked := slices.Contains([]drivers.Class{drivers.ClassAuth, drivers.ClassConnect}, drivers.ClassOf(err))
	switch {
	case err == nil:
		return rec, nil
	case unasked && s.trials == 0 && t.Plan.Server == matrix.External:
		return nil, err
	}
	return s.runner.Failed(j, err), nil
}

// stopGrowing returns what stops a trial whose queue is over its limit and keeps growing for a second. Bursts make a
// queue each time, so that it is compared with that of the burst before.
func stopGrowing(t capacity.Trial) func(workloads.Snapshot) string {
	if t.QueueLimit == 0 {
		return nil
	}
	const snapshots = 4 // a second; see workloads.Run.Progress
	over := max(time.Second, t.Plan.Longest(func(l *spec.Load) time.Duration { return l.Burst }))
	holding := t.Plan.Longest(func(l *spec.Load) time.Duration { return l.Hold })
	limit := int64(t.QueueLimit) + int64(t.Level*holding.Seconds()) // holders are under way, too
	var pending []int64
	return func(s workloads.Snapshot) string {
		pending = append(pending, s.Pending)
		before := len(pending) - 1 - int(over.Seconds()*snapshots)
		if before >= 0 && s.Pending > limit && pending[before] > limit/2 && s.Pending > pending[before] {
			return capacity.QueueGrew
		}
		return ""
	}
}

// answer returns what is known so far.
func (s *search) answer() *capacity.Answer {
	a := s.known.Answer(s.config.Env)
	a.Skipped, a.Partial = s.skipped, s.partial
	return a
}

// finish writes the answer, also behind the records that it comes from, and chooses the exit code.
func (s *search) finish(ctx context.Context) error {
	a := s.answer()
	if s.trials > 0 {
		s.runner.SaveAnswer(a)
	}
	err := s.printer.end(a)
	s.watch.end(ctx, report.Plan(a))
	return s.interrupted(ctx, err)
}
