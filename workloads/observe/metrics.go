// Package observe shows trials under way to other programs, as Prometheus metrics, and to browsers.
package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// Trial is the place of a trial in its run. Both count from 0.
type Trial struct{ Cell, Trial int }

// metricsPath is the path of the metrics.
const metricsPath = "/metrics"

// ParseAddr reads HOST:PORT, or a port alone, which listens on this machine only. ":9090" listens on all of its addresses.
func ParseAddr(text string) (string, error) {
	addr := text
	if !strings.Contains(addr, ":") {
		addr = net.JoinHostPort("127.0.0.1", addr)
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("must be HOST:PORT, such as 127.0.0.1:9090 or :9090 (every address of this machine), " +
			"or a port alone (9090), which listens on 127.0.0.1")
	}
	return addr, nil
}

const (
	maxScrapes    = 32               // at once; others are refused with status 503
	scrapeTimeout = 10 * time.Second // as long as Prometheus waits for an answer by default
	gatherEvery   = 250 * time.Millisecond
)

// sharedGatherer gathers at most once in gatherEvery, so that scrapers, however many and however fast, do not take the
// processor from the load. Scrapes that come in between wait for the next time and share its result: none gets figures
// from before it asked.
type sharedGatherer struct {
	from prometheus.Gatherer
	lock chan struct{} // holds an element while one scrape gathers

	began time.Time // the last time
	found []*dto.MetricFamily
	err   error
}

func newSharedGatherer(from prometheus.Gatherer) *sharedGatherer {
	return &sharedGatherer{from: from, lock: make(chan struct{}, 1)}
}

// Gather gathers, or waits for another scrape's result.
func (g *sharedGatherer) Gather() ([]*dto.MetricFamily, error) {
	asked := time.Now()
	g.lock <- struct{}{}
	defer func() { <-g.lock }()
	if g.began.After(asked) {
		return g.found, g.err
	}
	if !g.began.IsZero() {
		time.Sleep(gatherEvery - time.Since(g.began))
	}
	g.began = time.Now()
	g.found, g.err = g.from.Gather()
	return g.found, g.err
}

// Metrics is an HTTP server with the metrics of a run. They are made when they are asked for, from the totals that a trial
// has in any case; until then they cost nothing. A nil *Metrics does nothing.
type Metrics struct {
	exporter exporter
	server   http.Server
	addr     net.Addr
	serving  sync.WaitGroup
}

// Listen serves metrics at addr, which ParseAddr returned, for that version of lockbench, and a page if there is one.
func Listen(ctx context.Context, addr, version string, page *Page) (*Metrics, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // the rest is the address again
		}
		return nil, err
	}
	m := &Metrics{addr: listener.Addr(), exporter: exporter{version: version}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&m.exporter, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(newSharedGatherer(registry), promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes,
	}))
	if page != nil {
		mux.Handle("GET /{$}", page)
	} else {
		mux.Handle("GET /{$}", http.RedirectHandler(metricsPath, http.StatusFound))
	}
	m.server = http.Server{
		Handler: m.named(addr, mux), ReadHeaderTimeout: 5 * time.Second, WriteTimeout: scrapeTimeout, IdleTimeout: time.Minute,
	}
	m.serving.Go(func() { _ = m.server.Serve(listener) })
	return m, nil
}

