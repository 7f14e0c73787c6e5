package observe

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

//go:embed grafana.json
var dashboard []byte

// exposed scrapes a trial when it has ended: the names of its metrics as text has them, each with those of its labels.
func exposed(t *testing.T, names map[string][]string, p spec.Plan, svc drivers.Service) {
	t.Helper()
	server, err := Listen(t.Context(), "127.0.0.1:0", "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	run := workloads.Run{Plan: p, Service: svc, Prefix: "test:", Watch: func(v workloads.View) { server.Begin(v, Trial{}) }}
	if _, err := run.Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.End()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? `).FindAllStringSubmatch(string(text), -1) {
		for _, l := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			names[m[1]] = append(names[m[1]], l[1])
		}
		names[m[1]] = append(names[m[1]], "job", "instance") // which Prometheus adds
	}
}

// TestDashboard holds the queries of the dashboard to the metrics that trials really have, and to their labels.
func TestDashboard(t *testing.T) {
	p := spec.Plan{
		Load:   spec.Load{Clients: 1, Hold: 5 * time.Millisecond, TTL: time.Minute, Rate: spec.Must(spec.ParseRate("1000")), Arrival: spec.Constant, MaxQueue: 10},
		Driver: "memory", Lock: "mutex", Wait: "poll", Poll: time.Millisecond, Keys: 1, Duration: 200 * time.Millisecond,
		IOTimeout: time.Second, Oracle: true, Server: "in-process",
	}
	d, _ := drivers.Lookup(p.Driver)
	svc, err := d.Open(t.Context(), drivers.Config{Lock: p.Lock, Clients: p.Clients})
	if err != nil {
		t.Fatal(err)
	}
	defer svc.Close()
	names := map[string][]string{}
	exposed(t, names, p, svc)
	p.Driver, p.Lock, p.Wait = "mute", "mute", "none" // for the errors
	exposed(t, names, p, mute{})

	var all struct {
		Templating struct {
			List []struct{ Name, Query string }
		}
		Annotations struct{ List []struct{ Expr string } }
		Panels      []struct {
			Title, Description string
			Targets            []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(dashboard, &all); err != nil {
		t.Fatal(err)
	}
	var queries []string
	variables := []string{"$__rate_interval"}
	for _, v := range all.Templating.List {
		queries, variables = append(queries, v.Query), append(variables, "$"+v.Name)
	}
	for _, a := range all.Annotations.List {
		queries = append(queries, a.Expr)
	}
	for _, panel := range all.Panels {
		if panel.Description == "" || len(panel.Targets) == 0 {
			t.Errorf("the panel %q says nothing, or shows nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
			for _, m := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if by := regexp.MustCompile(`by \(([^)]*)\)`).FindString(target.Expr); by != "" && !strings.Contains(by, m[1]) {
					t.Errorf("%s: the legend has %s, which the query sums up", panel.Title, m[1])
				}
			}
		}
	}
	metric := regexp.MustCompile(`\b((?:lockbench|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
	found := 0
	for _, query := range queries {
		if query == "prometheus" { // the kind of the data source
			continue
		}
		labels := regexp.MustCompile(`by \(([^)]*)\)`).FindStringSubmatch(query + " by ()")[1]
		for _, m := range metric.FindAllStringSubmatch(query, -1) {
			found++
			has, known := names[m[1]]
			if native := strings.HasSuffix(m[1], "_seconds"); native && names[m[1]+"_bucket"] != nil {
				has, known = names[m[1]+"_bucket"], true
				labels = strings.TrimPrefix(labels, "le, ")
			}
			if !known {
				t.Errorf("no trial has the metric %s of %s", m[1], query)
			}
			wanted := strings.FieldsFunc(labels, func(r rune) bool { return r == ',' || r == ' ' })
			for _, l := range regexp.MustCompile(`(\w+)[=!]~?"`).FindAllStringSubmatch(m[2], -1) {
				wanted = append(wanted, l[1])
			}
			for _, l := range wanted {
				if !slices.Contains(has, l) {
					t.Errorf("%s has no label %s, for %s", m[1], l, query)
				}
			}
		}
		for _, v := range regexp.MustCompile(`\$\w+`).FindAllString(query, -1) {
			if !slices.Contains(variables, v) {
				t.Errorf("there is no variable %s for %s", v, query)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d metrics in the queries", found)
	}
}
