// The trials of lockbench plan: those that it has from -o, and those that are still to run.

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/runner"
)

// search is a plan under way.
type search struct {
	*program
	*question
	config  runner.Config
	runner  *runner.Runner // nil as long as nothing runs
	watch   observer
	known   *capacity.Search
	trials  [][]*results.Record // of each candidate, in their order
	printer printer[*capacity.Answer]
	done    int    // trials
	partial string // why it ended before its time
	written []byte // the answer that -o ends with

	run func(context.Context, capacity.Trial) *results.Record // one trial
}

func newSearch(p *program, q *question, c runner.Config) *search {
	s := &search{program: p, question: q, config: c, known: capacity.NewSearch(&q.Question)}
	s.trials = make([][]*results.Record, len(q.Candidates))
	s.run = s.trial
	s.watch = observer{command: "lockbench plan", label: func(j runner.Job) string {
		return s.Candidates[j.Cell].Name + ", " + report.PlanRate(capacity.Offered(&j.Plan))
	}}
	return s
}

// readOutput takes in the trials that -o has.
func (s *search) readOutput() error {
	name := s.config.Output
	info, err := os.Stat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && (info.Size() == 0 || !info.Mode().IsRegular()) {
		return nil
	}
	var records []*results.Record
	report, err := s.readRecords(name, func(r *results.Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil && !(report.Torn && report.Records == 0) {
		return fmt.Errorf("-output %s: %w", name, err)
	}
	for i, rec := range records {
		if err := s.resume(rec); err != nil {
			return usageErrorf("%s: record %d is not of this plan: %w: give the flags that it was made with, or another file",
				s.options.get("output").written(), i+1, err)
		}
	}
	s.written = report.Answer
	return nil
}

// resume takes in the record of a trial that ran before. The error names what differs from the trial that is next.
func (s *search) resume(rec *results.Record) error {
	t, more := s.known.Next()
	if !more {
		return errors.New("the plan has ended before it")
	}
	if rec.Cell != t.Candidate || rec.Trial != t.Number+1 {
		return fmt.Errorf("it is trial %d of candidate %d, and trial %d of candidate %d is next, %s",
			rec.Trial, rec.Cell+1, t.Number+1, t.Candidate+1, s.Candidates[t.Candidate].Name)
	}
	if err := t.Matches(rec); err != nil {
		return err
	}
	if field := capacity.DifferingEnv(host.With(s.config.Env, rec.Plan.Driver), rec.Env); field != "" {
		return fmt.Errorf("%s is not that of this machine or this lockbench", field)
	}
	want, addr := s.Target(rec.Cell), rec.Server.Addr
	if want.Kind == matrix.External && addr != "" && addr != want.Redacted {
		return fmt.Errorf("server.addr is %s, and not %s", addr, want.Redacted)
	}
	return s.add(t, rec)
}

// add takes in the record of a trial. The error is that its server is not the one of the trials before.
func (s *search) add(t capacity.Trial, rec *results.Record) error {
	for _, before := range s.trials[t.Candidate] {
		if before.Server.Name == "" || rec.Server.Name == "" {
			continue // it did not answer
		}
		if field := capacity.DifferingServer(before.Server, rec.Server); field != "" {
			return fmt.Errorf("%s: %s is not that of the trials before", s.Candidates[t.Candidate].Name, field)
		}
		break
	}
	s.trials[t.Candidate] = append(s.trials[t.Candidate], rec)
	s.known.Add(rec)
	s.done++
	return nil
}

// search runs trials until nothing more is to be learnt, and writes the answer, also after an interruption.
func (s *search) search(ctx context.Context, r *runner.Runner) error {
	s.runner = r
	if _, more := s.known.Next(); !more {
		return s.finish(ctx)
	}
	s.drawLive()
	return r.Do(ctx, func() error {
		err := s.runTrials(ctx)
		r.SaveRest()
		if err != nil {
			return err
		}
		return s.finish(ctx)
	})
}

// runTrials runs what is to run. The error is that of a mistake, which no answer follows.
func (s *search) runTrials(ctx context.Context) error {
	for ctx.Err() == nil {
		t, more := s.known.Next()
		if !more {
			return nil
		}
		err := s.runner.Lost()
		if err == nil {
			rec := s.run(ctx, t)
			if ctx.Err() != nil {
				break // what a signal has cut short is run again
			}
			if err = s.add(t, rec); err == nil {
				s.runner.Save(rec)
			}
		}
		if err != nil { // no more trials can follow, and those that there are make the answer
			s.partial = err.Error()
			s.lose("the search ends early: %s", err)
			return nil
		}
		if !s.options.on("quiet") {
			s.report(t)
		}
		s.drawLive()
		if err := s.Check(s.roundTrip()); err != nil {
			return usageErrorf("%w", err)
		}
	}
	s.partial = fmt.Sprint(context.Cause(ctx))
	return nil
}

// trial runs one. If it does not work, the record says why.
func (s *search) trial(ctx context.Context, t capacity.Trial) *results.Record {
	j := runner.Job{
		Trial: matrix.Trial{Cell: t.Candidate, Trial: t.Number}, Plan: t.Plan, Number: s.done + 1,
		After: max(0, s.Time()-s.answer().Spent-t.Plan.Warmup-t.Plan.Duration), Stop: stopGrowing(t),
	}
	rec, err := s.runner.Measure(ctx, j)
	if err != nil {
		return s.runner.Failed(j, err)
	}
	return rec
}

// roundTrip returns the least round trip of all candidates, once each has had a trial; 0 until then, or if one takes
// none.
func (s *search) roundTrip() (least time.Duration) {
	for i, all := range s.trials {
		if len(all) == 0 {
			return 0
		}
		if trip := all[0].Bound.RoundTrip(); i == 0 || trip < least {
			least = trip
		}
	}
	return least
}

const (
	growthTime   = time.Second // over which a queue that grows is seen to grow
	progressRate = 4           // snapshots a second; see workloads.Run.Progress
)

// stopGrowing returns what stops a trial whose queue is over its limit and keeps growing. Bursts make a queue each
// time, so that it is compared with that of the burst before.
func stopGrowing(t capacity.Trial) func(workloads.Snapshot) string {
	over, holding := growthTime, 0.0
	for _, g := range t.Plan.Groups() {
		over = max(over, g.Burst)
		holding = max(holding, g.Hold.Seconds())
	}
	limit := int64(t.QueueLimit) + int64(t.Rate*holding) // holders are under way, too
	var pending []int64
	return func(s workloads.Snapshot) string {
		pending = append(pending, s.Pending)
		n := len(pending) - 1
		before := n - int(over.Seconds()*progressRate)
		if before < 0 || pending[n] <= limit || pending[before] <= limit/2 || pending[n] <= pending[before] {
			return ""
		}
		return capacity.QueueGrew
	}
}

// answer returns what is known so far.
func (s *search) answer() *capacity.Answer {
	a := s.known.Answer(s.config.Env)
	a.Skipped, a.Partial = s.skipped, s.partial
	a.Warnings = append(a.Warnings, s.warnings...)
	return a
}

// report writes to stderr what is known of a candidate after a trial.
func (s *search) report(t capacity.Trial) {
	c := s.known.Candidate(t.Candidate)
	last := c.Points[len(c.Points)-1]
	found := format.Percent(last.Share.Mid) + " late"
	if why, _, _ := strings.Cut(last.Left, "; "); why != "" { // the main reason
		found = "does not count: " + why
	}
	switch {
	case c.Verdict != capacity.Sustains && c.Verdict != capacity.Undecided:
		found += fmt.Sprintf("; %s: %s", c.Verdict, c.Why)
	case c.AtLeast && c.Sustains.Low > 0:
		found += fmt.Sprintf("; sustains %s or more", report.PlanRate(c.Sustains.Low))
	case c.Sustains.High > 0:
		found += fmt.Sprintf("; sustains %s to %s", format.Three(c.Sustains.Low), report.PlanRate(c.Sustains.High))
	}
	s.say("%d: %s at %s (%s): %s", s.done, c.Name, report.PlanRate(t.Rate), t.Stage, found)
}

// drawLive shows what is known so far.
func (s *search) drawLive() {
	s.watch.page.soFar(func() *report.Document {
		a := s.answer()
		const goesOn = "the search goes on"
		if a.Partial = goesOn; a.Verdict == capacity.Undecided {
			a.Advice = "" // which would be what to do next time
		}
		for i := range a.Candidates {
			if c := &a.Candidates[i]; c.Verdict == capacity.Undecided {
				c.Why, c.Remedy = goesOn, ""
			}
		}
		return report.Plan(a)
	})
}

// saveAnswer appends the answer to the records that it comes from, unless it is there.
func (s *search) saveAnswer(a *capacity.Answer) {
	known := a.Known()
	text, err := json.Marshal(known)
	if s.done > 0 && (err != nil || s.secrets.Hide(string(text)) != string(s.written)) {
		s.runner.SaveAnswer(known)
	}
}

// finish writes the answer, and chooses the exit code.
func (s *search) finish(ctx context.Context) error {
	a := s.answer()
	s.saveAnswer(a)
	err := s.printer.end(a)
	s.watch.page.end(ctx, func(w io.Writer) error { return draw.Page(w, report.Plan(a)) })
	return s.interrupted(ctx, err)
}
