package observe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

func TestParseAddr(t *testing.T) {
	for text, want := range map[string]string{
		"9090": "127.0.0.1:9090", "0": "127.0.0.1:0", ":9090": ":9090", "0.0.0.0:80": "0.0.0.0:80", "[::1]:9090": "[::1]:9090", "localhost:1": "localhost:1",
	} {
		if got, err := ParseAddr(text); got != want || err != nil {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"localhost", "localhost:", "localhost:http", ":65536", "-1", "1:2:3", "http://localhost:9090", ":", "[::1]"} {
		got, err := ParseAddr(text)
		if err == nil || !strings.HasPrefix(err.Error(), "must be HOST:PORT") {
			t.Errorf("%q is %q (%v)", text, got, err)
		}
	}
}

// scrape asks for the metrics as a Prometheus does that knows native histograms, or in text.
func scrape(t *testing.T, url string, format expfmt.FormatType) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(format)))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // so that none is left behind
	answer, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatal(answer.Status)
	}
	families := map[string]*dto.MetricFamily{}
	decoder := expfmt.NewDecoder(answer.Body, expfmt.ResponseFormat(answer.Header))
	for {
		var f dto.MetricFamily
		if err := decoder.Decode(&f); err == io.EOF {
			return families
		} else if err != nil {
			t.Fatal(err)
		}
		families[f.GetName()] = &f
	}
}

// labelled finds the metric with a label of that value, in a family that has the trial's labels.
func labelled(t *testing.T, f *dto.MetricFamily, name, value string) *dto.Metric {
	t.Helper()
	for _, m := range f.GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		if labels["driver"] != "memory" || labels["lock"] != "mutex" || labels["wait"] != "poll" || labels["cell"] != "2" || labels["trial"] != "4" {
			t.Errorf("%s has labels %v", f.GetName(), labels)
		}
		if labels[name] == value {
			return m
		}
	}
	t.Fatalf("%s has no %s=%q", f.GetName(), name, value)
	return nil
}

// native takes a native histogram apart: its buckets' upper bounds and their counts, as the format defines them
// (Prometheus, "Native histograms": spans of offsets and lengths, each count as the difference from the one before).
func native(h *dto.Histogram) (bounds []float64, counts []int64) {
	index, count, delta := int32(0), int64(0), 0
	for _, span := range h.GetPositiveSpan() {
		index += span.GetOffset()
		for range span.GetLength() {
			count += h.GetPositiveDelta()[delta]
			delta++
			bounds = append(bounds, math.Pow(2, float64(index)/math.Pow(2, float64(h.GetSchema()))))
			counts = append(counts, count)
			index++
		}
	}
	return bounds, counts
}

// checkHistogram compares a histogram with the latency that the record has of the same values.
func checkHistogram(t *testing.T, name string, h *dto.Histogram, want results.Latency) {
	t.Helper()
	bounds, counts := native(h)
	sum := int64(0)
	for _, n := range counts {
		sum += n
	}
	if h.GetSchema() != schema || int64(h.GetSampleCount()) != want.Count || sum != want.Count || h.GetZeroCount() != 0 {
		t.Errorf("%s: schema %d, %d values, %d in its buckets, want %d", name, h.GetSchema(), h.GetSampleCount(), sum, want.Count)
	}
	if mean := h.GetSampleSum() / float64(want.Count); math.Abs(mean-want.Mean.Seconds()) > 0.001*want.Mean.Seconds()+1e-9 { // which is whole ns
		t.Errorf("%s: mean %v, want %v", name, mean, want.Mean)
	}
	for q, d := range map[float64]time.Duration{0.5: want.P50, 0.99: want.P99, 1: want.Max} {
		if d == 0 {
			continue // there were too few values
		}
		rank, i := results.RankOf(q, want.Count), 0
		for ; rank > counts[i]; i++ {
			rank -= counts[i]
		}
		if off := bounds[i] / d.Seconds(); off < 0.998 || off > 1.024 { // the bound above it is at most 2.2 % away
			t.Errorf("%s: quantile %v is up to %v s, want %v", name, q, bounds[i], d)
		}
	}
	last := uint64(0)
	for i, b := range h.GetBucket() {
		if b.GetUpperBound() != classicBounds[i] || b.GetCumulativeCount() < last {
			t.Errorf("%s: classic bucket %d: %v", name, i, b)
		}
		last = b.GetCumulativeCount()
		below := 0.0
		if p50 := want.P50.Seconds(); p50 > 0 && b.GetUpperBound() > 1.001*p50 {
			below = 0.5
		}
		if float64(last) < below*float64(want.Count) {
			t.Errorf("%s: %d of %d values up to %v s, and the median is %v", name, last, want.Count, b.GetUpperBound(), want.P50)
		}
	}
	if len(h.GetBucket()) != len(classicBounds) || int64(last) != want.Count {
		t.Errorf("%s: %d classic buckets hold %d of %d values", name, len(h.GetBucket()), last, want.Count)
	}
}

