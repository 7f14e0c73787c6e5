package hazards

// The third judge: is there an order of all acquisitions and releases in which a mutex would have answered the same
// (linearizability; Herlihy and Wing 1990)? It looks at requests from when they were sent to when they were answered, and knows
// nothing of the other judges.

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/lockbench/lockbench/results/safety"
)

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

// linearizable reports whether a mutex explains the events.
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
