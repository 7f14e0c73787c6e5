package renew

// The two lists of a scheduler: by time, and first in, first out.

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

// fifo is a first-in, first-out list.
type fifo struct{ first, last *Hold }

// push puts h at the end, unless it is in the list already.
func (l *fifo) push(h *Hold) {
	if h.listed {
		return
	}
	h.listed = true
	if l.first == nil {
		l.first = h
	} else {
		l.last.after = h
	}
	l.last = h
}

// pop removes and returns the first hold, or nil.
func (l *fifo) pop() *Hold {
	h := l.first
	if h != nil {
		l.first, h.after, h.listed = h.after, nil, false
	}
	return h
}
