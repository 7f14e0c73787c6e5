package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/runner"
)

// shown returns what the progress line of a terminal of so many columns shows of the first of some trials. Time passes in
// calls of time.Sleep.
func shown(t *testing.T, columns int, of, label string, j runner.Job, run func(w *observer)) string {
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		p := &program{stderr: &progress.Writer{W: &out}}
		w := &observer{program: p, columns: columns, of: of, label: func(runner.Job) string { return label }}
		j.Number = 1
		w.Begin(j)
		run(w)
		w.End()
	})
	return out.String()
}

func TestPlainProgress(t *testing.T) {
	trial := runner.Job{Plan: spec.Plan{Duration: 10 * time.Second}, After: 12 * time.Second}
	got := shown(t, 0, " of 2", "clients 8", trial, func(w *observer) {
		for i := range 24 {
			time.Sleep(250 * time.Millisecond)
			w.Update(workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: time.Duration(i+1) * 250 * time.Millisecond, Total: 10 * time.Second, Acquired: int64(i+1) * 25_000, P99: 12345 * time.Microsecond})
		}
	})
	want := "trial 1 of 2: measure 0s of 10s | 100,000 locks/s | p99 12.3 ms | 22s left | clients 8\n" +
		"trial 1 of 2: measure 5s of 10s | 100,000 locks/s | p99 12.3 ms | 17s left | clients 8\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestTerminalProgress(t *testing.T) {
	got := shown(t, 72, "", "", runner.Job{Plan: spec.Plan{Duration: 10 * time.Second}}, func(w *observer) {
		time.Sleep(250 * time.Millisecond)
		w.Update(workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 2 * time.Second, Acquired: 250, Violations: 1, Errors: 1_000_000})
		fmt.Fprintln(w.stderr, "a message")
		time.Sleep(250 * time.Millisecond)
		w.Update(workloads.Snapshot{Phase: workloads.PhaseDrain, Elapsed: time.Second, Acquired: 500, Errors: 2, Waiting: 63})
	})
	want := "trial 1: warm-up 1s of 2s | 1,000 locks/s | 1 violation | 1,000,000 err" + // cut at 71 columns
		"\r\x1b[K" + "a message\n" +
		"trial 1: drain 1s | 1,000 locks/s | 2 errors | 63 waiting" + "\r\x1b[K"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// TestOpenLoopProgress shows what was due beside what was done.
func TestOpenLoopProgress(t *testing.T) {
	got := shown(t, 0, "", "", runner.Job{Plan: spec.Plan{Duration: time.Minute}}, func(w *observer) {
		for i := range 2 {
			s := workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: time.Duration(5*i) * time.Second, Total: time.Minute, Open: true, P99: 850 * time.Microsecond}
			if i > 0 {
				s.Acquired, s.Offered, s.Dropped, s.Queue, s.P99 = 24_000, 30_000, 40, 5_960, 2*time.Second
			}
			time.Sleep(5 * time.Second)
			w.Update(s)
		}
	})
	want := "trial 1: measure 0s of 1m | 0 arrivals/s, 0 granted | p99 850 µs | queue 0 | 1m left\n" +
		"trial 1: measure 5s of 1m | 6,000 arrivals/s, 4,800 granted | p99 2.00 s | queue 5,960 | 40 dropped | 55s left\n"
	if got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestLeft(t *testing.T) {
	w := observer{job: runner.Job{Plan: spec.Plan{Duration: 10 * time.Second}, After: time.Minute}}
	for _, test := range []struct {
		s    workloads.Snapshot
		want string
	}{
		{workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 3 * time.Second}, "1m12s left"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 10 * time.Second, Total: 10 * time.Second}, "1m left"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 11 * time.Second, Total: 10 * time.Second}, "1m left"},
	} {
		if got := w.words(test.s); got[1] != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Second: "1m30s",
		100 * time.Second: "1m40s", 2 * time.Hour: "2h", 3601 * time.Second: "1h0m1s", 10 * time.Minute: "10m",
	} {
		if got := seconds(in); got != want {
			t.Errorf("%v is %q, want %q", in, got, want)
		}
	}
}

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
		if name == "live" && strings.Contains(data, "<svg") {
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
	if events["live"] < 4 || events["chart"] == 0 || events["end"] != 1 || !strings.Contains(last["live"], "trial 2 of 2") {
		t.Errorf("events %v, status %q", events, last["status"])
	}
}
