// Coordinated omission, with known answers.
//
// Here is a server that is quick, 0.1 ms a request, but that stops for 100 ms at each full second: whatever reaches it
// in that time is answered when it is over. 1,000 users a second come to it for a lock, one each millisecond, whether
// it stands still or not. What do they wait?
//
//	900 of the 1,000 of each second come while it works, and wait 0.1 ms: that is what p90 has to say.
//	100 come while it stands still, the first for 100 ms, the next for 99 ms, … the last for hardly a millisecond.
//	So 1 in 100 of all users waits longer than 90 ms, which is p99, and 1 in 1,000 longer than 99 ms, p99.9.
//	In general p(90+x) is 10x ms.
//
// A closed loop that does the same work gets another answer from the same server. Its client is stopped once a second,
// and while it is stopped it asks for nothing: of all that the users of that tenth of a second would have waited, it
// finds one value a second. Load and measurement are coordinated by the very thing that is to be measured, and the 99
// others are omitted (Tene, "How NOT to Measure Latency", 2013).
//
// Nor is it enough to let arrivals come on time, if clients then take the time from when they get round to them: the
// Acquire of an open loop, which is the service time, does just that, and that is why it is never shown without the
// Response beside it.

package workloads

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

const (
	stallEvery = time.Second
	stall      = 100 * ms
	request    = 100 * us // when it does not stall
)

// stalling is the server. It excludes nobody, so that what its users wait is its own doing alone.
type stalling struct {
	drivers.Service
	clock drivers.Clock
}

type stallingSession struct {
	drivers.Session
	clock drivers.Clock
}

func (s stalling) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	return stallingSession{inner, s.clock}, err
}

// serve is one request: it waits for the end of a stall, and takes its time.
func (s stallingSession) serve() {
	if into := s.clock.Now() % stallEvery; into < stall {
		time.Sleep(stall - into)
	}
	time.Sleep(request)
}

func (s stallingSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.serve()
	return s.Session.Try(ctx, l)
}

func (s stallingSession) Release(ctx context.Context, l *drivers.Lease) (bool, error) {
	s.serve()
	return s.Session.Release(ctx, l)
}

// Batch implements drivers.Batcher: the requests of a batch are answered together.
func (s stalling) Batch(context.Context) (drivers.Batch, error) {
	return stallingBatch{clock: s.clock}, nil
}

type stallingBatch struct {
	drivers.InTurn
	clock drivers.Clock
}

func (b stallingBatch) Do(ctx context.Context, requests []drivers.Request) {
	stallingSession{clock: b.clock}.serve()
	for i := range requests {
		requests[i].Session = requests[i].Session.(stallingSession).Session
	}
	b.InTurn.Do(ctx, requests)
}

// stalled runs a plan against the server, over twenty of its stalls.
func stalled(t *testing.T, change func(*spec.Plan), check func(*testing.T, *results.Record)) {
	t.Helper()
	p := plan("null", "none")
	p.Oracle, p.Duration = false, 20*stallEvery
	change(&p)
	bubble(t, p, func(s drivers.Service) drivers.Service { return stalling{s, drivers.NewClock()} }, check)
}

// quantile returns a percentile of a distribution as the record holds it.
func quantile(t *testing.T, l results.Latency, percent float64) time.Duration {
	t.Helper()
	h, err := l.Histogram()
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(h.ValueAtPercentile(percent))
}

// due returns what the users wait by the arithmetic above, in the middle between two of them: they come at some moment of
// their millisecond.
func due(percent float64) time.Duration {
	return max(0, time.Duration((percent-90)*10*float64(ms))-ms/2) + request
}

// TestNoCoordinatedOmission: with a client for each user the response is what arithmetic says, in every percentile, whether the client
// has a goroutine or a worker carries it. So is the service time, since a client was free, and lockbench was not late.
func TestNoCoordinatedOmission(t *testing.T) {
	for _, pipelining := range []string{"", "batch"} {
		stalled(t, func(p *spec.Plan) {
			p.Clients, p.Rate, p.Arrival, p.Pipelining = 500, spec.Must(spec.ParseRate("1000")), "constant", pipelining
		}, func(t *testing.T, r *results.Record) {
			if n := r.Counts; n.Offered != 20_000 || n.Acquired+n.Unfinished != n.Offered || n.Unfinished > 1 {
				t.Errorf("counts %+v: want every user served", n)
			}
			for _, m := range []results.Metric{results.Response, results.Acquire} {
				l := r.Latency[m]
				for _, percent := range []float64{50, 90, 95, 99, 99.9} {
					near(t, fmt.Sprintf("%s %s p%v", pipelining, m, percent), float64(quantile(t, l, percent)), float64(due(percent)), 0.02)
				}
				near(t, pipelining+" p90 of the record", float64(l.P90), float64(request), 0.02)
				near(t, pipelining+" p99 of the record", float64(l.P99), float64(90*ms), 0.02)
				near(t, pipelining+" p99.9 of the record", float64(l.P999), float64(99*ms), 0.02)
				near(t, pipelining+" mean", float64(l.Mean), float64(request)+float64(stall)/10/2, 0.02)
			}
			r.Generator.RunQueue = 0 // of this machine
			if lag, why := r.Latency[results.Lag], delayReasons(r); lag.Max > 2*request || why != nil {
				t.Errorf("%s: the lag is up to %v, and lockbench is the limit: %v", pipelining, lag.Max, why)
			}
		})
	}
}

// TestNoCoordinatedOmissionAmongFewClients: with four clients, which stand still with the server, the users wait just as
// long, but for the few milliseconds in which the four work off what has piled up. The service time knows nothing of it.
func TestNoCoordinatedOmissionAmongFewClients(t *testing.T) {
	stalled(t, func(p *spec.Plan) { p.Clients, p.Rate, p.Arrival = 4, spec.Must(spec.ParseRate("1000")), "constant" }, func(t *testing.T, r *results.Record) {
		response, acquire := r.Latency[results.Response], r.Latency[results.Acquire]
		near(t, "p99", float64(response.P99), float64(due(99)), 0.02)
		near(t, "p99.9", float64(response.P999), float64(due(99.9)), 0.02)
		if acquire.P99 > 2*request {
			t.Errorf("p99 from the actual start is %v: the control shows what it must not see", acquire.P99)
		}
		if b := r.Latency[results.Backlog]; b.Count < 20*95 || b.Max < 95*ms {
			t.Errorf("backlog %+v: want nearly all that come in a stall", b)
		}
	})
}

// TestCoordinatedOmission is the control: closed loops of one client and the same server, as fast as they can and at the
// users' rate. Their p99 is a thousandth of what the users wait.
func TestCoordinatedOmission(t *testing.T) {
	for _, think := range []time.Duration{0, ms - 2*request} {
		stalled(t, func(p *spec.Plan) { p.Think = think }, func(t *testing.T, r *results.Record) {
			acquire := r.Latency[results.Acquire]
			near(t, "p90", float64(acquire.P90), float64(request), 0.02)
			near(t, "p99", float64(acquire.P99), float64(request), 0.02)
			if think == 0 {
				near(t, "p99.9", float64(acquire.P999), float64(request), 0.02)
			}
			if late := float64(due(99)) / float64(acquire.P99); late < 800 {
				t.Errorf("p99 is wrong by a factor of %v only", late)
			}
		})
	}
}
