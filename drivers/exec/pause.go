package exec

// Stopping a worker and letting it go on.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
)

// Pause is the evidence that a worker was stopped. It did not run from Stopped to Continued.
type Pause struct {
	Stopped   time.Time // when none of its threads ran any more, where the system tells that; otherwise when the signal was sent
	Continued time.Time // when the signal to go on was sent
	State     string    // of the process at Stopped, as in /proc/PID/stat: T; empty if the system does not tell

	// Gap is the time between two ticks of the worker, as it has told itself afterwards. It is as long as the pause or
	// longer, to the precision of the worker's clock, and 0 of a pause that is too short to be told.
	Gap time.Duration
}

// Length returns how long the worker did not run at least.
func (p Pause) Length() time.Duration { return p.Continued.Sub(p.Stopped) }

// Stop stops the worker, and what it has started, with SIGSTOP. It returns when they have stopped, where the system
// tells that, and when.
func (w *Worker) Stop() (stopped time.Time, err error) {
	w.control.Lock()
	defer w.control.Unlock()
	if w.pause != nil {
		return time.Time{}, errors.New("worker: stop: it is stopped already")
	}
	if err := w.process.StopGroup(); err != nil {
		return time.Time{}, fmt.Errorf("worker: stop: %w", err)
	}
	if is, known := w.process.Stopped(); known && (!is || w.process.Gone()) {
		return time.Time{}, fmt.Errorf("worker: stop: it does not stop: its state is %q", w.process.Letter())
	}
	w.pause = &Pause{Stopped: time.Now(), State: w.process.Letter()}
	w.conn.forgetGaps()
	return w.pause.Stopped, nil
}

// Continue lets a stopped worker go on, and waits until it has told how long it did not run. A worker that tells no gaps
// is waited for until ctx is done.
func (w *Worker) Continue(ctx context.Context) (Pause, error) {
	p, err := w.resume()
	if err != nil {
		return p, fmt.Errorf("worker: continue: %w", err)
	}
	if p.Length() < minGap+lines.ClockError {
		return p, nil
	}
	if p.Gap, err = w.conn.gapOver(ctx, p); err != nil {
		return p, fmt.Errorf("worker: continue: it has told of no pause: %w", err)
	}
	return p, nil
}

func (w *Worker) resume() (Pause, error) {
	w.control.Lock()
	defer w.control.Unlock()
	if w.pause == nil {
		return Pause{}, errors.New("it is not stopped")
	}
	p := *w.pause
	p.Continued = time.Now()
	if err := w.process.ContinueGroup(); err != nil {
		return p, err
	}
	w.pause = nil
	return p, nil
}

func (c *conn) forgetGaps() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gaps = nil
}

// gapOver waits for a gap as long as the pause that did not end before it, and returns its length.
func (c *conn) gapOver(ctx context.Context, p Pause) (time.Duration, error) {
	for {
		if length := c.findGap(p); length > 0 {
			return length, nil
		}
		select {
		case <-c.gapped:
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-c.Done():
			return 0, c.Err()
		}
	}
}

func (c *conn) findGap(p Pause) time.Duration {
	_, high := c.Bounds()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.gaps {
		ended := c.Clock.Time(g.end + high) // or earlier
		if g.length >= p.Length()-lines.ClockError && !ended.Before(p.Continued.Add(-lines.ClockError)) {
			return g.length
		}
	}
	return 0
}
