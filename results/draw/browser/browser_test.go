// Package browser looks at reports in a real browser, without a screen: whether they are whole, legible and alone.
package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/safety"
)

//go:embed audit.js
var audit string

// patience is how long the browser may take for one page.
const patience = time.Minute

// browser starts one for the test, on a tab of its own. Where none is installed the test is skipped; with CI=true it fails,
// so that a suite that never ran does not pass for a green one.
func browser(t *testing.T) context.Context {
	t.Helper()
	path, err := find()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()))
	if os.Getuid() == 0 {
		options = append(options, chromedp.NoSandbox) // it refuses to be root's with one
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	ctx, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("end the browser: %v", err)
		}
		closeTab()
		end()
	})
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	return ctx
}

func find() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "headless-shell"}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no browser: none of %s is on PATH (package chromium)", strings.Join(names, ", "))
}

// recorded returns the cells of a run that is kept with the scripts.
func recorded(t *testing.T, name string) []*results.Cell {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "scripts", "recorded")
	if name == "violations" {
		dir = filepath.Join("..", "..", "testdata")
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

// awkward are cells made so that a page has it hard: long names without a blank, markup, every mark, and no figures.
func awkward(t *testing.T) []*results.Cell {
	cells := recorded(t, "violations")
	for i, c := range cells {
		c.First().Plan.Lock = strings.Repeat("anUnbreakableName", 6) + fmt.Sprint(i)
		c.First().Plan.Command = "lockbench " + strings.Repeat("x", 300)
		c.Warnings = []string{`<script>document.title = "owned"</script>` +
			`<img src=x onerror="document.title = 'owned'">` + strings.Repeat("w", 200)}
		c.Generator.Saturated, c.Generator.Why = true, "the machine was busy"
		c.Drifting = 1
		c.Counts.Errors = map[string]int64{"timeout": 7}
		c.Counts.ErrorSample = map[string]string{"timeout": "</style></script><b onclick=x>"}
	}
	empty := &results.Record{ID: "empty", Run: "other", Partial: "interrupted"}
	more, err := results.Group([]*results.Record{empty})
	if err != nil {
		t.Fatal(err)
	}
	return append(cells, more...)
}

// twoHundred are as many cells.
func twoHundred(t *testing.T) (cells []*results.Cell) {
	few := recorded(t, "topologies")
	for n := 1; len(cells) < 200; n++ {
		for _, c := range few {
			r := *c.First()
			r.Plan.Keys += 100 * n
			other := *c
			other.Trials = []*results.Record{&r}
			cells = append(cells, &other)
		}
	}
	return cells[:200]
}

// compared are n cells of a kept run, ten trials on each side, that become slower, faster, scatter too much or stay as they
// are, in turn.
func compared(t *testing.T, n int, each func(r *results.Record)) *compare.Comparison {
	t.Helper()
	few := recorded(t, "topologies")
	sides := [2]compare.Input{{Name: "base.jsonl"}, {Name: strings.Repeat("aVeryLongNameOfAFile", 4) + ".jsonl"}}
	for i := range n {
		first := few[i%len(few)].First()
		for side := range sides {
			c := &results.Cell{}
			for trial := range 10 {
				r := *first
				r.ID, r.Trial, r.Series = fmt.Sprint(i, side, trial), trial+1, nil
				r.Started = r.Started.Add(time.Duration(2*trial+side) * time.Minute)
				r.Plan.Keys += 100 * (i / len(few))
				scatter := []float64{0.01, 0.01, 0.01, 0.4, 0.01}[i%5] * float64(trial*7%10-5) / 5
				factor := 1 + scatter
				if side == 1 {
					factor *= []float64{1, 0.8, 1.3, 1, 0.1}[i%5]
				}
				r.Counts.Acquired = int64(float64(r.Counts.Acquired) * factor)
				r.Latency = map[results.Metric]results.Latency{}
				for m, l := range first.Latency {
					l.P99 = time.Duration(float64(l.P99) / factor)
					r.Latency[m] = l
				}
				each(&r)
				c.Trials = append(c.Trials, &r)
			}
			sides[side].Cells = append(sides[side].Cells, c)
		}
	}
	sides[1].Cells = sides[1].Cells[:max(1, n-1)] // and one cell that the head lacks
	c, err := compare.Compare(sides[0], sides[1], compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// comparisons are the pages of comparisons to look at.
var comparisons = map[string]func(*testing.T) *compare.Comparison{
	"one": func(t *testing.T) *compare.Comparison {
		return compared(t, 1, func(r *results.Record) { r.Steady.Drifts = true })
	},
	"twelve":      func(t *testing.T) *compare.Comparison { return compared(t, 12, func(*results.Record) {}) },
	"two hundred": func(t *testing.T) *compare.Comparison { return compared(t, 200, func(*results.Record) {}) },
	"awkward": func(t *testing.T) *compare.Comparison {
		c := compared(t, 10, func(r *results.Record) {
			r.Plan.Lock = strings.Repeat("anUnbreakableName", 6)
			r.Plan.Command = "lockbench " + strings.Repeat("x", 300)
			r.Env.Revision = strings.Repeat("r", 100)
			r.Env.CPU = `<script>document.title = "owned"</script><img src=x onerror="document.title = 'owned'">`
		})
		c.Notes = append(c.Notes, "</style></script><b onclick=x>"+strings.Repeat("w", 200))
		c.Missing = []string{strings.Repeat("missing", 30)}
		for i := range c.Cells {
			c.Cells[i].Label += strings.Repeat("anUnbreakableName", 6)
		}
		return c
	},
}

// write makes a report, and is its address.
func write(t *testing.T, cells []*results.Cell) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return draw.Page(w, report.RunPage(cells, nil)) })
}

