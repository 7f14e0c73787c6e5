package renew

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lockbench/lockbench/drivers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const sec = time.Second

// fake is a session that renews as told, and records when.
type fake struct {
	began  time.Time
	answer func(n int, l *drivers.Lease) (bool, error) // of renewal number n, from 1; nil: yes

	mu    sync.Mutex
	times []time.Duration
}

func (f *fake) Renew(_ context.Context, l *drivers.Lease) (bool, error) {
	f.mu.Lock()
	f.times = append(f.times, time.Since(f.began))
	n := len(f.times)
	f.mu.Unlock()
	if f.answer == nil {
		return true, nil
	}
	return f.answer(n, l)
}

func (f *fake) sent() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.times)
}

// bench is a scheduler in synctest's time.
type bench struct {
	*Scheduler
	t     *testing.T
	began time.Time
	clock drivers.Clock

	answered, failed atomic.Int64 // renewals
}

func bubble(t *testing.T, workers int, f func(*bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, began: time.Now(), clock: drivers.NewClock()}
		b.Scheduler = New(Options{Clock: b.clock, Workers: workers, Renewed: func(r Renewal) {
			b.answered.Add(1)
			if r.Err != nil {
				b.failed.Add(1)
			}
		}})
		defer b.Close()
		f(b)
	})
}

// hold starts a hold of 30 s with such answers.
func (b *bench) hold(answer func(n int, l *drivers.Lease) (bool, error)) (*Hold, *fake) {
	f := &fake{began: time.Now(), answer: answer}
	h := NewHold(f)
	b.Start(h, &drivers.Lease{TTL: 30 * sec}, b.clock.Now())
	return h, f
}

func (b *bench) stop(h *Hold, wantLost, wantWaited bool) {
	b.t.Helper()
	if isLost, waited := b.Stop(h); isLost != wantLost || waited != wantWaited {
		b.t.Errorf("Stop answered lost %v, waited %v; want %v, %v", isLost, waited, wantLost, wantWaited)
	}
}

// lostAt waits for the report, until it is an hour late.
func (b *bench) lostAt(h *Hold, want time.Duration) {
	b.t.Helper()
	select {
	case <-h.Lost():
		if now := b.clock.Now(); now != want {
			b.t.Errorf("reported lost at %v, want %v", now, want)
		}
	case <-time.After(want - b.clock.Now() + time.Hour):
		b.t.Errorf("not reported lost; want at %v", want)
	}
}

func (b *bench) sentAt(f *fake, want ...time.Duration) {
	b.t.Helper()
	if got := f.sent(); !slices.Equal(got, want) {
		b.t.Errorf("renewals at %v, want %v", got, want)
	}
}

func (b *bench) quiet(h *Hold) {
	b.t.Helper()
	select {
	case <-h.Lost():
		b.t.Error("reported lost")
	default:
	}
}

func slow(d time.Duration, owned bool, err error) func(int, *drivers.Lease) (bool, error) {
	return func(int, *drivers.Lease) (bool, error) { time.Sleep(d); return owned, err }
}

