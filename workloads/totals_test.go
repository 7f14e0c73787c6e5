// Whether the books add up, whatever the plan, the driver and the moment of the interruption.

package workloads

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// unreliable is a service whose requests fail at random: some are refused, some are carried out and not answered, some
// are not answered for long. It also watches what is asked of it.
type unreliable struct {
	drivers.Service
	seed    uint64
	percent uint64        // of the requests fail
	hang    time.Duration // of some requests before they fail

	started, errors atomic.Int64
	uncalledFor     atomic.Int64 // releases after a try that was answered with no
}

func (u *unreliable) Unwrap() drivers.Service { return u.Service }

func (u *unreliable) Session(ctx context.Context, id int) (drivers.Session, error) {
	s, err := u.Service.Session(ctx, id)
	rest, _ := drivers.As[drivers.Remainer](s)
	renewer, _ := drivers.As[drivers.Renewer](s)
	return &unreliableSession{Session: s, Remainer: rest, renewer: renewer, unreliable: u, rng: rand.New(rand.NewPCG(u.seed, uint64(id)))}, err
}

type unreliableSession struct {
	drivers.Session
	drivers.Remainer
	renewer drivers.Renewer
	*unreliable
	rng      *rand.Rand
	deadline time.Time // of the acquisition under way: each has another one
	no       bool      // the last try was answered with no
	held     bool      // a try of it was granted
}

// Close hides that of the service, which is embedded and has to outlive its sessions for the cleaning.
func (s *unreliableSession) Close() error { return nil }

// fault decides what goes wrong: nothing, a refusal instead of the request, or silence after it.
func (s *unreliableSession) fault() (refused, silent error) {
	if s.rng.Uint64N(100) >= s.percent {
		return nil, nil
	}
	s.errors.Add(1)
	switch s.rng.IntN(3) {
	case 0:
		return &drivers.Error{Class: drivers.ClassServer, Op: "test", Err: io.ErrShortBuffer}, nil
	case 1:
		return nil, io.ErrUnexpectedEOF
	}
	time.Sleep(s.hang)
	return nil, context.DeadlineExceeded
}

func (s *unreliableSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	if l.Deadline != s.deadline {
		s.deadline, s.held = l.Deadline, false
		s.started.Add(1)
	}
	s.no = false
	refused, silent := s.fault()
	if refused != nil {
		return false, refused
	}
	held, err := s.Session.Try(ctx, l)
	if silent != nil {
		return false, silent
	}
	s.no = !held
	s.held = s.held || held
	return held, err
}

func (s *unreliableSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	if s.no && !s.held {
		s.uncalledFor.Add(1)
	}
	refused, silent := s.fault()
	if refused != nil {
		return false, refused
	}
	removed, err := s.Session.Release(ctx, l)
	if silent != nil {
		return false, silent
	}
	return removed, err
}

func (s *unreliableSession) Remaining(ctx context.Context, l *drivers.Lease) (time.Duration, error) {
	if refused, silent := s.fault(); refused != nil || silent != nil {
		return 0, io.ErrUnexpectedEOF
	}
	return s.Remainer.Remaining(ctx, l)
}

// Renew is called by the watchdog, between a Try and a Release and never together with either: the race detector sees
// it by the generator of faults.
func (s *unreliableSession) Renew(ctx context.Context, l *drivers.Lease) (bool, error) {
	refused, silent := s.fault()
	if refused != nil {
		return false, refused
	}
	owned, err := s.renewer.Renew(ctx, l)
	if silent != nil {
		return false, silent
	}
	return owned, err
}

