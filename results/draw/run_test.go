package draw

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// runPage draws the page of a run.
func runPage(t testing.TB, cells []*results.Cell) string {
	t.Helper()
	var out bytes.Buffer
	if err := Page(&out, report.RunPage(cells, nil)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// pages are reports of runs of all kinds.
func pages(t testing.TB) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"front-door", "violations", "presets", "response"} {
		all[name] = runPage(t, recorded(t, name))
	}
	return all
}

func TestPageNeedsNothingElse(t *testing.T) {
	for name, page := range pages(t) {
		t.Run(name, func(t *testing.T) {
			if name != "front-door" { // which has one cell
				pagetest.Alone(t, page, "throughput", "latency")
			}
			pagetest.Alone(t, page, "summary", "percentiles", "safety", "fairness", "cost", "details", "environment",
				"commands")
		})
	}
}

func TestPageShowsWhatThereIs(t *testing.T) {
	for name, sections := range map[string][]string{
		"front-door": {`id="course"`}, "presets": {`id="table"`, "stocktaking</th>"},
		"violations": {`<b>Evidence</b>`, "was granted key"}, "response": {"dashed", "response", `id="settings"`, "The wait that the acquisition does not show"},
		"crash": {`id="settings"`, "From the death of a holder to the next grant", "Ring: median; dot: longest. Dotted: TTL 2 s."},
	} {
		page := runPage(t, recorded(t, name))
		for _, want := range sections {
			if !strings.Contains(page, want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
	page := runPage(t, recorded(t, "front-door"))
	if strings.Contains(page, `id="steps"`) || strings.Contains(page, `id="table"`) {
		t.Error("sections of which there is nothing to show")
	}
}

// TestOrder: the load with most contention first, in it the best cell first and one that broke exclusion last, each with what its
// design guarantees and what limits it. A single run begins with its percentiles.
func TestOrder(t *testing.T) {
	page := runPage(t, recorded(t, "services"))
	pagetest.Appear(t, page, "<h3>64 clients on 10 keys, hold 1 ms, closed loop</h3>", ">rueidis · set-nx · wait queue</a>", ">expires</span>",
		"limited by key", ">etcd · lease</a>", "session, fenced, fair", "<h3>64 clients on 10 keys, no hold, closed loop</h3>",
		"guarantees beyond what all do (exclusive, owned)")
	pagetest.Appear(t, runPage(t, recorded(t, "violations")), `id="throughput"`, ">fenced</a>", ">set-nx-del</a>", `id="latency"`, ">set-nx-del</a>")
	single := runPage(t, recorded(t, "front-door"))
	pagetest.Appear(t, single, `<section id="percentiles">`, `<section id="means">`, ">limited by</dt>", ">next</dt>", `<section id="summary">`, `<section id="safety">`)
	if strings.Count(single, ">next</dt>") != 1 || strings.Count(single, ">limited by</dt>") != 1 {
		t.Error("the page says twice what it means")
	}
	if strings.Contains(single, `<section id="throughput">`) {
		t.Error("a single trial has a chart of one bar")
	}
}

func TestHostileTextDoesNotRun(t *testing.T) {
	const evil = `"'></script></style><script>alert(1)</script><img src=x onerror=alert(1)>`
	cells := recorded(t, "presets")
	for i, c := range cells {
		c.Warnings = []string{evil}
		c.Counts.Errors, c.Counts.ErrorSample = map[string]int64{evil: 1}, map[string]string{evil: evil}
		for k := range c.Classes {
			c.Classes[k].Name = evil
		}
		r := c.First()
		r.Partial = evil
		r.ID = evil
		r.Plan.Driver, r.Plan.Lock, r.Plan.Workload = evil, evil+fmt.Sprint(i), evil
		r.Plan.Params, r.Plan.Command, r.Plan.Topology = evil, evil, evil
		r.Server.Name, r.Server.Addr, r.Server.Kind, r.Env.CPU = evil, evil, "external", evil
		r.Env.Libraries = map[string]string{evil: evil}
		c.Generator.Saturated, c.Generator.Why = true, evil
	}
	page := runPage(t, cells)
	pagetest.Alone(t, page) // no image either
	pagetest.Harmless(t, page)
	if !strings.Contains(page, "&lt;script&gt;alert(1)") {
		t.Error("text of a record is gone")
	}
}

func TestControlCharactersAreCleaned(t *testing.T) {
	cells := recorded(t, "front-door")
	cells[0].Warnings = []string{"a\x00b\x1b[31m\u202ec\ufffe\uffff"}
	if page := runPage(t, cells); strings.ContainsAny(page, "\x00\x1b\u202e\ufffe\uffff") {
		t.Error("control characters of a record reach the page")
	}
	pagetest.Elements(t, runPage(t, cells))
}

func TestTrialsWithoutTheirHistograms(t *testing.T) {
	cells := recorded(t, "violations")
	for _, c := range cells {
		for m, l := range c.Latency {
			l.HDR = ""
			c.Latency[m] = l
		}
		for _, r := range c.Trials {
			r.Series, r.Latency = nil, nil
		}
	}
	page := runPage(t, cells)
	pagetest.Elements(t, page)
	if !strings.Contains(page, `class="curve s1"`) {
		t.Error("no curve from the quantiles that are spelt out")
	}
}

func TestCellWithoutAnything(t *testing.T) {
	r := &results.Record{ID: "r", Run: "run", Started: time.Unix(0, 0)}
	cells, err := results.Group([]*results.Record{r})
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Alone(t, runPage(t, cells))
}

// TestSteadinessOfNothing: halves without a grant are not called steady.
func TestSteadinessOfNothing(t *testing.T) {
	cells := recorded(t, "front-door")
	cells[0].Steady, cells[0].Drifting = results.Steady{P: 1}, 0
	if !strings.Contains(runPage(t, cells), "<figcaption>Steadiness unclear") {
		t.Error("nothing is said of the steadiness")
	}
}

// TestThresholds: what became of each stands at the top of the page, the worst first, and the rest is folded away.
func TestThresholds(t *testing.T) {
	page := func(name, thresholds string) string {
		t.Helper()
		list, err := compare.ParseThresholds(thresholds)
		if err != nil {
			t.Fatal(err)
		}
		cells := recorded(t, name)
		var out bytes.Buffer
		if err := Page(&out, report.RunPage(cells, compare.CheckCells(cells, list, nil))); err != nil {
			t.Fatal(err)
		}
		pagetest.Alone(t, out.String())
		return out.String()
	}
	pagetest.Appear(t, page("front-door", "errors>1000000,locks/s<1000000,response.p99>1s"), `id="means"`, `<li class="bad"><span><strong>✗</strong> locks/s`, ", fails below 1,000,000",
		`<li class="warn"><span><strong>?</strong> response.p99 not measured`, `<li class="good"><span><strong>✓</strong> errors 0`, `<nav `)
	pagetest.Appear(t, page("libraries", "locks/s<1000000,errors>0"), `id="means"`, `<strong>✗</strong>`, "more thresholds</b>", `<strong>✓</strong>`, `<nav `)
}

func TestPartialIsLabelled(t *testing.T) {
	cells := recorded(t, "violations")
	cells[0].First().Partial = "interrupted"
	page := runPage(t, cells)
	for _, want := range []string{
		"· partial", `<span class="badge warn" title="partial: it ended before its time, so its figures are no whole trial&#39;s.">partial</span>`, "interrupted, after",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
}