// TestHold follows a hold of 30 s, whose renewals are answered as told, until it is lost or stopped.
func TestHold(t *testing.T) {
	const eof = true
	yes := func(int) (time.Duration, bool, bool) { return 0, true, false }
	for _, test := range []struct {
		name    string
		answer  func(n int) (after time.Duration, owned, fails bool) // of renewal number n, from 1
		stop    time.Duration                                        // 0: when it is lost
		sent    []time.Duration
		lost    time.Duration // 0: it is not
		waited  bool
		stopped time.Duration // when Stop returns, if it has waited
		over    time.Duration // when Await returns, if it has waited
	}{
		{"every third", yes, 59 * sec, []time.Duration{10 * sec, 20 * sec, 30 * sec, 40 * sec, 50 * sec}, 0, false, 0, 0},
		{"refused", func(n int) (time.Duration, bool, bool) { return 0, n < 3, false }, 0,
			[]time.Duration{10 * sec, 20 * sec, 30 * sec}, 30 * sec, false, 0, 0},
		// The bool means nothing with an error. The third would be in time only if it were answered before 30 s.
		{"errors", func(n int) (time.Duration, bool, bool) { return 0, n == 2, eof }, 0,
			[]time.Duration{10 * sec, 20 * sec}, 30 * sec, false, 0, 0},
		{"errors after some", func(n int) (time.Duration, bool, bool) { return 0, n%2 == 1, n == 2 || n > 3 }, 0,
			[]time.Duration{10 * sec, 20 * sec, 30 * sec, 40 * sec, 50 * sec}, 60 * sec, false, 0, 0},
		// A lease that was confirmed counts from when the renewal was sent, however late the answer.
		{"late answers", func(int) (time.Duration, bool, bool) { return 19 * sec, true, false }, 0,
			[]time.Duration{10 * sec, 29 * sec}, 40 * sec, false, 0, 48 * sec},
		{"refused, and not noticed", func(int) (time.Duration, bool, bool) { return 0, false, false }, 11 * sec,
			[]time.Duration{10 * sec}, 10 * sec, false, 0, 0},
		{"stopped during a renewal", func(int) (time.Duration, bool, bool) { return 2 * sec, true, false }, 11 * sec,
			[]time.Duration{10 * sec}, 0, true, 12 * sec, 0},
		{"stopped during a refusal", func(int) (time.Duration, bool, bool) { return 2 * sec, false, false }, 11 * sec,
			[]time.Duration{10 * sec}, 12 * sec, true, 12 * sec, 0},
		{"stopped during a renewal that hangs", func(int) (time.Duration, bool, bool) { return 50 * sec, true, false }, 11 * sec,
			[]time.Duration{10 * sec}, 30 * sec, true, 30 * sec, 60 * sec},
		{"stopped, and the next is due with the answer", func(int) (time.Duration, bool, bool) { return 15 * sec, true, false }, 11 * sec,
			[]time.Duration{10 * sec}, 0, true, 25 * sec, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, 0, func(b *bench) {
				h, f := b.hold(func(n int, _ *drivers.Lease) (bool, error) {
					after, owned, fails := test.answer(n)
					if time.Sleep(after); fails {
						return owned, io.ErrUnexpectedEOF
					}
					return owned, nil
				})
				if test.stop > 0 {
					time.Sleep(test.stop)
				} else {
					b.lostAt(h, test.lost)
				}
				b.stop(h, test.lost > 0, test.waited)
				b.at("Stop", test.stopped)
				b.Await(h)
				b.at("Await", test.over)
				time.Sleep(time.Hour)
				b.sentAt(f, test.sent...)

				f.answer = nil
				b.Start(h, h.lease, b.clock.Now()) // the next hold must not see an earlier loss
				time.Sleep(5 * sec)
				b.quiet(h)
				b.stop(h, false, false)
			})
		})
	}
}

// at checks that what has just returned has done so at that time, which is not 0.
func (b *bench) at(what string, want time.Duration) {
	b.t.Helper()
	if now := b.clock.Now(); want > 0 && now != want {
		b.t.Errorf("%s returned at %v, want %v", what, now, want)
	}
}

// TestShortHolds starts and stops one after the other for an hour: nothing is sent, and the last one, which stays, is
// renewed a third of the lease after its own start.
func TestShortHolds(t *testing.T) {
	bubble(t, 0, func(b *bench) {
		h, f := b.hold(nil)
		l := h.lease
		places := map[time.Duration]bool{}
		for range 3600 {
			time.Sleep(sec)
			b.stop(h, false, false)
			b.Start(h, l, b.clock.Now())
			b.mu.Lock()
			places[h.wake] = true
			b.mu.Unlock()
		}
		if n := len(places); n > 3600/9 { // a start at the time of a look comes before or after it
			t.Errorf("%d places in the queue in an hour, want one every 9 or 10 s", n)
		}
		time.Sleep(15 * sec)
		b.stop(h, false, false)
		b.sentAt(f, 3610*sec)
	})
}

// TestDeadServer leaves all renewals without an answer: although no worker is free, every hold is lost when its lease
// ends, and its holder learns that at once.
func TestDeadServer(t *testing.T) {
	bubble(t, 2, func(b *bench) {
		var holds []*Hold
		for range 5 {
			h, _ := b.hold(slow(time.Hour, true, nil))
			holds = append(holds, h)
		}
		for _, h := range holds {
			b.lostAt(h, 30*sec)
			b.stop(h, true, false)
		}
		b.at("Stop", 30*sec)
		for _, h := range holds {
			b.Await(h)
		}
		b.at("Await", 10*sec+time.Hour) // when the last answer came
	})
}

