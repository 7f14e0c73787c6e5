package report_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/pagetest"
	"github.com/lockbench/lockbench/results/report"
)

// scenes returns the goldens: what is rendered, and how wide.
func scenes() map[string]struct {
	recs  []*results.Record
	width int
} {
	type scene = struct {
		recs  []*results.Record
		width int
	}
	partial := record(3)
	partial.Partial, partial.Elapsed = "interrupted", 2*time.Second
	partial.Counts = results.Counts{
		Acquired: 15_000, TimedOut: 12, Canceled: 64, Unknown: 7, Refused: 3, Tries: 17_000, Released: 14_990, Lost: 2, ReleaseError: 8,
		Errors: map[string]int64{"timeout": 15, "server": 3},
		ErrorSample: map[string]string{
			"timeout": "redis: set: i/o timeout",
			"server":  "redis: set: OOM command not allowed\r\nwhen used memory > 'maxmemory' \x1b[31m" + strings.Repeat("very ", 20) + "long",
		},
	}
	partial.Generator.Saturated, partial.Generator.Why = true, "2 of 2 cores busy for 97 % of the time"
	partial.Cost = results.Cost{Tries: -1, Commands: -1, BytesIn: -1, BytesOut: -1, ServerCPUUs: -1, ClientCPUUs: -1, Wakeups: -1, Allocs: -1}
	partial.Warnings = []string{
		"every hold outlasts its lease: expect overlaps; the oracle will count them",
		"the transparent huge pages of this machine make the tail of every latency longer than it would be without them, by a lot",
	}

	var twenty []*results.Record
	for i := range 20 {
		r := record(i)
		r.Plan.Driver = []string{"go-redis", "rueidis"}[i%2]
		r.Plan.Clients = []int{8, 64, 512, 4096, 10000}[i/2%5]
		r.Plan.Wait = []string{"backoff", "pubsub"}[i/10]
		r.Counts.Acquired *= int64(1 + i*i)
		r.Safety.Grants, r.Safety.Power = r.Counts.Acquired, &results.Power{Watched: r.Counts.Acquired / 2}
		if i == 7 {
			r.Generator.Saturated, r.Generator.Why = true, "lockbench used 1.9 of 2 cores"
		}
		if i%6 == 0 {
			r.Warnings = []string{"the load had not settled when the window opened"}
		}
		twenty = append(twenty, r)
	}

	var trials []*results.Record
	for i := range 10 {
		r := record(i)
		r.Trial = 1 + i/2
		r.Plan.Driver = []string{"go-redis", "rueidis"}[i%2]
		trials = append(trials, r)
	}
	cut := record(10)
	cut.Partial, cut.Elapsed, cut.Counts.Acquired = "interrupted", 300*time.Millisecond, 2345
	trials = append(trials, cut, trials[0]) // and one record twice

	unlike := []*results.Record{record(0), record(1), record(2), record(3)}
	unlike[1].Server = results.Server{Kind: "embedded", Name: "miniredis", Version: "v2.40.0", Network: "tcp"}
	unlike[1].Plan.Server = "embedded"
	unlike[2].Server = results.Server{Kind: "external", Name: "valkey", Version: "9.0.1", Persistence: "aof everysec", Replicas: 2, Addr: "db.example:6379", Network: "tls"}
	unlike[2].Plan.Server = "external"
	unlike[3].Plan.Lock, unlike[3].Traits = "setnx", results.Traits{Exclusive: true}

	broken := []*results.Record{record(0), record(1), record(2)}
	for i, lock := range []string{"set-nx-del", "set-nx", "getset"} {
		broken[i].Plan.Lock = lock
	}
	broken[0].Safety = violated()
	broken[1].Safety, broken[1].Plan.Oracle = results.Safety{}, false
	broken[2].Safety, broken[2].Traits.Exclusive = violated(), false

	idle := record(11)
	idle.Counts, idle.Latency, idle.Safety = results.Counts{TimedOut: 3}, nil, results.Safety{Checked: true}
	idle.Fairness, idle.Bound = results.Fairness{}, results.Bound{}

	serverless := []*results.Record{record(0), record(1)}
	serverless[1].Plan.Driver, serverless[1].Plan.Lock, serverless[1].Plan.Server = "memory", "mutex", "in-process"
	serverless[1].Server = results.Server{Kind: "in-process", Name: "memory", Mode: "standalone", Persistence: "none"}

	outage := record(12)
	outage.Counts.Errors = map[string]int64{"connect": 300}
	outage.Bound.Efficiency, outage.Bound.Little = 0.0018, 0.72

	kept := []*results.Record{record(0), record(1), record(2)}
	for i, r := range kept[1:] {
		r.Plan.Renew, r.Plan.Hold, r.Plan.TTL = true, 40*time.Second, 30*time.Second
		r.Counts.Renewals, r.Counts.RenewError = int64(243_000*i), int64(12*i)
		r.Counts.Released, r.Counts.LostRenewal = r.Counts.Acquired-int64(4*i), int64(4*i)
	}
	kept[2].Plan.Reentry, kept[2].Traits.Reentrant, kept[2].Plan.Lock = 3, true, "redisson"
	kept[2].Counts.Reentries, kept[2].Counts.ReentryRefused, kept[2].Counts.ReentryError = 162_000, 1, 2
	rec := results.NewRecorder(1)
	for i := range 1000 {
		rec.Borrow().Record(results.RenewIndex, time.Duration(30+i)*time.Microsecond)
		rec.Borrow().Record(results.ReentryIndex, time.Duration(40+i)*time.Microsecond)
	}
	kept[2].Latency[results.Renew], kept[2].Latency[results.Reentry] = rec.Latency(results.RenewIndex), rec.Latency(results.ReentryIndex)

	voted := []*results.Record{record(0), record(1)}
	v := voted[1]
	v.Plan.Topology, v.Plan.Nodes, v.Server.Mode = "redlock", 5, "redlock, 5 of 5 nodes"
	v.Counts.SplitVotes, v.Counts.NodeErrors = 71, []int64{0, 1204, 0, 2, 0}
	all := results.NewRecorder(1)
	for i := range 1000 {
		all.Borrow().Record(results.AcquireAllIndex, time.Duration(90+i)*time.Microsecond)
	}
	v.Latency[results.AcquireAll] = all.Latency(results.AcquireAllIndex)

	services := servicesOf()
	var durable []*results.Record
	for i, r := range append(servicesOf()[:2], servicesOf()[:2]...) {
		r.ID = fmt.Sprintf("r%d", 20+i)
		if i >= 2 {
			r.Plan.Durability, r.Server.Durability = "strict", "strict"
			r.Server.Persistence = []string{"aof always", "fsync each commit"}[i-2]
		}
		durable = append(durable, r)
	}

	sides := []*results.Record{record(0), record(1), record(2), record(3)}
	for i, r := range sides {
		r.Cell, r.Side, r.Pair, r.Env.Revision = i, []string{results.SideBase, results.SideHead}[i%2], i/2, "4b825dc"
		r.Plan.Clients += 64 * r.Pair
	}
	revisions := []*results.Record{record(0), record(1), record(2)}
	revisions[1].Env.Revision, revisions[2].Env.Revision = "v1.4", "v1.5-rc1"

	lined := record(0)
	lined.Plan.Wait, lined.Plan.Handover, lined.Plan.HandoverMax = "queue", "swap", 4
	lined.Cost.Tries, lined.Cost.LocalRefusals = 1, 0.93

	paused := record(0)
	paused.Generator.Quota, paused.Generator.Throttled, paused.Generator.CoreWait = 0.5, 480*time.Millisecond, 900*time.Millisecond
	paused.Generator.Pauses = []results.Pause{{At: 3 * time.Second, Length: 800 * time.Millisecond}}
	paused.Generator.Paused = 800 * time.Millisecond
	ticks := results.NewRecorder(1)
	for i := range 2000 {
		ticks.Borrow().Record(results.HiccupIndex, max(60*time.Microsecond, time.Duration(i-1840)*5*time.Millisecond))
	}
	paused.Latency[results.Hiccup] = ticks.Latency(results.HiccupIndex)
	unread := record(1)
	unread.Generator.Throttled, unread.Generator.CoreWait = -1, -1

	beaten := record(2)
	beaten.Bound.Efficiency, beaten.Bound.LocksPerS, beaten.Bound.LoadRTT = 1.3, 6370, 23*time.Microsecond

	whole := record(0)
	whole.Wrong = "two holders at once if one pauses for longer than its lease; no fencing token says who came later"
	whole.Steady = results.Steady{FirstRate: 8060, SecondRate: 8140, P: 0.42}

	scenes := map[string]scene{
		"beaten":      {[]*results.Record{beaten}, 100},
		"lined1":      {[]*results.Record{lined}, 0},
		"paused":      {[]*results.Record{paused}, 100},
		"unread":      {[]*results.Record{unread}, 100},
		"sides":       {sides, 0},
		"sides1":      {sides[3:], 0},
		"revisions":   {revisions, 0},
		"services":    {services, 0},
		"services1":   {services[1:2], 0},
		"durable":     {durable, 0},
		"voted":       {voted, 200},
		"voted1":      {voted[1:], 0},
		"kept":        {kept, 0},
		"kept1":       {kept[2:], 0},
		"serverless":  {serverless, 0},
		"outage1":     {[]*results.Record{outage}, 0},
		"one":         {[]*results.Record{whole}, 0},
		"partial":     {[]*results.Record{partial}, 0},
		"violations1": {[]*results.Record{broken[0]}, 0},
		"idle":        {[]*results.Record{idle}, 0},
		"fivetrials1": {[]*results.Record{trials[0], trials[2], trials[4], trials[6], trials[8]}, 0},
		"twenty":      {twenty, 0},
		"twenty80":    {twenty, 80},
		"twenty200":   {twenty, 200},
		"trials":      {trials, 0},
		"unlike":      {unlike, 0},
		"violations":  {broken, 0},
		"mixed":       {[]*results.Record{record(0), partial, idle}, 0},
	}
	for name, recs := range loads() {
		scenes[name] = scene{recs, 0}
	}
	return scenes
}

