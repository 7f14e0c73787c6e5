// What a reader of a plan's figures should be told before it runs.

package matrix

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Warnings returns what a reader of p's figures should know before believing them, given what the design claims.
// Nothing here keeps a plan from running.
func Warnings(p spec.Plan, t drivers.Traits) (w []string) {
	for _, g := range p.Groups() {
		for _, text := range []string{leaseWarning(p, g.Load, t), crashWarning(p, g.Load, t), rateWarning(p, g.Load, t)} {
			if text != "" {
				w = append(w, classOf(g)+text)
			}
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

// LimitWarnings returns about holds that last longer than a server lets the sessions of their holders live.
func LimitWarnings(p spec.Plan, limits []drivers.Limit) (w []string) {
	for _, g := range p.Groups() {
		for _, limit := range limits {
			what := fmt.Sprintf("the server's %s of %v, which ends the session", limit.Name, limit.Of)
			if text := outlasting(p, g.Load, limit.Of, what); text != "" {
				w = append(w, classOf(g)+text)
			}
		}
	}
	return w
}

// classOf returns what stands before a warning about a class that has a name.
func classOf(c spec.Class) string {
	if c.Name == "" {
		return ""
	}
	return "class " + c.Name + ": "
}

func leaseWarning(p spec.Plan, l spec.Load, t drivers.Traits) string {
	if !t.Expires || p.Renew {
		return ""
	}
	return outlasting(p, l, l.TTL, fmt.Sprintf("a lease of %v", l.TTL))
}

// outlasting returns that holds outlast a limit, or nothing if one in a million does at most. The times of a file are not known
// here: that their mean is near the limit must do.
func outlasting(p spec.Plan, l spec.Load, limit time.Duration, what string) string {
	then := "expect overlaps; the oracle will count them"
	if !p.Oracle {
		then = "expect overlaps, which nobody will count"
	}
	holds := l.HoldTimes()
	if holds.At(1-1e-6) >= limit || holds.Kind == spec.TimesFile && l.Hold >= limit/10 {
		return fmt.Sprintf("holds of %s can outlast %s: %s", holds, what, then)
	}
	return ""
}

func crashWarning(p spec.Plan, l spec.Load, t drivers.Traits) string {
	if l.Crash == 0 || t.Expires || t.Session || !t.Exclusive {
		return ""
	}
	return "a lock of " + p.Lock + " outlives its holder: each key that a holder dies on is locked for the rest of the run"
}

// rateWarning returns about arrivals that the run is too short for, or the clients and keys too few. Each arrival takes a
// client, and its key, for at least a hold.
func rateWarning(p spec.Plan, l spec.Load, t drivers.Traits) string {
	if p.Duration > 0 && l.Rate.Ramp() > p.Duration {
		return fmt.Sprintf("the rate changes for %v, and the measured time ends after %v, at %s a second: give it a longer -duration",
			l.Rate.Ramp(), p.Duration, format.Three(l.Rate.At(p.Duration)))
	}
	if l.Hold == 0 || l.HoldDist != (spec.Times{}) {
		return ""
	}
	few, what := l.Clients, format.Plural(l.Clients, "client")
	if t.Exclusive && p.Keys < l.Clients {
		few, what = p.Keys, format.Plural(p.Keys, "key")
	}
	rate, most := max(l.Rate.Max(), l.BurstRate()), float64(few)/l.Hold.Seconds()
	if rate <= most {
		return ""
	}
	return fmt.Sprintf("%s locks a second are asked for, and %s busy for %v each can give %s at most: arrivals will queue up",
		format.Three(rate), what, l.Hold, format.Three(most))
}

// SessionWarning returns about sessions that live for another time than the plan's TTL, which services with whole seconds
// round up; empty if they do not.
func SessionWarning(p spec.Plan, session time.Duration) string {
	then := ""
	switch {
	case session > p.TTL+time.Second:
		then = "what a dead holder held comes free that late"
	case session > 0 && session < p.TTL:
		then = "a pause of that length ends all holds"
	default:
		return ""
	}
	return fmt.Sprintf("the server keeps silent sessions for %v, and the TTL is %v: %s", session, p.TTL, then)
}
