package text

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/pagetest"
)

// side are trials of a cell: rate and p99 scatter by ± 1 %, the cheapest of a record that compare reads.
func side(name string, n int, rate float64, change func(r *results.Record)) []*results.Cell {
	c := &results.Cell{}
	for i := range n {
		f := 1 + 0.02*(float64(i)-float64(n-1)/2)/float64(n)
		r := record(0)
		r.ID, r.Trial, r.Counts.Acquired = fmt.Sprintf("%s%d", name, i), i+1, int64(10*rate*f)
		p99 := time.Duration(157e6 / f)
		r.Latency = map[results.Metric]results.Latency{
			results.Acquire: {Count: 80_000, P50: p99 / 100, P99: p99, Max: p99},
			results.Handoff: {Count: 80_000, P50: time.Duration(112e3 * f), P99: p99},
		}
		r.Cost.ServerCPUUs /= f
		change(r)
		c.Trials = append(c.Trials, r)
	}
	return []*results.Cell{c}
}

func asIs(*results.Record) {}

// comparisons returns the goldens.
func comparisons(t *testing.T) map[string]*compare.Comparison {
	compared := func(base, head []*results.Cell, on string, o compare.Options) *compare.Comparison {
		if on != "" {
			list, err := compare.ParseThresholds(on)
			if err != nil {
				t.Fatal(err)
			}
			o.Thresholds = list
		}
		c, err := compare.Compare(compare.Input{Name: "base.jsonl", Cells: base}, compare.Input{Name: "head.jsonl", Cells: head}, o)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var base, head []*results.Cell
	for i, driver := range []string{"rueidis", "go-redis", "etcd"} {
		of := func(r *results.Record) { r.Plan.Driver = driver }
		base = append(base, side(fmt.Sprint("b", i), 10, 80_000, of)...)
		head = append(head, side(fmt.Sprint("h", i), 10, 80_000*[]float64{1, 0.9, 1.2}[i], of)...)
	}
	twenty := func(name string, rate float64) (all []*results.Cell) {
		for i := range 20 {
			all = append(all, side(fmt.Sprint(name, i), 10, rate, func(r *results.Record) { r.Plan.Clients = 1 << i })...)
		}
		return all
	}
	revised := func(revision string) func(*results.Record) {
		return func(r *results.Record) { r.Env.Revision = revision }
	}
	hostile := side("x", 6, 40_000, func(r *results.Record) {
		r.Server.Version = "7<script>|`*_[x](y) @all\x1b[31m"
		r.Safety.Violations, r.Partial = 3, ""
	})
	return map[string]*compare.Comparison{
		"same":     compared(side("b", 10, 80_000, revised("1a2b3c")), side("h", 10, 80_100, revised("4d5e6f")), "", compare.Options{}),
		"fall":     compared(side("b", 10, 80_000, asIs), side("h", 10, 72_000, asIs), "", compare.Options{}),
		"few":      compared(side("b", 3, 80_000, asIs), side("h", 3, 72_000, asIs), "", compare.Options{}),
		"one":      compared(side("b", 1, 80_000, asIs), side("h", 1, 80_000, asIs), "locks/s<50k,recovery.p99>+5%", compare.Options{}),
		"unlike":   compared(side("b", 10, 80_000, asIs), side("h", 10, 72_000, func(r *results.Record) { r.Env.CPU = "Xeon" }), "", compare.Options{}),
		"several":  compared(base, head, "", compare.Options{}),
		"twenty":   compared(twenty("b", 80_000), twenty("h", 80_000), "", compare.Options{}),
		"hostile":  compared(side("b", 6, 80_000, asIs), hostile, "", compare.Options{}),
		"within":   compared(side("b", 10, 80_000, asIs), side("h", 10, 77_500, asIs), "locks/s<-5%", compare.Options{}),
		"lone":     compared(base, head[1:2], "", compare.Options{}),
		"improved": compared(side("b", 10, 80_000, asIs), side("h", 10, 90_000, asIs), "", compare.Options{}),
	}
}

func TestComparisons(t *testing.T) {
	for name, c := range comparisons(t) {
		t.Run(name, func(t *testing.T) {
			var text, markdown, colored bytes.Buffer
			if err := Comparison(&text, c, Options{}); err != nil {
				t.Fatal(err)
			}
			pagetest.Golden(t, "compare-"+name+".txt", text.String())
			pagetest.Width(t, text.String(), 100)
			if err := ComparisonMarkdown(&markdown, c); err != nil {
				t.Fatal(err)
			}
			pagetest.Golden(t, "compare-"+name+".md", markdown.String())
			if err := Comparison(&colored, c, Options{Color: true}); err != nil {
				t.Fatal(err)
			}
			if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); plain != text.String() {
				t.Error("the coloured output is not the plain one with colours")
			}
			if strings.ContainsAny(text.String()+markdown.String(), "\x1b\r\t") || strings.Contains(markdown.String(), "<script") {
				t.Error("control characters or markup in the output")
			}
		})
	}
}

// TestNarrowComparison: the intervals of the sides go before that of the change.
func TestNarrowComparison(t *testing.T) {
	c := comparisons(t)["fall"]
	for width, has := range map[int][2]bool{100: {true, true}, 94: {false, true}, 70: {false, false}} {
		var b bytes.Buffer
		if err := Comparison(&b, c, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{strings.Contains(b.String(), "±"), strings.Contains(b.String(), "95 % interval")}; got != has {
			t.Errorf("%d columns: %v, want %v\n%s", width, got, has, &b)
		}
	}
}

// TestFiguresOfSeveral: what no threshold judges is shown of one cell, and of several if it is asked for.
func TestFiguresOfSeveral(t *testing.T) {
	c := comparisons(t)["several"]
	for all, want := range map[bool]int{false: 0, true: 3} {
		var b bytes.Buffer
		if err := Comparison(&b, c, Options{Figures: all}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), "\nacquire.p50"); n != want {
			t.Errorf("figures %t: %d rows of acquire.p50, want %d", all, n, want)
		}
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		unit *metric.Unit
		v    float64
		want string
	}{
		{metric.PerSecond, 81_196.4, "81,196"}, {metric.Duration, 157e6, "157 ms"}, {metric.Ratio, 0.987, "0.99"}, {metric.Share, 0.8, "80 %"},
		{metric.PerLock, 2.26, "2.26"}, {metric.Micros, 9.54, "9.54 µs"}, {metric.Count, 1234, "1,234"}, {metric.Bytes, 30e6, "30.0 MB"},
		{metric.Bytes, math.NaN(), "–"}, {metric.Count, 0, "0"},
	} {
		if got := c.unit.Format(c.v); got != c.want {
			t.Errorf("%v of unit %s: %q, want %q", c.v, c.unit.Word, got, c.want)
		}
	}
}

func TestChangeText(t *testing.T) {
	for v, want := range map[float64]string{
		-0.0823: "−8.2 %", 0.0004: "0.0 %", -0.0004: "0.0 %", 0.5: "+50.0 %", 1.5: "+150 %", -0.9999: "−100 %", 0.0996: "+10.0 %",
	} {
		if got := format.Change(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
