// Package simtest runs locks in a simulated world: nodes that grant leases, clients with a small program, and between
// them a network that delays, loses, repeats and reorders messages. A schedule is all that happens in one such world,
// and follows from one number, its seed. So a test can run thousands of schedules a minute, and a failure is replayed
// exactly by its seed.
//
// A world lives in a bubble of testing/synctest. What makes its schedules repeat:
//
//   - Every link has a random source of its own for each direction, and so has every client. With a shared source, the
//     order in which goroutines that are awake at the same time ask for a number would decide the delays.
//   - No two actors act at the same instant: each has its own remainder of the time modulo the slots. The runtime shuffles
//     timers that are due at the same time.
//   - The trace is kept for each actor, and is merged by time afterwards.
//
// The judge is workloads/oracle: a client enters when it has read its grant, and leaves before it sends its release, or
// when its lease ends.
package simtest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// Scenario is what the schedules of a test have in common.
type Scenario struct {
	Nodes   int
	Clients int
	Network Network

	// Drift is by how much the clock of a node may be fast or slow: 0.01 is 1 %.
	Drift float64

	// Careless plants a bug in the nodes: a release removes the lock, whoever owns it.
	Careless bool

	// Overlap is for how long two clients may hold the key at once.
	Overlap time.Duration

	// Idle is for how long the key may be free at the only node while a client waits for it; 0 is no limit.
	Idle time.Duration

	// Overtakes is by how many clients that came later one of the same room may be overtaken; 0 is no limit.
	Overtakes int

	// Run opens services by w.Driver, lets the clients run, and returns when they are done.
	Run func(w *World)
}

// World is one schedule of a scenario. Its methods are safe for concurrent use.
type World struct {
	Scenario
	Seed  uint64
	Clock drivers.Clock

	nodes   []*node
	judge   *oracle.Oracle
	running sync.WaitGroup // clients and faults

	mu        sync.Mutex
	actors    []*Actor
	opened    map[int]uint64 // how often an actor of that number was made
	broken    []string
	counts    map[string]int64
	idle      time.Duration            // for how long the key was free while a client waited for it
	waiting   map[int]time.Duration    // clients that wait, since when
	lines     map[*wait.Room][]*client // clients of a room that want the key, in order of arrival
	overtaken int                      // the most clients that have overtaken one
}

// newWorld makes the nodes. It is called in the bubble.
func newWorld(s Scenario, seed uint64) *World {
	w := &World{
		Scenario: s, Seed: seed, Clock: drivers.NewClock(), judge: oracle.New(1), opened: map[int]uint64{},
		counts: map[string]int64{}, waiting: map[int]time.Duration{}, lines: map[*wait.Room][]*client{},
	}
	for i := range s.Nodes {
		w.nodes = append(w.nodes, newNode(w, i))
	}
	return w
}

// Now returns the time since the world was made.
func (w *World) Now() time.Duration { return w.Clock.Now() }

// Fail records that a property does not hold.
func (w *World) Fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

// Count counts an event that a test wants to be sure of: a search that has never met it has proven nothing.
func (w *World) Count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// Faults makes chance strike n times, after a random time below the pause each.
func (w *World) Faults(n int, pause time.Duration, strike func(a *Actor)) {
	a := newActor(w, faults, "faults")
	w.running.Go(func() {
		for range n {
			a.Sleep(a.Upto(pause))
			strike(a)
		}
	})
}

// end waits for what was started, lets all messages arrive, and judges.
func (w *World) end() {
	w.running.Wait()
	time.Sleep(4*w.Network.Delay + time.Second)
	for _, v := range w.judge.Report().Events {
		w.Count("overlaps")
		if v.Overlap > w.Overlap {
			w.Fail("client %d was granted the key at %v while client %d held it, and they overlapped for %v",
				v.Intruder, stamp(v.At), v.Holder, stamp(v.Overlap))
		}
	}
	if w.Idle > 0 && w.idle > w.Idle {
		w.Fail("the key was free for %v while a client waited for it, which may take %v", stamp(w.idle), stamp(w.Idle))
	}
	if w.Overtakes > 0 && w.overtaken > w.Overtakes {
		w.Fail("%d clients have overtaken another one of their line, and %d may", w.overtaken, w.Overtakes)
	}
}

// slots is the number of remainders that tell the actors apart: each acts at the nanoseconds of its own.
const slots = 1 << 13

// The numbers of the actors: first the links of each node, two for each of its peers, which are clients and behind them
// subscriptions; then the clients, the nodes and the faults.
const (
	peers       = 256
	firstSub    = peers / 2
	maxNodes    = 12
	firstClient = 2 * peers * maxNodes
	firstNode   = firstClient + peers
	faults      = firstNode + maxNodes
)

// Actor is a source of chance and of lines in the trace: a client, a node, one direction of a link.
type Actor struct {
	w      *World
	number int
	name   string

	mu     sync.Mutex
	random *rand.Rand
	lines  []line
}

func newActor(w *World, number int, format string, args ...any) *Actor {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := &Actor{w: w, number: number, name: fmt.Sprintf(format, args...)}
	a.random = rand.New(rand.NewPCG(w.Seed, uint64(number)<<32|w.opened[number]))
	w.opened[number]++
	w.actors = append(w.actors, a)
	return a
}

// instant returns the first instant of the actor from t on.
func (a *Actor) instant(t time.Duration) time.Duration {
	return t + (time.Duration(a.number)-t%slots+slots)%slots
}

// Upto returns a random duration below d, and 0 if that is 0.
func (a *Actor) Upto(d time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if d == 0 {
		return 0
	}
	return time.Duration(a.random.Int64N(int64(d)))
}

// Pick returns a random number below n.
func (a *Actor) Pick(n int) int { return int(a.Upto(time.Duration(n))) }

// SleepUntil sleeps until the last instant of the actor that is not after t.
func (a *Actor) SleepUntil(t time.Duration) {
	if at := a.instant(t - slots + 1); at > a.w.Now() {
		time.Sleep(at - a.w.Now())
	}
}

// Sleep sleeps for d, less up to 8 µs.
func (a *Actor) Sleep(d time.Duration) { a.SleepUntil(a.w.Now() + d) }

// line is one line of the trace. It is formatted only if someone reads it.
type line struct {
	at     time.Duration
	story  bool // also for those who only want to know who held when
	actor  *Actor
	format string
	args   []any
}

// Log adds a line to the trace.
func (a *Actor) Log(format string, args ...any) { a.add(line{format: format, args: args}) }

// Tell adds a line to the trace and to the story.
func (a *Actor) Tell(format string, args ...any) {
	a.add(line{story: true, format: format, args: args})
}

func (a *Actor) add(l line) {
	l.at, l.actor = a.w.Now(), a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, l)
}

// Trace returns all that has happened in the world. It is the same whenever a schedule runs.
func (w *World) Trace() string { return w.render(func(line) bool { return true }) }

// Story returns who held the key when, and what failed.
func (w *World) Story() string { return w.render(func(l line) bool { return l.story }) }

func (w *World) render(keep func(line) bool) string {
	var all []line
	for _, a := range w.actors {
		for _, l := range a.lines {
			if keep(l) {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.actor.number, b.actor.number))
	})
	var text strings.Builder
	for _, l := range all {
		fmt.Fprintf(&text, "%16s  %-9s %s\n", stamp(l.at), l.actor.name, fmt.Sprintf(l.format, l.args...))
	}
	return text.String()
}

// stamp is a time or a duration, to the nanosecond.
type stamp time.Duration

func (s stamp) String() string { return fmt.Sprintf("%d.%06d ms", s/1e6, s%1e6) }
