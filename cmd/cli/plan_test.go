package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
	"github.com/lockbench/lockbench/workloads/runner"
)

// inquire reads a question.
func inquire(t *testing.T, line string) *question {
	t.Helper()
	flags := pflag.NewFlagSet("plan", pflag.ContinueOnError)
	o := newOptions(flags, planFlags)
	if err := flags.Parse(normalise(strings.Fields(line))); err != nil {
		t.Fatal(err)
	}
	q, err := questionOf(o, environment(), nil, found)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return q
}

// fakeSearch returns a plan, and what makes its trials, which take no time; they are those of a line of clients at one
// key that holds it for a millisecond, the first candidate's a tenth of a millisecond longer.
func fakeSearch(t *testing.T, line string) (*search, func(context.Context, capacity.Trial) (*results.Record, error)) {
	q := inquire(t, line)
	p := &program{stderr: &progress.Writer{W: io.Discard}, env: environment()}
	config, err := p.config(q.options, q.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	s := &search{program: p, question: q, config: config, known: capacity.NewSearch(&q.Question)}
	if s.runner, err = runner.New(q.Experiment, config); err != nil {
		t.Fatal(err)
	}
	return s, func(_ context.Context, t capacity.Trial) (*results.Record, error) {
		hold := time.Millisecond + time.Duration(1-t.Candidate)*100*time.Microsecond
		r := fakeTrial(t, hold)
		r.Run, r.Cell, r.Env, r.Server = "run", t.Candidate, config.Env, results.Server{Kind: t.Plan.Server, Name: "fake", Version: "7"}
		return r, nil
	}
}

func fakeTrial(t capacity.Trial, hold time.Duration) *results.Record {
	rng := rand.New(rand.NewPCG(t.Plan.Seed, 0))
	r := &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%d", t.Candidate, t.Plan.Seed), Started: time.Unix(1, 0).UTC(), Trial: t.Number + 1,
		Plan: t.Plan, Traits: results.Traits{Exclusive: true, Owned: true}, Elapsed: t.Plan.Duration, Cost: results.UnknownCost(),
		Generator: results.Generator{CPU: 0.5, Machine: 0.5},
	}
	recorder := results.NewRecorder(1)
	shard := recorder.Borrow()
	free, warmup, end := 0.0, t.Plan.Warmup.Seconds(), (t.Plan.Warmup + t.Plan.Duration).Seconds()
	for at := rng.ExpFloat64() / t.Level; at < end; at += rng.ExpFloat64() / t.Level {
		grant := max(at, free)
		free = grant + hold.Seconds()
		if grant >= warmup && grant < end {
			r.Counts.Acquired++
			shard.Record(results.ResponseIndex, time.Duration((grant-at)*1e9))
			shard.Record(results.HoldIndex, hold)
		}
	}
	recorder.Return(shard)
	r.Counts.Released, r.Latency = r.Counts.Acquired, recorder.Latencies()
	return r
}