// named refuses requests for another name than this machine's or that in addr, where only this machine may ask: a web page
// could have its own name lead here (DNS rebinding), and read what a browser then takes for its own.
func (m *Metrics) named(addr string, next http.Handler) http.Handler {
	own, _, _ := net.SplitHostPort(addr)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = strings.Trim(r.Host, "[]")
		}
		if m.Local() && net.ParseIP(host) == nil && !strings.EqualFold(host, "localhost") && !strings.EqualFold(host, own) {
			http.Error(w, "this is not the name of -metrics-addr: ask for 127.0.0.1, or listen for other machines, as with -metrics-addr :9090",
				http.StatusForbidden)
			return
		}
		defer func() { // or net/http hangs up, and writes a stack trace to stderr
			if v := recover(); v != nil {
				http.Error(w, fmt.Sprintf("panic: %v", v), http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// URL returns the address of the metrics, and PageURL that of the page.
func (m *Metrics) URL() string     { return "http://" + m.addr.String() + metricsPath }
func (m *Metrics) PageURL() string { return "http://" + m.addr.String() + "/" }

// Local reports whether only this machine can ask for them.
func (m *Metrics) Local() bool {
	addr, ok := m.addr.(*net.TCPAddr)
	return ok && addr.IP.IsLoopback()
}

// Hide sets what takes secrets out of labels.
func (m *Metrics) Hide(hide func(label string) string) {
	m.exporter.mu.Lock()
	defer m.exporter.mu.Unlock()
	m.exporter.hide = hide
}

// Begin begins to show a trial.
func (m *Metrics) Begin(v workloads.View, t Trial) {
	if m != nil {
		m.exporter.begin(v, t)
	}
}

// End keeps the last state of the trial for the next scrape, and drops the trial itself.
func (m *Metrics) End() {
	if m != nil {
		m.exporter.end()
	}
}

// Close ends the server. A scrape that is under way has a second to finish.
func (m *Metrics) Close() {
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if m.server.Shutdown(ctx) != nil {
		m.server.Close()
	}
	m.serving.Wait()
}

// exporter makes the metrics of the trial under way or, until the next one begins, of the last.
type exporter struct {
	version string              // of lockbench
	hide    func(string) string // may be nil

	mu     sync.Mutex
	live   *workloads.View
	labels []string
	last   []prometheus.Metric
}

// trialLabels are on each metric of a trial, so that the trials of a run do not add up to nonsense. Cells count from 0
// and trials from 1, as in the record.
var trialLabels = []string{"driver", "lock", "wait", "cell", "trial"}

func (x *exporter) begin(v workloads.View, t Trial) {
	p := v.Plan()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.live, x.last = &v, nil
	x.labels = []string{x.label(p.Driver), x.label(p.Lock), p.Wait, strconv.Itoa(t.Cell), strconv.Itoa(t.Trial + 1)}
}

// label makes a label of any text: a driver is a command, which may have any bytes in it, and a secret.
func (x *exporter) label(text string) string {
	if x.hide != nil {
		text = x.hide(text)
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

func (x *exporter) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live != nil {
		x.last, x.live = x.make(phaseDone), nil
	}
}

// Describe describes nothing: which metrics there are depends on the trial.
func (x *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect is a scrape.
func (x *exporter) Collect(out chan<- prometheus.Metric) {
	x.mu.Lock()
	list := x.last
	if x.live != nil {
		list = x.make("")
	}
	x.mu.Unlock()
	for _, m := range list {
		out <- m
	}
}

// phaseDone is after a trial, until the next one begins.
const phaseDone = "done"

var phases = []string{
	string(workloads.PhaseWarmup), string(workloads.PhaseMeasure), string(workloads.PhaseDrain), string(workloads.PhaseClean), phaseDone,
}

// outcomes are the outcomes of acquisitions that were not granted.
var outcomes = []struct {
	label string
	index results.Outcome
}{
	{"contended", results.OutcomeContended}, {"timed_out", results.OutcomeTimedOut}, {"gave_up", results.OutcomeGaveUp},
	{"unknown", results.OutcomeUnknown}, {"refused", results.OutcomeRefused},
}

// make makes the metrics of the trial in a phase, or in the one that it is in. The registry calls it in goroutines of its own, where
// a panic would end the run: it becomes the error of the scrape.
func (x *exporter) make(phase string) (list []prometheus.Metric) {
	defer func() {
		if v := recover(); v != nil {
			desc := prometheus.NewDesc("lockbench_trial_info", "", nil, nil)
			list = []prometheus.Metric{prometheus.NewInvalidMetric(desc, fmt.Errorf("panic: %v", v))}
		}
	}()
	add := func(kind prometheus.ValueType, name, help string, value float64, more ...string) {
		names, values := trialLabels, x.labels
		for i := 0; i < len(more); i += 2 {
			names = append(names[:len(names):len(names)], more[i])
			values = append(values[:len(values):len(values)], x.label(more[i+1]))
		}
		list = append(list, prometheus.MustNewConstMetric(prometheus.NewDesc("lockbench_"+name, help, names, nil), kind, value, values...))
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	p, s := x.live.Plan(), x.live.Snapshot()
	if phase == "" {
		phase = string(s.Phase)
	}
	add(gauge, "trial_info", "What runs; always 1.", 1, "topology", p.Topology, "server", p.Server, "workload", p.Workload,
		"rate", p.Rate.String(), "version", x.version)
	for _, name := range phases {
		add(gauge, "phase", "1 for the phase that the trial is in.", isOne(name == phase), "phase", name)
	}
	const began = "since the load began, warm-up included."
	add(counter, "acquisitions_total", "Acquisitions that have ended "+began, float64(s.Acquired), "outcome", "acquired")
	for _, o := range outcomes {
		add(counter, "acquisitions_total", "Acquisitions that have ended "+began, float64(x.live.Ended(o.index)), "outcome", o.label)
	}
	for class, n := range x.live.Errors() {
		add(counter, "errors_total", "Errors "+began, float64(n), "class", class)
	}
	if p.Oracle {
		add(counter, "violations_total", "Grants of a key that another client still held, "+began, float64(s.Violations))
	}
	add(gauge, "clients", "Clients that make the load.", float64(p.Clients))
	if s.Open {
		add(counter, "arrivals_total", "Arrivals that were due "+began, float64(s.Offered))
		add(counter, "arrivals_dropped_total", "Arrivals that found the queue full "+began, float64(s.Dropped))
		add(gauge, "queue_length", "Arrivals that wait for a client.", float64(s.Queue))
	}
	for i, name := range results.Metrics {
		if v := x.live.Values(results.MetricIndex(i)); v.Count() > 0 {
			list = append(list, newHistogram(name, v, x.live.Began(), x.labels))
		}
	}
	return list
}

func isOne(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
