package html

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/pagetest"
)

// pagesInto is a directory that gets the pages of all answers, for somebody to look at.
var pagesInto = flag.String("pages", "", "write the pages of plans into this `directory`")

func writePlan(t testing.TB, a *capacity.Answer) string {
	t.Helper()
	var out bytes.Buffer
	if err := WritePlan(&out, a, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestPlanNeedsNothingElse(t *testing.T) {
	for _, name := range capacitytest.Names {
		t.Run(name, func(t *testing.T) {
			a := capacitytest.Answer(name)
			page := writePlan(t, a)
			pagetest.Alone(t, page, "summary", "environment")
			if len(a.Candidates) > 0 {
				pagetest.Alone(t, page, "candidates", "details")
			}
			if again := writePlan(t, capacitytest.Answer(name)); again != page {
				t.Error("two pages of one answer differ")
			}
			if *pagesInto != "" {
				if err := os.WriteFile(filepath.Join(*pagesInto, name+".html"), []byte(page), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestPlanCharts counts what is drawn: a sign a trial in each chart, the limits of the SLO, the interval, and the rate asked for.
func TestPlanCharts(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"one":     {"sign pilot": 4, "sign search": 10, "sign confirm": 4, "sign left": 2, "band": 2, "limit": 4, "asked": 2, "curve s1": 1, "area s1": 1},
		"most":    {"sign pilot": 8, "sign search": 20, "sign confirm": 8, "sign left": 4, "band": 4, "limit": 4, "asked": 0, "curve s1": 2, "area s1": 2},
		"atleast": {"sign arrow warn": 1, "band": 0, "asked": 2},
		"floor":   {"sign pilot": 4, "band": 0, "curve s1": 0},
		"partial": {"sign pilot": 4, "sign search": 2, "sign confirm": 0},
		"paper":   {"sign pilot": 0, "limit": 0},
		"wild":    {"sign left": 2, "curve s1": 0, "band": 0},
		"five":    {"limit": 15, "sign good": 2, "sign warn": 1, "sign bad": 1, "sign same": 1},
	} {
		page := writePlan(t, capacitytest.Answer(name))
		_, page, _ = strings.Cut(page, "<main>")
		legend := regexp.MustCompile(`(?s)<ul class="legend stages.*?</ul>`)
		page = legend.ReplaceAllString(page, "")
		for class, n := range want {
			if got := strings.Count(page, `class="`+class+`"`); got != n {
				t.Errorf("%s: %d of class %q, want %d", name, got, class, n)
			}
		}
	}
}

// TestPlanPlaces: the trials of a chart stand at their rates and shares. At a rate of 1,000/s on a scale to 2,080/s a sign is at
// 48 % of the width, and a share of 1 % lies on the line of an SLO of p99.
func TestPlanPlaces(t *testing.T) {
	a := capacitytest.Answer("one")
	c := &a.Candidates[0]
	a.SLO = "response.p99<20ms"
	a.Rate, c.Curve, c.Sustains = 2000, nil, capacity.Range{Low: 900, Mid: 1000, High: 1100}
	c.Points = []capacity.Point{{Rate: 1000, Share: capacity.Range{Low: 0.005, Mid: 0.01, High: 0.02}, Stage: capacity.StageSearch, P99: 20e6}}
	page := writePlan(t, a)
	line := regexp.MustCompile(`class="limit" x1="0.00%" y1="([\d.]+)"`).FindAllStringSubmatch(page, -1)
	sign := regexp.MustCompile(`<svg x="([\d.]+)%" y="([\d.]+)" overflow="visible"><path class="sign search"`).FindAllStringSubmatch(page, -1)
	if len(line) != 2 || len(sign) != 2 {
		t.Fatalf("%d lines, %d signs", len(line), len(sign))
	}
	for i := range sign {
		if sign[i][1] != "48.08" || sign[i][2] != line[i][1] {
			t.Errorf("chart %d: a sign at %v, the limit at %v", i, sign[i][1:], line[i][1])
		}
	}
}

// TestOverviewHint: what a reader needs to know of the chart, and of nothing that is not there.
func TestOverviewHint(t *testing.T) {
	far := capacitytest.Answer("most")
	far.Candidates[1].Sustains = capacity.Range{Low: 1, Mid: 2, High: 3}
	for _, tt := range []struct {
		a          *capacity.Answer
		want, lack string
	}{
		{capacitytest.Answer("five"), "The broken line is 3,000/s", "arrow"},
		{capacitytest.Answer("most"), "95 % interval.", "broken line"},
		{capacitytest.Answer("atleast"), "An arrow", "logarithmic"},
		{far, "logarithmic scale", "arrow"},
	} {
		if got := overviewHint(tt.a); !strings.Contains(got, tt.want) || strings.Contains(got, tt.lack) {
			t.Errorf("%q: want %q, and no %q", got, tt.want, tt.lack)
		}
	}
}

func TestHostilePlanDoesNotRun(t *testing.T) {
	const evil = `"'></script></style><script>alert(1)</script><img src=x onerror=alert(1)>`
	a := capacitytest.Answer("hostile")
	for i := range a.Candidates {
		c := &a.Candidates[i]
		c.Name, c.Why, c.Wrong, c.Plan.Command, c.Server.Name, c.Verdict = evil, evil, evil, evil, evil, capacity.Verdict(evil)
		c.Points[1].Stage, c.Points[1].Left = evil, evil
	}
	a.Env.Lockbench, a.Env.Libraries, a.Verdict = evil, map[string]string{evil: evil}, evil
	page := writePlan(t, a)
	pagetest.Alone(t, page, "summary", "candidates", "details")
	scripts := 0
	for _, e := range pagetest.Elements(t, page) {
		scripts += b2i(e.Name.Local == "script")
		for _, attr := range e.Attr {
			if strings.HasPrefix(attr.Name.Local, "on") {
				t.Errorf("%s has the handler %s", e.Name.Local, attr.Name.Local)
			}
		}
	}
	if scripts != 1 || strings.Contains(page, "<script>alert") || strings.ContainsAny(page, "\x00\x1b\u202e") {
		t.Errorf("%d scripts, or text of a record is not escaped", scripts)
	}
}

// TestPlanFolds: of many candidates the first are unfolded, and each has a row of the overview, of the table, and a place below.
func TestPlanFolds(t *testing.T) {
	a := capacitytest.Answer("five")
	for len(a.Candidates) < 20 {
		a.Candidates = append(a.Candidates, a.Candidates[len(a.Candidates)-5])
	}
	open, all := 0, 0
	for _, e := range pagetest.Elements(t, writePlan(t, a)) {
		if e.Name.Local != "details" {
			continue
		}
		all++
		open += b2i(hasAttr(e, "open"))
	}
	if all != 20 || open != openCandidates {
		t.Errorf("%d of %d are open", open, all)
	}
}

func hasAttr(e xml.StartElement, name string) bool {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return true
		}
	}
	return false
}

func TestPlanErrors(t *testing.T) {
	if err := WritePlan(io.Discard, nil, Options{}); err == nil {
		t.Error("a page of nothing")
	}
	if err := WritePlan(full{}, capacitytest.Answer("one"), Options{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("full disk: %v", err)
	}
}