// writeComparison makes the page of a comparison, and is its address.
func writeComparison(t *testing.T, c *compare.Comparison) string {
	t.Helper()
	return written(t, func(w io.Writer) error {
		return draw.Page(w, report.Comparison(c, "lockbench compare "+strings.Repeat("y", 200)))
	})
}

func written(t *testing.T, page func(w io.Writer) error) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "report.html")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(page(f), f.Close()); err != nil {
		t.Fatal(err)
	}
	return "file://" + name
}

// trouble collects what the browser complains of.
type trouble struct {
	own string // an address that may be asked, besides files

	mu   sync.Mutex
	list []string
}

func (tr *trouble) add(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.list = append(tr.list, fmt.Sprintf(format, args...))
}

// take returns what there was since the last call.
func (tr *trouble) take() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	list := tr.list
	tr.list = nil
	return list
}

// watch notes errors on the console, in scripts and of the page's policy, and whatever is fetched besides the file itself.
func watch(t *testing.T, ctx context.Context) *trouble {
	t.Helper()
	tr := &trouble{}
	err := chromedp.Listen(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			tr.add("exception: %s", ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			tr.add("console: %s", ev.Type)
		case *cdplog.EventEntryAdded:
			tr.add("log: %s %s", ev.Entry.Level, ev.Entry.Text)
		case *network.EventRequestWillBeSent:
			if url := ev.Request.URL; !strings.HasSuffix(url, "/report.html") && !strings.HasPrefix(url, "data:") && url != tr.own {
				tr.add("request: %s", url)
			}
		case *page.EventJavascriptDialogOpening:
			tr.add("dialog: %s", ev.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	enable := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, network.Enable, network.EnableParams{})
		_, err2 := cdp.Call(ctx, target, cdplog.Enable, cdp.Empty{})
		return errors.Join(err, err2)
	})
	if err := chromedp.Do(ctx, enable); err != nil {
		t.Fatal(err)
	}
	return tr
}

// look opens a page on a screen of that width, in that theme.
func look(t *testing.T, ctx context.Context, url string, width int64, theme string) {
	t.Helper()
	scheme := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}},
		})
		return err
	})
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, scheme, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
}

func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBrowser has one browser for all, since it takes longer to start than to look.
func TestBrowser(t *testing.T) {
	ctx := browser(t)
	tr := watch(t, ctx)
	t.Run("legible", func(t *testing.T) { testLegible(t, ctx, tr) })
	t.Run("themes", func(t *testing.T) { testThemes(t, ctx) })
	t.Run("sorting", func(t *testing.T) { testSorting(t, ctx, tr) })
	t.Run("charts", func(t *testing.T) { testCharts(t, ctx, tr) })
	t.Run("story", func(t *testing.T) { testStory(t, ctx, tr) })
	t.Run("audit", func(t *testing.T) { testAudit(t, ctx) })
	t.Run("live", func(t *testing.T) { testLive(t, ctx, tr) })
	t.Run("screens", func(t *testing.T) { testScreens(t, ctx) })
}

