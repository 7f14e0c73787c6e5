// What a reader of a plan's figures should be told before it runs.

package matrix

import (
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// Warnings returns what a reader of p's figures should know before believing them, given what the design claims.
// Nothing here keeps a plan from running.
func Warnings(p spec.Plan, t drivers.Traits) []string {
	var w []string
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }

	for _, g := range p.Groups() {
		for _, text := range append(leaseWarnings(p, g.Load, t), loadWarnings(p, g.Load, t)...) {
			w = append(w, classOf(g)+text)
		}
	}
	if !t.Exclusive {
		add("%s does not claim mutual exclusion: violations are counted but do not change the exit code", p.Lock)
	}
	if !p.Oracle && t.Exclusive {
		add("the oracle is off: nothing checks that the lock excludes")
	}
	if p.Wait == "poll" && p.Poll >= p.Duration && p.Duration > 0 {
		add("clients poll every %v in a run of %v: a client that waits once hardly tries again", p.Poll, p.Duration)
	}
	if need := memory(p); need > 1<<30 {
		add("%d clients and %d keys take about %.1f GiB of memory", p.Clients, p.Keys, float64(need)/(1<<30))
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

// memory returns about what a run takes, in bytes: a client its stack, its counters and its session (scripts/overhead measures
// 6 KB), or in a batch without a stack 1 to 1.25 KB, unless it sleeps until it is woken; a key its name and its cell in the oracle.
func memory(p spec.Plan) int64 {
	client, key := int64(8<<10), int64(128)
	if kind, _ := wait.Find(p.Wait); Batched(&p) && !kind.Wakes {
		client = 1200
	}
	return int64(p.Clients)*client + int64(p.Keys)*key
}

// coarseTTL is a lease of which the lateness of timers is a good part.
const coarseTTL = 20 * time.Millisecond

// leaseWarnings returns about holds and the leases that they may outlast.
func leaseWarnings(p spec.Plan, l spec.Load, t drivers.Traits) (w []string) {
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	switch {
	case !t.Expires:
	case p.Renew && l.TTL < coarseTTL:
		add("a lease of %v is renewed every %v, and timers may be a millisecond late: holds may be lost for that alone",
			l.TTL, l.TTL/3)
	case p.Renew: // it may hold as long as it likes
	case !l.HoldDist.IsZero():
		if text := outlasting(l, l.TTL); text != "" {
			add("%s a lease of %v: expect overlaps%s", text, l.TTL, counted(p))
		}
	case l.Hold >= l.TTL:
		add("every hold outlasts its lease (hold %v, TTL %v): expect overlaps%s", l.Hold, l.TTL, counted(p))
	case l.Hold > l.TTL/2:
		add("a hold of %v leaves %v of its TTL: a pause of that length makes it outlast its lease", l.Hold, l.TTL-l.Hold)
	}
	if l.Crash == 0 {
		return w
	}
	if whole := p.Warmup + p.Duration; t.Expires && p.Duration > 0 && l.TTL >= whole {
		add("no lease of %v ends in a run of %v: nobody will see what follows from -crash", l.TTL, whole)
	}
	if !t.Expires && !t.Session && t.Exclusive {
		add("a lock of %s outlives its holder: each key that a holder dies on is locked for the rest of the run", p.Lock)
	}
	if !p.Oracle {
		add("the oracle is off: nothing is measured of what follows from -crash")
	}
	return w
}

func counted(p spec.Plan) string {
	if p.Oracle {
		return "; the oracle will count them"
	}
	return ", which nobody will count"
}

// LimitWarnings returns about holds that last longer than a server lets the sessions of their holders live.
func LimitWarnings(p spec.Plan, limits []drivers.Limit) (w []string) {
	for _, g := range p.Groups() {
		for _, limit := range limits {
			what := fmt.Sprintf("the server's %s of %v", limit.Name, limit.Of)
			text := ""
			switch l := g.Load; {
			case !l.HoldDist.IsZero():
				if text = outlasting(l, limit.Of); text != "" {
					text = fmt.Sprintf("%s %s, which ends the session and with it the hold: expect overlaps%s", text, what, counted(p))
				}
			case l.Hold >= limit.Of:
				text = fmt.Sprintf("every hold (%v) outlasts %s, which ends the session and with it the hold: expect overlaps%s",
					l.Hold, what, counted(p))
			case l.Hold > limit.Of/2:
				text = fmt.Sprintf("a hold of %v leaves %v of %s: a pause of that length ends the session and with it the hold",
					l.Hold, limit.Of-l.Hold, what)
			}
			if text != "" {
				w = append(w, classOf(g)+text)
			}
		}
	}
	return w
}

// SessionWarning returns about sessions that live for another time than the plan's TTL, which services with whole seconds
// round up; empty if they do not.
func SessionWarning(p spec.Plan, session time.Duration) string {
	switch {
	case session == 0:
	case session > p.TTL+time.Second:
		return fmt.Sprintf("the server keeps silent sessions for %v, and the TTL is %v: what a dead holder held comes free that late", session, p.TTL)
	case session < p.TTL:
		return fmt.Sprintf("the server keeps silent sessions for %v, and the TTL is %v: a pause of that length ends all holds", session, p.TTL)
	}
	return ""
}

// outlasting returns how many of the holds outlast a limit, "1 % of the holds (exp:5ms) outlast", or nothing if it is
// less than one in a million. What a file replays is not known here: that its mean is near the limit must do.
func outlasting(l spec.Load, limit time.Duration) string {
	if l.HoldDist.Kind == spec.TimesFile {
		if l.Hold >= limit/10 {
			return fmt.Sprintf("holds of %s may outlast", l.HoldDist)
		}
		return ""
	}
	if share := l.HoldDist.Beyond(limit); share >= 1e-6 {
		return fmt.Sprintf("%.3g %% of the holds (%s) outlast", 100*share, l.HoldDist)
	}
	return ""
}

// loadWarnings returns about loads that the run or the clients are too short for.
func loadWarnings(p spec.Plan, l spec.Load, t drivers.Traits) (w []string) {
	add := func(format string, args ...any) { w = append(w, fmt.Sprintf(format, args...)) }
	if p.Duration > 0 && l.Timeout >= p.Duration {
		add("a client's patience (timeout %v) is as long as the run (%v): none that starts to wait in it gives up in it",
			l.Timeout, p.Duration)
	}
	switch once := l.Hold + l.Think; {
	case p.Duration == 0 || once < p.Duration:
	case l.Open():
		add("one hold takes %v, the run only %v: expect a single lock a client or none", once, p.Duration)
	default:
		add("one hold and one pause take %v, the run only %v: expect a single lock a client or none", once, p.Duration)
	}
	if p.Duration > 0 && l.Rate.Ramp() > p.Duration {
		add("the rate changes for %v, and the measured time ends after %v, at %s a second: give it a longer -duration",
			l.Rate.Ramp(), p.Duration, format.Three(l.Rate.At(p.Duration)))
	}
	if l.Hold == 0 || !l.HoldDist.IsZero() || !l.Open() {
		return w
	}
	// Each arrival takes a client, and its key, for at least a hold. That is certain, so that it can be said beforehand.
	few, what, then := l.Clients, format.Plural(l.Clients, "client")+" holding", "queue up"
	if t.Exclusive && p.Keys < l.Clients {
		few, what, then = p.Keys, format.Plural(p.Keys, "key")+" held", "queue up or give up"
	}
	if rate, most := openRate(l), float64(few)/l.Hold.Seconds(); rate > most {
		add("%s locks a second are asked for, and %s for %v can give %s at most: arrivals will %s", format.Three(rate), what, l.Hold, format.Three(most), then)
	}
	return w
}

// openRate returns the highest rate of arrivals, and that of bursts on average.
func openRate(l spec.Load) float64 {
	if l.Burst > 0 {
		return l.BurstRate()
	}
	return l.Rate.Max()
}
