package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/scripts/bench"
)

// TestCompress: what is kept of the trials of a cell has the same figures, in a fraction of the size.
func TestCompress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := 1; trial <= 3; trial++ {
		rec := results.NewRecorder(1)
		shard := rec.Borrow()
		for range 20_000 {
			shard.Record(results.AcquireIndex, time.Duration(float64(trial)*rng.ExpFloat64()*float64(time.Millisecond)))
			shard.Record(results.ReleaseIndex, time.Duration(rng.IntN(400)))
		}
		err := (&results.Appender{Path: file}).Append(&results.Record{
			Schema: results.SchemaVersion, ID: string(rune('a' + trial)), Started: time.Unix(int64(trial), 0), Trial: trial, Elapsed: time.Second,
			Plan: spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute},
				Driver: "rueidis", Lock: "set-nx", Wait: "none", Keys: 1, Duration: time.Second, IOTimeout: time.Second, Server: "private"},
			Counts: results.Counts{Acquired: 20_000, Tries: 20_000, Released: 20_000}, Latency: rec.Latencies(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	before, size := cell(t, file)
	if err := compress(file); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
	after, small := cell(t, file)
	if small*3 > size {
		t.Errorf("%d bytes of %d are left", small, size)
	}
	for i, r := range before.Trials {
		if !reflect.DeepEqual(r, after.Trials[i]) {
			t.Errorf("trial %d: %+v, want %+v", i+1, after.Trials[i], r)
		}
	}
	for m, want := range before.Latency {
		got := after.Latency[m]
		if got.Count != want.Count || got.Min != want.Min || got.P50 != want.P50 || got.P90 != want.P90 || got.P99 != want.P99 || got.P999 != want.P999 || got.Max != want.Max {
			t.Errorf("%s: %+v, want %+v", m, got, want)
		}
		if off := float64(got.Mean-want.Mean) / float64(want.Mean); off < -0.001 || off > 0.001 {
			t.Errorf("%s: the mean is %v, and was %v", m, got.Mean, want.Mean)
		}
		for p := 1.0; p < 100; p++ {
			if off := quantile(t, got, p)/quantile(t, want, p) - 1; off < -1.0/128 || off > 1.0/128 {
				t.Errorf("%s: p%v is off by %.2f %%", m, p, 100*off)
			}
		}
	}
}

// cell returns the only cell of a file, and the size of the file.
func cell(t *testing.T, file string) (*results.Cell, int64) {
	t.Helper()
	recs, err := bench.Records(file)
	if err != nil {
		t.Fatal(err)
	}
	cells, err := results.Group(recs)
	if err != nil || len(cells) != 1 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	f, err := os.Stat(file)
	if os.IsNotExist(err) {
		f, err = os.Stat(file + ".gz")
	}
	if err != nil {
		t.Fatal(err)
	}
	return cells[0], f.Size()
}

func quantile(t *testing.T, l results.Latency, p float64) float64 {
	t.Helper()
	h, err := l.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	return float64(h.ValueAtPercentile(p))
}

// TestStep: a step is where a histogram of two digits begins a slot, and a slot is one of three digits.
func TestStep(t *testing.T) {
	two, three := hdrhistogram.New(1, int64(time.Hour), 2), hdrhistogram.New(1, int64(time.Hour), 3)
	for v := int64(1); v < int64(time.Hour); v += 1 + v/97 {
		if at := step(v); !two.ValuesAreEquivalent(at, v) || two.ValuesAreEquivalent(at-1, v) {
			t.Errorf("the step of %d does not begin at %d", v, at)
		}
		if n := slot(v); !three.ValuesAreEquivalent(v/n*n, v/n*n+n-1) || three.ValuesAreEquivalent(v/n*n, v/n*n+n) {
			t.Errorf("the slot of %d has not %d values", v, n)
		}
	}
}

// TestDamage: a file that cannot be read stays as it is.
func TestDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	for _, text := range []string{"{\n", `{"id":"a","latency":{"acquire":{"count":1,"hdr":"x"}}}` + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := compress(file); err == nil {
			t.Errorf("%s is compressed", text)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
}
