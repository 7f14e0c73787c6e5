// What a reader of a plan's figures should be told before it runs.

package matrix

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Warnings returns what a reader of p's figures should know before believing them, given what the design claims and
// how long the server lets sessions live. Nothing here keeps a plan from running.
func Warnings(p spec.Plan, t drivers.Traits) (list []string) {
	for _, c := range p.Groups() {
		warn := func(text string, args ...any) {
			if text = fmt.Sprintf(text, args...); c.Name != "" {
				text = "class " + c.Name + ": " + text
			}
			list = append(list, text)
		}
		holds := c.HoldTimes()
		// More than one hold in a million has to be longer than the lease. The times of a file are not known here: that
		// their mean is near it must do.
		if t.Expires && !p.Renew && (holds.At(1-1e-6) >= c.TTL || holds.Kind == spec.TimesFile && c.Hold >= c.TTL/10) {
			warn("holds of %s can outlast a lease of %v: expect overlaps", holds, c.TTL)
		}
		if c.Crash > 0 && t.Exclusive && !t.Expires && !t.Session {
			warn("a lock of %s outlives its holder: each key that one dies on stays locked", p.Lock)
		}
		// Each arrival takes a client, and its key, for at least a hold.
		few, what := c.Clients, format.Plural(c.Clients, "client")
		if t.Exclusive && p.Keys < c.Clients {
			few, what = p.Keys, format.Plural(p.Keys, "key")
		}
		rate, most := max(c.Rate.Max(), c.BurstRate()), float64(few)/c.Hold.Seconds()
		if c.Hold > 0 && holds.Kind == "" && rate > most {
			warn("%s arrivals a second will queue up: %s busy for %v each can serve %s at most",
				format.Three(rate), what, c.Hold, format.Three(most))
		}
	}
	switch {
	case !t.Exclusive:
		list = append(list, "lock "+p.Lock+" claims no mutual exclusion: violations are counted, not judged")
	case !p.Oracle:
		list = append(list, "the oracle is off: nothing checks that the lock excludes")
	}
	return list
}

// SessionWarning returns that sessions live for another time than the plan's TTL, which services with whole seconds
// round up; empty if they do not.
func SessionWarning(p spec.Plan, session time.Duration) string {
	if session == 0 || p.TTL <= session && session <= p.TTL+time.Second {
		return ""
	}
	return fmt.Sprintf("the server keeps silent sessions for %v, and the TTL is %v", session, p.TTL)
}
