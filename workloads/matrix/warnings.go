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
func Warnings(p spec.Plan, t drivers.Traits, limits ...drivers.Limit) (w []string) {
	for _, c := range p.Groups() {
		if t.Expires && !p.Renew && outlasts(c.Load, c.TTL) {
			w = append(w, warning(c, "holds of %s can outlast a lease of %v: expect overlaps", c.HoldTimes(), c.TTL))
		}
		for _, limit := range limits {
			if outlasts(c.Load, limit.Of) {
				w = append(w, warning(c, "holds of %s can outlast the server's %s of %v: expect overlaps",
					c.HoldTimes(), limit.Name, limit.Of))
			}
		}
		if c.Crash > 0 && t.Exclusive && !t.Expires && !t.Session {
			w = append(w, warning(c, "a lock of %s outlives its holder: each key that one dies on stays locked", p.Lock))
		}
		if p.Duration > 0 && c.Rate.Over > p.Duration {
			w = append(w, warning(c, "the rate changes for %v, and the measured time ends after %v: give it a longer -duration",
				c.Rate.Over, p.Duration))
		}
		// Each arrival takes a client, and its key, for at least a hold.
		few, what := c.Clients, format.Plural(c.Clients, "client")
		if t.Exclusive && p.Keys < c.Clients {
			few, what = p.Keys, format.Plural(p.Keys, "key")
		}
		rate, most := max(c.Rate.Max(), c.BurstRate()), float64(few)/c.Hold.Seconds()
		if c.Hold > 0 && c.HoldDist == (spec.Times{}) && rate > most {
			w = append(w, warning(c, "%s arrivals a second will queue up: %s busy for %v each can serve %s at most",
				format.Three(rate), what, c.Hold, format.Three(most)))
		}
	}
	switch {
	case !t.Exclusive:
		w = append(w, "lock "+p.Lock+" claims no mutual exclusion: violations are counted, not judged")
	case !p.Oracle:
		w = append(w, "the oracle is off: nothing checks that the lock excludes")
	}
	return w
}

func warning(c spec.Class, text string, args ...any) string {
	if text = fmt.Sprintf(text, args...); c.Name != "" {
		return "class " + c.Name + ": " + text
	}
	return text
}

// outlasts reports whether more than one hold in a million outlasts a limit. The times of a file are not known here:
// that their mean is near the limit must do.
func outlasts(l spec.Load, limit time.Duration) bool {
	holds := l.HoldTimes()
	return holds.At(1-1e-6) >= limit || holds.Kind == spec.TimesFile && l.Hold >= limit/10
}

// SessionWarning returns about sessions that live for another time than the plan's TTL, which services with whole
// seconds round up; empty if they do not.
func SessionWarning(p spec.Plan, session time.Duration) string {
	then := "what a dead holder held comes free that late"
	switch {
	case session == 0 || p.TTL <= session && session <= p.TTL+time.Second:
		return ""
	case session < p.TTL:
		then = "a pause of that length ends all holds"
	}
	return fmt.Sprintf("the server keeps silent sessions for %v, and the TTL is %v: %s", session, p.TTL, then)
}