// TestMetrics scrapes a trial under way, and compares what is left of it afterwards with its record.
func TestMetrics(t *testing.T) {
	server, err := Listen(t.Context(), "127.0.0.1:0", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.Hide(func(label string) string { return strings.ReplaceAll(label, "secret", "***") })
	if f := scrape(t, server.URL(), expfmt.TypeProtoDelim); f["go_goroutines"] == nil || f["lockbench_clients"] != nil {
		t.Error("before the first trial there are metrics of one, or none of the process")
	}

	p := spec.Plan{
		Load: spec.Load{Clients: 4, Hold: 2 * time.Millisecond, TTL: time.Minute, Timeout: 5 * time.Millisecond}, Driver: "memory", Lock: "mutex",
		Wait: "poll", Poll: time.Millisecond, Keys: 1, Duration: time.Hour, Warmup: 50 * time.Millisecond, IOTimeout: time.Second,
		Oracle: true, Server: "in-process", Workload: "a secret",
	}
	d, _ := drivers.Lookup(p.Driver)
	svc, err := d.Open(t.Context(), drivers.Config{Lock: p.Lock, Clients: p.Clients})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	var during map[string]*dto.MetricFamily
	var seen uint64 // acquisitions in the window
	run := workloads.Run{Plan: p, Service: svc, Prefix: "test:", Stop: func(workloads.Snapshot) string {
		during = scrape(t, server.URL(), expfmt.TypeProtoDelim)
		if all := during["lockbench_acquire_seconds"].GetMetric(); len(all) > 0 {
			seen = all[0].GetHistogram().GetSampleCount()
		}
		if seen == 0 {
			return ""
		}
		return "there is something to see"
	}}
	run.Watch = func(v workloads.View) { server.Begin(v, Trial{Cell: 2, Trial: 3}) }
	rec, err := run.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server.End()
	after := scrape(t, server.URL(), expfmt.TypeProtoDelim)

	if labelled(t, during["lockbench_phase"], "phase", "measure").GetGauge().GetValue() != 1 {
		t.Error("the measured window has another phase")
	}
	if seen == 0 || int64(seen) > rec.Counts.Acquired {
		t.Errorf("%d acquisitions during the trial, %d after it", seen, rec.Counts.Acquired)
	}

	if rec.Latency[results.Acquire].Count == 0 || rec.Latency[results.Hold].Count == 0 {
		t.Fatalf("nothing was measured: %+v", rec.Counts)
	}
	for metric := range rec.Latency {
		name := "lockbench_" + string(metric) + "_seconds"
		if after[name] == nil || after[name].GetType() != dto.MetricType_HISTOGRAM {
			t.Fatalf("there is no %s", name)
		}
		checkHistogram(t, name, labelled(t, after[name], "cell", "2").GetHistogram(), rec.Latency[metric])
	}
	if after["lockbench_response_seconds"] != nil {
		t.Error("a closed loop has responses")
	}
	for label, least := range map[string]int64{"acquired": rec.Counts.Acquired, "timed_out": rec.Counts.TimedOut, "contended": 0, "unknown": 0, "refused": 0} {
		got := int64(labelled(t, after["lockbench_acquisitions_total"], "outcome", label).GetCounter().GetValue())
		if got < least || least == 0 && got != 0 {
			t.Errorf("%s: %d with the warm-up, %d without", label, got, least)
		}
	}
	if labelled(t, after["lockbench_phase"], "phase", phaseDone).GetGauge().GetValue() != 1 ||
		labelled(t, after["lockbench_clients"], "cell", "2").GetGauge().GetValue() != 4 ||
		labelled(t, after["lockbench_trial_info"], "version", "test").GetGauge().GetValue() != 1 ||
		labelled(t, after["lockbench_trial_info"], "workload", "a ***").GetGauge().GetValue() != 1 ||
		labelled(t, after["lockbench_violations_total"], "cell", "2").GetCounter().GetValue() != 0 {
		t.Error("phase, clients, info or violations are wrong")
	}

	text := scrape(t, server.URL(), expfmt.TypeTextPlain)["lockbench_acquire_seconds"].GetMetric()[0].GetHistogram()
	if len(text.GetBucket()) != len(classicBounds)+1 || int64(text.GetSampleCount()) != rec.Counts.Acquired { // and +Inf
		t.Errorf("the text format has %d buckets of %d values", len(text.GetBucket()), text.GetSampleCount())
	}
}

// mute is a service that does not answer.
type mute struct{}

func (mute) Traits() drivers.Traits                                { return drivers.Traits{} }
func (mute) Close() error                                          { return nil }
func (mute) Session(context.Context, int) (drivers.Session, error) { return mute{}, nil }
func (mute) Try(context.Context, *drivers.Lease) (bool, error)     { return false, errors.New("no reply") }
func (mute) Release(context.Context, *drivers.Lease) (bool, error) {
	return false, errors.New("no reply")
}

// TestMetricsShowErrors counts errors by class, those apart that there were none of.
func TestMetricsShowErrors(t *testing.T) {
	x := exporter{}
	p := spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute}, Driver: "mute", Lock: "mute", Wait: "none", Keys: 1,
		Duration: 50 * time.Millisecond, IOTimeout: time.Second, Server: "external"}
	rec, err := (&workloads.Run{Plan: p, Service: mute{}, Watch: func(v workloads.View) { x.begin(v, Trial{}) }}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	x.end()
	counts := map[string]int64{}
	for _, m := range x.last {
		var out dto.Metric
		if err := m.Write(&out); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(m.Desc().String(), `"lockbench_errors_total"`) {
			for _, l := range out.GetLabel() {
				if l.GetName() == "class" {
					counts[l.GetValue()] = int64(out.GetCounter().GetValue())
				}
			}
		}
	}
	if n := counts["other"]; n < rec.Counts.Errors["other"] || n == 0 {
		t.Errorf("%d errors, the record has %v", n, rec.Counts.Errors)
	}
	if n, shown := counts["timeout"]; !shown || n != 0 || len(counts) != len(drivers.Classes) {
		t.Errorf("errors by class: %v, want timeouts 0, and %d classes", counts, len(drivers.Classes))
	}
}

