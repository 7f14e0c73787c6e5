package hazards

// The stage of one attempt: its faults and findings, and its time.

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// Stage is one attempt. Its methods end the attempt (by a panic that the package catches) if they cannot do what they say, so
// that a story reads from top to bottom. One goroutine tells it.
type Stage struct {
	ctx      context.Context
	lock     Lock
	topology drivers.Topology // that it is opened with
	server   Server           // nil for a driver without one
	round    *round           // nil for a hazard without a fault of the server
	number   int              // of the attempt, from 0
	placebo  bool             // no fault happens
	key      string
	prefix   string
	ttl      time.Duration

	ioTimeout, nodeTimeout time.Duration

	history *history
	clients []*Client
	closers []func() error
	inside  drivers.Service // that all clients share, without a server

	watch      func(fault.Passage) // sees all that clients send and receive that are opened now; nil: nobody
	witness    *witness
	unanswered stalls // of requests of clients that suffer no fault

	outcome safety.Attempt
}

// over ends an attempt.
type over struct {
	verdict safety.Verdict
	why     string
}

// leave ends an attempt that does not count. What did not happen on a machine that stalled is no news of the lock.
func (s *Stage) leave(v safety.Verdict, format string, args ...any) {
	why := fmt.Sprintf(format, args...)
	if length := s.stalled(0); v == safety.NotExercised && length > min(s.ttl/tolerable, s.nodeTimeout/4) {
		v, why = safety.Stalled, fmt.Sprintf("%s (the machine stalled for %v)", why, length.Round(time.Millisecond))
	}
	panic(over{v, why})
}

// leaveIf is leave, if something is so.
func (s *Stage) leaveIf(so bool, v safety.Verdict, format string, args ...any) {
	if so {
		s.leave(v, format, args...)
	}
}

// TTL returns the lease of the attempt, or the time-out of its sessions.
func (s *Stage) TTL() time.Duration { return s.ttl }

// Has reports whether the lock claims something.
func (s *Stage) Has(claims func(drivers.Traits) bool) bool { return claims(s.lock.Design.Traits) }

// Fault records a fault. The evidence is an amount that is more than 0 if it has happened: of bytes, of connections, of time. An
// attempt without it does not count.
func (s *Stage) Fault(evidence int64, format string, args ...any) {
	s.FaultSince(s.Now(), evidence, format, args...)
}

// FaultSince records a fault that began before there was evidence of it.
func (s *Stage) FaultSince(began time.Duration, evidence int64, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.leaveIf(evidence <= 0, safety.NotExercised, "there is no evidence that %s", text)
	s.history.addAt(began, safety.Event{Kind: safety.Fault, Text: text})
}

// Act makes what a client does wrong, unless the attempt is a placebo, and returns how often that was.
func (s *Stage) Act(do func()) (times int64) {
	if s.placebo {
		return 0
	}
	do()
	return 1
}

// Strike makes the fault of the server that the hazard has, for all locks on that server at once.
func (s *Stage) Strike() {
	began, evidence, err := s.round.wait(s.key)
	s.leaveIf(err != nil, safety.NotExercised, "the fault did not strike: %v", err)
	s.FaultSince(s.history.clock.Reading(began), int64(len(evidence)), "%s", evidence)
}

// ask returns what a server answers to a question. It ends the attempt if there is no answer.
func ask[T any](s *Stage, question func(context.Context) (T, error)) T {
	ctx, cancel := context.WithTimeout(s.ctx, openTimeout)
	defer cancel()
	answer, err := question(ctx)
	s.leaveIf(err != nil, safety.NotExercised, "the server has no answer: %v", err)
	return answer
}

// Fail records what the lock lost. The first one counts.
func (s *Stage) Fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.history.add(safety.Event{Kind: safety.Finding, Text: text})
	s.outcome.Failure = cmp.Or(s.outcome.Failure, text)
}

// Recovered records how long it took from a fault to the next grant.
func (s *Stage) Recovered(took time.Duration) { s.outcome.Recovery = took }

// Never fails the attempt: the key does not come free, though there was time for it since the last fault.
func (s *Stage) Never(format string, args ...any) {
	s.endIfStalled(s.lastFault(), (2*s.ttl+slack)/unhurried, "that the key does not come free")
	s.outcome.Never = true
	s.Fail(format, args...)
}

// comesFree lets a client ask for the key, which nobody holds, for that many leases since a moment, and some slack. It
// records how long that took; otherwise it fails the attempt for a key that never comes free, and puts that time into the format.
func (s *Stage) comesFree(c *Client, since, leases time.Duration, format string) {
	if c.AcquireBy(since + leases*s.ttl + slack) {
		s.Recovered(c.Granted - since)
	} else {
		s.Never(format, s.elapsed(since))
	}
}