type screen struct {
	width int64
	theme string
}

// large are the pages that take long to look at, or look like others, each with the one screen on which that is done.
var large = map[string]screen{
	"designs": {375, "light"}, "two hundred": {1280, "dark"},
	"comparison of two hundred": {375, "dark"}, "comparison of one": {375, "light"}, "comparison of awkward": {375, "dark"},
}

// The sections that a page has to show.
const (
	ofReport     = `["throughput", "means", "summary", "latency", "percentiles", "safety", "fairness", "cost", "details", "environment", "commands"]`
	ofTrial      = `["percentiles", "means", "summary", "safety", "fairness", "cost", "details", "environment", "commands"]`
	ofComparison = `["changes", "means", "summary", "notes", "figures", "environment", "commands"]`
	ofProof      = `["matrix", "means", "summary", "hazards"]`
)

// faults returns what the audit finds.
func faults(t *testing.T, ctx context.Context, width int64, sections string) []string {
	t.Helper()
	return evaluate[[]string](t, ctx, fmt.Sprintf("(%s)(%d, %s)", audit, width, sections))
}

func testLegible(t *testing.T, ctx context.Context, tr *trouble) {
	reports := map[string]func(*testing.T) []*results.Cell{"awkward": awkward, "two hundred": twoHundred}
	for _, name := range []string{"front-door", "violations", "presets", "response", "designs"} {
		reports[name] = func(t *testing.T) []*results.Cell { return recorded(t, name) }
	}
	for name, cells := range reports {
		those := cells(t)
		sections := ofReport
		if len(those) == 1 {
			sections = ofTrial
		}
		legible(t, ctx, tr, name, write(t, those), sections)
	}
	for name, of := range comparisons {
		legible(t, ctx, tr, "comparison of "+name, writeComparison(t, of(t)), ofComparison)
	}
	legible(t, ctx, tr, "proof", proof(t, asRecorded), ofProof)
	legible(t, ctx, tr, "odd proof", proof(t, oddly), ofProof)
}

// proof writes the page of the recorded report of lockbench prove, which it may change.
func proof(t *testing.T, change func(*safety.Report)) (url string) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "..", "scripts", "recorded", "prove.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := safety.Read(results.Inflate(f))
	if err != nil {
		t.Fatal(err)
	}
	change(found)
	return written(t, func(w io.Writer) error { return draw.Page(w, report.Proof(found)) })
}

func asRecorded(*safety.Report) {}

// oddly makes it hard for the page: marks of all kinds, cells of one attempt, a wrong control, and more hazards than there are.
func oddly(r *safety.Report) {
	r.Hazards[2].Control = "rueidis set-nx survives, which has to fail"
	for i := range r.Cells {
		c := &r.Cells[i]
		switch c.Driver {
		case "rueidis":
			c.Attempts, c.Failed = min(c.Attempts, 1), min(c.Failed, 1)
		case "etcd":
			c.Listed = false
		case "mysql":
			c.Verdict, c.Story = safety.NoServer, nil
		case "redsync":
			c.Verdict, c.Why = safety.Stalled, "the attempt of B came too late"
		}
	}
	const more = 12
	for i, cells := 0, r.Cells; i < more; i++ {
		h := r.Hazards[i]
		h.Number, h.Name = len(r.Hazards)+1, fmt.Sprintf("%s-%d", h.Name, i)
		for _, c := range cells {
			if c.Hazard == r.Hazards[i].Name {
				c.Hazard = h.Name
				r.Cells = append(r.Cells, c)
			}
		}
		r.Hazards = append(r.Hazards, h)
	}
}

