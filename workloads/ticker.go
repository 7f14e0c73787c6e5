// The ticker beside the load: what keeps it from running on time keeps the clients from it as well (as in jHiccup, by Gil Tene). It
// finds pauses of lockbench itself, and times in which no lock was granted, and the warnings of both.

package workloads

import (
	"fmt"
	"sync"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/workloads/host"
)

const (
	// tickEvery is short beside anything that the ticker reports, and long beside what a tick costs.
	tickEvery = 5 * time.Millisecond

	// minPause is longer than what a busy scheduler, a garbage collector or a quota (100 ms less what it grants) takes at a
	// time.
	minPause = 100 * time.Millisecond

	// pausedCPU is the share of a core that the process may have used in a pause. A process that was stopped uses nothing, but
	// its clients may run before the ticker when it goes on. One that uses more is too busy to run the ticker, which the run
	// queue shows.
	pausedCPU = 0.10

	// delayEvery is how often the run delay is read, so that there is one reading from shortly before each pause.
	delayEvery = minPause

	// slowReading is how long a reading takes that may have waited for a core itself: it belongs to the pause that the next
	// tick finds.
	slowReading = minPause / 2

	maxPauses = 100 // that are kept
)

// ticker ticks while the load runs. Each tick is recorded with its own delay, also those that were due in a pause and came
// together after it: the distribution is that of what a request at a random time would meet.
type ticker struct {
	e       *engine
	cpu     func() time.Duration // of the process
	stopped chan struct{}
	ticking sync.WaitGroup

	due    time.Duration // the next tick
	last   time.Duration // time of the last tick
	used   time.Duration // CPU time of the process at that time
	pauses []results.Pause
	paused time.Duration // in the measured window, starvation left out
	unsure *unsure       // the last pause, as long as its threads may turn out to have been starved
	delay  host.RunDelay // of the threads…
	read   time.Duration // …at that time

	granted  int64         // locks granted by the last tick
	since    time.Duration // granted has been the same since then
	grantGap results.Pause // the longest time in the window without a grant
}

// unsure is a pause in which no thread is known to have waited for a core. The kernel counts a wait when it is over:
// threads that wait still when the ticker runs again have nothing to show.
type unsure struct {
	results.Pause
	index  int           // in pauses, if it is kept
	paused time.Duration // that it adds to paused
	before host.RunDelay
}

func newTicker(e *engine) *ticker {
	return &ticker{e: e, cpu: host.ProcessCPU, stopped: make(chan struct{})}
}

// begin starts to tick. The clock must run.
func (t *ticker) begin() {
	t.last, t.used = t.e.clock.Now(), t.cpu()
	t.due, t.read, t.delay = t.last+tickEvery, t.last, host.ReadRunDelay(t.e.root)
	t.ticking.Go(t.run)
}

// close ends it when the window closes.
func (t *ticker) close() {
	close(t.stopped)
	t.ticking.Wait()
	if t.unsure != nil {
		t.settle(host.ReadRunDelay(t.e.root))
	}
}

func (t *ticker) run() {
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			t.tick(t.e.clock.Now())
			timer.Reset(t.due - t.e.clock.Now())
		case <-t.stopped:
			t.tick(t.e.clock.Now()) // a pause may have lasted beyond the window's end
			return
		}
	}
}

// tick records all ticks that were due by now.
func (t *ticker) tick(now time.Duration) {
	if now < t.due {
		return
	}
	used := t.cpu() // by now: the reading below takes time, too
	waited, before := time.Duration(-1), t.delay
	if now-t.read >= delayEvery {
		began := time.Now()
		delay := host.ReadRunDelay(t.e.root)
		waited = delay.Since(t.delay)
		t.settle(delay)
		if time.Since(began) < slowReading {
			t.delay, t.read = delay, now
		}
	}
	if late := now - t.due; late >= minPause && (used < 0 || float64(used-t.used) < pausedCPU*float64(now-t.last)) {
		// Threads that were stopped were not ready to run; those that were starved waited for a core.
		p := results.Pause{At: t.due, Length: late, Starved: waited < 0 || waited >= late/2}
		if !p.Starved {
			t.unsure = &unsure{p, len(t.pauses), t.e.inside(t.due, now), before}
			t.paused += t.unsure.paused
		}
		if len(t.pauses) < maxPauses {
			t.pauses = append(t.pauses, p)
		}
	}
	shard := t.e.recorder.Borrow()
	for ; t.due <= now; t.due += tickEvery {
		if t.due >= t.e.from && t.due < t.e.until() {
			shard.Record(results.HiccupIndex, now-t.due)
		}
	}
	t.e.recorder.Return(shard)
	t.last, t.used = now, used
	t.watchGrants(now)
}

// settle decides from the next reading whether the last pause was one: a thread that was starved waited for as long
// as that, and one that was stopped has hardly waited since.
func (t *ticker) settle(delay host.RunDelay) {
	u := t.unsure
	if t.unsure = nil; u == nil || delay.Longest(u.before) < u.Length/2 {
		return
	}
	t.paused -= u.paused
	if u.index < len(t.pauses) {
		t.pauses[u.index].Starved = true
	}
}

// watchGrants measures for how long no lock was granted in the window.
func (t *ticker) watchGrants(now time.Duration) {
	if n := t.e.granted(); n != t.granted || now < t.e.from {
		t.granted, t.since = n, now
		return
	}
	at := max(t.since, t.e.from)
	if length := min(now, t.e.until()) - at; length > t.grantGap.Length {
		t.grantGap = results.Pause{At: at, Length: length}
	}
}

const (
	// longGrantGap is a time without a grant that is worth a word, if it is also grantGapFactor times as long as it is from one
	// grant to the next on average, and twice as long as holds, pauses and bursts may keep all clients busy.
	longGrantGap   = time.Second
	grantGapFactor = 20
)

// grantGapWarning says for how long no lock was granted, if that was far longer than from one grant to the next; else it is
// empty. It says nothing where the plan makes holders die or outlast their leases, which is what it wants to see.
func grantGapWarning(r *results.Record, d results.Pause) string {
	if d.Length < longGrantGap || r.Counts.Acquired == 0 || r.Plan.Shared || r.Counts.StuckKeys > 0 { // which are told
		return ""
	}
	for _, p := range r.Generator.Pauses { // which says it
		if !p.Starved && 2*(min(p.At+p.Length, d.At+d.Length)-max(p.At, d.At)) > d.Length {
			return ""
		}
	}
	busy := r.Latency[results.Hold].Max
	for _, g := range r.Plan.Groups() {
		if g.Crash > 0 {
			return ""
		}
		busy = max(busy, r.Latency[results.Hold].Max+g.Think, g.Burst)
	}
	if d.Length < grantGapFactor*r.Elapsed/time.Duration(r.Counts.Acquired) || d.Length < 2*busy {
		return ""
	}
	return fmt.Sprintf("no lock was granted for %s, from %s after the load began, where it is %s from one grant to the next on average: "+
		"an outage, or locks that requests left behind whose answer was lost", format.Duration(d.Length), format.Duration(d.At), format.Duration(r.Elapsed/time.Duration(r.Counts.Acquired)))
}
