// The stages of a client that a worker carries, in the order of a cycle. Each takes the time (now) when what it goes on from has
// happened to the client: the answer, or what was due.

package workloads

import (
	"container/heap"
	"context"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/renew"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/workloads/shape"
)

// begin begins a cycle, or lets the client rest until there is an arrival, unless its loop is over.
func (w *worker) begin(v *virtualClient, now time.Duration) {
	e := w.e
	switch {
	case v.class.open:
		w.takeUp(v, now)
	case now >= e.until() || e.budget != nil && !v.claim(now):
		if v.wants < e.until() && e.budget == nil {
			v.counters.longest = max(v.counters.longest, e.until()-v.wants)
		}
		w.end(v, now)
	default:
		w.acquire(v, now)
	}
}

// takeUp lets a client serve arrivals: one that had to wait, or else the next one, which Arrive tells of.
func (w *worker) takeUp(v *virtualClient, now time.Duration) {
	for {
		v.stage, v.since = beginning, now
		if due, come := v.class.queue.Park(v); !come || w.serve(v, now, due, true) {
			return
		}
	}
}

// Arrive implements pace.Taker.
func (v *virtualClient) Arrive(due time.Duration, ok bool) {
	v.due, v.over = due, !ok
	v.worker.wakes(v)
}

// arrived goes on with a client that rested.
func (w *worker) arrived(v *virtualClient, now time.Duration) {
	now = max(v.since, w.at(v.due, now)) // it may have begun to rest after that was due
	v.counters.idle += w.e.inside(v.since, now)
	switch {
	case v.over:
		w.end(v, now)
	case !w.serve(v, now, v.due, false):
		w.takeUp(v, now)
	}
}

// serve lets a client serve an arrival, unless the window has closed.
func (w *worker) serve(v *virtualClient, now, due time.Duration, waited bool) bool {
	if now >= w.e.until() {
		w.e.countUntaken(v.class, due)
		return false
	}
	v.due, v.waited, v.wants, v.claimed = due, waited, due, due >= w.e.from
	v.tryOnly = v.class.TryOnly > 0 && shape.Unit(&v.rng) < v.class.TryOnly
	w.acquire(v, now)
	return true
}

func (w *worker) end(v *virtualClient, now time.Duration) {
	v.left = now
	w.running--
}

func (w *worker) acquire(v *virtualClient, now time.Duration) {
	v.client.begin(now)
	v.tries = wait.Attempt{}
	w.try(v, now)
}

// try asks for the key, unless the local line has the answer.
func (w *worker) try(v *virtualClient, now time.Duration) {
	if v.line == nil {
		w.ask(v, now, trying)
		return
	}
	switch held, asks := v.line.BeginTry(&v.lease); {
	case asks:
		w.ask(v, now, trying)
	case held:
		w.tried(v, now, true, nil)
	default: // later, because a client that does not wait would try again and again
		w.refused = append(w.refused, v)
	}
}

// ask sends a client's request next, the one that this stage waits for.
func (w *worker) ask(v *virtualClient, now time.Duration, next stage) {
	v.stage, v.since = next, now
	w.asking = append(w.asking, v)
}

// release asks for the end of a hold, or of what may be one.
func (w *worker) release(v *virtualClient, now time.Duration, next stage) {
	if v.line != nil {
		v.line.to = v.line.BeginRelease(&v.lease)
	}
	w.ask(v, now, next)
}

func (w *worker) tried(v *virtualClient, now time.Duration, held bool, err error) {
	first := v.firstTry()
	v.tries.Answer(held, err, v.client)
	w.goOn(v, now, first, err)
}

// firstTry reports whether the acquisition has had no try yet.
func (v *virtualClient) firstTry() bool { return v.tries.Tries+v.tries.Local == 0 }

// goOn goes on with an acquisition after a try that is counted.
func (w *worker) goOn(v *virtualClient, now time.Duration, first bool, err error) {
	switch {
	case v.tries.Held && first:
		v.answered(now)
		w.hold(v, now)
		return
	case first:
		v.unclaim()
		v.class.waiting.Add(1)
	}
	if !v.tries.Held && err == nil && v.waits() && !v.late(now) {
		w.wait(v, now)
		return
	}
	w.acquired(v, now, err)
}