// servicesOf are five services in one table, with one more way of waiting and a lock without a server.
func servicesOf() (recs []*results.Record) {
	for i, s := range []struct {
		driver, lock, wait string
		results.Traits
		results.Server
	}{
		{"rueidis", "set-nx", "pubsub", results.Traits{Exclusive: true, Owned: true, Expires: true, Wakes: true},
			results.Server{Name: "redis", Version: "7.0.15", Mode: "standalone", Persistence: "none", Network: "unix"}},
		{"zookeeper", "queue", "native", results.Traits{Exclusive: true, Owned: true, Fenced: true, Fair: true, Waits: true, Session: true},
			results.Server{Name: "zookeeper", Version: "3.8.0", Mode: "standalone", Persistence: "no fsync", Network: "tcp", Connections: 65}},
		{"etcd", "mutex", "native", results.Traits{Exclusive: true, Owned: true, Fenced: true, Fair: true, Waits: true, Session: true},
			results.Server{Name: "etcd", Version: "3.4.23", Mode: "standalone", Persistence: "fsync to memory", Network: "tcp", Connections: 2}},
		{"mysql", "get-lock", "native", results.Traits{Exclusive: true, Owned: true, Waits: true, Session: true},
			results.Server{Name: "mariadb", Version: "10.11.14", Persistence: "none needed", Network: "unix", Connections: 66}},
		{"postgres", "unique-row", "backoff", results.Traits{Exclusive: true, Owned: true},
			results.Server{Name: "postgresql", Version: "15.14", Persistence: "fsync off", Network: "unix", Connections: 66}},
		{"memory", "mutex", "backoff", results.Traits{Exclusive: true, Owned: true, Expires: true, Fenced: true},
			results.Server{Name: "memory"}},
	} {
		r := record(i)
		r.Plan.Driver, r.Plan.Lock, r.Plan.Wait, r.Traits = s.driver, s.lock, s.wait, s.Traits
		r.Server = s.Server
		r.Server.Kind = "private"
		r.Plan.Durability, r.Server.Durability = "relaxed", "relaxed"
		if s.wait != "backoff" {
			r.Plan.BackoffMin, r.Plan.BackoffMax = 0, 0
		}
		if s.driver == "memory" {
			r.Plan.Server, r.Server.Kind, r.Plan.Durability, r.Server.Durability = "in-process", "in-process", "", ""
		}
		if r.Traits.Session {
			r.Cost.Commands, r.Cost.RoundTrips, r.Cost.Notices, r.Cost.KeepAlives = -1, 2.06, 0.983, 0.0021
		}
		recs = append(recs, r)
	}
	return recs
}

