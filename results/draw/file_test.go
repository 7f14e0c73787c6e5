package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/view"
)

// drawn is a picture as a file.
type drawn struct {
	*report.Picture
	SVG []byte
}

// filesOf draws all pictures of cells.
func filesOf(t testing.TB, cells []*results.Cell) (all []drawn) {
	t.Helper()
	for _, p := range report.Pictures(cells) {
		var out bytes.Buffer
		if err := SVG(&out, p); err != nil {
			t.Fatal(err)
		}
		all = append(all, drawn{p, out.Bytes()})
	}
	return all
}

// find draws the picture of that name.
func find(t testing.TB, cells []*results.Cell, name string) drawn {
	t.Helper()
	p, err := report.FindPicture(cells, name)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := SVG(&out, p); err != nil {
		t.Fatal(err)
	}
	return drawn{p, out.Bytes()}
}

// planted returns a record of a made-up trial, whose waits go evenly from p50/2 up to p99.
func planted(p spec.Plan, trial int, rate float64, p50, p99 time.Duration) *results.Record {
	rec := results.NewRecorder(1)
	shard := rec.Borrow()
	for i := range 1000 {
		wait := p50/2 + p50*time.Duration(i)/1000
		if i >= 950 {
			wait = p99
		}
		shard.Record(results.AcquireIndex, wait)
	}
	p.Oracle, p.Duration, p.Server, p.IOTimeout = true, 10*time.Second, "private", time.Second
	if p.TTL == 0 {
		p.TTL = 30 * time.Second
	}
	return &results.Record{
		Schema: results.SchemaVersion, ID: fmt.Sprint(p, trial), Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Trial: trial, Plan: p,
		Elapsed: 10 * time.Second, Latency: rec.Latencies(), Traits: results.Traits{Exclusive: true},
		Server: results.Server{Kind: "private", Name: "redis", Version: "7.0.15"},
		Counts: results.Counts{Acquired: int64(10 * rate), Released: int64(10 * rate)}, Cost: results.UnknownCost(),
		Safety: results.Safety{Checked: true, Grants: int64(10 * rate)},
	}
}