// finished runs a plan to its end, and returns the answer, which it leaves in the file of the plan.
func finished(t *testing.T, line string) string {
	t.Helper()
	s, measure := fakeSearch(t, line)
	s.runTrials(t.Context(), measure)
	s.runner.SaveAnswer(s.answer())
	var b strings.Builder
	if err := export.JSON(&b, s.answer()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const fakePlan = "-driver memory -rate 300 -hold 1ms -slo response.p99<20ms -budget 60s -o "

// TestPlanFileHasItsAnswer: report prints the last answer of a file to which plan -o has appended; other formats, and a
// file in which trials follow the answer, are of its trials.
func TestPlanFileHasItsAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.jsonl")
	finished(t, "-seed 2 "+fakePlan+file)
	want := finished(t, fakePlan+file)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	report := func(format string) string {
		var out, stderr strings.Builder
		if code := run([]string{"report", "-format", format, file}, nil, &out, &stderr, nil, nil); code != exitOK || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d: %s", format, code, &stderr)
		}
		return out.String()
	}
	if got := report("json"); got != want || bytes.Count(whole, []byte("\n{\"answer\":")) != 2 {
		t.Errorf("the answer is %s, want %s", got, want)
	}
	for name, text := range map[string]string{"table": " sustains ", "csv": "trial", "junit": "<testcase ", "benchfmt": "BenchmarkLock/"} {
		if got := report(name); !strings.Contains(got, text) {
			t.Errorf("%s: no %q in %s", name, text, got)
		}
	}
	first, _, _ := bytes.Cut(whole, []byte("\n"))
	if err := os.WriteFile(file, append(whole, first...), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := fakeSearch(t, fakePlan+file)
	if read, err := readFrom(s.program, file, new(results.Collector).Read); err != nil || read.Answer != nil || read.Damaged > 0 {
		t.Errorf("a trial follows the answer: %+v, %v", read, err)
	}
}

// TestPlanDesigns: without -lock the candidates are the designs that are worth a choice.
func TestPlanDesigns(t *testing.T) {
	for line, want := range map[string]string{
		"-driver rueidis,zookeeper,postgres":                    "set-nx fenced fair sequential advisory row-lock",
		"-driver rueidis -reentry 2":                            "reentrant-count redisson",
		"-driver rueidis -need reentrant":                       "reentrant-count redisson",
		"-driver mysql -need fenced":                            "unique-row",
		"-driver rueidis -topology single,redlock -need fenced": "fenced", // which a majority is not
	} {
		s, _ := fakeSearch(t, "-rate 300 -hold 1ms -slo response.p99<20ms "+line)
		var got []string
		for _, c := range s.question.Candidates {
			got = append(got, c.Plan.Lock)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

// TestPlanServers: a candidate whose server becomes another one ends the plan with what is known, and the record is not
// kept.
func TestPlanServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.jsonl")
	s, good := fakeSearch(t, fakePlan+file)
	measure := func(ctx context.Context, t capacity.Trial) (*results.Record, error) {
		r, err := good(ctx, t)
		if t.Number == 1 {
			r.Server.Version = "8"
		}
		return r, err
	}
	s.runTrials(t.Context(), measure)
	if !s.lost || !strings.HasSuffix(s.answer().Partial, ": its server is 8 now, and was 7") {
		t.Errorf("lost %t, partial: %s", s.lost, s.answer().Partial)
	}
	if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(`"version":"8"`)) {
		t.Error("the record of the other server was kept")
	}
}

// TestPlanUnreachable: a first trial that reaches no server ends the plan, without an answer.
func TestPlanUnreachable(t *testing.T) {
	s, _ := fakeSearch(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl"))
	n, refused := 0, errors.New("refused")
	err := s.runTrials(t.Context(), func(context.Context, capacity.Trial) (*results.Record, error) {
		n++
		return nil, refused
	})
	if n != 1 || s.trials != 0 || err != refused {
		t.Errorf("%d trials: %v", n, err)
	}
}

// TestPlanLosesItsFile: records that cannot be written cost no answer, and the plan says so.
func TestPlanLosesItsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, measure := fakeSearch(t, fakePlan+filepath.Join(dir, "p.jsonl"))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s.runTrials(t.Context(), measure)
	s.runner.SaveRest()
	var got strings.Builder
	if err := export.JSON(&got, s.answer()); err != nil {
		t.Fatal(err)
	}
	if want := finished(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl")); got.String() != want || !s.lost {
		t.Errorf("lost %t, the answer is\n%s\nand with the records\n%s", s.lost, &got, want)
	}
}

// TestPlanStops: what a signal cuts short leaves no record, and the answer says that it is partial.
func TestPlanStops(t *testing.T) {
	s, good := fakeSearch(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl"))
	ctx, cancel := context.WithCancelCause(t.Context())
	measure := func(_ context.Context, t capacity.Trial) (*results.Record, error) {
		if s.trials == 5 {
			cancel(&interruption{os.Interrupt})
		}
		return good(ctx, t)
	}
	s.runTrials(ctx, measure)
	if a := s.answer(); s.trials != 5 || a.Partial != "stopped by interrupt" {
		t.Errorf("%d trials, partial %q", s.trials, a.Partial)
	}
}

// TestPlanFailures: a candidate whose trials do not work is left out, and the others are answered.
func TestPlanFailures(t *testing.T) {
	s, good := fakeSearch(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl"))
	measure := func(ctx context.Context, t capacity.Trial) (*results.Record, error) {
		r, err := good(ctx, t)
		if t.Candidate == 1 {
			r = &results.Record{Schema: r.Schema, ID: r.ID, Started: r.Started, Trial: r.Trial, Cell: 1, Plan: r.Plan, Cost: r.Cost, Partial: "no server"}
		}
		return r, err
	}
	s.runTrials(t.Context(), measure)
	a := s.answer()
	if a.Verdict != capacity.Sustains || answers.exit(a) != exitOK {
		t.Errorf("verdict %s, exit code %d", a.Verdict, answers.exit(a))
	}
	for _, c := range a.Candidates {
		if failed := c.Name == "memory reentrant"; failed != (c.Verdict == capacity.Failed) || failed && c.Why.Text != "no server" {
			t.Errorf("%s: %s, %+v", c.Name, c.Verdict, c.Why)
		}
	}
}

// TestStopGrowing shows queues to what stops a trial, four a second.
func TestStopGrowing(t *testing.T) {
	for name, test := range map[string]struct {
		line  string
		queue func(i int) int64
		stops bool
	}{
		"grows":        {"", func(i int) int64 { return int64(100 * i) }, true},
		"long, steady": {"", func(i int) int64 { return 5000 }, false},
		"short, grows": {"", func(i int) int64 { return int64(i) }, false},
		"bursts":       {"-burst 4s", func(i int) int64 { return int64(20000 - 1000*(i%16)) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			q := inquire(t, "-driver memory -lock mutex -hold 1us -slo response.p99<20ms "+test.line)
			trial, _ := capacity.NewSearch(&q.Question).Next()
			stop, why := stopGrowing(trial), ""
			for i := range 60 {
				if why = stop(workloads.Snapshot{Pending: test.queue(i)}); why != "" {
					break
				}
			}
			if want := map[bool]string{true: capacity.QueueGrew}[test.stops]; why != want {
				t.Errorf("limit %d: %q", trial.QueueLimit, why)
			}
		})
	}
}

// TestPlanOfPresets asks about each preset, which has an objective, and makes the first trial of it.
func TestPlanOfPresets(t *testing.T) {
	for _, name := range presets.Names() {
		t.Run(name, func(t *testing.T) {
			q := inquire(t, "-driver rueidis -lock set-nx -workload "+name)
			if a := capacity.Analyse(&q.Question); a.Impossible.Code != "" {
				t.Error(a.Impossible)
			}
			trial, more := capacity.NewSearch(&q.Question).Next()
			if !more || trial.Level <= 0 || trial.Plan.Clients < 1 {
				t.Fatalf("%+v", trial)
			}
			e := q.experiment
			e.Trials = 1
			roundTrip(t, only(e, matrix.Cell{Plan: trial.Plan}), "")
		})
	}
}
