package browser

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/lockbench/lockbench/results/capacity/capacitytest"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
)

// documents are those of which the pages are looked at.
func documents(t *testing.T) map[string]*report.Document {
	all := map[string]*report.Document{"proof": report.Proof(proof(t)), "run of awkward": report.Run(awkward(t), nil)}
	for _, name := range []string{"violations", "presets", "response", "designs"} {
		all["run of "+name] = report.Run(recorded(t, name), nil)
	}
	for _, name := range []string{"one", "twelve", "awkward"} {
		all["comparison of "+name] = report.Comparison(comparisons[name](t))
	}
	for _, name := range []string{"five", "hostile", "crowd"} {
		all["plan of "+name] = report.Plan(capacitytest.Answer(name))
	}
	return all
}

// TestPages looks at the pages of documents on all screens, and at one that changes.
func TestPages(t *testing.T) {
	ctx := browser(t)
	tr := watch(t, ctx)
	for name, d := range documents(t) {
		url := write(t, d)
		for _, s := range []screen{{375, "light"}, {1280, "dark"}} {
			t.Run(fmt.Sprintf("%s/%d", name, s.width), func(t *testing.T) {
				look(t, ctx, url, s.width, s.theme)
				for _, fault := range append(faults(t, ctx, s.width), tr.take()...) {
					t.Error(fault)
				}
				if title := evaluate[string](t, ctx, "document.title"); strings.Contains(title, "owned") {
					t.Error("text of a record ran as a script")
				}
			})
		}
	}
	t.Run("live", func(t *testing.T) { testChanging(t, ctx, tr) })
}

// testChanging reads a page that changes: what was unfolded stays so, the focus stays where it was, and a report takes its place.
func testChanging(t *testing.T, ctx context.Context, tr *trouble) {
	events := make(chan string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", draw.LivePolicy())
		if r.Header.Get("Accept") != "text/event-stream" {
			_, _ = w.Write(draw.LivePage("lockbench run"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			select {
			case event := <-events:
				_, _ = io.WriteString(w, event)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	defer server.Close()
	send := func(name, data string) {
		events <- "event: " + name + "\ndata: " + strings.ReplaceAll(data, "\n", "\ndata: ") + "\n\n"
	}
	d := &report.Document{Title: "10 locks/s", Blocks: []report.Block{
		{Heading: "Words", Detail: true, Text: []report.Text{{Text: "<img src=x onerror='window.owned = 1'>"}}}}}
	show := func(title string) {
		d.Title = title
		part, err := draw.Live(d)
		if err != nil {
			t.Fatal(err)
		}
		send("live", string(part))
		await(t, ctx, fmt.Sprintf("document.querySelector('h1')?.textContent === %q", title))
	}
	tr.own = server.URL + "/"
	defer func() { tr.own = "" }()
	look(t, ctx, tr.own, 375, "light")
	send("status", "Trial 1 of 2")
	show("10 locks/s")
	evaluate[chromedp.Void](t, ctx, `(() => { const s = document.querySelector("summary"); s.parentElement.open = true; s.focus() })()`)
	show("20 locks/s")
	const kept = `[document.querySelector("details").open, document.activeElement.tagName, document.title, status.textContent].join()`
	if got := evaluate[string](t, ctx, strings.Replace(kept, "status.", `document.getElementById("status").`, 1)); got != "true,SUMMARY,20 locks/s,Trial 1 of 2" {
		t.Errorf("after a change of the page: %s", got)
	}
	evaluate[chromedp.Void](t, ctx, `(() => { const script = document.createElement("script"); script.textContent = "window.owned = 1";
		document.body.append(script) })()`)
	if blocked := strings.Join(tr.take(), "\n"); evaluate[bool](t, ctx, "window.owned === 1") || !strings.Contains(blocked, "Content Security Policy") {
		t.Errorf("a script ran that is not the page's own, or the policy has forbidden nothing: %s", blocked)
	}
	var page bytes.Buffer
	d.Title = "30 locks/s"
	if err := draw.Page(&page, d); err != nil {
		t.Fatal(err)
	}
	send("report", page.String())
	await(t, ctx, `document.title === "30 locks/s – lockbench" && document.getElementById("status") !== null`)
	send("end", "")
	for _, fault := range tr.take() {
		t.Error(fault)
	}
}
