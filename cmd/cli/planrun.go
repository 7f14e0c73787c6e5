// The trials of lockbench plan: those that it has from -o, and those that are still to run.

package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/host"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// search is a plan under way.
type search struct {
	underWay
	known   *capacity.Search
	trials  [][]*results.Record // of each candidate, in their order
	printer printer[*capacity.Answer]
	partial string // why it ended before its time
	written []byte // the answer that -o ends with

	run func(context.Context, capacity.Trial) *results.Record // one trial
}

// newSearch returns a plan that appends its records to a file; none if its name is empty.
func newSearch(p *program, q *question, output string) *search {
	s := &search{underWay: p.newRunner(q.experiment, output), known: capacity.NewSearch(&q.Question), trials: make([][]*results.Record, len(q.Candidates))}
	s.underWay.question, s.run = q, s.trial
	return s
}

// prepare reads the trials that -o has, and checks what can be checked before a server is started.
func (s *search) prepare(o *options) error {
	if err := checkOutput(o.get("output")); err != nil {
		return err
	}
	records, err := s.earlier()
	if err != nil {
		return err
	}
	for i, rec := range records {
		if err := s.resume(rec); err != nil {
			return usageErrorf("%s: record %d is not of this plan: %w: give the flags that it was made with, or another file", o.get("output").written(), i+1, err)
		}
	}
	return nil
}

// earlier returns the records that -o has, each once.
func (s *search) earlier() (records []*results.Record, err error) {
	if s.output == "" {
		return nil, nil
	}
	if info, err := os.Stat(s.output); errors.Is(err, os.ErrNotExist) || err == nil && (info.Size() == 0 || !info.Mode().IsRegular()) {
		return nil, nil
	}
	seen := map[string]bool{}
	report, err := s.readRecords(s.output, func(r *results.Record) error {
		if !seen[r.ID] {
			seen[r.ID] = true
			records = append(records, r)
		}
		return nil
	})
	if err != nil && !(report.Torn && report.Records == 0) {
		return nil, fmt.Errorf("-output %s: %w", s.output, err)
	}
	s.written = report.Answer
	return records, nil
}

// resume takes in the record of a trial that ran before. The error names what differs from the trial that is next.
func (s *search) resume(rec *results.Record) error {
	t, more := s.known.Next()
	switch {
	case !more:
		return errors.New("the plan has ended before it")
	case rec.Cell != t.Candidate:
		return fmt.Errorf("cell is %d, and candidate %d is next, %s", rec.Cell, t.Candidate, s.question.Candidates[t.Candidate].Name)
	case rec.Trial != t.Number+1:
		return fmt.Errorf("trial is %d, and trial %d is next", rec.Trial, t.Number+1)
	}
	if err := t.Matches(rec); err != nil {
		return err
	}
	if field := capacity.DifferingEnv(host.With(s.env, rec.Plan.Driver), rec.Env); field != "" {
		return fmt.Errorf("%s is not that of this machine or this lockbench", field)
	}
	if want := s.Target(rec.Cell); want.Kind == matrix.External && rec.Server.Addr != "" && rec.Server.Addr != want.Redacted {
		return fmt.Errorf("server.addr is %s, and not %s", rec.Server.Addr, want.Redacted)
	}
	return s.add(t, rec)
}

// add takes in the record of a trial. The error is that its server is not the one of the trials before.
func (s *search) add(t capacity.Trial, rec *results.Record) error {
	all := s.trials[t.Candidate]
	for _, before := range all {
		if before.Server.Name == "" || rec.Server.Name == "" {
			continue // it did not answer
		}
		if field := capacity.DifferingServer(before.Server, rec.Server); field != "" {
			return fmt.Errorf("%s: %s is not that of the trials before", s.question.Candidates[t.Candidate].Name, field)
		}
		break
	}
	s.trials[t.Candidate] = append(all, rec)
	s.known.Add(rec)
	return nil
}

