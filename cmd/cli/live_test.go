package cli

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/observe"
)

// TestMetricsPortTaken names the flag, and says it before anything is measured.
func TestMetricsPortTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	var stderr strings.Builder
	code := run([]string{"-driver", "memory", "-duration", "1h", "-metrics-addr", taken.Addr().String()}, nil, io.Discard, &stderr, nil, nil)
	want := "lockbench: -metrics-addr " + taken.Addr().String() + ": "
	if code != exitError || !strings.HasPrefix(stderr.String(), want) || !strings.Contains(stderr.String(), "in use") {
		t.Errorf("exit %d: %s", code, stderr.String())
	}
}

// TestLivePage reads the page of a run until its end: what it shows then is what -format html writes.
func TestLivePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	out, in := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- run([]string{"-driver", "memory", "-clients", "1,2", "-duration", "1500ms", "-warmup", "100ms", "-quiet", "-live", "-format", "html=" + file},
			nil, io.Discard, in, nil, nil)
		in.Close()
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	_, url, found := strings.Cut(lines.Text(), "lockbench: live at ")
	if !found {
		t.Fatalf("no address in %q", lines.Text())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	events, last := map[string]int{}, map[string]string{}
	for all := bufio.NewReader(answer.Body); ; {
		event, err := all.ReadString('\n')
		if err != nil {
			break
		}
		name, data := strings.TrimSpace(strings.TrimPrefix(event, "event: ")), ""
		for {
			line, _ := all.ReadString('\n')
			if line == "\n" || line == "" {
				break
			}
			data += strings.TrimPrefix(line, "data: ")
		}
		events[name]++
		last[name] = strings.TrimSuffix(data, "\n")
		if name == "live-trial" && strings.Contains(data, "<svg") {
			events["chart"]++
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if c := <-code; c != exitOK || last["report"] != string(page) {
		t.Errorf("exit code %d, and the last page is that of -format html: %t", c, last["report"] == string(page))
	}
	if events["live-so-far"] != 1 || events["live-trial"] < 3 || events["chart"] == 0 || events["end"] != 1 || !strings.Contains(last["live-so-far"], "So far: ") {
		t.Errorf("events %v, status %q", events, last["status"])
	}
}

// BenchmarkLivePage is what a second of the page takes: a drawing, and a fifth of a reading of the record. 10 ms are 1 % of a core.
func BenchmarkLivePage(b *testing.B) {
	d, err := drivers.Lookup("memory")
	if err != nil {
		b.Fatal(err)
	}
	svc, err := d.Open(b.Context(), drivers.Config{Lock: "mutex", Clients: 64})
	if err != nil {
		b.Fatal(err)
	}
	page := &livePage{Page: observe.NewPage(nil, ""), hide: func(s string) string { return s }}
	trial := workloads.Run{
		Plan: spec.Plan{
			Load: spec.Load{Clients: 64, TTL: time.Minute, Hold: time.Millisecond}, Driver: "memory", Lock: "mutex", Wait: "backoff", BackoffMin: time.Millisecond,
			BackoffMax: 100 * time.Millisecond, Keys: 100, Duration: 5 * time.Second, IOTimeout: time.Second, Server: "in-process",
		},
		Service: svc, Watch: func(v workloads.View) { page.view = v },
	}
	sent := 0
	trial.Progress = func(s workloads.Snapshot) {
		if s.Phase != workloads.PhaseMeasure || s.Elapsed < 3*time.Second || sent > 0 {
			return
		}
		for ; b.Loop(); sent++ {
			page.drawn = time.Time{}
			if sent%5 == 0 {
				page.known = time.Time{}
			}
			page.update(s)
		}
	}
	if _, err := trial.Do(b.Context()); err != nil || sent == 0 {
		b.Fatal(sent, err)
	}
}
