package hazards

// What happened in an attempt, and what the judges say of it.

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
)

// history is the events of an attempt. It is safe for concurrent use.
type history struct {
	clock drivers.Clock

	mu     sync.Mutex
	events []safety.Event
}

// add records that something happens now.
func (h *history) add(e safety.Event) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.At = h.clock.Now()
	h.events = append(h.events, e)
	return e.At
}

// addAt records that something happened at a time before now.
func (h *history) addAt(at time.Duration, e safety.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e.At = at
	h.events = append(h.events, e)
}

func (h *history) all() []safety.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.Clone(h.events)
	slices.SortStableFunc(all, func(a, b safety.Event) int { return cmp.Compare(a.At, b.At) })
	return all
}

// overlap is a time in which two clients held the key.
type overlap struct {
	first, second string
	from, to      time.Duration
}

// overlaps are what the first judge says: pairs of holds that have a moment in common.
func overlaps(events []safety.Event) (list []overlap) {
	all := safety.Holds(events)
	for i, a := range all {
		for _, b := range all[i+1:] {
			if from, to := max(a.From, b.From), min(a.To, b.To); from < to && a.Client != b.Client {
				list = append(list, overlap{a.Client, b.Client, from, to})
			}
		}
	}
	return list
}

// lostUpdates is what the second judge says: each holder reads a counter when it is granted the key, and writes it back, one
// higher, when it lets go. It returns how many of the increments are lost. Holders that never let go write nothing.
func lostUpdates(events []safety.Event) int {
	counter, written := 0, 0
	read := map[string]int{}
	for _, e := range events {
		switch e.Kind {
		case safety.Granted:
			if _, again := read[e.Client]; !again {
				read[e.Client] = counter
			}
		case safety.Lets:
			if seen, ok := read[e.Client]; ok {
				counter = seen + 1
				written++
			}
			delete(read, e.Client)
		case safety.Dies:
			delete(read, e.Client)
		}
	}
	return written - counter
}

// fenceRegress returns, of a lock whose grants have fencing tokens, that one which was asked for after another had been answered
// has no higher token; empty if there is none.
func fenceRegress(events []safety.Event) string {
	asked := map[string]time.Duration{}
	var grants []safety.Event
	for _, e := range events {
		switch e.Kind {
		case safety.Asks:
			asked[e.Client] = e.At
		case safety.Granted:
			for _, g := range grants {
				if g.At < asked[e.Client] && e.Fence <= g.Fence {
					return fmt.Sprintf("%s has the fencing token %d, and %s had %d before", e.Client, e.Fence, g.Client, g.Fence)
				}
			}
			grants = append(grants, e)
		}
	}
	return ""
}

func longest(list []overlap) (length time.Duration) {
	for _, o := range list {
		length = max(length, o.to-o.from)
	}
	return length
}

// between returns for how long two clients held the key at once.
func between(list []overlap, a, b string) (length time.Duration) {
	for _, o := range list {
		if o.first == a && o.second == b || o.first == b && o.second == a {
			length = max(length, o.to-o.from)
		}
	}
	return length
}

// disagreement returns what the judges contradict each other in; empty if they do not.
func disagreement(events []safety.Event) string {
	return contradiction(len(overlaps(events)) > 0, lostUpdates(events), linearizable(events))
}

// contradiction tells whether two holds overlap, some increments are lost and a mutex explains the requests at once. Increments
// are lost only where holds overlap: the counter sees less, since a holder that never let go has written nothing. A mutex
// explains the requests exactly if no two holds overlap.
func contradiction(both bool, lost int, linear bool) string {
	switch {
	case lost > 0 && !both:
		return fmt.Sprintf("the counter of the holders lost %d updates, though no two holds overlap", lost)
	case linear == both:
		return fmt.Sprintf("two holds overlap: %v; a mutex explains the requests: %v", both, linear)
	}
	return ""
}
