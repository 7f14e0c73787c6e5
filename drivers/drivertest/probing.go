package drivertest

// Cases about requests unrelated to locks.

import (
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// probe probes while a key is held.
func probe(t *T) {
	svc := t.open(2)
	prober, _ := drivers.As[drivers.Prober](svc)
	a, b := t.client(svc), t.client(svc)
	l := a.takes(t.key(), long)
	for range 3 {
		t.must("Probe", prober.Probe(t.ctx))
	}
	b.refused(lease(l.Key, long), "another client holds the key; the service was only probed")
	a.release(l, true, "the client held the key; the service was only probed")
	over, cancel := context.WithCancel(t.ctx)
	cancel()
	t.fatalIf(prober.Probe(over) == nil, "Probe succeeds although its context is over")
}

// probeOverCut takes the service away and gives it back. A probe must fail meanwhile, and not take longer than any
// request may.
func probeOverCut(t *T) {
	svc := t.open(1)
	prober, _ := drivers.As[drivers.Prober](svc)
	t.must("Probe", prober.Probe(t.ctx))
	limit := t.Config.IO() + slack
	func() {
		defer t.Cut()()
		for range 2 { // on the broken connection, and without one
			start := time.Now()
			t.ends(limit, "Probe has not failed %v after the connection was cut", func(ctx context.Context) {
				t.fatalIf(prober.Probe(ctx) == nil, "Probe has no error without a connection")
			})
			if time.Since(start) >= t.Config.IO() {
				break // it has waited for a connection already
			}
		}
	}()
	t.eventually("Probe did not get through again", func() bool {
		ctx, cancel := context.WithTimeout(t.ctx, time.Second)
		defer cancel()
		return prober.Probe(ctx) == nil
	})
}
