package cli_test

// Tests on the real clock. A machine at load 20 makes a millisecond a second, so that whatever a test says about time in
// these is wrong one day: package testwait waits for what happens by itself, testing/synctest has a clock of its own, and
// where success is expected a time-out is 20 s or more.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mayUseTime are the functions that sleep or set a time-out below a second, and why that cannot make them fail.
var mayUseTime = map[string]string{
	"workloads/observe/metrics_test.go TestMetrics":          "the clients' patience under test, on the lock in this process; giving up is expected",
	"drivers/drivertest/listening.go sleepsAndWakes":         "a client gets time to fall asleep; the case is sound if it does not",
	"drivers/drivertest/listening.go blockCancelled":         "likewise",
	"workloads/fleet/faults_test.go lead":                    "the moment of a fault, which is to be any",
	"workloads/fleet/faults_test.go ofLeader":                "likewise",
	"drivers/drivertest/drivertest.go eventuallyIn":          "between two looks",
	"drivers/drivertest/drivertest.go clean":                 "between two tries",
	"drivers/drivertest/broken_test.go a variable":           "in the bubble of check",
	"drivers/drivertest/holding.go concurrency":              "a hold, so that others meet it",
	"drivers/drivertest/leases.go expiry":                    "for as long as a lease lasts",
	"drivers/drivertest/leases.go expiryAfterRelease":        "likewise",
	"drivers/drivertest/leases.go renewal":                   "likewise",
	"drivers/drivertest/leases.go renewalOfLost":             "likewise",
	"drivers/drivertest/racing.go waitEndsAtRelease":         "two events are to come at about the same time; either may win",
	"drivers/drivertest/racing.go attemptEndsAtRelease":      "likewise",
	"drivers/wait/states_test.go TestQueueHolderTriesAgain":  "in the bubble of forHandovers",
	"cmd/cli/breakable/zookeeper_test.go Session":            "between two looks",
	"drivers/drivertest/holding.go lateRelease":              "likewise",
	"drivers/drivertest/listening.go listenerRemoves":        "time for a late call; the look is repeated",
	"drivers/drivertest/listening.go wakesOrNot":             "time for a call that must not come: too short hides a fault and makes none",
	"drivers/drivertest/listening.go Wait":                   "the random delay of voters",
	"drivers/drivertest/queues.go arriveAndWait":             "arrivals apart; what is out of order is repeated with longer pauses",
	"drivers/drivertest/outages.go waitOverCut":              "the length of a cut",
	"drivers/drivertest/outages.go persist":                  "between two tries",
	"drivers/drivertest/outages.go recovered":                "between two tries",
	"drivers/drivertest/services.go dwindle":                 "between two looks",
	"drivers/drivertest/waiting.go waitForDead":              "a client gets time to fall asleep; the case is sound if it does not",
	"drivers/drivertest/sessions.go sessionEnds":             "the length of a cut",
	"drivers/drivertest/waiting.go leaveAfterWake":           "a client gets time to fall asleep; the case is sound if it does not",
	"drivers/drivertest/waiting.go allGetThrough":            "a hold, and time to fall asleep, likewise",
	"drivers/drivertest/waiting.go waitContext":              "likewise",
	"drivers/redis/block_test.go TestBlockAfterACut":         "a silent peer is waited for; what works is asked again until it does",
	"drivers/redis/fair_test.go cancelledAfterStanding":      "between two looks",
	"drivers/redis/fault_test.go TestDeadline":               "the deadline under test, of requests to a stopped server",
	"drivers/redis/fault_test.go TestIOTimeout":              "the time-out under test; Open and Warm try again until they are in time",
	"drivers/redis/hidden_test.go TestCloseUnderWay":         "likewise",
	"drivers/redis/listen_test.go TestListenThroughRestart":  "a request to a server that is down",
	"drivers/redis/open_test.go TestOpenErrors":              "of peers that never answer",
	"drivers/redis/replicated_test.go TestReplicatedStalled": "of replicas that are stopped",
	"drivers/redis/rueidis/cost_test.go pairsPerSecond":      "a benchmark",
	"drivers/redis/topology_test.go TestFailOver":            "a request during the fail-over",
	"drivers/zookeeper/open_test.go TestOpenErrors":          "of peers that never answer",
	"results/sample_test.go sample":                          "a record's field",
	"results/sample_test.go firstSample":                     "a record's field",
	"workloads/matrix/check_test.go TestCheck":               "a plan's field",
}

