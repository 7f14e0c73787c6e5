// The ticker beside the load: what keeps it from running on time keeps the clients from it as well (as in jHiccup, by Gil
// Tene). It finds pauses of lockbench itself, and times in which no lock was granted.

package workloads

import (
	"sync"
	"time"

	"github.com/lockbench/lockbench/results"
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
	delay  host.RunDelay // of the threads…
	read   time.Duration // …at that time

	granted  int64         // locks granted by the last tick
	since    time.Duration // granted has been the same since then, pauses left out
	grantGap results.Pause // the longest time in the window without a grant
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
	waited := time.Duration(-1)
	if now-t.read >= delayEvery {
		began := time.Now()
		delay := host.ReadRunDelay(t.e.root)
		waited = delay.Since(t.delay)
		if time.Since(began) < slowReading {
			t.delay, t.read = delay, now
		}
	}
	used := t.cpu()
	if late := now - t.due; late >= minPause && (used < 0 || float64(used-t.used) < pausedCPU*float64(now-t.last)) {
		// Threads that were stopped were not ready to run; those that were starved waited for a core.
		p := results.Pause{At: t.due, Length: late, Starved: waited < 0 || waited >= late/2}
		if !p.Starved {
			t.paused += t.e.inside(t.due, now)
		}
		if len(t.pauses) < maxPauses {
			t.pauses = append(t.pauses, p)
		}
		t.since += late
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