// TestMetricsOfAnyName: a driver is a command, which may have any bytes in it.
func TestMetricsOfAnyName(t *testing.T) {
	server, err := Listen(t.Context(), "localhost:0", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	p := spec.Plan{Load: spec.Load{Clients: 1, TTL: time.Minute}, Driver: "exec:caf\xe9\xff", Lock: "a\xe9", Wait: "none", Keys: 1,
		Duration: time.Millisecond, IOTimeout: time.Second, Server: "external", Workload: "\xff.yaml"}
	_, err = (&workloads.Run{Plan: p, Service: mute{}, Watch: func(v workloads.View) { server.Begin(v, Trial{}) }}).Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // under way, as far as it knows, and after its end
		labels := fmt.Sprint(scrape(t, server.URL(), expfmt.TypeTextPlain)["lockbench_trial_info"].GetMetric())
		for _, want := range []string{"exec:caf\uFFFD", "a\uFFFD", "\uFFFD.yaml"} {
			if !strings.Contains(labels, want) {
				t.Errorf("no label is %s: %s", want, labels)
			}
		}
		server.End()
	}
}

// TestMetricsPanic: a panic is the answer to a request, and does not end the run.
func TestMetricsPanic(t *testing.T) {
	server, err := Listen(t.Context(), "localhost:0", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	server.exporter.live = &workloads.View{} // of no trial
	broken := server.named("localhost:0", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("no page") }))
	for path, handler := range map[string]http.Handler{metricsPath: server.server.Handler, "/": broken} {
		request, answer := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
		request.Host = "localhost"
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "panic: ") {
			t.Errorf("GET %s: status %d, %s", path, answer.Code, answer.Body)
		}
	}
	server.End()
}

// TestBucket has the bounds of the format: bucket i reaches up to 2^(i/32), which belongs to it.
func TestBucket(t *testing.T) {
	for seconds, want := range map[float64]int{1: 0, 1.0001: 1, 1.0218: 1, 1.0220: 2, 2: 32, 0.5: -32, 0.5001: -31, 1e-9: -956, 3600: 379} {
		if got := bucket(seconds); got != want {
			t.Errorf("%v s is in bucket %d, want %d", seconds, got, want)
		}
		if low, high := math.Pow(2, float64(want-1)/32), math.Pow(2, float64(want)/32); seconds <= low || seconds > high*(1+1e-12) {
			t.Errorf("bucket %d reaches from %v to %v", want, low, high)
		}
	}
}

// TestMetricsEndWithTheRun: nobody listens any longer.
func TestMetricsEndWithTheRun(t *testing.T) {
	server, err := Listen(t.Context(), "localhost:0", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	scrape(t, server.URL(), expfmt.TypeTextPlain)
	server.Close()
	var d net.Dialer
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if c, err := d.DialContext(ctx, "tcp", server.addr.String()); err == nil {
		c.Close()
		t.Error("somebody listens")
	} else if errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// TestMetricsAreForThisMachine: a page in a browser can have its own name lead to 127.0.0.1.
func TestMetricsAreForThisMachine(t *testing.T) {
	for _, test := range []struct {
		addr, host string
		status     int
	}{
		{"127.0.0.1:0", "", http.StatusOK}, {"127.0.0.1:0", "localhost:1", http.StatusOK}, {"127.0.0.1:0", "[::1]", http.StatusOK},
		{"127.0.0.1:0", "evil.example", http.StatusForbidden}, {"127.0.0.1:0", "evil.example:80", http.StatusForbidden},
		{"localhost:0", "LOCALHOST", http.StatusOK}, {"localhost:0", "evil.example", http.StatusForbidden},
		{":0", "bench.example:9090", http.StatusOK},
	} {
		m, err := Listen(t.Context(), test.addr, "v1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if local := test.addr != ":0"; m.Local() != local {
			t.Errorf("%s: Local is %v", test.addr, m.Local())
		}
		_, port, _ := net.SplitHostPort(m.addr.String())
		req, _ := http.NewRequest("GET", "http://127.0.0.1:"+port+"/metrics", nil)
		req.Host = test.host
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != test.status {
			t.Errorf("%s asked as %q: status %d, want %d", test.addr, test.host, resp.StatusCode, test.status)
		}
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		m.Close()
	}
}
