package progress

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads"
)

// atPace returns a progress whose clock stands still between the calls of tick.
func atPace(tty bool, turns int) (p *Line, out *bytes.Buffer, tick func(time.Duration)) {
	out = new(bytes.Buffer)
	now := time.Unix(0, 0)
	p = &Line{w: &Writer{W: out}, tty: tty, columns: 60, now: func() time.Time { return now }, trials: turns}
	return p, out, func(d time.Duration) { now = now.Add(d) }
}

func TestPlainProgress(t *testing.T) {
	p, out, tick := atPace(false, 2)
	p.Begin(1, "clients 8", 10*time.Second, 12*time.Second)
	for i := range 24 {
		tick(250 * time.Millisecond)
		p.Update(workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: time.Duration(i+1) * 250 * time.Millisecond, Total: 10 * time.Second, Acquired: int64(i+1) * 25_000, P99: 12345 * time.Microsecond})
	}
	p.End()
	want := "trial 1 of 2: measure 0s of 10s | 100,000 locks/s | p99 12.3 ms | 22s left | clients 8\n" +
		"trial 1 of 2: measure 5s of 10s | 100,000 locks/s | p99 12.3 ms | 17s left | clients 8\n"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out, want)
	}
}

func TestTerminalProgress(t *testing.T) {
	p, out, tick := atPace(true, 1)
	p.Begin(1, "", 10*time.Second, 0)
	tick(250 * time.Millisecond)
	p.Update(workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 2 * time.Second, Acquired: 250, Violations: 1, Errors: 1_000_000})
	fmt.Fprintln(p.w, "a message")
	tick(250 * time.Millisecond)
	p.Update(workloads.Snapshot{Phase: workloads.PhaseDrain, Elapsed: time.Second, Acquired: 500, Errors: 2})
	p.End()
	want := "warm-up 1s of 2s | 1,000 locks/s | 1 violation | 1,000,000 " + // cut at 59 columns
		eraseLine + "a message\n" +
		"drain 1s | 1,000 locks/s | 2 errors" + eraseLine
	if out.String() != want {
		t.Errorf("%q\nwant %q", out, want)
	}
}

// TestOpenLoopProgress shows what was due beside what was done.
func TestOpenLoopProgress(t *testing.T) {
	p, out, tick := atPace(false, 1)
	p.Begin(1, "", time.Minute, 0)
	for i := range 2 {
		s := workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: time.Duration(5*i) * time.Second, Total: time.Minute, Open: true, P99: 850 * time.Microsecond}
		if i > 0 {
			s.Acquired, s.Offered, s.Dropped, s.Queue, s.P99 = 24_000, 30_000, 40, 5_960, 2*time.Second
		}
		tick(5 * time.Second)
		p.Update(s)
	}
	want := "measure 0s of 1m | 0 arrivals/s, 0 granted | p99 850 µs | queue 0 | 1m left\n" +
		"measure 5s of 1m | 6,000 arrivals/s, 4,800 granted | p99 2.00 s | queue 5,960 | 40 dropped | 55s left\n"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out, want)
	}
}

func TestProgressLeft(t *testing.T) {
	p, _, _ := atPace(true, 1)
	p.Begin(1, "", 10*time.Second, time.Minute)
	for _, test := range []struct {
		s    workloads.Snapshot
		want string
	}{
		{workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 3 * time.Second}, "1m12s"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 10 * time.Second, Total: 10 * time.Second}, "1m"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 11 * time.Second, Total: 10 * time.Second}, "1m"},
	} {
		if got := p.line(test.s, 0); !strings.HasSuffix(got, "| "+test.want+" left") {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Second: "1m30s",
		100 * time.Second: "1m40s", 2 * time.Hour: "2h0m", 3601 * time.Second: "1h0m1s", 10 * time.Minute: "10m",
	} {
		if got := Seconds(in); got != want {
			t.Errorf("%v is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := format.Count(in); got != want {
			t.Errorf("%d is %q, want %q", in, got, want)
		}
	}
}
