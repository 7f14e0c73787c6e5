package svg

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

var update = flag.Bool("update", false, "write the golden files anew")

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
		}
		if r.Plan.Hold > 0 {
			r.Bound = results.Bound{LocksPerS: 1.1 * 6_000, By: "keys", RTT: 50 * time.Microsecond}
		}
	}
	return group(t, recs...)
}

// samples are made-up runs of all kinds.
func samples(t testing.TB) map[string][]*results.Cell {
	return map[string][]*results.Cell{"locks": locks(t)}
}

// TestGolden compares the charts of made-up runs with what they were.
func TestGolden(t *testing.T) {
	for name, cells := range samples(t) {
		for _, c := range Charts(cells) {
			file := filepath.Join("testdata", name+"-"+c.Name+".svg")
			if *update {
				if err := os.WriteFile(file, c.SVG, 0o644); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(c.SVG, want) {
				t.Errorf("%s is not as it was (%v); look at it and run the test with -update", file, err)
			}
		}
	}
}

// TestSameCellsSameBytes makes the charts twice.
func TestSameCellsSameBytes(t *testing.T) {
	a, b := Charts(locks(t)), Charts(locks(t))
	for i := range a {
		if !bytes.Equal(a[i].SVG, b[i].SVG) {
			t.Errorf("%s differs", a[i].Name)
		}
	}
}

// recorded returns the cells of a run that is kept with the scripts.
func recorded(t testing.TB, name string) []*results.Cell {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "scripts", "recorded", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all results.Collector
	if _, err := results.Read(f, all.Add); err != nil {
		t.Fatal(err)
	}
	return all.Cells()
}

// TestCharts holds the charts of all runs at hand to what any chart has to be.
func TestCharts(t *testing.T) {
	runs := samples(t)
	for _, name := range []string{"front-door", "overstays", "ladder", "response", "crash", "herd", "durability", "presets"} {
		runs[name] = recorded(t, name)
	}
	if !testing.Short() {
		runs["waits"], runs["services"] = recorded(t, "waits"), recorded(t, "services")
	}
	for name, cells := range runs {
		for _, c := range Charts(cells) {
			t.Run(name+"/"+c.Name, func(t *testing.T) { check(t, c) })
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
func check(t *testing.T, c Chart) {
	t.Helper()
	boxes, height := textBoxes(t, c.SVG)
	for i, a := range boxes {
		if a.x1 < 0 || a.x2 > width+0.5 || a.y1 < 0 || a.y2 > height {
			t.Errorf("%q leaves the page: %+v of %v × %v", a.text, a, width, height)
		}
		for _, b := range boxes[:i] {
			if a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2 {
				t.Errorf("%q and %q overlap: %+v %+v", a.text, b.text, a, b)
			}
		}
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
	if _, drawn, _ := strings.Cut(svg, "</style>"); colour.MatchString(drawn) || strings.Contains(style, "#f") {
		t.Errorf("a colour is not one of the theme")
	}
	if len(c.Title) > 80 || c.Alt == "" {
		t.Errorf("title %q, alt %q", c.Title, c.Alt)
	}
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
			if e.Name.Local == "svg" {
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
				size, wide = titleSize, bold
			case "head", "worse":
				wide = bold
			}
			w := wide * measure(string(e), size)
			x -= map[string]float64{"start": 0, "middle": w / 2, "end": w}[at["text-anchor"]]
			all = append(all, box{x, y - 0.75*size, x + w, y + 0.2*size, string(e)})
		case xml.EndElement:
			at = nil
		}
	}
}
