package report_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/view"
)

// detailOf returns a single run as one line, blanks taken together.
func detailOf(t *testing.T, r *results.Record, verbose bool) string {
	t.Helper()
	var out strings.Builder
	if err := Table(&out, group(t, r), draw.Options{Verbose: verbose}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// TestPresetsAreShort: a recorded run of each preset fits 25 lines, tables of its classes and steps apart.
func TestPresetsAreShort(t *testing.T) {
	f, err := os.Open(filepath.Join("..", "..", "scripts", "recorded", "presets.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all results.Collector
	if _, err := results.Read(results.Inflate(f), all.Add); err != nil {
		t.Fatal(err)
	}
	for _, c := range all.Cells() {
		if len(c.Classes) > 0 {
			continue
		}
		var out strings.Builder
		if err := Table(&out, []*results.Cell{c}, draw.Options{}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(out.String(), "\n"); lines > 25 {
			t.Errorf("%s: %d lines\n%s", c.Plan().Workload, lines, out.String())
		}
	}
}

// TestNothingGranted: an open loop whose arrivals all still wait is behind, and says nothing of free clients.
func TestNothingGranted(t *testing.T) {
	r := opened(0)
	r.Counts = results.Counts{Offered: 5000, Unfinished: 5000}
	r.Bound, r.Latency, r.Series = results.Bound{RTT: time.Millisecond, InSystem: 2500}, nil, nil
	for _, verbose := range []bool{false, true} {
		text := detailOf(t, r, verbose)
		if strings.Contains(text, "found a free client") || !strings.Contains(strings.ToLower(text), "behind") {
			t.Errorf("verbose %t: %s", verbose, text)
		}
	}
	other := opened(1)
	other.Plan.Lock = "fenced"
	other.Bound.InSystem, other.Bound.LittleOpen = 812, 0.4 // behind as well
	for _, waited := range []float64{2500, 0.5} {
		r.Bound.InSystem = waited
		if best := view.NewRun(group(t, r, other)).Best(); len(best) != 2 || best[0] != 1 {
			t.Errorf("best first: %d", best)
		}
	}
}

// TestNoLimitOfABrokenLock: what several clients held at once has no limit, no bound and no share of one, whatever the design claims.
func TestNoLimitOfABrokenLock(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		r := record(0)
		r.Safety, r.Traits.Exclusive, r.Bound.Efficiency = violated(), exclusive, 2.5
		for _, verbose := range []bool{false, true} {
			text := detailOf(t, r, verbose)
			for _, not := range []string{"limited by", "bound", "250 %", "beaten"} {
				if strings.Contains(text, not) {
					t.Errorf("exclusive %t, verbose %t: %q in %s", exclusive, verbose, not, text)
				}
			}
		}
	}
}

// TestBeatenHasNoShare: of a bound that was too low no share is told but with -v, which says so.
func TestBeatenHasNoShare(t *testing.T) {
	r := record(2)
	r.Bound.Efficiency, r.Bound.LocksPerS = 4156, 19
	for _, verbose := range []bool{false, true} {
		if text := detailOf(t, r, verbose); strings.Contains(text, "415") != verbose || strings.Contains(text, "BEATEN: ") != verbose {
			t.Error(text)
		}
	}
}

// TestUnits: what is not in the window says so, and megabytes are those that -fail-on reads.
func TestUnits(t *testing.T) {
	r := record(0)
	r.Generator.Memory = 64_000_000
	if text := detailOf(t, r, true); !strings.Contains(text, " 64.0 MB of memory") || !strings.Contains(text, "in 89,000 grants with warm-up, ") {
		t.Error(text)
	}
	r.Plan.Warmup, r.Latency = 0, maps.Clone(r.Latency)
	if text := detailOf(t, r, false); strings.Contains(text, "with warm-up") {
		t.Error(text)
	}
}
