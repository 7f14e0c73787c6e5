package browser

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// program builds lockbench.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lockbench")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/lockbench")
	build.Dir = filepath.Join("..", "..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

// start starts lockbench with -live, and returns the address of its page.
func start(t *testing.T, path string, args ...string) (url string, cmd *exec.Cmd) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), path, append(args, "-live", "-quiet")...)
	messages, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "live at "); found {
			go func() { _, _ = io.Copy(io.Discard, messages) }()
			return url, cmd
		}
	}
	t.Fatal("it has not said where its page is")
	return "", nil
}

// await waits until a condition is true of the page.
func await(t *testing.T, ctx context.Context, condition string) {
	t.Helper()
	testwait.Until(t, condition, func() bool { return evaluate[bool](t, ctx, condition) })
}

// testLive reads the page of a run as it goes on, through a reload and trials that end, until the run is stopped; of another one it
// loses the server, and finds it again.
func testLive(t *testing.T, ctx context.Context, tr *trouble) {
	const (
		chart  = `document.querySelector("#live svg .curve") !== null`
		status = `document.getElementById("status").textContent`
	)
	path := program(t)
	args := []string{"-driver", "memory", "-clients", "4,8", "-trials", "9", "-warmup", "500ms", "-duration", "4s", "-rate", "500", "-max-queue", "9"}
	url, cmd := start(t, path, args...)
	tr.own = url
	defer func() { tr.own = "" }()
	look(t, ctx, url, 1280, "light")
	await(t, ctx, chart)
	await(t, ctx, status+`.startsWith("trial ") && document.querySelector("#live header").textContent.includes(" left")`)
	for _, width := range []int64{375, 1280} {
		for _, theme := range []string{"light", "dark"} {
			look(t, ctx, url, width, theme) // a reload
			await(t, ctx, chart)
			for _, fault := range append(faults(t, ctx, width), tr.take()...) {
				t.Errorf("%d %s: %s", width, theme, fault)
			}
		}
	}

	// The page is drawn again each second: what was unfolded stays so, and the focus where it was.
	await(t, ctx, `document.querySelector("#live summary") !== null`)
	evaluate[chromedp.Void](t, ctx, `(() => { const one = document.querySelector("#live summary");
		one.parentElement.open = true; one.focus(); document.querySelector("#live main").id = "old" })()`)
	await(t, ctx, `document.getElementById("old") === null`)
	if !evaluate[bool](t, ctx, `document.activeElement === document.querySelector("#live summary") && document.activeElement.parentElement.open`) {
		t.Error("a new drawing has folded what was open, or has lost the focus")
	}

	// The policy lets nothing run that is not the page's own.
	evaluate[chromedp.Void](t, ctx, `(() => { const part = document.createElement("div");
		part.innerHTML = '<style>body { display: none }</style><img src="data:," onerror="window.owned = 1"><svg onload="window.owned = 1">';
		const script = document.createElement("script"); script.textContent = "window.owned = 1";
		document.body.append(part, script) })()`)
	await(t, ctx, `performance.now() > 0`)
	if evaluate[bool](t, ctx, `window.owned === 1 || getComputedStyle(document.body).display === "none"`) {
		t.Error("a script or a style ran that is not the page's own")
	}
	if blocked := strings.Join(tr.take(), "\n"); !strings.Contains(blocked, "Content Security Policy") {
		t.Errorf("the policy has forbidden nothing: %s", blocked)
	}

	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	await(t, ctx, `document.title.endsWith(" – lockbench")`)
	if got := evaluate[string](t, ctx, status); !strings.HasPrefix(got, "It was stopped by interrupt.") {
		t.Errorf("the status of a run that was stopped is %q", got)
	}
	_ = cmd.Wait()
	if evaluate[int](t, ctx, `document.querySelectorAll("main table").length`) == 0 {
		t.Error("the report has no table")
	}
	for _, fault := range append(faults(t, ctx, 1280), tr.take()...) {
		t.Error(fault)
	}

	url, cmd = start(t, path, append(args, "-metrics-addr", "0")...)
	tr.own = url
	look(t, ctx, url, 375, "dark")
	await(t, ctx, chart)
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	await(t, ctx, status+`.startsWith("No answer from lockbench")`)
	if !evaluate[bool](t, ctx, chart) {
		t.Error("the last figures are gone")
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	_, _ = start(t, path, append(args, "-metrics-addr", addr)...)
	await(t, ctx, status+`.startsWith("trial 1 of")`)
	await(t, ctx, chart)
	tr.take()
}
