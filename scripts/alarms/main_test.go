package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/scripts/bench"
)

const shipped = "../../.github/workflows/gate.yml"

// TestMain makes the test a trial when the study starts it as one.
func TestMain(m *testing.M) {
	if err := registerPlant(); err != nil {
		panic(err)
	}
	bench.Itself()
	os.Exit(m.Run())
}

// The expected bounds are computed from the binomial distribution with integers (Python's math.comb).
func TestBounds(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 200, 0, 0.01828}, {1, 200, 0.00013, 0.02754}, {10, 200, 0.02424, 0.09003}, {60, 60, 0.94038, 1}, {30, 60, 0.36806, 0.63194},
	} {
		if low, high := bounds(c.k, c.n); math.Abs(low-c.low) > 1e-5 || math.Abs(high-c.high) > 1e-5 {
			t.Errorf("%d of %d: %.5f to %.5f, want %.5f to %.5f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}

// Compared pair by pair, trials raise no more false alarms than alpha allows, and a loss is detected despite a drift
// that hides it from a comparison of whole sides.
func TestDrifting(t *testing.T) {
	var out bytes.Buffer
	if err := drifting(100, rand.New(rand.NewPCG(1, 1)), &out); err != nil {
		t.Fatal(err)
	}
	type row struct{ drift, planted string }
	found := map[row][2]float64{}
	for line := range strings.Lines(out.String()) {
		f := regexp.MustCompile(`^(\S+) %\s+(\S+) %\s+(\S+) % +\[.*?\]\s+(\S+) %`).FindStringSubmatch(line)
		if f == nil {
			continue
		}
		pairs, err := strconv.ParseFloat(f[3], 64)
		whole, err2 := strconv.ParseFloat(f[4], 64)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		found[row{f[1], f[2]}] = [2]float64{pairs, whole}
	}
	for _, drift := range []string{"0.0", "10.0", "30.0"} {
		if v, ok := found[row{drift, "0"}]; !ok || v[0] > 9.5 { // 5 of 100 and two standard deviations
			t.Errorf("drift %s: %.1f %% false alarms", drift, v[0])
		}
		if v := found[row{drift, "-5.0"}]; v[0] < 95 {
			t.Errorf("drift %s: %.1f %% of losses by 5 %% found in pairs", drift, v[0])
		}
	}
	if v, ok := found[row{"30.0", "-5.0"}]; !ok || v[1] > 50 {
		t.Errorf("a drift by 30 %% hides nothing from a comparison as a whole: %.1f %%", v[1])
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

// TestTotals checks verdicts, ratios and scatter on known differences.
func TestTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	side := func(at int, level float64) (recs []*results.Record) {
		for i := range 10 {
			recs = append(recs, simulated(at+i, level*(1+0.005*rng.NormFloat64())))
		}
		return recs
	}
	slower := &totals{loss: 0.1, verdicts: map[compare.Verdict]int{}}
	for n := range 5 {
		if err := slower.add(side(100*n, 100_000), side(100*n+50, 90_000), compare.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if slower.verdicts[compare.Regressed] != 5 || len(slower.ratios) != 50 {
		t.Errorf("%+v", slower)
	}
	var out bytes.Buffer
	writeTotals(&out, []*totals{slower})
	for _, want := range []string{`(?m)^-10\.0 %  -(9\.[89]|10\.[012]) % `, `5/5 +100\.0 %  \[47\.8 % – 100\.0 %\]  0 `, `scatter by 0\.[3-7] %`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
}

// TestPlant counts what is granted and what is told.
func TestPlant(t *testing.T) {
	d, err := drivers.Lookup("memory")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := plant{Driver: d, share: 0.25}.Open(t.Context(), drivers.Config{Lock: "mutex", Clients: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	s, err := svc.Session(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	counting := &counted{Session: s.(*plantedSession).Session}
	s.(*plantedSession).Session = counting
	const n = 3000
	for range n {
		l := &drivers.Lease{Key: "a", TTL: time.Second}
		if held, err := s.Try(t.Context(), l); !held || err != nil {
			t.Fatal(held, err)
		}
		if owned, err := s.Release(t.Context(), l); !owned || err != nil {
			t.Fatal(owned, err)
		}
	}
	if told := float64(n) / float64(counting.grants); math.Abs(told-0.75) > 0.03 { // three standard deviations
		t.Errorf("it tells of %.3f of the grants, want 0.75", told)
	}
	if _, err := newPlant("memory", "0.1"); err == nil || !strings.Contains(err.Error(), "memory has no server") {
		t.Error(err)
	}
}

// counted counts the grants of a session.
type counted struct {
	drivers.Session
	grants int
}

func (c *counted) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	held, err := c.Session.Try(ctx, l)
	if held {
		c.grants++
	}
	return held, err
}

func TestLosses(t *testing.T) {
	if e, err := parseLosses("0, 2.5,10"); err != nil || fmt.Sprint(e) != "[0 0.025 0.1]" {
		t.Error(e, err)
	}
	for _, s := range []string{"", "-1", "51", "x", "3,,5", "NaN"} {
		if _, err := parseLosses(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}

// TestGate reads the workflow as it is shipped.
func TestGate(t *testing.T) {
	g, err := readGate(options{workflow: shipped})
	if err != nil {
		t.Fatal(err)
	}
	if g.driver != "rueidis" || g.rounds < 6 || g.failOn == "" || !slices.Contains(g.flags(), planted) || slices.Contains(g.flags(), "rueidis") {
		t.Errorf("%+v, flags %q", g, g.flags())
	}
	for text, want := range map[string]string{
		"jobs: {a: {steps: [{run: make}]}}":                                 "calls no gate",
		"jobs: {a: {steps: [{with: {args: '-driver a,b', rounds: '10'}}]}}": "must measure one -driver",
		"jobs: {a: {steps: [{with: {args: '-clients 4', rounds: '10'}}]}}":  "must measure one -driver",
		"jobs: {a: {steps: [{with: {args: '-driver a', rounds: 'many'}}]}}": "rounds: ",
		"jobs: [": "gate.yml",
		"jobs: {a: {steps: [{with: {args: '-driver rueidis'}, uses: gate}]}}": "rounds: ",
	} {
		file := filepath.Join(t.TempDir(), "gate.yml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readGate(options{workflow: file}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestStudy runs a small study, whose trials are processes, on the embedded server.
func TestStudy(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var out bytes.Buffer
	err := study(t.Context(), options{
		comparisons: 1, losses: []float64{0, 0.2}, rounds: 2, workflow: shipped,
		args: "-driver rueidis -server embedded -clients 2 -keys 2 -n 200 -warmup 0s",
	}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"lockbench -driver rueidis -server embedded", "\n2 rounds, -fail-on 'locks/s<-5%", "\n0 % ", "\n-20.0 % "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) > 0 {
		t.Errorf("it leaves %q", left)
	}
	g, err := readGate(options{workflow: shipped, args: "-driver rueidis -lock none -server embedded"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := g.trial(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "planted has only set-nx") {
		t.Errorf("a trial that cannot run: %v", err)
	}
}