func violated() results.Safety {
	return results.Safety{
		Checked: true, Grants: 89_000, Violations: 63, Longest: 30 * time.Millisecond, Overlap: 1900 * time.Millisecond,
		LostUpdates: 61, WrongReleases: 62,
		Events: []results.Violation{
			{At: 130 * time.Millisecond, Key: 3, Holder: 7, Intruder: 12, Overlap: 30 * time.Millisecond},
			{At: 1130 * time.Millisecond, Key: 3, Holder: 12, Intruder: 41},
			{At: 1131 * time.Millisecond, Key: 0, Holder: 2, Intruder: 3, Overlap: 412 * time.Microsecond},
			{At: 1132 * time.Millisecond, Key: 0, Holder: 3, Intruder: 4, Overlap: 412 * time.Microsecond},
		},
	}
}

// longer are runs with a table of their own, of classes or steps, or with more trouble than 25 lines hold.
var longer = []string{"ladder1", "classes1", "classclients1", "classes", "partial"}

func TestGolden(t *testing.T) {
	for name, s := range scenes() {
		t.Run(name, func(t *testing.T) {
			for _, r := range s.recs {
				if err := r.Validate(); err != nil {
					t.Fatal(err)
				}
			}
			var text, markdown, colored bytes.Buffer
			if err := Table(&text, group(t, s.recs...), draw.Options{Width: s.width}); err != nil {
				t.Fatal(err)
			}
			pagetest.Golden(t, name+".txt", text.String())
			pagetest.Width(t, text.String(), cmp.Or(s.width, defaultWidth))

			if cells := group(t, s.recs...); len(cells) == 1 || slices.Contains([]string{"services", "loads"}, name) {
				var whole bytes.Buffer
				if err := Table(&whole, cells, draw.Options{Width: s.width, Verbose: true}); err != nil {
					t.Fatal(err)
				}
				pagetest.Golden(t, name+"-v.txt", whole.String())
				pagetest.Width(t, whole.String(), cmp.Or(s.width, defaultWidth))
				if lines := strings.Count(text.String(), "\n"); len(cells) == 1 && lines > 25 && !slices.Contains(longer, name) {
					t.Errorf("%d lines of one run, want 25 at the most:\n%s", lines, text.String())
				}
			}

			if err := Markdown(&markdown, group(t, s.recs...)); err != nil {
				t.Fatal(err)
			}
			pagetest.Golden(t, name+".md", markdown.String())

			if err := Table(&colored, group(t, s.recs...), draw.Options{Width: s.width, Color: true}); err != nil {
				t.Fatal(err)
			}
			if colored.String() == text.String() {
				t.Error("no colour in the coloured output")
			}
			if plain := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); plain != text.String() {
				t.Error("the coloured output is not the plain one with colours")
			}
			if strings.ContainsAny(text.String()+markdown.String(), "\x1b\r\t") {
				t.Error("control characters in the output")
			}
		})
	}
}