// waits reports whether the client waits for the lock in this cycle.
func (v *virtualClient) waits() bool { return v.currentWaiter() != nil }

// late reports whether the time-out of an acquisition has passed.
func (v *virtualClient) late(now time.Duration) bool {
	l := &v.lease
	return !l.Deadline.IsZero() && !v.e.clock.Time(now).Before(l.Deadline)
}

// wait lets a client wait until it tries again.
func (w *worker) wait(v *virtualClient, now time.Duration) {
	if v.tries.Waits++; v.tries.Waits == 1 {
		v.tries.Began = now
	}
	if d, ok := v.waiter.(stoppable).Waiter.(wait.Delayer); ok {
		w.sleep(v, now, retrying, d.Delay(&v.lease))
		return
	}
	v.stage = awaiting
	w.waiting++
	go w.await(v)
}

// await waits, in a goroutine of the client's own.
func (w *worker) await(v *virtualClient) {
	defer func() {
		if p := recover(); p != nil {
			v.cause = drivers.Panicked(p)
			w.e.crashed(v.cause)
		}
		v.wake = w.e.clock.Now()
		w.wakes(v)
	}()
	v.cause = v.waiter.Wait(context.Background(), &v.lease)
}

func (w *worker) waited(v *virtualClient, now time.Duration, err error) {
	passed := v.line != nil && v.line.Passed()
	switch {
	case err != nil: // mostly, the run has stopped: later than the wait was to end
		now = w.e.clock.Now()
		w.acquired(v, now, err)
	case v.late(now) && !passed:
		w.acquired(v, now, nil)
	default:
		if !passed {
			v.tries.Asked = now
		}
		w.try(v, now)
	}
}

// acquired ends an acquisition that was not granted at once.
func (w *worker) acquired(v *virtualClient, now time.Duration, err error) {
	v.class.waiting.Add(-1)
	if v.waits() {
		v.tries.Leave = v.waiter.Leave(context.Background(), &v.lease)
	}
	v.answered(now)
	v.contended(&v.tries)
	switch {
	case v.tries.Held:
		w.hold(v, now)
	case err == nil:
		v.refused(false)
		w.think(v, now)
	case v.interrupted(err):
		w.begin(v, now)
	case v.mustUndo(&v.tries):
		v.cause = err
		w.release(v, now, undoing)
	default:
		v.cause = err
		w.failed(v, now)
	}
}

func (w *worker) failed(v *virtualClient, now time.Duration) {
	v.fail(&v.tries, v.cause)
	v.cause = nil
	w.pause(v, now, v.asked, beginning)
}

func (w *worker) hold(v *virtualClient, now time.Duration) {
	v.enter()
	if !v.class.timedHold && !v.class.managedHold {
		w.sample(v, now)
		return
	}
	v.crashes, v.lost = false, false
	if v.hold != nil {
		v.hold.until = 0
	}
	if v.class.managedHold {
		v.crashes = v.drawCrash()
	}
	if v.inner != nil {
		w.reenter(v, now)
	} else {
		w.holdFor(v, now)
	}
}

// reenter asks for the lock that a client holds.
func (w *worker) reenter(v *virtualClient, now time.Duration) {
	v.inner.before = v.lease
	if v.line != nil {
		v.line.BeginTry(&v.lease) // a holder asks the server
	}
	w.ask(v, now, reentering)
}

// reentered goes on after the answer: with the next re-entry, with the hold itself, or with its end.
func (w *worker) reentered(v *virtualClient, now time.Duration, held bool, err error) {
	switch {
	case !v.reentered(&v.inner.before, held, err, now-v.since):
		v.sent = now
		w.held(v, now)
	case v.inner.granted+2 < w.e.run.Plan.Reentry:
		v.inner.granted++
		w.reenter(v, now)
	default:
		v.inner.granted++
		w.holdFor(v, now)
	}
}

// holdFor holds for the time that is drawn.
func (w *worker) holdFor(v *virtualClient, now time.Duration) {
	if !v.class.timedHold {
		w.held(v, now)
		return
	}
	d := v.class.holds.Next(&v.rng)
	if v.hold == nil {
		w.sleep(v, now, holding, d)
		return
	}
	v.hold.Term, v.hold.until = renew.Begun(&v.lease, v.leaseBegan(), &w.e.clock), now+d
	w.holdOn(v, now)
}