// TestTwiceInLine: a hold is stopped, started and due again while it still has its old place in the queue.
func TestTwiceInLine(t *testing.T) {
	bubble(t, 1, func(b *bench) {
		start := func(answer func(int, *drivers.Lease) (bool, error), ttl time.Duration) (*Hold, *fake) {
			f := &fake{began: b.began, answer: answer}
			h := NewHold(f)
			b.Start(h, &drivers.Lease{TTL: ttl}, b.clock.Now())
			return h, f
		}
		busy, _ := start(slow(6*sec, true, nil), 30*sec)
		time.Sleep(9 * sec)
		again, f1 := start(nil, 6*sec) // in line at 11 s
		time.Sleep(sec)
		behind, f2 := start(nil, 9*sec) // at 13 s
		time.Sleep(2500 * time.Millisecond)
		b.stop(again, false, false)
		b.Start(again, again.lease, b.clock.Now()) // due at 14.5 s
		time.Sleep(sec)
		last, f3 := start(nil, 6*sec) // in line at 15.5 s
		time.Sleep(3 * sec)
		for _, h := range []*Hold{busy, again, behind, last} {
			b.stop(h, false, false)
		}
		for _, f := range []*fake{f1, f2, f3} {
			b.sentAt(f, 16*sec)
		}
	})
}

// TestManyLeases renews leases of different lengths, on separate holds and on one after the other.
func TestManyLeases(t *testing.T) {
	bubble(t, 0, func(b *bench) {
		f := &fake{began: time.Now()}
		h := NewHold(f)
		long, short := &drivers.Lease{TTL: 300 * sec}, &drivers.Lease{TTL: 3 * sec}
		b.Start(h, long, 0)
		b.stop(h, false, false)
		b.Start(h, short, 0) // its place in the queue is at 100 s
		other, g := b.hold(nil)
		time.Sleep(3500 * time.Millisecond)
		b.stop(h, false, false)
		b.sentAt(f, 1*sec, 2*sec, 3*sec)
		time.Sleep(7 * sec)
		b.stop(other, false, false)
		b.sentAt(g, 10*sec)
	})
}

// TestValidUntil uses the driver's value for the end of the lease, from the last confirmed renewal.
func TestValidUntil(t *testing.T) {
	bubble(t, 0, func(b *bench) {
		valid := func(of time.Duration) time.Time { return time.Now().Add(of) }
		for _, tc := range []struct {
			name       string
			first      time.Duration   // the value of Try
			says       []time.Duration // the values of the renewals; 0 for none, and after these they fail
			sent       int
			lost, left time.Duration // when it is lost, and the lease's value then
		}{
			{"as Try said", 29 * sec, nil, 2, 29 * sec, 29 * sec},
			{"sooner than the first renewal", 5 * sec, nil, 0, 5 * sec, 5 * sec},
			{"as a renewal said", 29 * sec, []time.Duration{25 * sec}, 3, 35 * sec, 35 * sec},
			{"the last says nothing", 29 * sec, []time.Duration{25 * sec, 0}, 4, 50 * sec, 0},
		} {
			began := b.clock.Now()
			f := &fake{answer: func(n int, l *drivers.Lease) (bool, error) {
				if n > len(tc.says) {
					return false, io.ErrUnexpectedEOF
				}
				if tc.says[n-1] > 0 {
					l.ValidUntil = valid(tc.says[n-1])
				}
				return true, nil
			}}
			h, l := NewHold(f), &drivers.Lease{TTL: 30 * sec, ValidUntil: valid(tc.first)}
			b.Start(h, l, began)
			b.lostAt(h, began+tc.lost)
			b.stop(h, true, false)
			if n := len(f.sent()); n != tc.sent {
				t.Errorf("%s: %d renewals, want %d", tc.name, n, tc.sent)
			}
			if left := b.clock.Reading(l.ValidUntil) - began; l.ValidUntil.IsZero() != (tc.left == 0) || tc.left > 0 && left != tc.left {
				t.Errorf("%s: the lease says %v, want %v", tc.name, left, tc.left)
			}
		}
	})
}

// TestValidUntilIsNear stops a hold, which stays in the queue for a third of its lease, and starts one whose lease ends before
// that: the loss is told at its end. A renewal that is answered when its lease ends is too late, also for a Stop that waits.
func TestValidUntilIsNear(t *testing.T) {
	bubble(t, 1, func(b *bench) {
		h, _ := b.hold(func(_ int, l *drivers.Lease) (bool, error) {
			time.Sleep(2 * sec)
			l.ValidUntil = time.Now()
			return true, nil
		})
		time.Sleep(11 * sec)
		b.stop(h, true, true)
	})
	bubble(t, 1, func(b *bench) {
		h, _ := b.hold(slow(30*sec, false, io.ErrUnexpectedEOF))
		b.stop(h, false, false)
		time.Sleep(sec)
		b.Start(h, &drivers.Lease{TTL: 30 * sec, ValidUntil: time.Now().Add(2 * sec)}, b.clock.Now())
		b.lostAt(h, 3*sec)
		b.stop(h, true, false)
		b.Await(h)
	})
}

