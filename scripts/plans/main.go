// Command plans repeats plans, and holds their answers against long runs: do the intervals of one candidate overlap, how
// long did each plan take, does a run at the lower end of the last interval keep the objective, and does one well above its
// upper end break it? Each argument is the flags of a candidate. All have a private server.
//
//	go run ./scripts/plans -n 3 -- '-driver rueidis -lock set-nx -wait queue' '-driver etcd -lock lease'
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/scripts/bench"
)

// above is how far beyond the upper end the second run is.
const above = 1.15

// study is what is asked.
type study struct {
	n      int
	load   []string
	slo    capacity.SLO
	budget time.Duration // of one plan
	check  time.Duration // of one run
}

// candidate is a lock, and what is known of it.
type candidate struct {
	name  string // its flags
	plans []planned
}

// planned is the answer of one plan.
type planned struct {
	capacity.CandidateAnswer
	took time.Duration
}

func main() {
	bench.Main("plans", func(ctx context.Context) error {
		var s study
		flag.IntVar(&s.n, "n", 3, "plans of each candidate")
		load := flag.String("load", "-hold 1ms -keys 10", "flags of the load")
		slo := flag.String("slo", "response.p99<20ms", "the objective: one")
		flag.DurationVar(&s.budget, "budget", 90*time.Second, "of one plan")
		flag.DurationVar(&s.check, "check", time.Minute, "length of the runs that check the last plan; 0: there are none")
		flag.Parse()
		s.load = strings.Fields(*load)
		return s.run(ctx, *slo, flag.Args())
	})
}

func (s *study) run(ctx context.Context, slo string, args []string) (err error) {
	if s.slo, err = capacity.ParseSLO(slo); err != nil {
		return err
	}
	if len(args) == 0 || len(s.slo.Objectives) != 1 {
		return errors.New("give the flags of a candidate in each argument, and one objective")
	}
	list := make([]candidate, len(args))
	for i, arg := range args {
		list[i].name = strings.Join(strings.Fields(arg), " ")
	}
	for range s.n { // the plans of a candidate are some minutes apart
		for i := range list {
			p, err := s.plan(ctx, &list[i])
			if err != nil {
				return err
			}
			list[i].plans = append(list[i].plans, p)
		}
	}
	return s.table(ctx, list)
}

// table prints the plans, makes the long runs, and prints what they say of the last plans.
func (s *study) table(ctx context.Context, list []candidate) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "candidate\tplan\tsustains/s\ttrials\ttook")
	for _, c := range list {
		name := c.name
		for i, p := range c.plans {
			fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%.0f s\n", name, i+1, p, len(p.Points), p.took.Seconds())
			name = ""
		}
	}
	w.Flush()
	fmt.Fprintf(w, "\ncandidate\toverlap\tp99 of %v at the lower end\tat %v × the upper end\n", s.check, above)
	for _, c := range list {
		last := c.plans[len(c.plans)-1]
		low, err := s.verdict(ctx, &c, last.Sustains.Low, true)
		if err != nil {
			return err
		}
		high, err := s.verdict(ctx, &c, above*last.Sustains.High, false)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", c.name, overlap(c.plans), low, high)
	}
	fmt.Fprintf(w, "\n%s, %s; %d CPUs, %s.\n", strings.Join(s.load, " "), s.slo, runtime.NumCPU(), runtime.Version())
	return w.Flush()
}

func (p planned) String() string {
	r := p.Sustains
	switch {
	case r.Low == 0:
		return string(p.Verdict)
	case p.AtLeast:
		return "≥ " + format.Three(r.Low)
	}
	text := fmt.Sprintf("%s (%s–%s)", format.Three(r.Mid), format.Three(r.Low), format.Three(r.High))
	if p.Verdict != capacity.Sustains {
		text += " " + string(p.Verdict)
	}
	return text
}

// overlap says whether all intervals have a rate in common.
func overlap(plans []planned) string {
	low, high := 0.0, math.Inf(1)
	for _, p := range plans {
		if p.Sustains.High == 0 {
			return format.None
		}
		low, high = max(low, p.Sustains.Low), min(high, p.Sustains.High)
	}
	if low > high {
		return "no"
	}
	return "yes"
}

// plan makes one plan of c.
func (s *study) plan(ctx context.Context, c *candidate) (p planned, err error) {
	began := time.Now()
	text, err := bench.Run(s.lockbench(ctx, c, "plan", "-slo", s.slo.Text, "-budget", s.budget.String(), "-format", "json"))
	if err != nil {
		return p, err
	}
	p.took = time.Since(began)
	a, err := capacity.ReadAnswer(bytes.NewReader(text))
	if err != nil {
		return p, err
	}
	if len(a.Candidates) != 1 {
		return p, fmt.Errorf("%q is %d candidates: name one lock and one way of waiting", c.name, len(a.Candidates))
	}
	p.CandidateAnswer = a.Candidates[0]
	fmt.Fprintf(os.Stderr, "%s: %s after %d trials in %.0f s %s\n", c.name, p, len(p.Points), p.took.Seconds(), p.Why)
	return p, nil
}

// verdict makes a long run at a rate, and says whether it kept the objective as it should.
func (s *study) verdict(ctx context.Context, c *candidate, rate float64, keeps bool) (string, error) {
	if rate == 0 || s.check == 0 {
		return format.None, nil
	}
	clients := max(1, 4*c.plans[len(c.plans)-1].Clients)
	recs, err := bench.Measure(s.lockbench(ctx, c, "-rate", strconv.FormatFloat(rate, 'f', 0, 64), "-arrival", "poisson",
		"-clients", strconv.Itoa(clients), "-warmup", "2s", "-duration", s.check.String()))
	if err != nil {
		return "", err
	}
	p99, mark := recs[0].Latency[results.Response].P99, "✗"
	if (p99 < s.slo.Objectives[0].Limit) == keeps {
		mark = "✓"
	}
	text := fmt.Sprintf("%s/s: %s %s", format.Three(rate), format.Duration(p99), mark)
	if recs[0].Generator.Saturated {
		text += " (lockbench was the limit)"
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.name, text)
	return text, nil
}

// lockbench returns a process of lockbench for c, under the load.
func (s *study) lockbench(ctx context.Context, c *candidate, args ...string) *exec.Cmd {
	return bench.Command(ctx, slices.Concat(args, strings.Fields(c.name), s.load, []string{"-server", "private"})...)
}
