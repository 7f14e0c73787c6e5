// What happened in an attempt, and what the judges say of it.

package hazards

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/format"
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
		return "the counter of the holders lost " + format.Plural(lost, "update") + ", though no two holds overlap"
	case linear == both:
		return fmt.Sprintf("two holds overlap: %v; a mutex explains the requests: %v", both, linear)
	}
	return ""
}

// The third judge: is there an order of all acquisitions and releases in which a mutex would have answered the same
// (linearizability; Herlihy and Wing 1990)? It looks at requests from when they were sent to when they were answered, and knows
// nothing of the other judges.

// request is an operation on the mutex, by its client.
type request struct {
	client string
	unlock bool
}

var mutex = porcupine.Model{
	Init: func() any { return "" }, // nobody holds it
	Step: func(state, input, _ any) (bool, any) {
		holder, r := state.(string), input.(request)
		if r.unlock {
			return holder == r.client, ""
		}
		return holder == "", r.client
	},
	DescribeOperation: func(input, _ any) string {
		if r := input.(request); r.unlock {
			return "unlock by " + r.client
		}
		return "lock by " + input.(request).client
	},
	DescribeState: func(state any) string {
		if state == "" {
			return "free"
		}
		return "held by " + state.(string)
	},
}

// operations returns what the mutex has to explain. Refusals are none of it, since a lock may refuse a free key for a moment, and
// neither are acquisitions whose answer was not heard: their client does not believe that it holds the key. The death of a
// holder releases the key at any time after it.
func operations(events []safety.Event) (list []porcupine.Operation) {
	var clients []string
	open := map[string]int{}            // the release under way of a client, by its place in list
	asked := map[string]time.Duration{} // when its acquisition was sent
	holds := map[string]bool{}
	add := func(e safety.Event, unlock bool, from, to int64) {
		if !slices.Contains(clients, e.Client) {
			clients = append(clients, e.Client)
		}
		list = append(list, porcupine.Operation{
			ClientId: slices.Index(clients, e.Client), Input: request{e.Client, unlock}, Call: from, Return: to,
		})
	}
	for _, e := range events {
		switch e.Kind {
		case safety.Asks:
			asked[e.Client] = e.At
		case safety.Granted:
			if !holds[e.Client] {
				holds[e.Client] = true
				add(e, false, int64(asked[e.Client]), int64(e.At))
			}
		case safety.Lets, safety.Dies:
			if holds[e.Client] {
				holds[e.Client] = false
				add(e, true, int64(e.At), math.MaxInt64)
				open[e.Client] = len(list) - 1
			}
		case safety.Released, safety.NotThere:
			if i, ok := open[e.Client]; ok {
				list[i].Return = int64(e.At)
				delete(open, e.Client)
			}
		}
	}
	return list
}

func linearizable(events []safety.Event) bool {
	return porcupine.CheckOperations(mutex, operations(events))
}

// Picture writes the events of a cell's story as a page, with the order that explains them as far as there is one.
func Picture(w io.Writer, c *safety.Cell) error {
	list := operations(c.Story)
	last := int64(0)
	for _, e := range c.Story {
		last = max(last, int64(e.At))
	}
	for i := range list {
		list[i].Return = min(list[i].Return, last+1)
	}
	_, info := porcupine.CheckOperationsVerbose(mutex, list, time.Minute)
	var faults []porcupine.Annotation
	for _, e := range c.Story {
		if e.Kind == safety.Fault || e.Kind == safety.Finding {
			faults = append(faults, porcupine.Annotation{Tag: string(e.Kind), Start: int64(e.At), Description: e.Text, Details: e.Text})
		}
	}
	info.AddAnnotations(faults)
	if err := porcupine.Visualize(mutex, info, w); err != nil {
		return fmt.Errorf("the picture of %s: %w", c.Hazard, err)
	}
	return nil
}