// TestOneWakeUpServesMany: holds that started within a hundredth of the period are renewed together, and none is late.
func TestOneWakeUpServesMany(t *testing.T) {
	bubble(t, 4, func(b *bench) {
		var all []*fake
		var holds []*Hold
		for range 102 { // the last but one at exactly a hundredth, and the last one after it
			h, f := b.hold(nil)
			all, holds = append(all, f), append(holds, h)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(14 * sec)
		for i, h := range holds {
			b.stop(h, false, false)
			early := time.Duration(i%101) * time.Millisecond
			b.sentAt(all[i], 10*sec-early) // on its own clock; all but the last at the first one's time
		}
	})
}

func TestRenewedIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Renewal
		clock := drivers.NewClock()
		s := New(Options{Clock: clock, Renewed: func(r Renewal) { told = append(told, r) }})
		defer s.Close()
		h := NewHold(&fake{answer: func(n int, _ *drivers.Lease) (bool, error) {
			time.Sleep(sec)
			if n == 1 {
				return false, io.ErrUnexpectedEOF
			}
			return false, nil
		}})
		s.Start(h, &drivers.Lease{TTL: 30 * sec}, 0)
		<-h.Lost()
		s.Stop(h)
		want := []Renewal{{10 * sec, 11 * sec, false, io.ErrUnexpectedEOF}, {20 * sec, 21 * sec, false, nil}}
		if !slices.Equal(told, want) {
			t.Errorf("told %+v, want %+v", told, want)
		}
	})
}

// exclusive fails the test if it is used by two goroutines at a time, or by the scheduler outside of a hold. Its fields
// are plain, so that the race detector sees a missing hand-over.
type exclusive struct {
	t      *testing.T
	rng    *rand.Rand
	lent   bool
	inUse  bool
	latest time.Duration // a renewal may take
}

func (e *exclusive) Renew(context.Context, *drivers.Lease) (bool, error) {
	if !e.lent || e.inUse {
		e.t.Error("renewed outside of a hold, or by two at once")
	}
	e.inUse = true
	time.Sleep(time.Duration(e.rng.Int64N(int64(e.latest))))
	e.inUse = false
	if !e.lent {
		e.t.Error("the holder went on while a renewal was under way")
	}
	switch e.rng.IntN(10) {
	case 0:
		return false, nil
	case 1:
		return false, errors.New("test")
	}
	return true, nil
}

// TestHandOver runs random holds in great numbers: a session is always used by one goroutine at a time, and never by
// the scheduler after Stop.
func TestHandOver(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, 1+int(seed%4), func(b *bench) {
			var all sync.WaitGroup
			var lost atomic.Int64
			for id := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, id))
				e := &exclusive{t: t, rng: rng, latest: time.Duration(1 + rng.Int64N(int64(5*sec)))}
				all.Go(func() {
					h := NewHold(e)
					for range 50 {
						l := &drivers.Lease{TTL: time.Duration(1+rng.Int64N(3)) * 10 * sec}
						holding := time.Duration(rng.Int64N(int64(2 * l.TTL)))
						e.lent = true
						b.Start(h, l, b.clock.Now())
						select {
						case <-h.Lost():
						case <-time.After(holding):
						}
						if isLost, _ := b.Stop(h); isLost {
							lost.Add(1)
							b.Await(h)
						}
						e.lent = false
						time.Sleep(time.Duration(e.rng.Int64N(int64(sec))))
					}
				})
			}
			all.Wait()
			if answered, failed, lost := b.answered.Load(), b.failed.Load(), lost.Load(); lost == 0 || failed == 0 || answered < 100 {
				t.Errorf("%d answers, %d of them errors, %d holds lost: the test has not tested much", answered, failed, lost)
			}
		})
	}
}

func TestHoldAllocatesNothing(t *testing.T) {
	s := New(Options{Clock: drivers.NewClock()})
	defer s.Close()
	h, l := NewHold(&fake{}), &drivers.Lease{TTL: time.Hour}
	if n := testing.AllocsPerRun(1000, func() { s.Start(h, l, 0); s.Stop(h) }); n != 0 {
		t.Errorf("%v allocations a hold", n)
	}
}
