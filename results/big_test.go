package results

// Large files: how fast they are read, and one to try a program on.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// bigLatencies returns those of a long trial, whose distributions fill thousands of slots each: some 100 KB of a record for
// 110,000 values.
func bigLatencies(seed uint64, values int) map[Metric]Latency {
	random := rand.New(rand.NewPCG(seed, 1))
	rec := NewRecorder(1)
	for _, m := range []MetricIndex{AcquireIndex, RefusalIndex, HandoffIndex, HoldIndex, ReleaseIndex, ResponseIndex, BacklogIndex} {
		for range values {
			value := time.Duration(1e6 * math.Exp(2*random.NormFloat64()))
			rec.Borrow().Record(m, value)
		}
	}
	return rec.Latencies()
}

// bigRecord is trial number trial of cell number cell, with latencies that somebody else has made.
func bigRecord(cell, trial int, latency map[Metric]Latency) *Record {
	r := numbered(trial)
	r.ID, r.Cell, r.Plan.Clients = fmt.Sprintf("big-%d-%d", cell, trial), cell, 100+cell
	r.Side, r.Pair, r.Classes, r.Plan.Classes = "", 0, nil, nil
	r.Plan.Seed = uint64(trial)
	r.Latency = latency
	r.Series = make([]Interval, 60)
	for i := range r.Series {
		r.Series[i] = Interval{At: time.Duration(i) * time.Second, Length: time.Second, Acquired: 1e5 + int64(i), P50: 1e6, P99: 1e7, Max: 1e8}
	}
	return r
}

// TestWriteBigFile makes a file of 10,000 trials in 100 cells, 1 GB, if LOCKBENCH_BIG_FILE names it:
//
//	LOCKBENCH_BIG_FILE=/tmp/big.jsonl go test -run TestWriteBigFile ./results
//	/usr/bin/time -v lockbench report /tmp/big.jsonl
func TestWriteBigFile(t *testing.T) {
	path := os.Getenv("LOCKBENCH_BIG_FILE")
	if path == "" {
		t.Skip("LOCKBENCH_BIG_FILE names no file")
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	var kinds []map[Metric]Latency // compressing takes longer than anything else here
	for i := range 20 {
		kinds = append(kinds, bigLatencies(uint64(i), 110_000))
	}
	out := json.NewEncoder(w)
	for trial := range 100 {
		for cell := range 100 {
			if err := out.Encode(bigRecord(cell, 1+trial, kinds[(cell+trial)%len(kinds)])); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkCollect reads 100 records of 100 KB.
func BenchmarkCollect(b *testing.B) {
	var text bytes.Buffer
	kinds := []map[Metric]Latency{bigLatencies(1, 110_000), bigLatencies(2, 110_000)}
	for n := range 100 {
		text.WriteString(line(b, bigRecord(n%4, 1+n, kinds[n%2])))
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		var c Collector
		if _, err := c.Read(bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