// TestWidths renders every scene at many widths: down to the room that the axes need, no line is wider.
func TestWidths(t *testing.T) {
	for _, s := range scenes() {
		for _, width := range []int{90, 121, 160} {
			var text bytes.Buffer
			if err := Table(&text, group(t, s.recs...), draw.Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			pagetest.Width(t, text.String(), width)
		}
	}
}

// TestWaitStays: however narrow the terminal, throughput, the wait, violations and notes stay in every table.
func TestWaitStays(t *testing.T) {
	for name, s := range scenes() {
		if len(group(t, s.recs...)) < 2 {
			continue
		}
		heads := strings.Join(printed(t, draw.Options{Width: 20}, s.recs...), "\n")
		for _, want := range []string{"locks/s", " p50 ", " p99 ", " viol."} {
			if !strings.Contains(heads, want) {
				t.Errorf("%s: %q is not in\n%s", name, want, heads)
			}
		}
		if strings.Contains(strings.Join(printed(t, draw.Options{}, s.recs...), "\n"), " notes\n") != strings.Contains(heads, " notes\n") {
			t.Errorf("%s: no notes", name)
		}
	}
}

func TestRefuses(t *testing.T) {
	if err := Table(full{}, group(t, record(1)), draw.Options{}); err == nil || err.Error() != "draw: disk full" {
		t.Errorf("full disk: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }

// Table and Markdown draw what is said of cells.
func Table(w io.Writer, cells []*results.Cell, o draw.Options) error {
	return draw.Terminal(w, report.Run(cells, nil), o)
}

func Markdown(w io.Writer, cells []*results.Cell) error {
	return draw.Markdown(w, report.Run(cells, nil), 0)
}

const defaultWidth = 100

var (
	record = report.TrialOf
	group  = report.CellsOf
)