// testStory follows a mark of the matrix: it leads to its story, which opens.
func testStory(t *testing.T, ctx context.Context, tr *trouble) {
	look(t, ctx, proof(t, asRecorded), 1280, "light")
	const follow = `(() => {
		const mark = [...document.querySelectorAll("#matrix td a")].find((a) => a.title.startsWith("go-redis set-nx, overrun"));
		mark.click();
		const story = document.querySelector(mark.getAttribute("href"));
		const all = [...document.querySelectorAll("details")];
		return [story.closest("details").open, all.filter((d) => d.open).length === 1, story.querySelectorAll("tbody tr").length > 2,
			story.querySelector("svg .held") !== null].join();
	})()`
	if got := evaluate[string](t, ctx, follow); got != "true,true,true,true" {
		t.Errorf("a mark leads to its story, which alone opens, with events and lanes: %s", got)
	}
	const inView = `(() => {
		scrollBy(0, 200);
		const name = document.querySelector("details[open] > summary"), box = name.getBoundingClientRect();
		return name.contains(document.elementFromPoint(box.left + 30, box.top + 10)) ? name.textContent : "";
	})()`
	if name := evaluate[string](t, ctx, inView); !strings.HasPrefix(name, "overrun · go-redis set-nx ") {
		t.Errorf("within the story the hazard and the design that are in view are %q", name)
	}
	for _, fault := range tr.take() {
		t.Error(fault)
	}
}

// legible looks at one page on all screens.
func legible(t *testing.T, ctx context.Context, tr *trouble, name, url, sections string) {
	for _, width := range []int64{375, 1280} {
		for _, theme := range []string{"light", "dark"} {
			if only, large := large[name]; large && only != (screen{width, theme}) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d/%s", name, width, theme), func(t *testing.T) {
				look(t, ctx, url, width, theme)
				for _, fault := range append(faults(t, ctx, width, sections), tr.take()...) {
					t.Error(fault)
				}
				if title := evaluate[string](t, ctx, "document.title"); strings.Contains(title, "owned") {
					t.Error("text of a record ran as a script")
				}
			})
		}
	}
}

func testThemes(t *testing.T, ctx context.Context) {
	url := write(t, recorded(t, "front-door"))
	const colours = `["body", "svg.plot text"].map((s) => { const c = getComputedStyle(document.querySelector(s));
		return c.backgroundColor + c.fill }).join()`
	look(t, ctx, url, 1280, "light")
	light := evaluate[string](t, ctx, colours)
	look(t, ctx, url, 1280, "dark")
	if dark := evaluate[string](t, ctx, colours); dark == light {
		t.Errorf("light and dark are both %s", light)
	}
}

//go:embed chart.js
var chartAudit string

// testCharts looks at the charts that package draw keeps as images of a page, on a telephone and on a desk.
func testCharts(t *testing.T, ctx context.Context, tr *trouble) {
	charts, err := filepath.Glob(filepath.Join("..", "testdata", "*.svg"))
	if err != nil || len(charts) == 0 {
		t.Fatal("no charts", err)
	}
	show := func(svg string) string {
		return written(t, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, `<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>body { margin: 0 } svg { max-width: 100%%; height: auto }</style>%s`, svg)
			return err
		})
	}
	audit := func() []string { return evaluate[[]string](t, ctx, "("+chartAudit+")()") }
	for _, name := range charts {
		svg, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		url := show(string(svg))
		for _, s := range []screen{{360, "light"}, {880, "dark"}} {
			t.Run(fmt.Sprintf("%s/%d", strings.TrimSuffix(filepath.Base(name), ".svg"), s.width), func(t *testing.T) {
				look(t, ctx, url, s.width, s.theme)
				for _, fault := range append(audit(), tr.take()...) {
					t.Error(fault)
				}
			})
		}
	}
	for text, want := range map[string]string{
		`<text class="soft" x="20" y="50">one</text><text class="soft" x="25" y="52">two</text>`: "overlap",
		`<text class="soft" x="590" y="50">off the page</text>`:                                  "leaves the chart",
		`<text class="grid" x="20" y="50" style="fill: var(--grid)">pale</text>`:                 "contrast",
		`<text style="font-size: 9px" x="20" y="50">small</text>`:                                "px: small",
	} {
		svg, err := os.ReadFile(charts[0])
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(svg), "</defs>")
		_, page, _ := strings.Cut(string(svg), `<rect class="page"`)
		page, _, _ = strings.Cut(page, "/>")
		look(t, ctx, show(head+`</defs><rect class="page"`+page+"/>"+text+"</svg>"), 360, "light")
		if all := strings.Join(audit(), "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: no %q in %q", text, want, all)
		}
	}
}

