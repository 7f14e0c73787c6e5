// The hub: one subscription for all waiters of a process.

package wait

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// idleKeys is the number of keys without waiters that stay subscribed. A contended key has no waiters many times a
// second, and must not cost a SUBSCRIBE and an UNSUBSCRIBE each time; but a run over a million keys must not end up
// with a million channels.
const idleKeys = 1024

var errClosed = errors.New("wait: the room is closed")

// hub shares one subscription among the waiters of a process. One mutex guards it. An acquisition that has to wait
// takes it once to join and once to leave, and each message takes it once; no request is made while it is held.
type hub struct {
	listener drivers.Listener
	rooms    int             // of this process
	ctx      context.Context // ends with the hub; a request outlives the waiter that caused it, because others may share it
	cancel   context.CancelFunc
	requests sync.WaitGroup // goroutines in subscribe and unsubscribe

	mu     sync.Mutex
	closed bool
	topics map[string]*topic
	idle   topic // the ring of topics that are subscribed but have no waiters, the longest idle one next
	idlers int   // their number
}

// topic is a key whose subscription exists or is being made or dropped. One goroutine makes the requests for a key one
// after the other: otherwise the server might see an UNSUBSCRIBE after the SUBSCRIBE that follows it. Requests for
// different keys overlap.
type topic struct {
	key        string
	waiters    []*subscriber
	keeper     *subscriber   // the waiter that watches the end of the holder's lease; nil after each message
	turns      int           // releases that were heard since a turn of this process ended, its own release included
	listeners  int           // processes that share the turns, as last counted; 0 if that is not known
	live       bool          // the subscription is confirmed and is not being dropped
	ready      chan struct{} // closed when the subscription is confirmed or has failed
	err        error         // why it failed; set before ready is closed
	prev, next *topic        // neighbours in the ring of idle topics; nil outside
}

func newHub(ctx context.Context, sub drivers.Subscriber, rooms int) (*hub, error) {
	h := &hub{rooms: rooms, topics: map[string]*topic{}}
	h.idle.prev, h.idle.next = &h.idle, &h.idle
	var err error
	if h.listener, err = sub.Listen(ctx, h.wake); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return h, nil
}

// wake wakes all waiters of a key, or of all keys if it is empty. It never blocks: a waiter whose slot is full is about
// to look anyway.
func (h *hub) wake(key string) {
	drivers.Shuffle(h.rooms)
	h.mu.Lock()
	defer h.mu.Unlock()
	if key != "" {
		if t := h.topics[key]; t != nil {
			t.turns++
			t.wake()
		}
		return
	}
	for _, t := range h.topics {
		t.wake()
	}
}

// wake makes all waiters look again. The first one to sleep after that is the new keeper.
func (t *topic) wake() {
	t.keeper = nil
	for _, s := range t.waiters {
		s.woken.fill()
	}
}

// join adds s to the waiters of a key and subscribes to it if necessary. s.ready is closed when that is confirmed.
func (h *hub) join(s *subscriber, key string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return errClosed
	}
	t := h.topics[key]
	if t == nil {
		t = &topic{key: key, ready: make(chan struct{})}
		h.topics[key] = t
		h.requests.Go(func() { h.subscribe(t) })
	} else if t.next != nil {
		h.unlink(t)
	}
	s.topic, s.ready, s.at, s.seen = t, t.ready, len(t.waiters), -1
	t.waiters = append(t.waiters, s)
	return nil
}

// keep makes s the keeper of its key if there is none, and reports whether s is the keeper.
func (h *hub) keep(s *subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.topic.keeper == nil {
		s.topic.keeper = s
	}
	return s.topic.keeper == s
}

// expire wakes all waiters of a key whose keeper s has slept to the end of the lease. If a message came first, s is no
// longer the keeper.
func (h *hub) expire(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.topic.keeper != s {
		return
	}
	s.topic.wake()
	<-s.woken // s itself is awake
}

// endTurn records that a turn of this process on a key ends with the release that is sent next.
func (h *hub) endTurn(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := h.topics[key]; t != nil {
		t.turns = 0
	}
}