// holdOn goes on with a hold that is renewed, until it is over or the next renewal is due.
func (w *worker) holdOn(v *virtualClient, now time.Duration) {
	w.sleep(v, now, holding, min(v.hold.until, v.hold.Due)-now)
}

// renew asks for a renewal, if the hold is not over or lost.
func (w *worker) renew(v *virtualClient, now time.Duration) {
	if v.lost = now >= v.hold.Valid; v.lost {
		w.held(v, now)
		return
	}
	v.hold.before = v.hold.Asks(&v.lease)
	w.ask(v, now, renewing)
}

func (w *worker) renewed(v *virtualClient, now time.Duration, owned bool, err error) {
	r := renew.Renewal{Sent: v.since, Answered: now, Owned: owned, Err: err}
	v.hold.Answered(&v.lease, v.hold.before, r, &w.e.clock)
	w.e.renewed(r)
	v.sent, v.lost = now, v.hold.Lost
	if v.lost || now >= v.hold.until {
		w.held(v, now)
	} else {
		w.holdOn(v, now)
	}
}

func (w *worker) held(v *virtualClient, now time.Duration) {
	if v.crashes {
		v.markCrashed()
	}
	if v.inner == nil {
		w.sample(v, now)
		return
	}
	switch in := v.inner; {
	case v.crashed:
		in.granted = 0
	case v.lost:
		v.pendingReleases += int32(in.granted) // the hold has to end at once
		in.granted = 0
	}
	w.unwind(v, now)
}

// unwind releases the re-entries that are left.
func (w *worker) unwind(v *virtualClient, now time.Duration) {
	if v.inner.granted > 0 {
		w.release(v, now, unwinding)
		return
	}
	v.sent = now
	w.sample(v, now)
}

// sample makes a hold longer until it is watched, if that is due, and ends it.
func (w *worker) sample(v *virtualClient, now time.Duration) {
	if most := v.sampleFor(); most > 0 {
		v.since = v.sent
		w.sleep(v, now, sampling, most)
		return
	}
	w.leave(v, now)
}

// leave ends a hold by a release, or without one.
func (w *worker) leave(v *virtualClient, now time.Duration) {
	if !v.crashed {
		w.release(v, now, releasing)
		return
	}
	v.leave()
	now = v.crash()
	v.equip()
	w.begin(v, now)
}

// think ends a cycle, when no release is pending.
func (w *worker) think(v *virtualClient, now time.Duration) {
	if v.pendingReleases > 0 {
		w.release(v, now, flushing)
		return
	}
	if v.class.thinking {
		v.since = now
		w.sleep(v, now, thinking, v.class.thinks.Next(&v.rng))
		return
	}
	v.ended(now)
	w.begin(v, now)
}

// ended records that a client wants a lock again; one that was refused has wanted it all the time.
func (v *virtualClient) ended(now time.Duration) {
	if v.tries.Held {
		v.wants = now
	}
}

// pause lets a client rest after an error of what began at that time.
func (w *worker) pause(v *virtualClient, now, began time.Duration, after stage) {
	v.since, v.after = began, after
	w.sleep(v, now, pausing, v.drawPause())
}

// sleep lets a client sleep, and go on after that with what is in that stage.
func (w *worker) sleep(v *virtualClient, now time.Duration, next stage, d time.Duration) {
	v.stage, v.wake = next, now+max(0, d)
	heap.Push(&w.sleeping, v)
}

// wake goes on with a client whose sleep is over.
func (w *worker) wake(v *virtualClient, now time.Duration) {
	switch v.stage {
	case retrying:
		w.waited(v, now, w.e.stopping.Err())
	case holding:
		v.sent = now
		if v.hold != nil && now < v.hold.until && w.e.stopping.Err() == nil {
			w.renew(v, now)
		} else {
			w.held(v, now)
		}
	case sampling:
		v.sent = now
		v.sampled(v.since)
		w.leave(v, now)
	case pausing:
		v.counters.failing += w.e.inside(v.since, now)
		if v.after == thinking {
			w.think(v, now)
		} else {
			w.begin(v, now)
		}
	case thinking:
		v.thought(v.since, now)
		v.ended(now)
		w.begin(v, now)
	}
}
