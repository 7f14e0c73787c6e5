// How counts add up over clients.

package workloads

import (
	"testing"

	"github.com/lockbench/lockbench/results"
)

// TestJainOfTheStarved has clients that got nothing count in Jain's index and in the least of all: two who share everything
// while two starve are half as fair as four who share it. A client of an open loop to which no arrival came does not count.
func TestJainOfTheStarved(t *testing.T) {
	closed, open := &class{}, &class{open: true}
	for _, c := range []struct {
		name    string
		grants  []int64
		class   *class
		refused bool // those without a grant wanted one
		want    results.Fairness
	}{
		{"even", []int64{4, 4, 4, 4}, closed, false, results.Fairness{Clients: 4, Jain: 1, MinClient: 4, MaxClient: 4}},
		{"half of them starve", []int64{4, 0, 4, 0}, closed, false, results.Fairness{Clients: 4, Jain: 0.5, MaxClient: 4, Starved: 2}},
		{"all but one starve, the first among them", []int64{0, 0, 8, 0}, closed, false, results.Fairness{Clients: 4, Jain: 0.25, MaxClient: 8, Starved: 3}},
		{"all starve", []int64{0, 0}, closed, false, results.Fairness{Clients: 2, Starved: 2}},
		{"half of an open loop had nothing to do", []int64{4, 0, 4, 0}, open, false, results.Fairness{Clients: 2, Jain: 1, MinClient: 4, MaxClient: 4}},
		{"half of an open loop starves", []int64{4, 0, 4, 0}, open, true, results.Fairness{Clients: 4, Jain: 0.5, MaxClient: 4, Starved: 2}},
	} {
		clients := make([]client, len(c.grants))
		for i, n := range c.grants {
			clients[i].e, clients[i].class, clients[i].counters.acquired = &engine{}, c.class, n
			if n == 0 && c.refused {
				clients[i].counters.timedOut = 1
			}
		}
		sum := sumOf(clients)
		got := sum.Fairness
		if got.Jain = sum.jain(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
