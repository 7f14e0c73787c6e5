package breakable_test

// Which defects lockbench prove catches, which the conformance suite, and which a plain run under load:
//
//	MUTANTS=all go test -v -run TestTable -timeout 0 ./cmd/cli/breakable
//
// MUTANTS may be a regular expression of the names of locks, such as ^mysql. It takes half an hour, and tests nothing.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/cmd/cli/breakable"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/workloads/hazards"
)

const (
	asLockbench = "MUTANTS_LOCKBENCH" // makes the test binary lockbench
	conforming  = "MUTANTS_CONFORM"   // the lock that it tests, and the addresses of its servers
)

// row is a defect, in one of its locks, and what has caught it; empty: nothing.
type row struct {
	lock   string // with the defect
	sound  string
	broken string
	by     [3]string // prove, conformance, a plain run
}

// rows returns one for each defect, whose locks match a regular expression.
func rows(which string) (list []*row) {
	match := regexp.MustCompile(strings.Replace(which, "all", "", 1))
	for i, d := range allDefects() {
		hazard := string(d.hazard)
		if i >= len(defects) {
			hazard = ""
		}
		same := slices.IndexFunc(list, func(r *row) bool { return r.broken == d.broken })
		switch {
		case same >= 0:
			list[same].by[0] += ", " + hazard
		case match.MatchString(d.locks[0]):
			list = append(list, &row{lock: broken(i, d.locks[0]), sound: d.locks[0], broken: d.broken, by: [3]string{hazard}})
		}
	}
	return list
}

// TestTable prints a table. A lock without the defect passes the conformance suite but for cases that a small lock of these tests does
// not keep, which are left out for the one with it, and a plain run.
func TestTable(t *testing.T) {
	which := os.Getenv("MUTANTS")
	if which == "" {
		t.Skip("for a table: set MUTANTS")
	}
	var started breakable.Servers
	t.Cleanup(func() { _ = started.Close() })
	list := rows(which)
	sound := map[string]*child{}
	for _, r := range list {
		if sound[r.sound] == nil {
			sound[r.sound] = &child{t: t, lock: lockOf(t, r.sound), started: &started}
		}
	}
	eachOf(slices.Collect(maps.Values(sound)), func(c *child) {
		c.skips = failing(c.conform(false))
		if why := c.load(); why != "" {
			t.Errorf("%s, without a defect: a plain run: %s", c.lock.Name(), why)
		}
		t.Logf("%s, without a defect: it does not keep %q", c.lock.Name(), c.skips)
	})
	eachOf(list, func(r *row) {
		c := child{t: t, lock: lockOf(t, r.lock), started: &started}
		if failed := failing(c.conform(true, sound[r.sound].skips...)); len(failed) > 0 {
			r.by[1] = failed[0]
		}
		r.by[2] = c.load()
		t.Logf("%q", *r)
	})
	var table strings.Builder
	caught := [3]int{}
	for _, r := range list {
		fmt.Fprintf(&table, "| %s | %s |", r.sound, r.broken)
		for i, by := range r.by {
			if by != "" {
				caught[i]++
			}
			fmt.Fprintf(&table, " %s |", by)
		}
		fmt.Fprintln(&table)
	}
	fmt.Printf("| lock | defect | prove: %d of %d | conformance: %d | a plain run: %d |\n|---|---|---|---|---|\n%s", caught[0], len(list), caught[1], caught[2], table.String())
}

// eachOf calls do for each of a list, several at a time: they mostly wait.
func eachOf[T any](list []T, do func(T)) {
	const atOnce = 4
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for _, one := range list {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			do(one)
		})
	}
	all.Wait()
}

// child is this test binary in another process, with a lock.
type child struct {
	t       *testing.T
	lock    hazards.Lock
	started *breakable.Servers
	skips   []string // cases of the conformance suite
}

func (c *child) run(env string, args ...string) (output string, err error) {
	const patience = 5 * time.Minute
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	return string(out), errors.Join(err, ctx.Err())
}

