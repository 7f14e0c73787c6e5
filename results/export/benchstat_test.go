package export

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
)

// benchstat runs the real one, of the version in go.mod.
func benchstat(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("go", append([]string{"tool", "benchstat"}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("benchstat %v: %v\n%s", args, err, &errs)
	}
	return out.String()
}

// scattered are trials of three cells, n of each, whose figures scatter by 3 % around what factor makes of them.
func scattered(n int, seed uint64, factor float64) []*results.Record {
	rnd := rand.New(rand.NewPCG(seed, seed))
	var recs []*results.Record
	for cell, driver := range []string{"rueidis", "go-redis", "null"} {
		for trial := range n {
			r := record(0)
			r.ID, r.Cell, r.Trial, r.Plan.Driver = fmt.Sprintf("%d-%d-%d", seed, cell, trial), cell, trial+1, driver
			noise := func() float64 { return 1 + 0.03*rnd.NormFloat64() }
			change := 1 + (factor-1)*float64(cell) // none in the first cell
			r.Counts.Acquired = int64(400_000 * noise() / change)
			r.Counts.Released, r.Safety.Grants = r.Counts.Acquired, 2*r.Counts.Acquired
			slower := noise() * change
			l := r.Latency[results.Acquire]
			for _, d := range []*time.Duration{&l.P50, &l.P90, &l.P99, &l.P999, &l.Max, &l.Mean} {
				*d = time.Duration(float64(*d) * slower)
			}
			r.Latency[results.Acquire] = l
			r.Cost.ServerCPUUs *= noise() * change
			recs = append(recs, r)
		}
	}
	return recs
}

// TestBenchstatAgrees has the real benchstat compare what Benchfmt writes, and holds its medians, changes and p to ours, to the
// digits that it prints.
func TestBenchstatAgrees(t *testing.T) {
	dir := t.TempDir()
	base, head := cells(t, scattered(10, 1, 1)...), cells(t, scattered(10, 2, 1.08)...)
	for name, side := range map[string][]*results.Cell{"base.txt": base, "head.txt": head} {
		var b bytes.Buffer
		if err := Benchfmt(&b, side); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	theirs := benchstatRows(t, benchstat(t, "-format", "csv", filepath.Join(dir, "base.txt"), filepath.Join(dir, "head.txt")))

	thresholds, err := compare.ParseThresholds("locks/s<-5%,acquire.p99>+10%,server-cpu/lock>+5%")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := compare.Compare(compare.Input{Name: "base", Cells: base}, compare.Input{Name: "head", Cells: head}, compare.Options{Thresholds: thresholds})
	if err != nil {
		t.Fatal(err)
	}
	compared, significant := 0, 0
	for _, cell := range ours.Cells {
		for _, r := range cell.Figures {
			_, unit := benchValue(r.Figure, 0)
			name := string(benchmark(cell.Base[0]).Name)
			row, ok := theirs[name+" "+unit]
			if !ok {
				t.Fatalf("%s %s: benchstat has %d rows and not this one", cell.Label, r.Figure.Name, len(theirs))
			}
			compared++
			for _, side := range []struct {
				name         string
				ours, theirs float64
			}{{"base", r.Change.Base.Median, row.base}, {"head", r.Change.Head.Median, row.head}} {
				if v, _ := benchValue(r.Figure, side.ours); math.Abs(v-side.theirs) > 1e-9*math.Abs(v) {
					t.Errorf("%s %s: %s %v, benchstat says %v", cell.Label, r.Figure.Name, side.name, v, side.theirs)
				}
			}
			if p := fmt.Sprintf("p=%0.3f n=%d", r.Change.P, r.Change.Base.N); row.p != p {
				t.Errorf("%s %s: %s, benchstat says %s", cell.Label, r.Figure.Name, p, row.p)
			}
			delta := "~"
			if r.Change.P < 0.05 {
				delta = fmt.Sprintf("%+.2f%%", 100*(r.Change.Head.Median/r.Change.Base.Median-1)) // which ours is close to
				significant++
			}
			if row.delta != delta {
				t.Errorf("%s %s: %s, benchstat says %s", cell.Label, r.Figure.Name, delta, row.delta)
			}
		}
	}
	if compared < 9 || significant < 3 || significant == compared {
		t.Errorf("%d figures compared, %d changed: too few of one kind to show anything", compared, significant)
	}
}

// benchstatRow is a row of a table of benchstat's, which has columns of two files.
type benchstatRow struct {
	base, head float64
	delta, p   string
}

// benchstatRows reads benchstat -format csv: tables one below the other, each with its unit in a header.
func benchstatRows(t *testing.T, text string) map[string]benchstatRow {
	t.Helper()
	in := csv.NewReader(strings.NewReader(text))
	in.FieldsPerRecord = -1
	rows, unit := map[string]benchstatRow{}, ""
	for {
		f, err := in.Read()
		if err == io.EOF {
			return rows
		}
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(f) >= 7 && f[0] == "" && f[2] == "CI":
			unit = f[1]
		case len(f) >= 7 && strings.HasPrefix(f[0], "Lock/"):
			base, err1 := strconv.ParseFloat(f[1], 64)
			head, err2 := strconv.ParseFloat(f[3], 64)
			if err1 != nil || err2 != nil {
				t.Fatalf("%q: %v, %v", f, err1, err2)
			}
			rows[f[0]+" "+unit] = benchstatRow{base, head, f[5], f[6]}
		}
	}
}

// TestBenchValueIsTidy: benchstat must not find a unit to change, for it leaves zeros in the one that was written.
func TestBenchValueIsTidy(t *testing.T) {
	seen := map[string]string{}
	for _, f := range metric.All() {
		_, unit := benchValue(f, 0)
		if strings.ContainsAny(unit, " \t") || strings.Contains(unit, "ns") && !strings.Contains(f.Name, "ns") || strings.Contains(unit, "MB") {
			t.Errorf("%s: unit %q", f.Name, unit)
		}
		if other, taken := seen[unit]; taken {
			t.Errorf("%s and %s are both %q", f.Name, other, unit)
		}
		seen[unit] = f.Name
	}
}
