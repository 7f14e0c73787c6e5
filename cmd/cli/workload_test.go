package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/presets"
)

// workloadFile writes a workload and returns its name.
func workloadFile(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "w.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// experimentOfWorkload returns the experiment of a workload and of a few flags.
func experimentOfWorkload(t testing.TB, text, line string, env environ) (experiment, error) {
	t.Helper()
	return experimentFor(t, "-workload "+workloadFile(t, text)+" "+line, env)
}

func printed(t testing.TB, e experiment) string {
	t.Helper()
	var b strings.Builder
	if err := e.print(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// only returns an experiment of one cell.
func only(e experiment, c matrix.Cell) experiment {
	e.Cells = []matrix.Cell{c}
	e.Schedule(e.Trials, c.Plan.Seed)
	return e
}

// roundTrip prints each cell of an experiment, reads it again on the same servers, and wants the same plan.
func roundTrip(t testing.TB, e experiment, servers string) {
	t.Helper()
	for _, c := range e.Cells {
		text, where := printed(t, only(e, c)), servers
		if c.Plan.Server == matrix.InProcess {
			where = ""
		}
		again, err := experimentOfWorkload(t, text, where, environment())
		if err != nil {
			t.Errorf("%v\n%s", err, text)
			continue
		}
		got, want := again.Cells[0].Plan, c.Plan
		got.Workload, want.Workload = "", "" // the name of another file
		if len(want.Classes) > 0 {
			got.Load, want.Load = spec.Load{}, spec.Load{} // each class has all of its own
		}
		if !reflect.DeepEqual(got, want) || len(again.Cells) != 1 {
			t.Errorf("%s\nis read as\n%+v\nwant\n%+v", text, got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	times := filepath.Join(t.TempDir(), "it's my: times.txt")
	if err := os.WriteFile(times, []byte("1\n2.5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ line, servers string }{
		"default": {"", ""},
		"skips":   {"-driver go-redis,rueidis,memory,null -lock set-nx,mutex,none -wait none,pubsub -clients 2,1k -pipelining default,auto:100us -trials 3 -seed 7", ""},
		"waits":   {"-driver rueidis,memory -wait poll:3ms,backoff:2ms:100ms,pubsub,queue,block,none -handover release,swap -lockers 1,8 -timeout 0s,2s", ""},
		"dists": {"-driver memory -keys 100 -key-dist uniform,zipf:1.1,hot:80%:10,sequential,own " +
			"-hold 100us,uniform:1ms:9ms,exp:5ms,lognormal:5ms:50ms -think 0s,exp:1us", ""},
		"arrivals": {"-driver memory -rate 0,0.5,5k,1k:50k:10s -arrival constant,poisson -max-queue 0,10 -burst 0s,100ms -think 0s,1ms", ""},
		"shares":   {"-driver memory,redislock -try-only 0%,10%,100% -crash 0.1%,0", ""},
		"length":   {"-driver memory -n 1M", ""},
		"limited":  {"-driver memory -n 1M -duration 10s", ""},
		"probe":    {"-driver rueidis,memory -probe 0.5", ""},
		"null":     {"-driver rueidis,memory,null -clients 2,3 -hold 0s,1ms -wait backoff,queue -crash 1%", ""},
		"topology": {"-driver rueidis,etcd,redsync -topology single,redlock,replicated,sentinel,cluster,ensemble -durability relaxed,strict -release default,lua,delex -node-timeout 9ms,50ms", ""},
		"params":   {"-driver redislock -wait native -param retry=linear+retry-min=10ms,retry=exponential", ""},
		"library":  {"-driver rueidis,go-redis -conns 0,8 -pipelining default,auto,off -io-timeout 1s -renew=off,on -reentry 1,2 -oracle=false", ""},
		"embedded": {"-driver memory,rueidis", "-addr embedded"},
		"external": {"-driver rueidis,go-redis", "-addr redis://me:s3cret@h:1/2"},
		"classes":  {"-workload batch-beside-online -driver memory,rueidis -keys 50,60 -wait backoff,queue -trials 2", ""},
		"planted":  {"-workload {name:planted,classes:{a:{crash:2%},b:{crash:1%}}} -driver memory,null -ttl 1s", ""},
		"inherits": {"-workload {hold:[1ms,exp:2ms],arrival:poisson,classes:{a:{rate:[]},b:{}}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "inherits" {
				text := "hold: [1ms, exp:2ms]\nthink: 3ms\narrival: poisson\nmax-queue: 9\nclients: [4, 5]\n" +
					"classes:\n  a: {rate: 2k, timeout: 5s}\n  b: {clients: 7}\n  c: {burst: 100us, clients: 9, hold: 0s, max-queue: 0}\nwait: [backoff, none]\ndriver: [memory, rueidis]\n"
				text = strings.Replace(text, "100us", "100ms", 1)
				e, err := experimentOfWorkload(t, text, "", environment())
				if err != nil {
					t.Fatal(err)
				}
				roundTrip(t, e, "")
				return
			}
			e, err := experimentFor(t, test.line+" "+test.servers, environment())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(printed(t, e), "s3cret") {
				t.Error("the experiment shows the password")
			}
			roundTrip(t, e, test.servers)
		})
	}
	t.Run("replay", func(t *testing.T) {
		o, err := parse(t, "-driver memory -keys 2", environment())
		if err != nil {
			t.Fatal(err)
		}
		o.get("hold").text = "file:" + times
		e, err := experimentOfOptions(o, environment())
		if err != nil {
			t.Fatal(err)
		}
		c := e.Cells[0].Plan
		if c.Hold != 1750*time.Microsecond || !strings.Contains(c.HoldDist.Path, "#") {
			t.Errorf("%v %q", c.Hold, c.HoldDist)
		}
		roundTrip(t, e, "")
		text := printed(t, e)
		if err := os.WriteFile(times, []byte("9\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := experimentOfWorkload(t, text, "", environment()); err == nil || !strings.Contains(err.Error(), "the file has changed") {
			t.Errorf("a file that has changed: %v", err)
		}
	})
}

// TestOverride checks who wins: flag, variable, file, default.
func TestOverride(t *testing.T) {
	text := "clients: 3\nkeys: 4\nhold: 5ms\ndriver: memory\n"
	e, err := experimentOfWorkload(t, text, "-clients 30", environment("LOCKBENCH_CLIENTS", "31", "LOCKBENCH_KEYS", "40"))
	if err != nil {
		t.Fatal(err)
	}
	c := e.Cells[0].Plan
	if c.Clients != 30 || c.Keys != 40 || c.Hold != 5*time.Millisecond || c.TTL != 30*time.Second || c.Workload != "w" {
		t.Errorf("%+v", c)
	}
	e, err = experimentOfWorkload(t, "{name: mine, driver: memory, n: 100}", "-duration 1s", environment())
	if err != nil || e.Cells[0].Plan.Duration != time.Second || e.Cells[0].Plan.Ops != 100 || e.Cells[0].Plan.Workload != "mine" {
		t.Errorf("%v %+v", err, e.Cells)
	}
	e, err = experimentOfWorkload(t, "driver: memory\nrate: 5k\nmax-queue: 10\narrival: poisson\n", "-rate 0", environment())
	if err != nil || e.Cells[0].Plan.Open() || e.Cells[0].Plan.MaxQueue != 0 { // what went with the rate is no mistake then
		t.Errorf("%v %+v", err, e.Cells)
	}
}

// TestClasses checks what a class has from the top, and what is not for it.
func TestClasses(t *testing.T) {
	text := "driver: memory\nclients: 5\nhold: 2ms\nthink: 3ms\narrival: poisson\nclasses:\n  closed: {}\n  open: {rate: 100, hold: exp:1ms, ttl: 9s}\n"
	e, err := experimentOfWorkload(t, text, "-clients 6 -timeout 4s", environment())
	if err != nil {
		t.Fatal(err)
	}
	c := e.Cells[0].Plan
	want := []spec.Class{
		{Name: "closed", Load: spec.Load{Clients: 6, Hold: 2 * time.Millisecond, Think: 3 * time.Millisecond, TTL: 30 * time.Second, Timeout: 4 * time.Second}},
		{Name: "open", Load: spec.Load{Clients: 6, Hold: time.Millisecond, HoldDist: spec.Must(spec.ParseTimes("exp:1ms")), TTL: 9 * time.Second, Timeout: 4 * time.Second, Rate: spec.Must(spec.ParseRate("100")), Arrival: "poisson"}},
	}
	if c.Clients != 12 || !reflect.DeepEqual(c.Classes, want) {
		t.Errorf("%d clients: %+v", c.Clients, c.Classes)
	}
}

func TestWorkloadErrors(t *testing.T) {
	for _, test := range []struct{ text, line, want string }{
		{"hold: 5", "", "w.yaml:1: hold 5: must be a time with its unit"},
		{"driver: memory\nclients: [1, 0]", "", "w.yaml:2: clients 1,0: must be 1 to 1000000"},
		{"driver: memory\nclients: [1, x]", "", "w.yaml:2: clients 1,x: must be a whole number"},
		{"driver: memory\nclients: [1, 2, 1]", "", "w.yaml:2: clients 1,2,1: must not name 1 twice"},
		{"driver: memoy", "", "w.yaml:1: driver memoy: unknown driver \"memoy\" (did you mean memory?)"},
		{"oracle: maybe", "", "w.yaml:1: oracle maybe: must be true or false"},
		{"trials: 0", "", "w.yaml:1: trials 0: must be 1 to 10000"},
		{"seed: -1", "", "w.yaml:1: seed -1: must be a number from 0 to 2^64-1"},
		{"driver: memory\ncrash: -1%", "", "w.yaml:2: crash -1%: must be "},
		{"driver: memory\ncrash: 110%", "", "w.yaml:2: crash 110%: must be 0% to 100%"},
		{"driver: memory\ncrash: 10", "", "w.yaml:2: crash 10: must be 0% to 100%, with the percent sign"},
		{"driver: memory\nclasses: {a: {hold: 5}}", "", "w.yaml:2: class a: hold 5: must be a time with its unit"},
		{"driver: memory\nclasses: {a: {clients: 0}}", "", "w.yaml:2: class a: clients 0: must be 1 to 1000000"},
		{"driver: memory\nkey-dist: zipf", "", "w.yaml:2: key-dist zipf: must"},
		{"driver: memory\nrate: 5x", "", "w.yaml:2: rate 5x: "},
		{"driver: rueidis\nprobe: 1000000000", "", "w.yaml:2: probe 1000000000: must be 0.01 to 1000"},
		{"driver: memory\narrival: poisson", "", "w.yaml:2: arrival poisson: only arrivals at a -rate read it"},
		{"driver: memory\narrival: often\nrate: 5", "", `w.yaml:2: arrival often: unknown arrival "often"; there are constant, poisson`},
		{"driver: memory\nclasses: {a: {max-queue: 5}}", "", "w.yaml:2: class a: max-queue 5: only an open loop has a queue"},
		{"driver: memory\nclasses: {a: {arrival: poisson}, b: {rate: 5}}", "", "w.yaml:2: class a: arrival poisson: only arrivals at a -rate read it"},
		{"driver: memory\nwait: none\nclasses: {a: {timeout: 5s}}", "", "w.yaml:3: class a: timeout 5s: with -wait none nobody waits"},
		{"driver: memory\nclasses: {a: {think: 1ms, rate: 5}}", "", "w.yaml:2: class a: think 1ms: in an open loop"},
		{"driver: memory\nclasses: {a: {burst: 1s, rate: 5}}", "", "nothing to run: memory mutex class a -rate 5 -burst 1s: clients come at a rate or in bursts, not both"},
		{"driver: memory\nclasses: {a: {key-dist: own}}", "", "nothing to run: memory mutex class a -key-dist own: "},
		{"driver: memory\nclasses: {a: {hold: 2ms}}", "-hold 1ms", "-hold 1ms: class a of "},
		{"driver: memory\nhold: 1ms\nclasses: {a: {hold: 2ms}, b: {hold: 3ms}}", "", "w.yaml:2: hold 1ms: no class has it from there, since each sets its own"},
		{"addr: redis://x", "", `w.yaml:1:1: unknown field "addr": give the flag -addr`},
		{"password: s3cret", "", `w.yaml:1:1: unknown field "password"`},
		{"output: x", "", `w.yaml:1:1: unknown field "output": give the flag -output`},
		{"include: x", "", `w.yaml:1:1: unknown field "include"`},
		{"workload: x", "", `w.yaml:1:1: unknown field "workload": give the flag -workload`},
		{"classes: {a: {keys: 3}}", "", `w.yaml:1:15: unknown field "keys": it stands at the top of a workload, not in a class`},
		{"clients: 3\nclients: 4", "", `w.yaml:2:1: mapping key "clients" already defined at [1:1]`},
		{"clients: {a: 3}", "", "w.yaml:1:10: clients: takes one value"},
		{"key_dist: own", "", `w.yaml:1:1: unknown field "key_dist" (did you mean key-dist?)`},
	} {
		_, err := experimentOfWorkload(t, test.text, test.line, environment())
		if err == nil {
			t.Errorf("%q %s: no error", test.text, test.line)
			continue
		}
		got := err.Error()
		if i := strings.Index(got, "w.yaml:"); i > 0 && strings.HasPrefix(test.want, "w.yaml") {
			got = got[i:]
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%q %s:\n     %s\nwant %s", test.text, test.line, got, test.want)
		}
		var usage *usageError
		if !errors.As(err, &usage) {
			t.Errorf("%q: %v is no usage error", test.text, err)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v shows the secret", test.text, err)
		}
	}
}

// TestPresets runs each preset for a moment, and holds it to what all of them promise.
func TestPresets(t *testing.T) {
	if len(presets.Names()) < 10 {
		t.Errorf("there are only %q", presets.Names())
	}
	for _, name := range presets.Names() {
		t.Run(name, func(t *testing.T) {
			e, err := experimentFor(t, "-workload "+name, environment())
			if err != nil {
				t.Fatal(err)
			}
			w := e.options.workload
			if w.Name != name || w.About == "" || len(w.About) > 110 || len(e.Cells) != 1 || e.Length(0) > 40*time.Second {
				t.Errorf("name %q, about %q, %d cells, %v", w.Name, w.About, len(e.Cells), e.Length(0))
			}
			if warned := warnings(e.Cells[0]); len(warned) > 0 {
				t.Errorf("it warns: %q", warned)
			}
			roundTrip(t, e, "")
			for _, driver := range []string{"zookeeper", "etcd", "mysql", "postgres", "redislock"} {
				if _, err := experimentFor(t, "-workload "+name+" -driver "+driver, environment()); err != nil {
					t.Errorf("-driver %s: %v", driver, err)
				}
			}
			text, _ := presets.Find(name)
			if bytes.Count(text, []byte("# ")) < 3 {
				t.Error("it does not say why its numbers are what they are")
			}
		})
	}
	for _, name := range presets.Names() {
		var out, errs bytes.Buffer
		line := "-v -driver memory -n 3 -warmup 0s -quiet -workload " + name
		if code := run(strings.Fields(line), nil, &out, &errs, environment(), nil); code != exitOK || !strings.Contains(out.String(), "waits ") {
			t.Errorf("%s: exit code %d, %s%s", name, code, &out, &errs)
		}
	}
	if _, ok := presets.Find("../presets/hot-key"); ok {
		t.Error("a path was taken for a preset")
	}
}

// TestExample holds the annotated example to having every field there is, and to being sound.
func TestExample(t *testing.T) {
	name := filepath.Join("..", "..", "workloads", "example.yaml")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range workloadFields {
		if !regexp.MustCompile(`(?m)^(# )?"?` + f.Name + `"?: `).Match(text) {
			t.Errorf("it has no %s", f.Name)
		}
	}
	e, err := experimentFor(t, "-workload "+name, environment())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Skipped) > 0 {
		t.Errorf("it has cells that cannot run: %v", e.Skipped)
	}
	roundTrip(t, e, "")
}