// addrs returns the servers of the lock.
func (c *child) addrs() (list []string) {
	service := ""
	if d, err := drivers.Lookup(c.lock.Driver); err == nil {
		if a, ok := d.(drivers.Addressed); ok {
			service = a.Service()
		}
	}
	if service == "" {
		return nil
	}
	kind := map[drivers.Topology]hazards.Kind{drivers.TopologyRedlock: hazards.IsQuorum, drivers.TopologyReplicated: hazards.IsReplicated}[c.lock.Topology]
	s, err := c.started.Shared(c.t.Context(), service, kind)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	if q, ok := s.(hazards.Quorum); ok {
		for _, n := range q.Nodes() {
			list = append(list, n.URL())
		}
		return list
	}
	return []string{s.URL()}
}

// conform runs the suite, up to the first failure or all of it, but for some cases and the crowd, which is no test of a lock.
func (c *child) conform(failfast bool, but ...string) (output string) {
	args := []string{"-test.run", "^TestConformance$", "-test.v", "-test.skip", "^TestConformance$/.*/^(crowd|" + strings.Join(but, "|") + ")$"}
	if failfast {
		args = append(args, "-test.failfast")
	}
	output, _ = c.run(conforming+"="+strings.Join(append([]string{c.lock.Name()}, c.addrs()...), "\n"), args...)
	return output
}

var failed = regexp.MustCompile(`--- FAIL: TestConformance/\w+/(\S+)`)

// failing returns the cases that have failed, or how the suite has ended.
func failing(output string) (cases []string) {
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		cases = append(cases, found[1])
	}
	if len(cases) == 0 && !strings.HasSuffix(output, "PASS\n") {
		lines := strings.Split(strings.TrimSpace(output), "\n")
		cases = append(cases, "ends: "+lines[len(lines)-1])
	}
	return cases
}

// TestConformance tests the lock that TestTable names, whose connections can be broken.
func TestConformance(t *testing.T) {
	what := os.Getenv(conforming)
	if what == "" {
		t.Skip("TestTable sets what")
	}
	parts := strings.Split(what, "\n")
	lock := lockOf(t, parts[0])
	d, err := drivers.Lookup(lock.Driver)
	if err != nil {
		t.Fatal(err)
	}
	s := drivertest.Setup{Driver: d, Config: drivers.Config{Lock: lock.Design.Name, Topology: lock.Topology, IOTimeout: 2 * time.Second}, MemoryPerSession: 4 << 20}
	if lock.Design.Traits.Session {
		s.Config.TTL = 4 * time.Second
		s.SessionTimeout = s.Config.TTL + 2*time.Second
	}
	s.Straggles = lock.Topology == drivers.TopologyRedlock
	var cuts, mutes, stalls []func() func()
	for _, addr := range parts[1:] {
		at, err := url.Parse(addr)
		if err != nil {
			t.Fatal(err)
		}
		p, err := fault.NewProxy(at.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		at.Host = p.Addr()
		s.Config.Addrs = append(s.Config.Addrs, at.String())
		cuts, mutes, stalls = append(cuts, p.Outage), append(mutes, p.Mute), append(stalls, p.Stall)
	}
	if len(cuts) > 0 {
		s.Cut, s.Mute, s.Stall = together(cuts), together(mutes), together(stalls)
	}
	drivertest.Run(t, s)
}

// together returns one fault of several paths at once.
func together(faults []func() func()) func() func() {
	return func() func() {
		var restores []func()
		for _, f := range faults {
			restores = append(restores, f())
		}
		return func() {
			for _, restore := range restores {
				restore()
			}
		}
	}
}

// load runs 16 clients with 2 keys for 2 s, and returns what was wrong.
func (c *child) load() (why string) {
	args := []string{
		"-driver", c.lock.Driver, "-lock", c.lock.Design.Name, "-clients", "16", "-keys", "2", "-hold", "1ms", "-duration", "2s", "-warmup", "0s",
	}
	if addrs := c.addrs(); len(addrs) > 0 {
		args = append(args, "-addr", strings.Join(addrs, ","))
	}
	if c.lock.Topology != "" {
		args = append(args, "-topology", string(c.lock.Topology))
	}
	output, err := c.run(asLockbench+"=1", args...)
	var exit *exec.ExitError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &exit) && exit.ExitCode() == 4:
		return "it does not exclude"
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return err.Error() + ": " + lines[len(lines)-1]
}
