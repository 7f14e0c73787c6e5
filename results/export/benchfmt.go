package export

// The Go benchmark format (https://golang.org/design/14313-benchmark-format), which benchstat and its kin read.

import (
	"fmt"
	"io"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/metric"
)

// Benchfmt writes a line a trial, with its locks as the iterations and every figure that it knows. Trials that ended
// early are left out.
//
// The name of a benchmark depends on its plan alone and not on what else is in the file, so that
//
//	lockbench report -format benchfmt=base.txt base.jsonl
//	lockbench report -format benchfmt=head.txt head.jsonl
//	benchstat -filter '.unit:(locks/s OR acquire-p99-sec)' base.txt head.txt
//
// finds the pairs; in a file of a run with two sides (-vs) it has the side as well, and -col /side makes the columns if
// -ignore names what differs, such as /driver. What must be alike for a comparison to mean anything (machine, server,
// times that are seldom set) are file configuration keys, by which benchstat makes separate tables.
func Benchfmt(w io.Writer, cells []*results.Cell) (err error) {
	out := benchfmt.NewWriter(w)
	for _, c := range cells {
		for _, r := range c.Trials {
			if r.Partial == "" && err == nil {
				err = out.Write(benchmark(r))
			}
		}
	}
	return err
}

// dividers are what would divide a name: blanks, and the slash between its parts.
var dividers = strings.NewReplacer("/", "_", " ", "_")

// benchmark returns the line of a trial. Its name is Lock, what tells the plan from others, and GOMAXPROCS at its
// place: Lock/driver=rueidis/lock=set-nx/wait=backoff/clients=64/keys=10-2.
func benchmark(r *results.Record) *benchfmt.Result {
	line, name := &benchfmt.Result{Iters: int(r.Counts.Acquired)}, "Lock"
	add := func(key, value string, constant bool) {
		switch value = plain(value); {
		case value != "" && constant:
			line.Config = append(line.Config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		case value != "":
			name += "/" + key + "=" + dividers.Replace(words(value))
		}
	}
	add("side", r.Side, false)
	add("goos", r.Env.OS, true)
	add("goarch", r.Env.Arch, true)
	add("cpu", r.Env.CPU, true)
	add("server", serverName(r.Server), true)
	add("persistence", r.Server.Persistence, true)
	for _, s := range settings {
		add(s.Name, textOf(s, r), s.Constant)
	}
	line.Name = fmt.Appendf(nil, "%s-%d", name, max(1, r.Env.GOMAXPROCS))
	for _, m := range metric.All() {
		if value, unit := benchValue(m, m.Of(r.Figures())); known(value) != nil {
			line.Values = append(line.Values, benchfmt.Value{Value: value, Unit: unit})
		}
	}
	return line
}

// benchValue returns a value in the unit that benchstat scales: seconds, bytes, or a count of something, as it takes
// 0 ns for another unit than 0 s. The metric's name comes first, as in p99-latency-ns of Go itself, and what it is per
// comes last: server-cpu-sec/lock.
func benchValue(m *metric.Metric, v float64) (float64, string) {
	name := strings.ReplaceAll(m.Name, ".", "-")
	at, end := strings.IndexByte(name+"/", '/'), endings[m.Unit]
	return v / max(end.divide, 1), name[:at] + end.bench + name[at:]
}
