package export

// The Go benchmark format (https://golang.org/design/14313-benchmark-format), which benchstat and its kin read.

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
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
// finds the pairs; in a file of a run with two sides (-vs) it has the side as well, and -col /side makes the columns.
// What must be alike for a comparison to mean anything (machine, server, times that are seldom set) are file
// configuration keys, by which benchstat makes separate tables. Versions are comments, since they may be what is
// compared, and so are trials that ended early. Durations are in seconds: benchstat takes 0 ns for another unit than
// 0 s.
func Benchfmt(w io.Writer, cells []*results.Cell) error {
	var b bytes.Buffer
	out := benchfmt.NewWriter(&b) // which has no errors
	b.WriteString("# lockbench: a line a trial; first look: benchstat -filter '.unit:(locks/s OR acquire-p99-sec)'\n")
	figures := knownTo(cells)
	for _, m := range figures {
		if m.Better != metric.Neither {
			_, unit := benchValue(m, 0)
			key := benchfmt.UnitMetadataKey{Unit: unit, Key: "better"}
			_ = out.Write(&benchfmt.UnitMetadata{UnitMetadataKey: key, OrigUnit: unit, Value: string(m.Better)})
		}
	}
	if slices.ContainsFunc(cells, func(c *results.Cell) bool { return c.First().Side != "" }) {
		b.WriteString("# base and head side by side: benchstat -col /side -ignore /driver\n")
	}
	version := ""
	for _, c := range cells {
		for _, r := range c.Trials {
			if v := versions(r.Env); v != version {
				version = v
				fmt.Fprintf(&b, "# %s\n", v)
			}
			name, config := identity(r)
			if r.Partial != "" {
				fmt.Fprintf(&b, "# left out: %s, trial %d: %s\n", name, r.Trial, plain(r.Partial))
				continue
			}
			res := &benchfmt.Result{Config: config, Name: benchfmt.Name(name), Iters: int(r.Counts.Acquired)}
			for _, m := range figures {
				if value, unit := benchValue(m, m.Of(r.Figures())); finite(value) {
					res.Values = append(res.Values, benchfmt.Value{Value: value, Unit: unit})
				}
			}
			_ = out.Write(res)
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

// versions returns what made the records that follow.
func versions(e results.Env) string {
	list := []string{"lockbench " + e.Lockbench, e.Go}
	if e.Revision != "" {
		list = slices.Insert(list, 0, "revision "+e.Revision)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Libraries)) {
		list = append(list, name+" "+e.Libraries[name])
	}
	return plain(strings.Join(list, ", "))
}

// identity returns the name of a record's benchmark and the file's keys for it. The name is Lock, what tells the plan
// from others, and GOMAXPROCS at its place: Lock/driver=rueidis/lock=set-nx/wait=backoff/clients=64/keys=10-2. The keys
// are those of go test, and what else must be alike.
func identity(r *results.Record) (name string, config []benchfmt.Config) {
	name = "Lock"
	part := func(key, value string) {
		if value != "" {
			name += "/" + key + "=" + strings.Map(partOfWord, plain(value))
		}
	}
	key := func(key, value string) {
		if value = plain(value); value != "" {
			config = append(config, benchfmt.Config{Key: key, Value: []byte(value), File: true})
		}
	}
	part("side", r.Side)
	key("goos", r.Env.OS)
	key("goarch", r.Env.Arch)
	key("cpu", r.Env.CPU)
	key("server", serverName(r.Server))
	key("persistence", r.Server.Persistence)
	for _, s := range settings {
		if s.Constant {
			key(s.Name, textOf(s, r))
		} else {
			part(s.Name, textOf(s, r))
		}
	}
	return fmt.Sprintf("%s-%d", name, max(1, r.Env.GOMAXPROCS)), config
}

// partOfWord returns r, or _ for what would divide a value: blanks, and the slash between parts of a name.
func partOfWord(r rune) rune {
	if r == '/' || unicode.IsSpace(r) || !unicode.IsPrint(r) {
		return '_'
	}
	return r
}

// benchValue returns a value in the unit that benchstat scales: seconds, bytes, or a count of something. Its name is
// the unit's beginning, as in Go's own p99-latency-ns, and what it is per comes last: server-cpu-sec/lock.
func benchValue(m *metric.Metric, v float64) (float64, string) {
	name := strings.ReplaceAll(m.Name, ".", "-")
	at := strings.IndexByte(name+"/", '/')
	return v / cmp.Or(m.Unit.Scale, 1), name[:at] + m.Unit.Bench + name[at:]
}
