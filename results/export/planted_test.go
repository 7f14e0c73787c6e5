package export

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/perf/benchfmt"

	"github.com/lockbench/lockbench/results"
)

// planted returns a distribution with a value of its own for each figure, in milliseconds from at: 1 for the median, and 2, 3
// and 4 for p90, p99 and p99.9. The greatest is 5 more.
func planted(t *testing.T, at int) results.Latency {
	t.Helper()
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i, n := range []int{5500, 3600, 810, 81, 9} {
		for range n {
			shard.Record(results.AcquireIndex, time.Duration(at+i+1)*time.Millisecond)
		}
	}
	return rec.Latencies()[results.Acquire]
}

// TestPlantedFigures looks for each percentile of two metrics where each format has it.
func TestPlantedFigures(t *testing.T) {
	r := record(0)
	r.Latency = map[results.Metric]results.Latency{results.Acquire: planted(t, 10), results.Release: planted(t, 20)}
	want := map[string]float64{} // ns, by the names of figures
	for m, l := range r.Latency {
		for name, v := range map[string]time.Duration{"p50": l.P50, "p90": l.P90, "p99": l.P99, "p999": l.P999, "max": l.Max, "mean": l.Mean} {
			want[string(m)+"."+name] = float64(v)
		}
	}
	for name, about := range map[string]int{"acquire.p50": 11, "acquire.p90": 12, "acquire.p99": 13, "acquire.p999": 14, "acquire.max": 15} {
		if ms := want[name] / 1e6; ms < float64(about) || ms > float64(about)+0.02 {
			t.Fatalf("%s: %v ms were planted, and it is %v", name, about, ms)
		}
	}
	all := cells(t, r)

	var text bytes.Buffer
	if err := CSV(&text, all); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range want {
		at := slices.Index(rows[0], name+"_ns")
		if at < 0 || rows[1][at] != strconv.FormatFloat(v, 'f', -1, 64) {
			t.Errorf("CSV: %s is column %d of %q, want %v", name, at, rows[1], v)
		}
	}

	text.Reset()
	if err := Benchfmt(&text, all); err != nil {
		t.Fatal(err)
	}
	in := benchfmt.NewReader(&text, "planted")
	var result *benchfmt.Result
	for in.Scan() {
		if one, ok := in.Result().(*benchfmt.Result); ok {
			result = one.Clone()
		}
	}
	for name, v := range want {
		unit := string(bytes.ReplaceAll([]byte(name), []byte("."), []byte("-"))) + "-sec"
		if got, ok := result.Value(unit); !ok || got < 0.999999*v/1e9 || got > 1.000001*v/1e9 {
			t.Errorf("benchfmt: %s is %v, want %v ns", unit, got, v)
		}
	}
}