// elapsed returns the time since a moment, as texts have it.
func (s *Stage) elapsed(since time.Duration) time.Duration {
	return (s.Now() - since).Round(time.Millisecond)
}

func (s *Stage) lastFault() (at time.Duration) {
	for _, e := range s.history.all() {
		if e.Kind == safety.Fault {
			at = e.At
		}
	}
	return at
}

// overlap lets a client work for a moment if another one believes that it holds the key as well.
func (s *Stage) overlap(c *Client) {
	if c.believes.Load() && slices.ContainsFunc(s.clients, func(other *Client) bool { return other != c && other.believes.Load() }) {
		s.Until(s.Now() + work)
	}
}

// FailIfBoth fails the attempt if two clients held the key at once.
func (s *Stage) FailIfBoth(a, b *Client) {
	s.overlap(a)
	if length := between(overlaps(s.history.all()), a.name, b.name); length > 0 {
		if !s.Has(expires) {
			s.endIfStalled(min(a.Granted, b.Granted), s.ttl/tolerable, "that both held the key")
		}
		s.Fail("%s and %s held the key at once, for %s", a.name, b.name, format.Duration(length))
	}
}

// Intrude lets a client try for the key that another one holds, and fails the attempt if it is granted. Then the holder lets go,
// and the key has to be free.
func (s *Stage) Intrude(holder, intruder *Client) {
	granted, err := intruder.Try()
	if !granted && err == nil { // a library may refuse a free key for a moment
		granted = intruder.AcquireBy(s.Now() + 2*work)
	}
	s.StillHolds(holder, "the attempt of "+intruder.name)
	s.leaveIf(err != nil, safety.NotExercised, "%s has no answer: %v", intruder.name, err)
	if _, err = holder.Release(); granted {
		intruder.Release()
		s.FailIfBoth(holder, intruder)
	} else if err == nil {
		s.failIfTaken(holder, intruder)
	}
}

// failIfTaken fails the attempt if a client has let go the key, with an answer, and the next one cannot acquire it before the
// lease would have ended by itself.
func (s *Stage) failIfTaken(last, next *Client) {
	let, end := s.Now(), s.Now()+slack
	if s.Has(expires) {
		s.Before(last.Sure()-s.TTL()/2, "the release of "+last.name)
		end = min(end, last.Sure()-s.TTL()/10)
	}
	if !next.AcquireBy(end) {
		s.endIfStalled(let, s.ttl/tolerable, "that the key is not free")
		s.Fail("%s has let the key go, and it was not free after %s", last.name, format.Duration(s.Now()-let))
		return
	}
	next.Release()
}

// Before ends the attempt if the machine has stalled: what was to happen before a moment has happened after it.
func (s *Stage) Before(moment time.Duration, what string) {
	s.leaveIf(s.Now() >= moment, safety.Stalled, "%s came %v too late for the lease", what, s.elapsed(moment))
}

// Now returns the time of the attempt.
func (s *Stage) Now() time.Duration { return s.history.clock.Now() }

// Until sleeps until a moment of the attempt: for as long as a lease lasts, the only reason to sleep.
func (s *Stage) Until(moment time.Duration) {
	select {
	case <-time.After(moment - s.Now()):
	case <-s.ctx.Done():
		s.leave(safety.NotExercised, "stopped")
	}
}

// AwaitExpiry waits until the lease of a client is over, which nobody renews.
func (s *Stage) AwaitExpiry(c *Client) {
	if !s.placebo {
		s.Until(c.Ends() + s.ttl/10)
	}
	s.FaultSince(c.Ends(), int64(s.Now()-c.Ends()), "%s still works %v after its grant, and its lease was %v", c.name, s.elapsed(c.Granted), s.ttl)
}

// patient are parameters of libraries that take a late answer for a refusal: on a busy machine 20 ms are not late.
var patient = map[string]map[string]string{"rueidislock": {"try-next-after": "500ms"}}

// config returns what every client opens the lock with, but for the addresses.
func (s *Stage) config() drivers.Config {
	return drivers.Config{
		Lock: s.lock.Design.Name, Prefix: s.prefix, Clients: 1, TTL: s.ttl, Polls: true, IOTimeout: s.ioTimeout, NodeTimeout: s.nodeTimeout,
		Params: patient[s.lock.Driver],
	}
}

// close ends the faults and then the clients, the last one first.
func (s *Stage) close() {
	for _, c := range s.clients {
		c.network.Resume()
	}
	for _, f := range slices.Backward(s.closers) {
		_ = f() // the attempt is over, and its server may be dead
	}
}
