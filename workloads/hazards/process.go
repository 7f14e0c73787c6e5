package hazards

// Clients in processes of their own, which are killed and stopped for real.

import (
	"context"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/results/safety"
)

// process is what a client in another process has besides.
type process struct {
	worker *exec.Worker

	mu     sync.Mutex
	writes []time.Time   // after which each of its writes was made
	lost   chan struct{} // closed when it knows that it has lost the key
	told   sync.Once
}

// Process opens a client in another process, behind the same network as others.
func (s *Stage) Process(name string) *Client {
	c := &Client{stage: s, name: name, process: &process{lost: make(chan struct{})}}
	s.clients = append(s.clients, c)
	cfg := s.config()
	c.connect(&cfg)
	ctx, cancel := context.WithTimeout(s.ctx, openTimeout)
	defer cancel()
	began := time.Now()
	w, err := exec.Start(ctx, exec.Options{Driver: s.lock.Driver, Config: cfg, Event: c.process.hear})
	if err != nil {
		s.unanswered.note(began, time.Now())
		s.leave(safety.NotExercised, "%s cannot open: %v", name, err)
	}
	s.closers = append(s.closers, w.Close)
	c.process.worker, c.session = w, w.Session()
	return c
}

// hear takes note of what the worker tells unasked.
func (p *process) hear(e exec.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Kind {
	case exec.Wrote:
		p.writes = append(p.writes, e.After)
	case exec.Lost:
		p.told.Do(func() { close(p.lost) })
	}
}

// writesAfter returns how many writes were made after a moment for certain.
func (p *process) writesAfter(moment time.Time) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range p.writes {
		if at.After(moment) {
			n++
		}
	}
	return n
}

// writeEvery is how long the work of a holder takes before each of its writes.
const writeEvery = 5 * time.Millisecond

// Work lets the process do what the lock is for: it writes again and again while it believes that it holds the key, and renews
// its lease if the lock can.
func (c *Client) Work() {
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	if c.stage.Has(func(t drivers.Traits) bool { return t.Renews }) {
		if err := c.process.worker.Watch(ctx, &c.lease); err != nil {
			c.stage.leave(safety.NotExercised, "%s has no watchdog: %v", c.name, err)
		}
	}
	if err := c.process.worker.Write(ctx, &c.lease, writeEvery); err != nil {
		c.stage.leave(safety.NotExercised, "%s does not write: %v", c.name, err)
	}
}

// Stop stops the process, which knows nothing of it.
func (c *Client) Stop() {
	if c.stage.placebo {
		return
	}
	if _, err := c.process.worker.Stop(); err != nil {
		c.stage.leave(safety.NotExercised, "%s was not stopped: %v", c.name, err)
	}
}

// Continue lets the process go on, and returns the evidence that it was stopped.
func (c *Client) Continue() (p exec.Pause) {
	if c.stage.placebo {
		return p
	}
	ctx, cancel := context.WithTimeout(c.stage.ctx, openTimeout)
	defer cancel()
	p, err := c.process.worker.Continue(ctx)
	c.stage.leaveIf(err != nil, safety.NotExercised, "%s does not go on: %v", c.name, err)
	return p
}

// Kill kills the process with SIGKILL, and returns its end as the system tells it.
func (c *Client) Kill() (status string) {
	if c.stage.placebo {
		return ""
	}
	death, err := c.process.worker.Kill()
	c.stage.leaveIf(err != nil, safety.NotExercised, "%s was not killed: %v", c.name, err)
	c.died()
	return death.State
}
