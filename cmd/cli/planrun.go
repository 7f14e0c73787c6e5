// The trials of lockbench plan, one after another until nothing more is to be learnt.

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

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

	run func(context.Context, capacity.Trial) *results.Record // one trial
}

func newSearch(p *program, q *question, c runner.Config) *search {
	s := &search{program: p, question: q, config: c, known: capacity.NewSearch(&q.Question)}
	s.run = s.measure
	s.watch = observer{command: "lockbench plan", label: func(j runner.Job) string {
		return s.Candidates[j.Cell].Name + ", " + report.PlanRate(capacity.Offered(&j.Plan))
	}}
	return s
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
		s.runTrials(ctx)
		r.SaveRest()
		return s.finish(ctx)
	})
}

// runTrials runs what is to run. Whatever ends it early, the trials so far make the answer.
func (s *search) runTrials(ctx context.Context) {
	for t, more := s.known.Next(); more; t, more = s.known.Next() {
		s.watch.page.soFar(func() *report.Document {
			a := s.answer()
			a.Partial, a.Advice = "the search goes on", "" // which is what to do next time
			return report.Plan(a)
		})
		err := s.runTrial(ctx, t)
		if ctx.Err() != nil {
			s.partial = fmt.Sprint(context.Cause(ctx))
			return
		}
		if err != nil {
			s.partial = err.Error()
			s.lose("the search ends early: %s", err)
			return
		}
	}
}

// runTrial runs a trial, and keeps its record unless a signal has cut it short. The error is why the search cannot go on.
func (s *search) runTrial(ctx context.Context, t capacity.Trial) error {
	if err := s.runner.Lost(); err != nil {
		return err
	}
	rec := s.run(ctx, t)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	before, now := s.known.Candidate(t.Candidate).Server, rec.Server
	was, is := before.Name+" "+before.Version, now.Name+" "+now.Version
	if was != is && before.Name != "" && now.Name != "" { // both have answered
		return fmt.Errorf("%s: its server is %s now, and was %s", s.Candidates[t.Candidate].Name, is, was)
	}
	s.known.Add(rec)
	s.trials++
	s.runner.Save(rec)
	if !s.options.on("quiet") {
		s.report(t)
	}
	return nil
}

// measure runs a trial. If it does not work, the record says why.
func (s *search) measure(ctx context.Context, t capacity.Trial) *results.Record {
	j := runner.Job{
		Trial: matrix.Trial{Cell: t.Candidate, Trial: t.Number}, Plan: t.Plan, Number: s.trials + 1,
		After: max(0, s.Time()-s.answer().Spent-t.Plan.Warmup-t.Plan.Duration), Stop: stopGrowing(t),
	}
	rec, err := s.runner.Measure(ctx, j)
	if err != nil {
		return s.runner.Failed(j, err)
	}
	return rec
}

// stopGrowing returns what stops a trial whose queue is over its limit and keeps growing for a second. Bursts make a
// queue each time, so that it is compared with that of the burst before.
func stopGrowing(t capacity.Trial) func(workloads.Snapshot) string {
	const snapshots = 4 // a second; see workloads.Run.Progress
	over, holding := time.Second, 0.0
	for _, g := range t.Plan.Groups() {
		over = max(over, g.Burst)
		holding = max(holding, g.Hold.Seconds())
	}
	limit := int64(t.QueueLimit) + int64(t.Rate*holding) // holders are under way, too
	var pending []int64
	return func(s workloads.Snapshot) string {
		pending = append(pending, s.Pending)
		n := len(pending) - 1
		before := n - int(over.Seconds()*snapshots)
		if before < 0 || pending[n] <= limit || pending[before] <= limit/2 || pending[n] <= pending[before] {
			return ""
		}
		return capacity.QueueGrew
	}
}

// report says on stderr what a trial has found, and what became of its candidate.
func (s *search) report(t capacity.Trial) {
	c := s.known.Candidate(t.Candidate)
	last := c.Points[len(c.Points)-1]
	found := format.Percent(last.Share.Mid) + " late"
	if why, _, _ := strings.Cut(last.Left, "; "); why != "" { // the main reason
		found = "does not count: " + why
	}
	if c.Verdict != capacity.Undecided {
		found += strings.TrimSuffix(fmt.Sprintf("; %s: %s", c.Verdict, c.Why), ": ")
	}
	s.say("%d: %s at %s (%s): %s", s.trials, c.Name, report.PlanRate(t.Rate), t.Stage, found)
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
		s.runner.SaveAnswer(a.Known())
	}
	err := s.printer.end(a)
	s.watch.page.end(ctx, func(w io.Writer) error { return draw.Page(w, report.Plan(a)) })
	return s.interrupted(ctx, err)
}
