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
	"twelve": func(t *testing.T) *compare.Comparison { return compared(t, 12, func(*results.Record) {}) },
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

// write writes the page of a document, and returns its address.
func write(t *testing.T, d *report.Document) string {
	t.Helper()
	return written(t, func(w io.Writer) error { return draw.Page(w, d) })
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
	t.Run("live", func(t *testing.T) { testLive(t, ctx, tr) })
	t.Run("screens", func(t *testing.T) { testScreens(t, ctx) })
}

// screen is what a page is looked at on.
type screen struct {
	width int64
	theme string
}

// faults returns what the audit finds.
func faults(t *testing.T, ctx context.Context, width int64) []string {
	t.Helper()
	return evaluate[[]string](t, ctx, fmt.Sprintf("(%s)(%d)", audit, width))
}

// proof reads the recorded report of lockbench prove.
func proof(t *testing.T) *safety.Report {
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
	return found
}