// resumed returns how many trials there are.
func (s *search) resumed() (n int) {
	for _, all := range s.trials {
		n += len(all)
	}
	return n
}

// search runs trials until nothing more is to be learnt, and writes the answer, also after an interruption.
func (s *search) search(ctx context.Context) error {
	if _, more := s.known.Next(); !more {
		return s.finish(ctx)
	}
	s.announcePlan()
	s.drawLive()
	return s.withServers(ctx, func() error {
		err := s.runTrials(ctx)
		s.saveRest()
		if err != nil {
			return err
		}
		return s.finish(ctx)
	})
}

// beforehand says how long all takes, and which rate is tried first.
func (s *search) beforehand() string {
	designs, left := format.Plural(len(s.question.Candidates), "design"), s.question.Time()-s.answer().Spent
	text := fmt.Sprintf("%s, at most %s of trials", designs, progress.Seconds(left))
	if rate := s.question.Rate; rate > 0 && s.resumed() == 0 {
		text += ", " + report.PlanRate(rate) + " first"
	}
	return text
}

// announcePlan says on stderr what there is to know before the load begins.
func (s *search) announcePlan() {
	if s.progress != nil {
		for _, an := range s.answer().Analysis {
			if an.Ceiling < spec.MaxRate {
				most := "at most "
				if an.Rough != "" {
					most = "roughly "
				}
				s.say("on paper %s%s: %s", most, report.PlanRate(an.Ceiling), an.Load)
			}
		}
	}
	s.announce()
	for _, line := range s.question.skipped {
		if !slices.ContainsFunc(s.Skipped, func(skip matrix.Skip) bool { return skip.String() == line }) {
			s.say("left out: %s", line)
		}
	}
	for _, line := range s.question.warnings {
		s.say("warning: %s", line)
	}
	s.say("%s", s.beforehand())
	if n := s.resumed(); n > 0 {
		s.say("going on from %s in %s", format.Plural(n, "trial"), s.output)
	}
	if most := s.question.MaxRate; most > 0 {
		s.say("no trial offers more than %s", report.PlanRate(most))
	}
}

// runTrials runs what is to run. The error is that of a mistake, which no answer follows.
func (s *search) runTrials(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := s.leader.Err(); err != nil {
			s.endEarly(err)
			return nil
		}
		t, more := s.known.Next()
		if !more {
			return nil
		}
		rec := s.run(ctx, t)
		if ctx.Err() != nil {
			break // what a signal has cut short is run again
		}
		s.scrub(rec)
		if err := s.add(t, rec); err != nil {
			s.endEarly(err)
			return nil
		}
		s.save(rec)
		s.report(t)
		s.drawLive()
		if err := s.question.Check(s.roundTrip()); err != nil {
			return usageErrorf("%w", err)
		}
	}
	s.partial = fmt.Sprint(context.Cause(ctx))
	return nil
}

// endEarly notes why no more trials can follow. Those that there are make the answer.
func (s *search) endEarly(err error) {
	s.partial = err.Error()
	s.lose("the search ends early: %s", err)
}

// trial runs one. If it does not work, the record says why.
func (s *search) trial(ctx context.Context, t capacity.Trial) *results.Record {
	at := matrix.Trial{Cell: t.Candidate, Trial: t.Number}
	p := t.Plan
	p.Command = s.command(t)
	left := max(0, s.question.Time()-s.spent()-p.Warmup-p.Duration)
	label := fmt.Sprintf("%s, %s", s.question.Candidates[t.Candidate].Name, report.PlanRate(t.Rate))
	s.progress.Begin(s.resumed()+1, label, p.Duration, left)
	s.live.page.begin(format.Join(fmt.Sprintf("trial %d", s.resumed()+1), label, string(t.Stage)), left)
	rec, err := s.measure(ctx, at, p, stopGrowing(t))
	s.progress.End()
	if err == nil {
		return rec
	}
	failed := s.begin(at, p, "")
	failed.Schema, failed.ID, failed.Started = results.SchemaVersion, rand.Text(), time.Now().UTC()
	failed.Plan, failed.Traits, failed.Cost = p, workloads.Recorded(s.Cells[t.Candidate].Traits), results.UnknownCost()
	failed.Server.Kind = p.Server
	failed.Partial = oneLine(err.Error())
	return &failed
}

