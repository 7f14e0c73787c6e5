package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/render"
	"github.com/lockbench/lockbench/workloads"
)

// atPace is a progress whose clock stands still between the calls of tick.
func atPace(tty bool, turns int) (p *progress, out *bytes.Buffer, tick func(time.Duration)) {
	out = new(bytes.Buffer)
	now := time.Unix(0, 0)
	p = &progress{w: &lineWriter{w: out}, tty: tty, columns: 60, now: func() time.Time { return now }, turns: turns}
	return p, out, func(d time.Duration) { now = now.Add(d) }
}

func TestPlainProgress(t *testing.T) {
	p, out, tick := atPace(false, 2)
	p.begin(1, "clients 8", 10*time.Second, 12*time.Second)
	for i := range 24 {
		tick(250 * time.Millisecond)
		p.update(workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: time.Duration(i+1) * 250 * time.Millisecond, Total: 10 * time.Second, Acquired: int64(i+1) * 25_000})
	}
	p.end()
	want := "trial 1 of 2 (clients 8): measure 0s of 10s | 100,000 locks/s | 0 violations | 0 errors | about 22s left\n" +
		"trial 1 of 2 (clients 8): measure 5s of 10s | 100,000 locks/s | 0 violations | 0 errors | about 17s left\n"
	if out.String() != want {
		t.Errorf("%q\nwant %q", out, want)
	}
}

func TestTerminalProgress(t *testing.T) {
	p, out, tick := atPace(true, 1)
	p.begin(1, "", 10*time.Second, 0)
	tick(250 * time.Millisecond)
	p.update(workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 2 * time.Second, Acquired: 250, Violations: 1})
	fmt.Fprintln(p.w, "a message")
	tick(250 * time.Millisecond)
	p.update(workloads.Snapshot{Phase: workloads.PhaseDrain, Elapsed: time.Second, Acquired: 500, Errors: 2})
	p.end()
	want := "warm-up 1s of 2s | 1,000 locks/s | 1 violation | 0 errors |" + // cut at 59 columns
		eraseLine + "a message\n" +
		"drain 1s | 1,000 locks/s | 0 violations | 2 errors" + eraseLine
	if out.String() != want {
		t.Errorf("%q\nwant %q", out, want)
	}
}

func TestProgressLeft(t *testing.T) {
	p, _, _ := atPace(true, 1)
	p.begin(1, "", 10*time.Second, time.Minute)
	for _, test := range []struct {
		s    workloads.Snapshot
		want string
	}{
		{workloads.Snapshot{Phase: workloads.PhaseWarmup, Elapsed: time.Second, Total: 3 * time.Second}, "1m12s"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 10 * time.Second, Total: 10 * time.Second}, "1m"},
		{workloads.Snapshot{Phase: workloads.PhaseMeasure, Elapsed: 11 * time.Second, Total: 10 * time.Second}, "1m"},
	} {
		if got := p.line(test.s, 0); !strings.HasSuffix(got, "about "+test.want+" left") {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
}

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Second: "1m30s",
		100 * time.Second: "1m40s", 2 * time.Hour: "2h0m", 3601 * time.Second: "1h0m1s", 10 * time.Minute: "10m",
	} {
		if got := seconds(in); got != want {
			t.Errorf("%v is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := render.Thousands(in); got != want {
			t.Errorf("%d is %q, want %q", in, got, want)
		}
	}
}