func group(t testing.TB, recs ...*results.Record) []*results.Cell {
	t.Helper()
	cells, err := results.Group(recs)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// load returns a plan of a lock under some load.
func load(lock, wait string, clients, keys int, hold time.Duration) spec.Plan {
	return spec.Plan{Driver: "rueidis", Lock: lock, Wait: wait, Keys: keys, Load: spec.Load{Clients: clients, Hold: hold}}
}

// locks are three designs under two loads; one of them breaks exclusion.
func locks(t testing.TB) []*results.Cell {
	var recs []*results.Record
	for n, hold := range []time.Duration{0, time.Millisecond} {
		slower := float64(1 + 4*n)
		for trial := 1; trial <= 3; trial++ {
			vary := 1 + 0.04*float64(trial)
			recs = append(recs,
				planted(load("set-nx", "backoff", 64, 1, hold), trial, 20_000*vary/slower, time.Millisecond, 300*time.Millisecond),
				planted(load("set-nx", "queue", 64, 1, hold), trial, 30_000*vary/slower, 2*time.Millisecond, 3*time.Millisecond),
				planted(load("sequential", "native", 64, 1, hold), trial, 2_000*vary/slower, 20*time.Millisecond, 40*time.Millisecond))
		}
		broken := planted(load("set-nx-del", "backoff", 64, 1, hold), 1, 40_000/slower, time.Millisecond, 200*time.Millisecond)
		broken.Safety.Violations = 7
		recs = append(recs, broken)
	}
	for _, r := range recs {
		if r.Plan.Lock == "sequential" {
			r.Plan.Driver, r.Server = "zookeeper", results.Server{Kind: "private", Name: "zookeeper", Version: "3.8.0"}
			r.Generator.Saturated = true
			r.Traits.Fenced = true
		}
		if r.Plan.Hold > 0 {
			r.Bound = results.Bound{LocksPerS: 1.1 * 6_000, By: "keys", RTT: 50 * time.Microsecond}
		}
	}
	return group(t, recs...)
}

// samples are made-up runs of all kinds.
func samples(t testing.TB) map[string][]*results.Cell {
	return map[string][]*results.Cell{
		"locks": locks(t), "clients": clients(t), "rates": rates(t), "crashes": crashes(t), "durability": durability(t),
		"single": group(t, planted(load("set-nx", "backoff", 64, 1, 0), 1, 20_000, time.Millisecond, 300*time.Millisecond)),
	}
}

// clients are two ways of waiting over the number of clients, which end near each other, and one that has starved some.
func clients(t testing.TB) []*results.Cell { return clientsOf(t, "") }

// clientsOf are the same of some builds of lockbench.
func clientsOf(t testing.TB, builds ...string) []*results.Cell {
	var recs []*results.Record
	for i, n := range []int{8, 64, 512} {
		wait := time.Millisecond * time.Duration(n)
		for trial := 1; trial <= 2; trial++ {
			vary := 1 + 0.1*float64(trial)
			recs = append(recs, planted(load("set-nx", "poll", n, 1, 0), trial, vary*15_000/float64(i+1), wait/10, 3*wait),
				planted(load("set-nx", "backoff", n, 1, 0), trial, vary*15_500/float64(i+1), wait/10, 2*wait),
				planted(load("set-nx", "queue", n, 1, 0), trial, vary*30_000, wait/2, wait))
		}
	}
	for _, r := range recs {
		if r.Plan.Clients == 512 && r.Plan.Wait == "poll" {
			r.Fairness.Starved = 9
		}
	}
	var all []*results.Record
	for _, build := range builds {
		for _, r := range recs {
			its := *r
			its.ID, its.Env.Lockbench = r.ID+build, build
			all = append(all, &its)
		}
	}
	return group(t, all...)
}

// rates are open loops, whose response grows without bound while the acquisition does not.
func rates(t testing.TB) []*results.Cell {
	var recs []*results.Record
	for _, rate := range []string{"2000", "5000", "7000", "8000"} {
		p := load("set-nx", "queue", 64, 10, time.Millisecond)
		if err := p.Rate.UnmarshalText([]byte(rate)); err != nil {
			t.Fatal(err)
		}
		p.Arrival = spec.Poisson
		r := planted(p, 1, 2000, time.Millisecond, 5*time.Millisecond)
		r.Latency[results.Response] = r.Latency[results.Acquire]
		if rate == "8000" {
			r.Latency[results.Response] = planted(p, 1, 2000, 400*time.Millisecond, 800*time.Millisecond).Latency[results.Acquire]
		}
		recs = append(recs, r)
	}
	return group(t, recs...)
}

// crashes are locks that come free with their lease or with the session of their holder.
func crashes(t testing.TB) []*results.Cell {
	var recs []*results.Record
	for lock, p50 := range map[string]time.Duration{"advisory": time.Millisecond, "set-nx": 2 * time.Second, "fenced": 2100 * time.Millisecond} {
		p := load(lock, "backoff", 40, 20, time.Millisecond)
		p.Crash, p.TTL = 0.02, 2*time.Second
		r := planted(p, 1, 200, 100*time.Millisecond, 4*time.Second)
		r.Counts.Crashed = 40
		r.Latency[results.Recovery] = planted(p, 1, 1, p50, p50+p50/10).Latency[results.Acquire]
		recs = append(recs, r)
	}
	slices.SortFunc(recs, func(a, b *results.Record) int { return strings.Compare(a.Plan.Lock, b.Plan.Lock) })
	return group(t, recs...)
}

// durability are locks on servers that write to disk before they answer, and that do not; one of them makes no difference.
func durability(t testing.TB) []*results.Cell {
	var recs []*results.Record
	for _, lock := range []struct {
		name            string
		relaxed, strict float64
	}{{"set-nx", 80_000, 25_000}, {"advisory", 27_000, 27_100}, {"sequential", 2_000, 4_500}} {
		for _, d := range []string{"relaxed", "strict"} {
			p := load(lock.name, "backoff", 64, 10, 0)
			p.Durability = d
			rate := map[string]float64{"relaxed": lock.relaxed, "strict": lock.strict}[d]
			recs = append(recs, planted(p, 1, rate, time.Millisecond, 2*time.Millisecond))
		}
	}
	return group(t, recs...)
}

// golden is which charts of which sample are kept: one of each kind.
var golden = map[string][]string{
	"locks": {"overview", "throughput", "latency"}, "clients": {"clients"}, "rates": {"rate"}, "crashes": {"recovery"},
	"durability": {"durability"}, "single": {"percentiles"},
}

// TestGolden compares the charts of made-up runs with what they were.
func TestGolden(t *testing.T) {
	runs := samples(t)
	for run, names := range golden {
		for _, name := range names {
			c := find(t, runs[run], name)
			pagetest.Golden(t, run+"-"+name+".svg", string(c.SVG))
		}
	}
}

// TestWhichCharts makes those that the records have the data for, and no others.
func TestWhichCharts(t *testing.T) {
	want := map[string]string{
		"locks": "overview throughput latency percentiles", "clients": "overview throughput latency percentiles clients",
		"rates": "throughput latency percentiles rate", "crashes": "overview throughput latency recovery percentiles",
		"durability": "overview throughput latency percentiles durability", "single": "percentiles",
	}
	for name, cells := range samples(t) {
		var got []string
		for _, c := range filesOf(t, cells) {
			got = append(got, c.Name)
			if !slices.Contains(report.PictureNames, c.Name) {
				t.Errorf("the help does not name %s", c.Name)
			}
		}
		if strings.Join(got, " ") != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
	if _, err := report.FindPicture(locks(t), "rate"); err == nil || !strings.Contains(err.Error(), `no chart "rate"; they make overview, throughput`) {
		t.Error(err)
	}
	if report.Pictures(nil) != nil {
		t.Error("a chart of nothing")
	}
}

// TestAlt says the result to those who do not see the chart: best first, with what must not be left out.
func TestAlt(t *testing.T) {
	for _, test := range []struct {
		cells      []*results.Cell
		name, want string
	}{
		{locks(t), "throughput", "hold 0: rueidis · set-nx · wait queue 32,400; rueidis · set-nx · wait backoff 21,600; zookeeper · sequential 2,160 (saturated); " +
			"rueidis · set-nx-del · wait backoff 40,000 (mutual exclusion violated)"},
		{rates(t), "rate", "At 8,000 arrivals per second the p99 is 800 ms by response and 5.00 ms by acquire"},
		{crashes(t), "recovery", "advisory 999 µs; set-nx 2.00 s; fenced 2.10 s. The TTL is 2 s."},
		{durability(t), "durability", "set-nx 80,000 → 25,000 (69 % fewer); advisory 27,000 → 27,100 (no difference); sequential 2,000 → 4,500 (2.2 times as many)"},
		{clients(t), "clients", "wait queue: 34,500 locks/s and p99 8.00 ms with 8"},
	} {
		if c := find(t, test.cells, test.name); !strings.Contains(c.Alt, test.want) {
			t.Errorf("%s: %s\nwant %s", test.name, c.Alt, test.want)
		}
	}
}

// TestOverlapIsSeen plants two texts in one place, so that the other tests would notice.
func TestOverlapIsSeen(t *testing.T) {
	c := canvas{y: 200}
	c.text("soft", 20, 100, start, "one")
	c.text("soft", 30, 105, start, "two")
	boxes, _ := textBoxes(t, []byte(c.file(&report.Picture{Title: "Title"})))
	if len(overlaps(boxes)) != 1 {
		t.Errorf("%v of %v overlap", overlaps(boxes), boxes)
	}
}

// recorded returns the cells of a run that is kept with the scripts.
func recorded(t testing.TB, name string) []*results.Cell {
	t.Helper()
	dir := filepath.Join("..", "..", "scripts", "recorded")
	if name == "violations" { // of three designs, by a setting that is gone
		dir = filepath.Join("..", "testdata")
	}
	f, err := os.Open(filepath.Join(dir, name+".jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all results.Collector
	if _, err := results.Read(results.Inflate(f), all.Add); err != nil {
		t.Fatal(err)
	}
	return all.Cells()
}

// TestCharts holds the charts of all runs at hand to what any chart has to be.
func TestCharts(t *testing.T) {
	runs := samples(t)
	for _, name := range []string{"front-door", "violations", "response", "crash", "herd", "durability", "presets"} {
		runs[name] = recorded(t, name)
	}
	if !testing.Short() {
		runs["waits"], runs["services"] = recorded(t, "waits"), recorded(t, "services")
	}
	for name, cells := range runs {
		for _, c := range filesOf(t, cells) {
			t.Run(name+"/"+c.Name, func(t *testing.T) { check(t, c) })
		}
	}
}

// TestAwkward draws what has it hard: names that do not fit, markup, nothing at all, and very many cells.
func TestAwkward(t *testing.T) {
	long := locks(t)
	for i, c := range long {
		for _, r := range c.Trials {
			r.Plan.Lock = strings.Repeat("anUnbreakableName", 6) + fmt.Sprint(i%4)
			r.Server.Name, r.Server.Version = "<script>alert(1)</script>\x1b[31m\ufffe版本", strings.Repeat("9", 200)
		}
	}
	var many []*results.Record
	for i := range 200 {
		r := planted(load(fmt.Sprint("lock-", i), "backoff", 1<<(i%12), 1, 0), 1, float64(1+i*i), time.Duration(i)*time.Microsecond, time.Duration(i)*time.Second)
		many = append(many, r)
	}
	empty := planted(load("set-nx", "backoff", 1, 1, 0), 1, 0, 0, 0)
	empty.Latency, empty.Partial = nil, "interrupted"
	nothing := planted(load("fenced", "backoff", 1, 1, 0), 1, 0, 0, 0)
	same := planted(load("other", "backoff", 1, 1, 0), 1, 1000, time.Millisecond, time.Millisecond)
	for name, cells := range map[string][]*results.Cell{
		"long": long, "many": group(t, many...), "empty": group(t, empty), "nothing": group(t, empty, nothing), "one value": group(t, same, nothing),
	} {
		for _, c := range filesOf(t, cells) {
			t.Run(name+"/"+c.Name, func(t *testing.T) { check(t, c) })
		}
	}
}

// TestTooFewForAQuantile: rates at which no wait is known make no chart of it.
func TestTooFewForAQuantile(t *testing.T) {
	open := rates(t)
	for _, c := range open {
		c.Latency = nil
	}
	for _, c := range filesOf(t, open) {
		if c.Name == "rate" {
			t.Errorf("a chart of no waits: %s", c.Alt)
		}
		check(t, c)
	}
}

// TestBestOfMany: where there are more cells than a chart has room for, the worst are left out, and counted.
func TestBestOfMany(t *testing.T) {
	var recs []*results.Record
	for i := range 30 {
		recs = append(recs, planted(load(fmt.Sprint("lock-", i), "backoff", 8, 1, 0), 1, float64(100*(i+1)), time.Millisecond, 2*time.Millisecond))
	}
	for _, name := range []string{"overview", "throughput", "latency"} {
		c := find(t, group(t, recs...), name)
		if !strings.Contains(string(c.SVG), ">6 more rows left out.<") {
			t.Errorf("%s does not say what is left out: %s", name, c.Alt)
		}
		if _, first, _ := strings.Cut(c.Alt, "first"); name != "latency" && !strings.HasPrefix(strings.TrimLeft(first, ":. "), "lock-29 ") {
			t.Errorf("%s does not begin with the best: %s", name, c.Alt)
		}
	}
}

// TestLinesOfOneThing: a line joins cells that differ in its setting, and in nothing else.
func TestLinesOfOneThing(t *testing.T) {
	cells := durability(t)
	add := func(lock string, change func(*results.Record), durability ...string) {
		for i, d := range durability {
			p := load(lock, "backoff", 64, 10, 0)
			p.Durability = d
			r := planted(p, 1, float64(6000/(i+1)), time.Millisecond, 2*time.Millisecond)
			if i > 0 {
				change(r)
			}
			cells = append(cells, group(t, r)...)
		}
	}
	add("get-lock-a", func(r *results.Record) { r.Server.Version = "8" }, "relaxed", "relaxed")
	add("get-lock-b", func(r *results.Record) { r.Env.Lockbench = "other" }, "relaxed", "strict")
	add("get-lock-c", func(r *results.Record) { r.Partial = "interrupted" }, "relaxed", "strict")
	c := find(t, cells, "durability")
	if strings.Contains(c.Alt, "get-lock") {
		t.Errorf("a step between cells that agree in it, or differ in more: %s", c.Alt)
	}

	c = find(t, clientsOf(t, "", "other"), "clients")
	if n := strings.Count(string(c.SVG), `<path class="curve`); n != 12 { // of throughput and of the wait
		t.Errorf("%d lines of three ways of waiting in two builds", n)
	}
}

// TestSigns: each doubt has a sign of its own.
func TestSigns(t *testing.T) {
	doubts := 3 // partial, embedded, starved
	for _, f := range view.AllFlags() {
		if f.Doubt {
			doubts++
		}
	}
	if different := slices.Compact(slices.Sorted(slices.Values(badgeSigns))); len(different) < doubts {
		t.Errorf("%d signs for %d doubts", len(different), doubts)
	}
}

// TestSpreads: what the ends of bars are follows from how many trials each cell has.
func TestSpreads(t *testing.T) {
	trials := func(lock string, n int) (recs []*results.Record) {
		for i := range n {
			recs = append(recs, planted(load(lock, "queue", 8, 1, 0), i+1, float64(1000+i), time.Millisecond, 2*time.Millisecond))
		}
		return recs
	}
	for _, test := range []struct {
		a, b int
		want string
	}{{2, 3, "range"}, {6, 7, "95 % interval"}, {2, 6, "95 % interval, or range where trials are too few"}} {
		about := find(t, group(t, append(trials("a", test.a), trials("b", test.b)...)...), "throughput").About[1]
		if want := "line at their end: " + test.want + "."; !strings.HasSuffix(about, want) {
			t.Errorf("%d and %d trials: %q, want %q", test.a, test.b, about, want)
		}
	}
}

// box is a text with the room that it takes.
type box struct {
	x1, y1, x2, y2 float64
	text           string
}

// check finds what is wrong with a chart: it is no XML, text overlaps or leaves the page, it cannot do without other files, or it
// has no dark colours.
func check(t *testing.T, c drawn) {
	t.Helper()
	boxes, height := textBoxes(t, c.SVG)
	for _, a := range boxes {
		if a.x1 < 0 || a.x2 > width+0.5 || a.y1 < 0 || a.y2 > height {
			t.Errorf("%q leaves the page: %+v of %v × %v", a.text, a, width, height)
		}
	}
	for _, two := range overlaps(boxes) {
		t.Errorf("%q and %q overlap", two[0].text, two[1].text)
	}
	svg := string(c.SVG)
	for _, bad := range []string{"NaN", "Inf", "%!", "<script", "href", "@import", "foreignObject", "url(h"} {
		if strings.Contains(svg, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	for _, good := range []string{"prefers-color-scheme: dark", `viewBox="0 0 600`, `role="img"`, "<title", "<desc"} {
		if !strings.Contains(svg, good) {
			t.Errorf("it has no %q", good)
		}
	}
	colour := regexp.MustCompile(`#[0-9a-f]{3,8}\b`)
	if _, drawn, _ := strings.Cut(svg, "</style>"); colour.MatchString(drawn) || strings.Contains(mustRead("charts.css")+mustRead("file.css"), "#f") {
		t.Errorf("a colour is not one of the theme")
	}
	if len(c.Title) > 80 || c.Alt == "" {
		t.Errorf("title %q, alt %q", c.Title, c.Alt)
	}
}

func overlaps(boxes []box) (all [][2]box) {
	for i, a := range boxes {
		for _, b := range boxes[:i] {
			if a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2 {
				all = append(all, [2]box{a, b})
			}
		}
	}
	return all
}

// textBoxes returns the places of all text, as wide as it is in the widest font.
func textBoxes(t *testing.T, svg []byte) (all []box, height float64) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	var at map[string]string
	for {
		token, err := d.Token()
		if err == io.EOF {
			return all, height
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			at = map[string]string{}
			for _, a := range e.Attr {
				at[a.Name.Local] = a.Value
			}
			if e.Name.Local == "svg" && at["viewBox"] != "" {
				height, _ = strconv.ParseFloat(strings.Fields(at["viewBox"])[3], 64)
			}
			if e.Name.Local != "text" {
				at = nil
			}
		case xml.CharData:
			if at == nil || strings.TrimSpace(string(e)) == "" {
				continue
			}
			x, _ := strconv.ParseFloat(at["x"], 64)
			y, _ := strconv.ParseFloat(at["y"], 64)
			size, wide := textSize, 1.0
			switch at["class"] {
			case "title":
				size, wide = titleSize, boldWidth
			case "head", "worse", "label bad":
				wide = boldWidth
			}
			w := wide * measure(string(e), size)
			x -= map[string]float64{"start": 0, "middle": w / 2, "end": w}[at["text-anchor"]]
			all = append(all, box{x, y - 0.75*size, x + w, y + 0.2*size, string(e)})
		case xml.EndElement:
			at = nil
		}
	}
}
