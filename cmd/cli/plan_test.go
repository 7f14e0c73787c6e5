package cli

import (
	"bytes"
	"cmp"
	"context"
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
func inquire(t *testing.T, line string) (*question, *options) {
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
	return q, o
}

// fakeSearch returns a plan whose trials take no time; they are those of a line of clients at one key that holds it for a
// millisecond, the first candidate's a tenth of a millisecond longer.
func fakeSearch(t *testing.T, line string) (*search, *options) {
	q, o := inquire(t, line)
	p := &program{stderr: &progress.Writer{W: io.Discard}, env: environment()}
	config, err := p.config(q.options, q.Experiment)
	if err != nil {
		t.Fatal(err)
	}
	s := newSearch(p, q, config)
	if s.runner, err = runner.New(q.Experiment, config); err != nil {
		t.Fatal(err)
	}
	s.run = func(_ context.Context, t capacity.Trial) *results.Record {
		hold := time.Millisecond + time.Duration(1-t.Candidate)*100*time.Microsecond
		r := fakeTrial(t, hold)
		r.Run, r.Cell, r.Env, r.Server = "run", t.Candidate, config.Env, results.Server{Kind: t.Plan.Server, Name: "fake"}
		return r
	}
	return s, o
}

func fakeTrial(t capacity.Trial, hold time.Duration) *results.Record {
	rng := rand.New(rand.NewPCG(t.Plan.Seed, 0))
	r := &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprintf("%d-%d", t.Candidate, t.Number), Started: time.Unix(1, 0).UTC(), Trial: t.Number + 1,
		Plan: t.Plan, Traits: results.Traits{Exclusive: true, Owned: true}, Elapsed: t.Plan.Duration, Cost: results.UnknownCost(),
		Generator: results.Generator{CPU: 0.5, Machine: 0.5},
	}
	recorder := results.NewRecorder(1)
	shard := recorder.Borrow()
	free, warmup, end := 0.0, t.Plan.Warmup.Seconds(), (t.Plan.Warmup + t.Plan.Duration).Seconds()
	for at := rng.ExpFloat64() / t.Rate; at < end; at += rng.ExpFloat64() / t.Rate {
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

// finished runs a plan to its end, after the records that its file has, and returns the answer.
func finished(t *testing.T, line string) string {
	t.Helper()
	s, _ := fakeSearch(t, line)
	if err := s.readOutput(); err != nil {
		t.Fatal(err)
	}
	s.runTrials(t.Context())
	var b strings.Builder
	if err := export.JSON(&b, s.answer().Known()); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const fakePlan = "-driver memory -rate 300 -hold 1ms -slo response.p99<20ms -budget 60s -o "

// TestPlanResumes cuts the file of a plan at many places, also within a line: it goes on from what is left to the same answer.
func TestPlanResumes(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.jsonl")
	want := finished(t, fakePlan+whole)
	if !strings.Contains(want, `"verdict": "sustains"`) {
		t.Errorf("the answer is not what these locks can do:\n%s", want)
	}
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{0, 1, 40}
	for at := range len(text) {
		if text[at] == '\n' {
			ends = append(ends, at, at+1, at+2, at+1000)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(ends), func(i, j int) { ends[i], ends[j] = ends[j], ends[i] })
	for i, end := range append([]int{0, 1, len(text) - 1, len(text)}, ends[:8]...) {
		cut := filepath.Join(dir, fmt.Sprintf("cut%d.jsonl", i))
		if err := os.WriteFile(cut, text[:min(end, len(text))], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := finished(t, fakePlan+cut); got != want {
			t.Errorf("cut at byte %d of %d: the answer is another one", end, len(text))
		}
	}
}

// TestPlanFileHasItsAnswer: report prints the answer of a file of plan -o, once however often the plan was asked again; other formats,
// and a file in which trials follow the answer, are of its trials.
func TestPlanFileHasItsAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.jsonl")
	want := finished(t, fakePlan+file)
	trials, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, _ := fakeSearch(t, fakePlan+file)
		if err := s.readOutput(); err != nil {
			t.Fatal(err)
		}
		s.saveAnswer(s.answer())
	}
	report := func(format string) string {
		var out, stderr strings.Builder
		if code := run([]string{"report", "-format", format, file}, nil, &out, &stderr, nil, nil); code != exitOK || stderr.Len() > 0 {
			t.Errorf("%s: exit code %d: %s", format, code, &stderr)
		}
		return out.String()
	}
	whole, _ := os.ReadFile(file)
	if got := report("json"); got != want || bytes.Count(whole, []byte("\n")) != bytes.Count(trials, []byte("\n"))+1 {
		t.Errorf("the answer is %s, want %s, in a file that ends with\n%.200s", got, want, whole[len(trials):])
	}
	for name, text := range map[string]string{"table": "memory reentrant sustains ", "csv": "trial", "junit": "<testcase ", "benchfmt": "BenchmarkLock/"} {
		if got := report(name); !strings.Contains(got, text) {
			t.Errorf("%s: no %q in %s", name, text, got)
		}
	}
	first, _, _ := bytes.Cut(trials, []byte("\n"))
	if err := os.WriteFile(file, append(whole, first...), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := fakeSearch(t, fakePlan+file)
	if read, err := s.readRecords(file, func(*results.Record) error { return nil }); err != nil || read.Answer != nil || read.Damaged > 0 {
		t.Errorf("a trial follows the answer: %+v, %v", read, err)
	}
}

// TestPlanRefusesRecords changes a record in one way each: the plan must not go on from it, and says what differs.
func TestPlanRefusesRecords(t *testing.T) {
	dir := t.TempDir()
	whole := filepath.Join(dir, "whole.jsonl")
	finished(t, fakePlan+whole)
	text, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"plan.hold_ns": func(b []byte) []byte {
			return bytes.Replace(b, []byte(`"hold_ns":1000000`), []byte(`"hold_ns":2000000`), 1)
		},
		"plan.seed":     func(b []byte) []byte { return bytes.Replace(b, []byte(`"seed":`), []byte(`"seed":1`), 1) },
		"env.cpus":      func(b []byte) []byte { return bytes.Replace(b, []byte(`"cpus":`), []byte(`"cpus":1`), 1) },
		"env.lockbench": func(b []byte) []byte { return bytes.Replace(b, []byte(`"lockbench":"`), []byte(`"lockbench":"x`), 1) },
		"server.name":   func(b []byte) []byte { return bytes.Replace(b, []byte(`"name":"fake"`), []byte(`"name":"mock"`), 1) },
		"candidate":     func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] },
		"plan has ended": func(b []byte) []byte {
			return append(bytes.Clone(b), b...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(dir, "changed.jsonl")
			if err := os.WriteFile(file, change(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s, _ := fakeSearch(t, fakePlan+file)
			if err := s.readOutput(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestPlanDesigns: without -lock the candidates are the designs that are worth a choice.
func TestPlanDesigns(t *testing.T) {
	for line, want := range map[string]string{
		"-driver rueidis,zookeeper,postgres": "set-nx fenced fair sequential advisory row-lock",
		"-driver rueidis -reentry 2":         "reentrant-count redisson",
		"-driver rueidis -need reentrant":    "reentrant-count redisson",
		"-driver mysql -need fenced":         "unique-row",
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

// TestPlanServers: a candidate whose server becomes another one ends the plan with what is known, and the record is not kept.
func TestPlanServers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.jsonl")
	s, _ := fakeSearch(t, fakePlan+file)
	good := s.run
	s.run = func(ctx context.Context, t capacity.Trial) *results.Record {
		r := good(ctx, t)
		if t.Number == 1 {
			r.Server.Version = "8"
		}
		return r
	}
	s.runTrials(t.Context())
	if !s.lost || !strings.HasSuffix(s.answer().Partial, ": server.version is not that of the trials before") {
		t.Errorf("lost %t, partial: %s", s.lost, s.answer().Partial)
	}
	if text, _ := os.ReadFile(file); bytes.Contains(text, []byte(`"version":"8"`)) {
		t.Error("the record of the other server was kept")
	}
}

// TestPlanLosesItsFile: records that cannot be written cost no answer, and the plan says so.
func TestPlanLosesItsFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, _ := fakeSearch(t, fakePlan+filepath.Join(dir, "p.jsonl"))
	if err := cmp.Or(s.readOutput(), os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	s.runTrials(t.Context())
	s.runner.SaveRest()
	var got strings.Builder
	if err := export.JSON(&got, s.answer().Known()); err != nil {
		t.Fatal(err)
	}
	if want := finished(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl")); got.String() != want || !s.lost {
		t.Errorf("lost %t, the answer is\n%s\nand with the records\n%s", s.lost, &got, want)
	}
}

// TestPlanStops: what a signal cuts short leaves no record, and the answer says that it is partial.
func TestPlanStops(t *testing.T) {
	s, _ := fakeSearch(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl"))
	ctx, cancel := context.WithCancelCause(t.Context())
	good := s.run
	s.run = func(_ context.Context, t capacity.Trial) *results.Record {
		if s.done == 5 {
			cancel(&interruption{os.Interrupt})
		}
		return good(ctx, t)
	}
	s.runTrials(ctx)
	if a := s.answer(); s.done != 5 || a.Partial != "stopped by interrupt" {
		t.Errorf("%d trials, partial %q", s.done, a.Partial)
	}
}

// TestPlanFailures: a candidate whose trials do not work is left out, and the others are answered.
func TestPlanFailures(t *testing.T) {
	s, _ := fakeSearch(t, fakePlan+filepath.Join(t.TempDir(), "p.jsonl"))
	good := s.run
	s.run = func(ctx context.Context, t capacity.Trial) *results.Record {
		r := good(ctx, t)
		if t.Candidate == 1 {
			r = &results.Record{Schema: r.Schema, ID: r.ID, Started: r.Started, Trial: r.Trial, Cell: 1, Plan: r.Plan, Cost: r.Cost, Partial: "no server"}
		}
		return r
	}
	s.runTrials(t.Context())
	a := s.answer()
	if a.Verdict != capacity.Sustains || exitOfAnswer(a) != exitOK {
		t.Errorf("verdict %s, exit code %d", a.Verdict, exitOfAnswer(a))
	}
	for _, c := range a.Candidates {
		if failed := c.Name == "memory reentrant"; failed != (c.Verdict == capacity.Failed) || failed && !strings.Contains(c.Why, "no server") {
			t.Errorf("%s: %s, %s", c.Name, c.Verdict, c.Why)
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
			q, _ := inquire(t, "-driver memory -lock mutex -hold 1us -slo response.p99<20ms "+test.line)
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
			q, _ := inquire(t, "-driver rueidis -lock set-nx -workload "+name)
			for i := range q.Candidates {
				if a := capacity.Analyse(&q.Question, &q.Candidates[i], 0); a.Impossible != "" {
					t.Error(a.Impossible)
				}
			}
			trial, more := capacity.NewSearch(&q.Question).Next()
			if !more || trial.Rate <= 0 || trial.Plan.Clients < 1 {
				t.Fatalf("%+v", trial)
			}
			e := q.experiment
			e.Trials = 1
			roundTrip(t, only(e, matrix.Cell{Plan: trial.Plan}), "")
		})
	}
}
