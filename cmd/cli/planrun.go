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
	servers map[int]results.Server // of each candidate that one has answered
	printer printer[*capacity.Answer]
	done    int    // trials
	partial string // why it ended before its time
	written []byte // the answer that -o ends with

	run func(context.Context, capacity.Trial) *results.Record // one trial
}

func newSearch(p *program, q *question, c runner.Config) *search {
	s := &search{program: p, question: q, config: c}
	s.known, s.servers = capacity.NewSearch(&q.Question), map[int]results.Server{}
	s.run = s.trial
	s.watch = observer{command: "lockbench plan", label: func(j runner.Job) string {
		return s.Candidates[j.Cell].Name + ", " + report.PlanRate(capacity.Offered(&j.Plan))
	}}
	return s
}

// readOutput takes in the trials that -o has.
func (s *search) readOutput() error {
	name := s.config.Output
	if info, err := os.Stat(name); err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return nil // which has been checked already
	}
	n := 0
	read, err := s.readRecords(name, func(rec *results.Record) error {
		n++
		if err := s.resume(rec); err != nil {
			return fmt.Errorf("record %d is not of this plan: %w: give the flags that it was made with, or another file", n, err)
		}
		return nil
	})
	s.written = read.Answer
	if err != nil && !(read.Torn && n == 0) {
		return usageErrorf("%s: %w", s.options.get("output").written(), err)
	}
	return nil
}

// resume takes in the record of a trial that ran before. The error names what differs from the trial that is next.
func (s *search) resume(rec *results.Record) error {
	t, more := s.known.Next()
	if !more {
		return errors.New("the plan has ended before it")
	}
	if err := t.Matches(rec); err != nil {
		return err
	}
	if field := capacity.DifferingEnv(host.With(s.config.Env, rec.Plan.Driver), rec.Env); field != "" {
		return fmt.Errorf("%s is not that of this machine or this lockbench", field)
	}
	want, addr := s.Target(t.Candidate), rec.Server.Addr
	if want.Kind == matrix.External && addr != "" && addr != want.Redacted {
		return fmt.Errorf("server.addr is %s, and not %s", addr, want.Redacted)
	}
	return s.add(t, rec)
}

// add takes in the record of a trial. The error is that its server is not the one of the trials before.
func (s *search) add(t capacity.Trial, rec *results.Record) error {
	if rec.Server.Name != "" { // it has answered
		before, known := s.servers[t.Candidate]
		if field := capacity.DifferingServer(before, rec.Server); known && field != "" {
			return fmt.Errorf("%s: %s is not that of the trials before", s.Candidates[t.Candidate].Name, field)
		}
		s.servers[t.Candidate] = rec.Server
	}
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
	s.announce(s.program)
	s.announcePlan(s.say)
	return r.Do(ctx, func() error {
		s.runTrials(ctx)
		r.SaveRest()
		return s.finish(ctx)
	})
}

// runTrials runs what is to run. Whatever ends it early, the trials that there are make the answer.
func (s *search) runTrials(ctx context.Context) {
	for {
		s.drawLive()
		t, more := s.known.Next()
		if !more {
			return
		}
		err := s.runner.Lost()
		if err == nil {
			rec := s.run(ctx, t)
			if ctx.Err() != nil { // what a signal has cut short is run again
				s.partial = fmt.Sprint(context.Cause(ctx))
				return
			}
			if err = s.add(t, rec); err == nil {
				s.runner.Save(rec)
			}
		}
		if err != nil {
			s.partial = err.Error()
			s.lose("the search ends early: %s", err)
			return
		}
		if !s.options.on("quiet") {
			s.report(t)
		}
	}
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
	return a
}

// report writes to stderr what a trial has found, and what became of its candidate.
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
	s.say("%d: %s at %s (%s): %s", s.done, c.Name, report.PlanRate(t.Rate), t.Stage, found)
}

// drawLive shows what is known so far.
func (s *search) drawLive() {
	s.watch.page.soFar(func() *report.Document {
		a := s.answer()
		a.Partial, a.Advice = "the search goes on", "" // which is what to do next time
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
