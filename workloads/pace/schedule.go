// Schedules: when each arrival is due, computed from the integral of the rate, so that nothing adds up to a drift.

package pace

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// streamArrivals is the stream of random numbers of a seed that arrivals take.
const streamArrivals uint64 = 0x61727269

// arrivals is a Schedule that follows a rate. Let N(t) be the integral of the rate from 0 to t, which is the number of
// arrivals that are expected until then. A constant schedule has its arrivals where N reaches phase, phase+1, phase+2,
// …; a Poisson process has them where N reaches the arrivals of one with rate 1, whose distances are exponential
// (Çinlar 1975, Introduction to Stochastic Processes, section 4.7), however the rate changes.
//
// float64 resolves 1 ns up to 100 days.
type arrivals struct {
	pieces []piece // of the rate, in their order; the current one is the first
	end    time.Duration
	target float64    // the next arrival is where N reaches this
	rng    *rand.Rand // nil for constant arrivals
	phase  float64    // of constant arrivals, and…
	n      float64    // …how many there were: adding 1 to target each time would add up rounding errors
}

// piece is a time in which the rate changes evenly.
type piece struct {
	from   float64 // s since the load began
	length float64 // s
	rate   float64 // at from
	slope  float64 // per s
	before float64 // N(from)
}

// count returns how many arrivals are expected in p.
func (p *piece) count() float64 { return (p.rate + p.slope/2*p.length) * p.length }

// when returns the time at which N reaches target, which lies in p: the root of rate·x + slope/2·x² = n, in the form that
// neither divides by a small slope nor subtracts numbers that are nearly the same.
func (p *piece) when(target float64) float64 {
	n := target - p.before
	x := 2 * n / (p.rate + math.Sqrt(max(0, p.rate*p.rate+2*p.slope*n)))
	return p.from + min(x, p.length)
}

// Each returns every n-th arrival of a schedule, from number first of 0 to n-1: n processes with those of one schedule have
// together what one process would have. With n up to 1 it is the whole.
func Each(of Schedule, first, n int) Schedule {
	if n <= 1 {
		return of
	}
	return &each{of, first, n - 1}
}

// each is a part of a schedule.
type each struct {
	Schedule
	skip, others int // arrivals of others before the next, and between two
}

func (e *each) Next() (due time.Duration, ok bool) {
	for range e.skip {
		if due, ok = e.Schedule.Next(); !ok {
			return due, false
		}
	}
	e.skip = e.others
	return e.Schedule.Next()
}

// Arrivals returns a schedule of that rate and kind (all that is not spec.Poisson is spec.Constant). Equal seeds make equal schedules.
// No rate has no arrivals.
func Arrivals(r spec.Rate, kind string, w Window, seed uint64) Schedule {
	a := &arrivals{pieces: pieces(r, w), end: math.MaxInt64}
	if w.Duration > 0 {
		a.end = w.Warmup + w.Duration
	}
	rng := rand.New(rand.NewPCG(seed, streamArrivals))
	if kind == spec.Poisson {
		a.rng = rng
		a.target = rng.ExpFloat64()
	} else {
		a.phase = rng.Float64()
		a.target = a.phase
	}
	return a
}

// Next returns when the next arrival is due. It is rounded down to a nanosecond, which keeps it in its part of the
// window.
func (a *arrivals) Next() (due time.Duration, ok bool) {
	for len(a.pieces) > 0 {
		if p := &a.pieces[0]; a.target-p.before < p.count() {
			t := p.when(a.target) * float64(time.Second)
			if t >= float64(a.end) {
				break
			}
			a.advance()
			return time.Duration(t), true
		}
		a.pieces = a.pieces[1:]
	}
	a.pieces = nil
	return 0, false
}

func (a *arrivals) advance() {
	if a.rng != nil {
		a.target += a.rng.ExpFloat64()
		return
	}
	a.n++
	a.target = a.phase + a.n
}

const forever = 1e15 // s

// pieces cuts the time of a load into pieces in which the rate changes evenly. The last one does not end.
func pieces(r spec.Rate, w Window) (list []piece) {
	if r == (spec.Rate{}) {
		return nil
	}
	var at, count float64
	add := func(length, rate, slope float64) {
		p := piece{from: at, length: length, rate: rate, slope: slope, before: count}
		at += length
		count += p.count()
		list = append(list, p)
	}
	opens, ramp := w.Warmup.Seconds(), r.Over
	first, last := r.From, r.To
	if ramp > 0 {
		add(opens, first, 0)
		add(ramp.Seconds(), first, (last-first)/ramp.Seconds())
	}
	add(forever, last, 0)
	return list
}

// bursts is a Schedule in which several arrivals are due at a time.
type bursts struct {
	size  int
	left  int           // of the present burst
	next  time.Duration // when it is due
	every time.Duration
	end   time.Duration
}

// Bursts returns a schedule in which size arrivals are due at the same moment, every so often: at the opening of the
// measured window, every time after it, and in the warm-up at the times that lie as far before it.
func Bursts(size int, every time.Duration, w Window) Schedule {
	if size <= 0 || every <= 0 {
		return &bursts{}
	}
	b := &bursts{size: size, left: size, next: w.Warmup % every, every: every, end: math.MaxInt64}
	if w.Duration > 0 {
		b.end = w.Warmup + w.Duration
	}
	return b
}

func (b *bursts) Next() (due time.Duration, ok bool) {
	if b.left == 0 {
		b.left = b.size
		b.next += b.every
	}
	if b.next >= b.end {
		return 0, false
	}
	b.left--
	return b.next, true
}
