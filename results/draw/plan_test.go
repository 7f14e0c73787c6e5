package draw

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// longest is how many lines an answer has at the most in short, by its candidates.
var longest = map[int]int{0: 25, 1: 25, 2: 28, 5: 38, 12: 60}

// unprintable are figures that nobody should read.
var unprintable = regexp.MustCompile(`NaN|Inf|%!|\(\)|–/s|\b0 ns|:  *\.`)

func TestPlan(t *testing.T) {
	for _, name := range capacitytest.Names {
		t.Run(name, func(t *testing.T) {
			a := capacitytest.Answer(name)
			var short, whole, colored, paper, markdown bytes.Buffer
			for _, err := range []error{
				Terminal(&short, report.Plan(a), Options{}), Terminal(&whole, report.Plan(a), Options{Verbose: true}), Terminal(&colored, report.Plan(a), Options{Color: true}),
				Terminal(&paper, paperOf(a), Options{}), Markdown(&markdown, report.Plan(a), CommentRoom),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			for _, text := range []string{short.String(), whole.String(), paper.String()} {
				pagetest.Width(t, text, defaultWidth)
			}
			for _, text := range []string{short.String(), whole.String(), paper.String(), markdown.String()} {
				if strings.ContainsAny(text, "\x00\x1b\u202e\r\t") {
					t.Error("control characters in the output")
				}
				for line := range strings.Lines(text) {
					if bad := unprintable.FindString(strings.TrimSuffix(line, "\n")); bad != "" {
						t.Errorf("%q in %s", bad, line)
					}
				}
			}
			if name != "hostile" {
				if lines := strings.Count(short.String(), "\n"); lines > longest[len(a.Candidates)] {
					t.Errorf("%d lines of %d candidates", lines, len(a.Candidates))
				}
			}
			if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); plain != short.String() {
				t.Error("the coloured output is not the plain one with colours")
			}
			if !strings.Contains(whole.String(), strings.TrimRight(paper.String(), "\n")) {
				t.Error("the analysis by itself is another than that of the answer")
			}
			pagetest.Golden(t, "plan-"+name+".txt", short.String())
			pagetest.Golden(t, "plan-"+name+"-v.txt", whole.String())
			pagetest.Golden(t, "plan-"+name+".md", markdown.String())
		})
	}
}

// TestPlanWidths: no line is wider than what it is written for, and columns go in their order.
func TestPlanWidths(t *testing.T) {
	for _, name := range capacitytest.Names {
		for _, width := range []int{60, 70, 80, 90, 121, 160} {
			var text bytes.Buffer
			if err := Terminal(&text, report.Plan(capacitytest.Answer(name)), Options{Width: width, Verbose: width >= 90}); err != nil {
				t.Fatal(err)
			}
			pagetest.Width(t, text.String(), width)
		}
	}
	var text bytes.Buffer
	if err := Terminal(&text, report.Plan(capacitytest.Answer("five")), Options{Width: 50}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), "Left out for lack of room: clients/conns, commands/lock, CPU/lock") {
		t.Errorf("which columns are left out?\n%s", &text)
	}
}

// paperOf returns a document of the analysis alone, which takes no server.
func paperOf(a *capacity.Answer) *report.Document {
	return &report.Document{Blocks: []report.Block{report.PlanAnalysis(a.Known())}}
}

// full is a disk that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func writePlan(t testing.TB, a *capacity.Answer) string {
	t.Helper()
	var out bytes.Buffer
	if err := Page(&out, report.Plan(a)); err != nil {
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
		})
	}
}

// TestPlanCharts counts what is drawn: a sign a trial in each chart, the limits of the SLO, the interval, and the rate asked for.
func TestPlanCharts(t *testing.T) {
	for name, want := range map[string]map[string]int{
		"one":     {"sign first": 4, "sign second": 10, "sign third": 4, "sign cross": 2, "band": 2, "limit": 4, "asked": 2, "curve s1": 1, "area s1": 1},
		"most":    {"sign first": 8, "sign second": 20, "sign third": 8, "sign cross": 4, "band": 4, "limit": 4, "asked": 0, "curve s1": 2, "area s1": 2},
		"atleast": {"sign arrow warn": 1, "band": 0, "asked": 2},
		"floor":   {"sign first": 4, "band": 0, "curve s1": 0},
		"partial": {"sign first": 4, "sign second": 2, "sign third": 0},
		"paper":   {"sign first": 0, "limit": 0},
		"wild":    {"sign cross": 2, "curve s1": 0, "band": 0},
		"five":    {"limit": 15, "sign good": 2, "sign warn": 1, "sign bad": 1, "sign same": 1},
	} {
		page := writePlan(t, capacitytest.Answer(name))
		_, page, _ = strings.Cut(page, "<main>")
		legend := regexp.MustCompile(`(?s)<ul class="legend signs.*?</ul>`)
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
	sign := regexp.MustCompile(`<svg x="([\d.]+)%" y="([\d.]+)" overflow="visible"><path class="sign second"`).FindAllStringSubmatch(page, -1)
	if len(line) != 2 || len(sign) != 2 {
		t.Fatalf("%d lines, %d signs", len(line), len(sign))
	}
	for i := range sign {
		if sign[i][1] != "48.08" || sign[i][2] != line[i][1] {
			t.Errorf("chart %d: a sign at %v, the limit at %v", i, sign[i][1:], line[i][1])
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
	pagetest.Harmless(t, page)
}

func TestPageErrors(t *testing.T) {
	if err := Page(io.Discard, nil); err == nil {
		t.Error("a page of nothing")
	}
	if err := Page(full{}, report.Plan(capacitytest.Answer("one"))); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("full disk: %v", err)
	}
}
