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
