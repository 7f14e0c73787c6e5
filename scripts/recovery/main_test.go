package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
)

// TestMain lets the test binary be a holder.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == exec.Argument {
		os.Exit(exec.Main())
	}
	os.Exit(m.Run())
}

// needRedis skips the test if there is no server, or fails it with CI=true.
func needRedis(t *testing.T) {
	if _, err := servers.FindRedis(); err == nil || os.Getenv("CI") == "true" {
		return
	}
	t.Skip("no redis-server")
}

// A lease outlives its holder until it expires, and a lock without a lease does so for ever.
func TestDeaths(t *testing.T) {
	needRedis(t)
	const ttl = time.Second // long compared with stalls of a machine between the grant and the kill
	s := settings{
		drivers: []string{"rueidis", "memory"}, locks: []string{"set-nx", "fair"}, ttl: ttl, n: 2,
		durability: servers.Relaxed, asJSON: true, timeout: 10 * time.Second,
	}
	rows, notes := runJSON(t, s)
	s.locks, s.n, s.timeout = []string{"setnx"}, 1, ttl/2
	more, _ := runJSON(t, s)
	if rows = append(rows, more...); len(rows) != 3 || !strings.Contains(notes, "memory has no server") {
		t.Fatalf("%d rows and %q", len(rows), notes)
	}
	for i, want := range []struct{ lock, wait, ends string }{
		{"set-nx", "backoff", "expires"}, {"fair", "native", "expires"}, {"setnx", "backoff", "never"},
	} {
		r := rows[i]
		if r.Lock != want.lock || r.Wait != want.wait || r.Ends != want.ends || !strings.Contains(r.Server, "redis") {
			t.Errorf("row %d: %+v, want %+v", i, r, want)
		}
		if never := want.ends == "never"; never != (r.Never == r.Deaths) || len(r.Times)+r.Never != r.Deaths {
			t.Errorf("%s: %d of %d never came free, and %d times", r.Lock, r.Never, r.Deaths, len(r.Times))
		}
		for _, took := range r.Times {
			if took <= 0 {
				t.Errorf("%s: granted %v after the death", r.Lock, took)
			}
		}
	}
}

func runJSON(t *testing.T, s settings) (rows []row, notes string) {
	t.Helper()
	var out, messages bytes.Buffer
	if err := s.run(t.Context(), &out, &messages); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		rows = append(rows, r)
	}
	return rows, messages.String()
}

// A holder reports why it cannot hold.
func TestHolder(t *testing.T) {
	if _, err := startHolder(t.Context(), assignment{Driver: "rueidis", Lock: "no-such-lock"}); err == nil ||
		!strings.Contains(err.Error(), "no-such-lock") {
		t.Errorf("starting a holder of a lock that does not exist: %v", err)
	}
}

// Every service can be started: a new one needs an entry in starts.
func TestEveryServiceStarts(t *testing.T) {
	for _, name := range drivers.Names() {
		d, err := drivers.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := d.(drivers.Addressed); ok && starts[a.Service()] == nil {
			t.Errorf("%s: cannot start %s", name, a.Service())
		}
	}
}

func TestTable(t *testing.T) {
	const ms = time.Millisecond
	rows := []row{
		{Driver: "etcd", Lock: "mutex", Wait: "native", Ends: "session", TTL: 2 * time.Second, Durability: "relaxed",
			Server: "etcd 3.4.23", Deaths: 3, Timeout: 11 * time.Second, Times: []time.Duration{1800 * ms, 1500 * ms, 1700 * ms}},
		{Driver: "rueidis", Lock: "half", Deaths: 4, Never: 2, Times: []time.Duration{3 * ms, ms}},
		{Driver: "rueidis", Lock: "most", Deaths: 4, Never: 3, Times: []time.Duration{3 * ms}},
		{Driver: "rueidis", Lock: "setnx", Deaths: 3, Never: 3},
	}
	var out bytes.Buffer
	if err := table(&out, rows); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, want := range []string{
		"etcd mutex native session 2s relaxed 1.7s 1.5s 1.8s 0 of 3 etcd 3.4.23",
		"rueidis half 0s 3ms 1ms never 2 of 4",
		"rueidis most 0s never 3ms never 3 of 4",
		"rueidis setnx 0s never never never 3 of 3",
		"from the death of the holder to the next grant; never: not within 11s",
	} {
		if got := strings.Join(strings.Fields(lines[i+1]), " "); got != want {
			t.Errorf("line %d:\ngot  %s\nwant %s", i+1, got, want)
		}
	}
}

func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		want string
	}{
		{"-nonsense", 2, "-nonsense"},
		{"-driver nonsense", 1, "nonsense"},
		{"-lock nonsense", 1, "-lock nonsense: no driver has it"},
		{"-driver memory", 1, "nothing is left to measure"},
		{"-ttl 1ms", 1, "-ttl 1ms: 10ms or more"},
		{"-n 0", 1, "-n 0: 1 or more"},
		{"-durability strikt", 1, "-durability strikt: relaxed or strict"},
	} {
		var out, messages bytes.Buffer
		if code := run(context.Background(), strings.Fields(test.args), &out, &messages); code != test.code ||
			!strings.Contains(messages.String(), test.want) {
			t.Errorf("%s: code %d, %q; want %d, %q", test.args, code, messages.String(), test.code, test.want)
		}
	}
}