// command returns the command line of a run that makes the same trial.
func (s *search) command(t capacity.Trial) string {
	return commandLine(s.options, t.Plan, s.Targets[""])
}

// spent returns for how long trials have measured, warm-ups included.
func (s *search) spent() (sum time.Duration) {
	for _, all := range s.trials {
		for _, rec := range all {
			sum += rec.Plan.Warmup + rec.Plan.Duration
		}
	}
	return sum
}

// roundTrip returns the least round trip of all candidates, once each has had a trial; 0 until then, or if one takes none.
func (s *search) roundTrip() (least time.Duration) {
	for _, all := range s.trials {
		if len(all) == 0 {
			return 0
		}
		if trip := all[0].Bound.RoundTrip(); least == 0 || trip < least {
			least = trip
		}
		if least == 0 {
			return 0
		}
	}
	return least
}

const (
	growthTime   = time.Second // over which a queue that grows is seen to grow
	progressRate = 4           // snapshots a second; see workloads.Run.Progress
)

// stopGrowing returns what stops a trial whose queue is over its limit and keeps growing. Bursts make a queue each time, so that
// it is compared with that of the burst before.
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
	a := s.known.Answer(s.env)
	a.Skipped, a.Partial = s.question.skipped, s.partial
	a.Warnings = append(a.Warnings, s.question.warnings...)
	return a
}

// report writes to stderr what is known of a candidate after a trial.
func (s *search) report(t capacity.Trial) {
	if s.progress == nil {
		return
	}
	c := s.known.Candidate(t.Candidate)
	last := c.Points[len(c.Points)-1]
	line := fmt.Sprintf("%d: %s at %s (%s): ", s.resumed(), c.Name, report.PlanRate(t.Rate), t.Stage)
	switch {
	case last.Left != "":
		why, _, _ := strings.Cut(last.Left, "; ") // the main reason
		if last.Arrivals > 0 {
			line += format.Percent(last.Share.Mid) + " late, but " + why
		} else {
			line += "does not count: " + why
		}
	default:
		line += format.Percent(last.Share.Mid) + " late"
	}
	switch {
	case c.Verdict == capacity.RulesOut || c.Verdict == capacity.Failed || c.Verdict == capacity.Violated || c.Verdict == capacity.Dropped:
		line += fmt.Sprintf("; %s: %s", c.Verdict, c.Why)
	case c.AtLeast && c.Sustains.Low > 0:
		line += fmt.Sprintf("; sustains %s or more", report.PlanRate(c.Sustains.Low))
	case c.Sustains.High > 0:
		line += fmt.Sprintf("; sustains %s to %s", format.Three(c.Sustains.Low), report.PlanRate(c.Sustains.High))
	}
	s.say("%s", line)
}

// drawLive shows what is known so far.
func (s *search) drawLive() {
	s.live.page.soFar(func() *report.Document {
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
	if s.output == "" || s.resumed() == 0 || len(s.unsaved) > 0 {
		return
	}
	a = a.Known()
	if text, err := json.Marshal(a); err == nil && s.secrets.Hide(string(text)) == string(s.written) {
		return
	}
	if err := s.appender().AppendAnswer(a); err != nil {
		s.lose("the answer is not written to %s: %s", s.output, err)
	}
}

// finish writes the answer, and chooses the exit code.
func (s *search) finish(ctx context.Context) error {
	a := s.answer()
	s.saveAnswer(a)
	err := s.printer.end(a)
	s.live.page.endAs(context.Cause(ctx), func(w io.Writer) error { return draw.Page(w, report.Plan(a)) })
	return s.interrupted(ctx, err)
}
