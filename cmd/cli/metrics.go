// -metrics-addr: the trial under way as Prometheus metrics. They are made when somebody asks, from totals that are there
// anyhow; until then they cost nothing.

package cli

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

// metricsPath is where the metrics are.
const metricsPath = "/metrics"

// readMetricsAddr reads HOST:PORT, or a port alone, which listens on this machine only. To let others in takes a word:
// ":9090" is all of its addresses.
func readMetricsAddr(text string) (string, error) {
	addr := text
	if !strings.Contains(addr, ":") {
		addr = net.JoinHostPort("127.0.0.1", addr)
	}
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", usageErrorf("-metrics-addr %s: must be HOST:PORT, such as 127.0.0.1:9090 or :9090 (every address of this machine), "+
			"or a port alone (9090), which listens on 127.0.0.1", text)
	}
	return addr, nil
}

const (
	maxScrapes    = 32               // at once; others are refused with status 503
	scrapeTimeout = 10 * time.Second // as long as Prometheus waits for an answer by default
	gatherEvery   = 250 * time.Millisecond
)

// sharedGatherer gathers at most once in gatherEvery, so that scrapers, however many and however fast, do not take the
// processor from the load. Those that come in between wait for the next time and share what it finds: none gets
// figures from before it asked.
type sharedGatherer struct {
	from prometheus.Gatherer
	turn chan struct{} // of one: whoever has put something in may gather

	began time.Time // the last time
	found []*dto.MetricFamily
	err   error
}

func newSharedGatherer(from prometheus.Gatherer) *sharedGatherer {
	return &sharedGatherer{from: from, turn: make(chan struct{}, 1)}
}

// Gather gathers, or waits for somebody else's.
func (g *sharedGatherer) Gather() ([]*dto.MetricFamily, error) {
	asked := time.Now()
	g.turn <- struct{}{}
	defer func() { <-g.turn }()
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

// metricsServer serves the metrics of a run. A nil one does nothing.
type metricsServer struct {
	exporter exporter
	server   http.Server
	addr     net.Addr
	serving  sync.WaitGroup
}

// serveMetrics listens at once, so that an address that cannot be had is said before anything is started.
func serveMetrics(ctx context.Context, text, version string) (*metricsServer, error) {
	if text == "" {
		return nil, nil
	}
	addr, err := readMetricsAddr(text)
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err // the rest is the address again
		}
		return nil, fmt.Errorf("-metrics-addr %s: %w", text, err)
	}
	m := &metricsServer{addr: listener.Addr(), exporter: exporter{version: version}}
	registry := prometheus.NewRegistry()
	registry.MustRegister(&m.exporter, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET "+metricsPath, promhttp.HandlerFor(newSharedGatherer(registry), promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes,
	}))
	mux.Handle("GET /{$}", http.RedirectHandler(metricsPath, http.StatusFound))
	m.server = http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: scrapeTimeout, IdleTimeout: time.Minute,
	}
	m.serving.Go(func() { _ = m.server.Serve(listener) })
	return m, nil
}

// url is where they are.
func (m *metricsServer) url() string { return "http://" + m.addr.String() + metricsPath }

// watch begins to show a trial.
func (m *metricsServer) watch(v workloads.View, t turn) { m.exporter.begin(v, t) }

// end keeps the last state of the trial for the next scrape, and lets go of the trial.
func (m *metricsServer) end() {
	if m != nil {
		m.exporter.end()
	}
}

// close ends the server. A scrape that is under way gets a moment.
func (m *metricsServer) close() {
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
	version string // of lockbench

	mu     sync.Mutex
	live   *workloads.View
	labels []string
	last   []prometheus.Metric
}

// trialLabels are on each metric of a trial, so that the trials of a run do not add up to nonsense. Cells count from 0
// and trials from 1, as in the record.
var trialLabels = []string{"driver", "lock", "wait", "cell", "trial"}

func (x *exporter) begin(v workloads.View, t turn) {
	p := v.Plan()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.live, x.last = &v, nil
	x.labels = []string{p.Driver, p.Lock, p.Wait, strconv.Itoa(t.cell), strconv.Itoa(t.trial + 1)}
}

func (x *exporter) end() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.live != nil {
		x.last, x.live = x.make(phaseDone), nil
	}
}

// Describe tells nothing beforehand: which metrics there are depends on the trial.
func (x *exporter) Describe(chan<- *prometheus.Desc) {}

// Collect is a scrape.
func (x *exporter) Collect(out chan<- prometheus.Metric) {
	x.mu.Lock()
	list := x.last
	if x.live != nil {
		list = x.make(string(x.live.Snapshot().Phase))
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

// outcomes are those acquisitions that were not granted.
var outcomes = []struct {
	label string
	index results.Outcome
}{
	{"contended", results.OutcomeContended}, {"timed_out", results.OutcomeTimedOut},
	{"unknown", results.OutcomeUnknown}, {"refused", results.OutcomeRefused},
}

// make makes all metrics of the trial.
func (x *exporter) make(phase string) (list []prometheus.Metric) {
	add := func(kind prometheus.ValueType, name, help string, value float64, more ...string) {
		names, values := trialLabels, x.labels
		for i := 0; i < len(more); i += 2 {
			names = append(names[:len(names):len(names)], more[i])
			values = append(values[:len(values):len(values)], more[i+1])
		}
		list = append(list, prometheus.MustNewConstMetric(prometheus.NewDesc("lockbench_"+name, help, names, nil), kind, value, values...))
	}
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	p, s := x.live.Plan(), x.live.Snapshot()

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