// Tables sort by number, not by letter.
func testSorting(t *testing.T, ctx context.Context, tr *trouble) {
	look(t, ctx, write(t, recorded(t, "violations")), 1280, "light")
	const click = `[...document.querySelectorAll("#table thead button")].find((b) => b.textContent === "locks/s").click()`
	const column = `(() => { const t = document.querySelector("#table table");
		const at = [...t.tHead.rows[0].cells].findIndex((c) => c.textContent === "locks/s");
		return [...t.tBodies[0].rows].map((r) => parseFloat(r.cells[at].textContent.replaceAll(",", ""))) })()`
	for _, up := range []bool{true, false} {
		evaluate[chromedp.Void](t, ctx, click)
		rates := evaluate[[]float64](t, ctx, column)
		if len(rates) != 3 {
			t.Fatalf("%d rows", len(rates))
		}
		for i := range rates[1:] {
			if up != (rates[i] < rates[i+1]) {
				t.Errorf("up is %t: %v", up, rates)
			}
		}
	}
	for _, fault := range tr.take() {
		t.Error(fault)
	}
}

// What the audit is to find, it must find.
func testAudit(t *testing.T, ctx context.Context) {
	harmed := func(url, sections, harm, want string) {
		look(t, ctx, url, 375, "light")
		evaluate[chromedp.Void](t, ctx, harm)
		if all := strings.Join(faults(t, ctx, 375, sections), "\n"); !strings.Contains(all, want) {
			t.Errorf("%s: no %q in\n%s", harm, want, all)
		}
	}
	url := write(t, recorded(t, "violations"))
	for harm, want := range map[string]string{
		`document.querySelector("h1").style.width = "900px"`:                                           "the page is",
		`document.documentElement.style.setProperty("--soft", "#ccc")`:                                 "contrast",
		`document.querySelector("#means").style.marginTop = "-300px"`:                                  "section means overlaps",
		`document.querySelector("main").append(document.querySelector("#means"))`:                      "at the top",
		`document.querySelector("#means dd").style.cssText = "width: 90px; white-space: nowrap"`:       "is cut",
		`document.querySelector("#cost").remove()`:                                                     "section cost",
		`document.querySelector(".hint").style.fontSize = "9px"`:                                       "text of 9.0 px",
		`document.querySelector("svg.plot").setAttribute("viewBox", "0 0 2000 2000")`:                  "text of",
		`document.querySelectorAll("svg.plot .tick").forEach((t) => { t.setAttribute("x", 0) })`:       "labels overlap",
		`document.querySelectorAll("svg.plot > .tick").forEach((t) => { t.setAttribute("dx", 2000) })`: "off the screen",
		`document.querySelectorAll("svg.plot > title").forEach((t) => t.remove())`:                     "no title",
		`document.querySelector("summary").textContent = " "`:                                          "a summary has no name",
		`document.querySelectorAll("path.curve").forEach((p) => { p.style.stroke = "none" })`:          "no colour",
	} {
		harmed(url, ofReport, harm, want)
	}
	url = writeComparison(t, comparisons["twelve"](t))
	for harm, want := range map[string]string{
		`document.querySelector("#changes").remove()`:                                                       "section changes",
		`document.querySelector(".row .name").style.marginRight = "-300px"`:                                 "overlaps",
		`document.querySelector(".row .plotbox").style.marginTop = "-30px"`:                                 "overlaps",
		`document.querySelectorAll(".axis .tick").forEach((t) => { t.setAttribute("x", 0) })`:               "labels overlap",
		`document.documentElement.style.setProperty("--warn", "#fc0")`:                                      "contrast",
		`document.querySelectorAll("path.sign").forEach((p) => { p.style.stroke = p.style.fill = "none" })`: "no colour",
	} {
		harmed(url, ofComparison, harm, want)
	}
	url = proof(t, asRecorded)
	for harm, want := range map[string]string{
		`document.querySelector(".turned").style.transform = "translateY(-150px)"`: "is cut",
		`document.querySelectorAll(".turned")[1].style.width = "60px"`:             "overlap",
		`document.querySelector(".matrix td a").style.width = "90px"`:              "does not fit",
	} {
		harmed(url, ofProof, harm, want)
	}
}