// share records how many processes listen to the key of s.
func (h *hub) share(s *subscriber, listeners int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.topic.listeners = listeners
}

// tooEarly reports whether s has to let others go first, because it has heard of fewer releases than there are processes
// since its own had its turn. Then it has to find the lock free as many times in a row as asks says.
func (h *hub) tooEarly(s *subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if t := s.topic; s.seen != t.turns {
		s.seen, s.asks = t.turns, asks(t.turns, t.listeners)
	} else if s.asks > 0 {
		s.asks--
	}
	return s.asks > 0
}

// asks returns how often a process has to find the lock free before it tries: never if each of the listeners has had its
// turn since its own, once if half of them have, and once more for each further halving.
//
// A server sends each message to its subscribers in the same order, and without this rule the first of them win all the
// races. Among processes that want the lock all the time, exactly one is not too early, so they take turns in a circle.
// Others that wait after it take the lock only if it does not, a round trip later. The halving is for listeners that want nothing at present: they make everybody too
// early, and those who have waited longer still go first, at the price of at most log₂ listeners round trips a turn.
// With it Jain's index is 0.98 to 0.99 at 8 and 32 processes, for 0.96 to 0.99 of the locks/s.
func asks(turns, listeners int) (n int) {
	for t := max(turns, 1); t < listeners; t *= 2 {
		n++
	}
	return n
}

// leave removes s from the waiters of its key. The subscription stays for the next waiter, unless there are too many.
func (h *hub) leave(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, last := s.topic, len(s.topic.waiters)-1
	t.waiters[s.at] = t.waiters[last]
	t.waiters[s.at].at = s.at
	t.waiters[last] = nil
	t.waiters = t.waiters[:last]
	s.topic = nil
	if t.keeper == s {
		t.keeper = nil
		if last > 0 { // another waiter has to watch the lease
			t.waiters[0].woken.fill()
		}
	}
	if t.live && last == 0 {
		h.retire(t)
	}
}

// subscribe makes t live, or makes all that wait for it fail.
func (h *hub) subscribe(t *topic) {
	err := h.listener.Add(h.ctx, t.key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		t.err = fmt.Errorf("wait: pubsub: subscribe to the releases of %s: %w", t.key, err)
		delete(h.topics, t.key) // the next waiter subscribes again
	} else {
		t.live = true
		if len(t.waiters) == 0 {
			h.retire(t)
		}
	}
	close(t.ready)
}

// unsubscribe drops t, which is no longer live, and subscribes again if waiters have joined meanwhile. If the request
// fails, late messages may come for a key without waiters; they wake nothing.
func (h *hub) unsubscribe(t *topic) {
	_ = h.listener.Remove(h.ctx, t.key)
	h.mu.Lock()
	wanted := len(t.waiters) > 0
	if !wanted {
		delete(h.topics, t.key)
	}
	h.mu.Unlock()
	if wanted {
		h.subscribe(t)
	}
}

// retire puts a live topic without waiters at the end of the ring, and drops the one that was idle longest if there are
// too many. The caller holds the mutex.
func (h *hub) retire(t *topic) {
	t.prev, t.next = h.idle.prev, &h.idle
	t.prev.next, t.next.prev = t, t
	h.idlers++
	if h.idlers <= idleKeys || h.closed {
		return
	}
	old := h.idle.next
	h.unlink(old)
	old.live, old.ready = false, make(chan struct{})
	h.requests.Go(func() { h.unsubscribe(old) })
}

// unlink removes t from the ring of idle topics. The caller holds the mutex.
func (h *hub) unlink(t *topic) {
	t.prev.next, t.next.prev = t.next, t.prev
	t.prev, t.next = nil, nil
	h.idlers--
}

// close ends the subscription and waits for the requests under way, which fail.
func (h *hub) close() error {
	h.mu.Lock()
	again := h.closed
	h.closed = true
	h.mu.Unlock()
	if again {
		return nil
	}
	h.cancel()
	err := h.listener.Close()
	h.requests.Wait()
	return err
}
