package export

// The Go benchmark format (https://golang.org/design/14313-benchmark-format), which benchstat and its kin read.

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/perf/benchfmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
)

// Benchfmt writes a line a trial, with its locks as the iterations and every figure that it knows.
//
// The name of a benchmark depends on its plan alone and not on what else is in the file, so that
//
//	lockbench report -format benchfmt=base.txt base.jsonl
//	lockbench report -format benchfmt=head.txt head.jsonl
//	benchstat -filter '.unit:(locks/s OR acquire-p99-sec)' base.txt head.txt
//
// finds the pairs; in a file of a run with two sides (-vs) it has the side as well, and -col /side makes the columns. What must be
// alike for a comparison to mean anything (machine, server, times that are seldom set) are file configuration keys, by which
// benchstat makes separate tables. Versions are comments, since they may be what is compared, and so are trials that ended
// early. Durations are in seconds: benchstat takes 0 ns for another unit than 0 s.
func Benchfmt(w io.Writer, cells []*results.Cell) error {
	out := benchfmt.NewWriter(w)
	figures := knownTo(cells)
	if err := writeUnits(w, out, figures); err != nil {
		return err
	}
	if slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.First().Side != "" }) {
		if _, err := fmt.Fprintln(w, sidesHint); err != nil {
			return err
		}
	}
	version := ""
	for _, c := range cells {
		for _, r := range c.Trials {
			if v := comment(r); v != version {
				version = v
				if _, err := fmt.Fprintf(w, "# %s\n", v); err != nil {
					return err
				}
			}
			if r.Partial != "" {
				if _, err := fmt.Fprintf(w, "# left out: %s, trial %d: %s\n", benchmarkName(r), r.Trial, plain(r.Partial)); err != nil {
					return err
				}
				continue
			}
			res := &benchfmt.Result{Config: configuration(r), Name: benchfmt.Name(benchmarkName(r)), Iters: int(r.Counts.Acquired)}
			for _, f := range figures {
				if v := f.Of(r.Figures()); !math.IsNaN(v) && !math.IsInf(v, 0) {
					value, unit := benchValue(f, v)
					res.Values = append(res.Values, benchfmt.Value{Value: value, Unit: unit})
				}
			}
			if err := out.Write(res); err != nil {
				return err
			}
		}
	}
	return nil
}

// sidesHint explains why benchstat puts the sides of -vs into rows of their own.
const sidesHint = "# base and head side by side, if they differ in -driver: benchstat -col /side -ignore /driver"

// writeUnits says of each unit that follows which direction is the good one.
func writeUnits(w io.Writer, out *benchfmt.Writer, figures []*metric.Metric) error {
	if _, err := fmt.Fprintln(w, "# lockbench: one line a trial; benchstat -filter '.unit:(locks/s OR acquire-p99-sec)' shows what matters first"); err != nil {
		return err
	}
	for _, f := range figures {
		if f.Better == metric.Neither {
			continue
		}
		_, unit := benchValue(f, 0)
		meta := &benchfmt.UnitMetadata{UnitMetadataKey: benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}, OrigUnit: unit, Value: direction(f)}
		if err := out.Write(meta); err != nil {
			return err
		}
	}
	return nil
}

// comment returns what made the records that follow.
func comment(r *results.Record) string {
	words := []string{"lockbench " + r.Env.Lockbench, r.Env.Go}
	if r.Env.Revision != "" {
		words = append([]string{"revision " + r.Env.Revision}, words...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Env.Libraries)) {
		words = append(words, name+" "+r.Env.Libraries[name])
	}
	return plain(strings.Join(words, ", "))
}

// benchmarkName is Lock, what tells the plan from others, and GOMAXPROCS at its place:
// Lock/driver=rueidis/lock=set-nx/wait=backoff/clients=64/keys=10-2.
func benchmarkName(r *results.Record) string {
	return fmt.Sprintf("Lock/%s-%d", planName(r), max(1, r.Env.GOMAXPROCS))
}

// planName returns what tells the plan from others: driver=rueidis/lock=set-nx/wait=backoff/clients=64/keys=10.
func planName(r *results.Record) string {
	var parts []string
	if r.Side != "" {
		parts = append(parts, "side="+oneWord(r.Side))
	}
	for _, s := range settings {
		if v := s.Text(&r.Plan, &r.Plan.Load); v != "" && !s.Constant {
			parts = append(parts, s.Name+"="+oneWord(v))
		}
	}
	return strings.Join(parts, "/")
}

// oneWord makes one word of v, which a slash must not divide either.
func oneWord(v string) string {
	return strings.Map(func(r rune) rune {
		if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return '_'
		}
		return r
	}, plain(v))
}

// configuration returns the file's keys for a record: those of go test, and what else must be alike.
func configuration(r *results.Record) (config []benchfmt.Config) {
	add := func(key, value string) {
		if value = plain(value); value != "" {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	add("goos", r.Env.OS)
	add("goarch", r.Env.Arch)
	add("cpu", r.Env.CPU)
	add("server", serverName(r.Server))
	add("persistence", r.Server.Persistence)
	for _, s := range settings {
		if s.Constant {
			add(s.Name, s.Text(&r.Plan, &r.Plan.Load))
		}
	}
	return config
}

// benchValue returns a value in the unit that benchstat scales: seconds, bytes, or a count of something. Its name is the
// unit's beginning, as in Go's own p99-latency-ns.
func benchValue(m *metric.Metric, v float64) (float64, string) {
	name := strings.ReplaceAll(m.Name, ".", "-")
	if m.Unit.Bench == nil {
		return v, name
	}
	name, divisor := m.Unit.Bench(name)
	return v / divisor, name
}