// TestBooksAddUp draws plans. Most of the time goes into the histograms of their records, which the race detector has no
// need to see so often: with -short there are fewer plans.
func TestBooksAddUp(t *testing.T) {
	plans := uint64(120)
	if testing.Short() {
		plans = 40
	}
	for seed := range plans {
		rng := rand.New(rand.NewPCG(seed, 0))
		upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d))) }
		p := plan("memory", "mutex")
		p.Seed, p.Clients, p.Keys = seed, 1+rng.IntN(12), 1+rng.IntN(3)
		p.Wait = []string{"none", "poll", "backoff", "pubsub", "queue"}[rng.IntN(5)]
		p.Handover, p.Hold, p.Think = "release", upTo(40*ms), ms+upTo(40*ms)
		p.TTL, p.Timeout, p.BackoffMax = ms+upTo(100*ms), ms+upTo(100*ms), 5*ms
		p.Warmup, p.Duration = time.Duration(rng.IntN(2))*upTo(200*ms), 50*ms+upTo(300*ms)
		percent := uint64(rng.IntN(3) * 10)
		stop := time.Hour
		if rng.IntN(2) == 0 {
			stop = upTo(p.Warmup + p.Duration)
		}
		p.Renew = rng.IntN(2) == 0
		if rng.IntN(2) == 0 {
			p.Lock, p.Reentry = "reentrant", 1+rng.IntN(4)
		}
		switch rng.IntN(4) {
		case 0: // arrivals of an even rate, so that no two have the same deadline
			p.Rate, p.Arrival, p.Think = spec.Must(spec.ParseRate([]string{"20", "200", "2000"}[rng.IntN(3)])), "constant", 0
			p.MaxQueue = rng.IntN(2) * rng.IntN(20)
		case 1:
			open, closed := p.Load, p.Load
			open.Rate, open.Arrival, open.Think, open.TryOnly = spec.Must(spec.ParseRate("100")), "constant", 0, 0.3
			p.Clients += open.Clients
			p.Classes = []spec.Class{{Name: "closed", Load: closed}, {Name: "open", Load: open}}
		}
		if rng.IntN(4) == 0 {
			p.Ops = 1 + rng.Int64N(50)
		}
		if rng.IntN(4) == 0 {
			p.Crash = 0.2
		}
		patience := time.Duration(3 + 4*p.Reentry)
		if rng.IntN(3) == 0 {
			p.Pipelining = "batch"
			patience *= time.Duration(p.Clients) // what hangs keeps the others of its batch waiting
		}
		name := fmt.Sprintf("%d: %s%s -clients %d -keys %d -wait %s -renew=%v -reentry %d -rate %q -n %d -crash %v, %d classes, %d %% faults, stopped after %v",
			seed, p.Lock, p.Pipelining, p.Clients, p.Keys, p.Wait, p.Renew, p.Reentry, p.Rate, p.Ops, p.Crash, len(p.Classes), percent, stop)
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &unreliable{Service: open(t, p), seed: seed, percent: percent, hang: 20 * ms}
				ctx, cancel := context.WithTimeout(t.Context(), stop)
				defer cancel()
				began := time.Now()
				r, err := (&Run{Plan: p, Service: u, Prefix: "test:"}).Do(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if late := time.Since(began) - min(stop, p.Warmup+p.Duration); late > patience*u.hang {
					t.Errorf("it ended %v late", late)
				}
				checkBooks(t, r, u)
			})
		})
	}
}

func checkBooks(t *testing.T, r *results.Record, u *unreliable) {
	t.Helper()
	n, f := r.Counts, r.Fairness
	sum := n.Acquired + n.Contended + n.TimedOut + n.Unknown + n.Refused + n.Canceled + n.Unfinished
	untaken := int64(0) // at the most
	if open := !r.Plan.Rate.IsZero() || len(r.Plan.Classes) > 0; open {
		untaken = n.Unfinished + n.Canceled
	}
	started := u.started.Load()
	if r.Plan.Wait == "queue" { // those that stand in line do not reach the service
		started = max(started, sum)
	}
	if sum > started+untaken || r.Plan.Warmup == 0 && (sum < started || sum > started && untaken == 0) {
		t.Errorf("%d outcomes of %d acquisitions: %+v", sum, started, n)
	}
	if !r.Plan.Rate.IsZero() && r.Plan.Warmup == 0 && sum+n.Dropped != n.Offered {
		t.Errorf("%d outcomes and %d dropped of %d arrivals", sum, n.Dropped, n.Offered)
	}
	if ended := sum - n.Unfinished - n.Canceled; r.Plan.Ops > 0 && ended+n.Dropped > r.Plan.Ops {
		t.Errorf("%d acquisitions, of %d: %+v", ended, r.Plan.Ops, n)
	} else if r.Plan.Ops > 0 && r.Elapsed < r.Plan.Duration && n.Canceled == 0 && r.Partial == "" && ended+n.Dropped != r.Plan.Ops {
		t.Errorf("the window closed after %d acquisitions, of %d: %+v", ended, r.Plan.Ops, n)
	}
	checkClassBooks(t, r)
	checkSeries(t, r)
	if n.Acquired != n.Released+n.Lost+n.LostRenewal+n.ReleaseError+n.Crashed {
		t.Errorf("the releases are not those of the acquired: %+v", n)
	}
	var failed int64
	for _, of := range n.Errors {
		failed += of
	}
	if failed != n.Unknown+n.Refused+n.ReleaseError+n.RenewError+n.ReentryError {
		t.Errorf("%d errors by class: %+v", failed, n)
	}
	if n := u.uncalledFor.Load(); n > 0 {
		t.Errorf("%d releases although the try was answered with no", n)
	}
	for m, want := range map[results.Metric]int64{
		results.Acquire: n.Acquired, results.Hold: n.Acquired, results.Refusal: n.Contended + n.TimedOut,
		results.Reentry: n.Reentries, results.Renew: n.Renewals - n.RenewError,
	} {
		if got := r.Latency[m].Count; got != want {
			t.Errorf("%d times of %s, want %d of %+v", got, m, want, n)
		}
	}
	// The release of a lost hold may fail, which is not counted.
	if got, sent := r.Latency[results.Release].Count, n.Acquired-n.ReleaseError-n.Crashed; got > sent || got < sent-n.LostRenewal {
		t.Errorf("%d times of releases in %+v", got, n)
	}
	if most := int64(max(0, r.Plan.Reentry-1)) * n.Acquired; n.Reentries > most || n.ReentryRefused > n.Acquired {
		t.Errorf("more than %d re-entries: %+v", most, n)
	}
	clients := int64(r.Plan.Clients)
	all := r.Plan.Rate.IsZero() && r.Plan.Ops == 0 && len(r.Plan.Classes) == 0 // clients wanted locks
	if all && f.MinClient*clients > n.Acquired || f.MaxClient*clients < n.Acquired || f.LongestWait > r.Plan.Warmup+r.Elapsed {
		t.Errorf("%+v does not go with %d locks of %d clients in %v", f, n.Acquired, clients, r.Elapsed)
	}
	if r.Safety.Grants < n.Acquired || r.Safety.LostUpdates > r.Safety.Violations || r.Safety.WrongReleases != 0 {
		t.Errorf("safety %+v of %d locks", r.Safety, n.Acquired)
	}
	if little := r.Bound.Little; r.Elapsed > ms && (little > 1.001 || little < 0.999 && u.errors.Load() == 0) {
		t.Errorf("recorded times account for %v of the clients' time", little)
	}
	r.Trial = 1
	if err := r.Validate(); err != nil {
		t.Errorf("the reader refuses the record: %v", err)
	}
}

