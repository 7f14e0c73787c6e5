package hazards

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// TestAsleep: a waiter sleeps for nothing if the key is free, if it becomes free by the end of a lease, and if the server keeps it for
// the waiter, which does not know.
func TestAsleep(t *testing.T) {
	for _, c := range []struct {
		name, driver string
		granted      bool // to the waiter, which has not heard
		want         string
		never        bool
	}{
		{"free", "planted-careful", false, "B slept on a free key", false},
		{"of the waiter, with a lease", "planted-careful", true, "B slept on a key that it had been granted", false},
		{"of the waiter", "planted-endless", true, "the server has granted the key to B", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := stageOf(t, lockOf(t, c.driver))
			defer s.close()
			b, other := s.Client("B"), s.Client("C")
			if c.granted {
				if held, err := b.request(); !held || err != nil {
					t.Fatal(held, err)
				}
			}
			s.asleep(&waiting{client: b, way: "native", granted: make(chan struct{})}, other, time.Second, 0)
			if !strings.Contains(s.outcome.Failure, c.want) || s.outcome.Never != c.never {
				t.Errorf("%q, never %v", s.outcome.Failure, s.outcome.Never)
			}
		})
	}
}

// TestPassedOver: a waiter that sleeps on a free key has lost what it would have got, unless it may miss any wake-up.
func TestPassedOver(t *testing.T) {
	for _, c := range []struct {
		name, driver string
		loses        []drivers.Hazard
		left         any
	}{
		{"hears of every release", "planted-queueing", nil, nil},
		{"may miss one on a silent connection", "planted-endless", []drivers.Hazard{drivers.HazardMissedWakeup}, nil},
		{"may miss any", "planted-queueing", []drivers.Hazard{drivers.HazardMissedWakeup}, over{safety.NotExercised, "C slept on a free key, as any waiter may (missed-wakeup)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // which no busy machine stalls
				l := lockOf(t, c.driver)
				l.Design.Loses = c.loses
				s := stageOf(t, l)
				defer s.close()
				a, sleeper := s.Client("A"), s.Client("C")
				defer func() {
					if left := recover(); left != c.left || (s.outcome.Failure == "") != (left != nil) {
						t.Errorf("%v, %q; want %v", left, s.outcome.Failure, c.left)
					}
				}()
				s.failIfPassedOver(&waiting{client: sleeper, way: "native", granted: make(chan struct{})}, a, "dies")
			})
		})
	}
}

// queueing is planted as a library whose clients wait for each other within the process.
type queueing struct{ planted }

func (queueing) Library() drivers.Library { return drivers.Library{Queues: true} }

func init() { drivers.Register("planted-queueing", queueing{planted{checks: true, endless: true}}) }

// stageOf returns a stage for a lock within this process.
func stageOf(t *testing.T, l Lock) *Stage {
	return &Stage{ctx: t.Context(), lock: l, key: t.Name(), ttl: 200 * time.Millisecond, history: &history{clock: drivers.NewClock()}}
}
