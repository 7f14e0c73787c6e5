package renew

// The two lists of a scheduler: by time, and those that wait for a worker.

import (
	"container/heap"
	"time"
)

// queue is a heap of holds by the time at which they are due.
type queue []*Hold

// place puts h where at belongs, whether it is in the queue or not.
func (q *queue) place(h *Hold, at time.Duration) {
	h.wake = at
	if h.index < 0 {
		heap.Push(q, h)
	} else {
		heap.Fix(q, h.index)
	}
}

// remove takes h out if it is in.
func (q *queue) remove(h *Hold) {
	if h.index >= 0 {
		heap.Remove(q, h.index)
	}
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].wake < q[j].wake }

func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	h := x.(*Hold)
	h.index = len(*q)
	*q = append(*q, h)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	h := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	h.index = -1
	return h
}

// enlist puts h at the end of those that wait for a worker, unless it is among them already. The caller holds mu.
func (s *Scheduler) enlist(h *Hold) {
	if !h.listed {
		h.listed = true
		s.ready = append(s.ready, h)
		s.work.Signal()
	}
}