// checkSeries: the intervals follow one another to the end of the trial, and those of the window are the locks of the record.
func checkSeries(t *testing.T, r *results.Record) {
	t.Helper()
	sum, end := int64(0), time.Duration(0)
	for _, i := range r.Series {
		if i.At != end || i.Warmup != (i.At < r.Plan.Warmup) {
			t.Errorf("an interval begins at %v, and the one before has ended at %v; warm-up: %t", i.At, end, i.Warmup)
		}
		if end = i.At + i.Length; !i.Warmup {
			sum += i.Acquired
		}
	}
	if sum != r.Counts.Acquired || r.Elapsed > 0 && end != r.Plan.Warmup+r.Elapsed {
		t.Errorf("%d locks until %v in the series, the record has %d until %v", sum, end, r.Counts.Acquired, r.Plan.Warmup+r.Elapsed)
	}
}

// checkClassBooks adds the classes up.
func checkClassBooks(t *testing.T, r *results.Record) {
	t.Helper()
	if len(r.Classes) != len(r.Plan.Classes) {
		t.Fatalf("%d classes in the record, %d in the plan", len(r.Classes), len(r.Plan.Classes))
	}
	var sum results.Counts
	locks, starved := int64(0), 0
	for _, c := range r.Classes {
		n := c.Counts
		sum.Acquired += n.Acquired
		sum.Contended += n.Contended
		sum.TimedOut += n.TimedOut
		sum.Unfinished += n.Unfinished
		sum.Canceled += n.Canceled
		sum.Offered += n.Offered
		sum.Dropped += n.Dropped
		sum.Tries += n.Tries
		locks += c.Latency[results.Acquire].Count
		starved += c.Starved
	}
	n := r.Counts
	want := results.Counts{Acquired: n.Acquired, Contended: n.Contended, TimedOut: n.TimedOut, Unfinished: n.Unfinished,
		Canceled: n.Canceled, Offered: n.Offered, Dropped: n.Dropped, Tries: n.Tries}
	if len(r.Classes) > 0 && (!reflect.DeepEqual(sum, want) || locks != n.Acquired || starved != r.Fairness.Starved) {
		t.Errorf("the classes add up to %+v, %d locks and %d starved clients; together they have %+v and %d",
			sum, locks, starved, want, r.Fairness.Starved)
	}
}

// TestLateStart: where the window opens with the run, clients that have to wait for a processor begin a little later, and
// in a window of a few milliseconds that is most of their time.
func TestLateStart(t *testing.T) {
	e := &engine{from: 0}
	e.end.Store(int64(10 * ms))
	cl := &class{}
	clients := []client{
		{e: e, class: cl, joined: 4 * ms, left: 10 * ms}, {e: e, class: cl, joined: 12 * ms, left: 12 * ms}, {e: e, class: cl, left: 7 * ms},
	}
	if idle := sumOf(clients).Rest.Idle; idle != (4+10+3)*ms {
		t.Errorf("the clients were idle for %v", idle)
	}
	e.from = 5 * ms
	if idle := sumOf(clients).Rest.Idle; idle != (0+5+3)*ms {
		t.Errorf("with a warm-up the clients were idle for %v", idle)
	}
}