// hurries returns the places of a test file where it sleeps or has a time-out below a second, by the function that they
// are in. Files that use testing/synctest, also by simtest, are in its time, and those that call bubble.
func hurries(f *ast.File) map[string][]token.Pos {
	for _, i := range f.Imports {
		if i.Path.Value == `"testing/synctest"` || strings.HasSuffix(i.Path.Value, `/drivers/simtest"`) {
			return nil
		}
	}
	if contains(f, bubbles) {
		return nil
	}
	found := map[string][]token.Pos{}
	for _, d := range f.Decls {
		name := "a variable"
		if fn, ok := d.(*ast.FuncDecl); ok {
			name = fn.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if n != nil && hurry(n) {
				found[name] = append(found[name], n.Pos())
			}
			return true
		})
	}
	return found
}

// bubbles reports whether a node runs something in a bubble, by a helper of package workloads' tests.
func bubbles(n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == "bubble"
}

// hurry reports whether a node is a sleep, or sets a time-out below a second.
func hurry(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.CallExpr:
		receiver, name := method(n)
		switch receiver + "." + name {
		case "time.Sleep":
			return true
		case "time.After", "time.NewTimer", "time.Tick", "context.WithTimeout":
			return len(n.Args) > 0 && short(n.Args[len(n.Args)-1])
		}
	case *ast.KeyValueExpr:
		key, ok := n.Key.(*ast.Ident)
		return ok && timeouts[key.Name] && short(n.Value)
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			field, ok := to.(*ast.SelectorExpr)
			if ok && timeouts[field.Sel.Name] && i < len(n.Rhs) && short(n.Rhs[i]) {
				return true
			}
		}
	}
	return false
}

var timeouts = map[string]bool{"IOTimeout": true, "NodeTimeout": true, "Timeout": true}

// short reports whether an expression is a constant time below a second.
func short(e ast.Expr) bool {
	d, ok := constant(e)
	return ok && d < int64(time.Second)
}

// constant returns the value of an expression of numbers and the units of package time.
func constant(e ast.Expr) (int64, bool) {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return constant(e.X)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(strings.ReplaceAll(e.Value, "_", ""), 10, 64)
		return n, err == nil
	case *ast.SelectorExpr:
		unit, ok := map[string]time.Duration{
			"Nanosecond": time.Nanosecond, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond,
			"Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
		}[e.Sel.Name]
		return int64(unit), ok
	case *ast.BinaryExpr:
		a, aOK := constant(e.X)
		b, bOK := constant(e.Y)
		switch {
		case !aOK || !bOK:
		case e.Op == token.MUL:
			return a * b, true
		case e.Op == token.QUO && b != 0:
			return a / b, true
		}
	}
	return 0, false
}

func TestRealTimeIsLeftAlone(t *testing.T) {
	seen := map[string]bool{}
	for name, f := range sources(t) {
		if !strings.HasSuffix(name, "_test.go") && path.Dir(name) != "drivers/drivertest" {
			continue
		}
		for fn, places := range hurries(f) {
			key := name + " " + fn
			if seen[key] = true; mayUseTime[key] != "" {
				continue
			}
			for _, pos := range places {
				t.Errorf("%s: %s sleeps or has a time-out below a second on the real clock: use testwait or synctest, or say in "+
					"mayUseTime why it cannot fail", positions.Position(pos), fn)
			}
		}
	}
	for key := range mayUseTime {
		if !seen[key] {
			t.Errorf("mayUseTime: there is nothing of the kind in %s", key)
		}
	}
}

// TestRealTimeLint plants what the test above must notice.
func TestRealTimeLint(t *testing.T) {
	for _, tt := range []struct {
		imports, body string
		want          bool
	}{
		{"time", "time.Sleep(time.Hour)", true},
		{"testing/synctest", "time.Sleep(time.Hour)", false},
		{module + "/drivers/simtest", "time.Sleep(time.Hour)", false},
		{"time", "bubble(t, func() { time.Sleep(time.Hour) })", false},
		{"time", "context.WithTimeout(ctx, 300*time.Millisecond)", true},
		{"time", "context.WithTimeout(ctx, 20*time.Second)", false},
		{"time", "<-time.After(time.Second/2)", true},
		{"time", "use(drivers.Config{IOTimeout: 999 * time.Millisecond})", true},
		{"time", "use(drivers.Config{IOTimeout: time.Second})", false},
		{"time", "cfg.Addrs, cfg.IOTimeout = nil, time.Millisecond", true},
		{"time", "cfg.Hold = time.Millisecond", false},
	} {
		text := "package p\nimport \"" + tt.imports + "\"\nfunc Test(t *testing.T) { " + tt.body + " }"
		f, err := parser.ParseFile(positions, "planted_test.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(hurries(f)) > 0; got != tt.want {
			t.Errorf("%s: %t", tt.body, got)
		}
	}
}
