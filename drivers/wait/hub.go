// The hub: one subscription for all the waiters of a process.

package wait

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lockbench/lockbench/drivers"
)

// idleKeys is how many keys without waiters stay subscribed. A key that is fought over is without waiters many times
// a second, and must not pay for SUBSCRIBE and UNSUBSCRIBE each time; a run over a million keys must not end up with a
// million channels.
const idleKeys = 1024

var errClosed = errors.New("wait: the room is closed")

// hub shares one subscription among the waiters of a process. One lock guards it: it is taken once to join and
// once to leave by an acquisition that has to wait, and once by each message, never while a request is under way.
type hub struct {
	listener drivers.Listener
	ctx      context.Context // ends with the hub; a request outlasts the one waiter that caused it, others may share it
	cancel   context.CancelFunc
	requests sync.WaitGroup // goroutines in subscribe and unsubscribe

	mu     sync.Mutex
	closed bool
	topics map[string]*topic
	idle   topic // the ring of topics that are subscribed and have no waiters, the longest idle one next
	idlers int   // how many there are in it
}

// topic is one key that is subscribed to, or that is about to be or to be no more. Requests for a key are made one
// after the other by one goroutine, or the server might see an UNSUBSCRIBE after the SUBSCRIBE that follows it; those
// for different keys overlap.
type topic struct {
	key        string
	waiters    []*subscriber
	keeper     *subscriber   // the waiter that minds the end of the holder's lease; nil after each message
	live       bool          // the subscription is confirmed and is not being dropped
	ready      chan struct{} // closed when it has been confirmed or has failed
	err        error         // why it failed; set before ready is closed
	prev, next *topic        // neighbours in the ring of idle topics; nil outside
}

func newHub(ctx context.Context, sub drivers.Subscriber) (*hub, error) {
	h := &hub{topics: map[string]*topic{}}
	h.idle.prev, h.idle.next = &h.idle, &h.idle
	var err error
	if h.listener, err = sub.Listen(ctx, h.wake); err != nil {
		return nil, err
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return h, nil
}

// wake wakes all waiters of a key, or of all keys if it is empty. It never blocks: a waiter whose slot is full is
// going to look anyway.
func (h *hub) wake(key string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if key != "" {
		if t := h.topics[key]; t != nil {
			t.wake()
		}
		return
	}
	for _, t := range h.topics {
		t.wake()
	}
}

// wake makes all waiters look again. Whoever sleeps first after that is the new keeper.
func (t *topic) wake() {
	t.keeper = nil
	for _, s := range t.waiters {
		s.wake()
	}
}

func (s *subscriber) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// join adds s to the waiters of a key and subscribes to it if nobody has. s.ready tells when that is confirmed.
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
	s.topic, s.ready, s.at = t, t.ready, len(t.waiters)
	t.waiters = append(t.waiters, s)
	return nil
}

// keep makes s the keeper of its key if there is none, and answers whether it is.
func (h *hub) keep(s *subscriber) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.topic.keeper == nil {
		s.topic.keeper = s
	}
	return s.topic.keeper == s
}

// expire wakes all waiters of a key whose keeper s has slept to the end of the lease. If a message came first, s is
// the keeper no more.
func (h *hub) expire(s *subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.topic.keeper != s {
		return
	}
	s.topic.wake()
	<-s.woken // s itself is awake
}

// leave takes s out of the waiters of its key. The subscription stays for the next who comes, unless too many do.
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
		if last > 0 { // somebody else has to mind the lease
			t.waiters[0].wake()
		}
	}
	if t.live && last == 0 {
		h.retire(t)
	}
}

// subscribe makes t live, or fails all who wait for that.
func (h *hub) subscribe(t *topic) {
	err := h.listener.Add(h.ctx, t.key)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		t.err = fmt.Errorf("wait: pubsub: subscribe to the releases of %s: %w", t.key, err)
		delete(h.topics, t.key) // whoever comes next asks anew
	} else {
		t.live = true
		if len(t.waiters) == 0 {
			h.retire(t)
		}
	}
	close(t.ready)
}

// unsubscribe drops t, which is not live any more, and subscribes again for those who have joined meanwhile. If the
// request fails, late messages may come for a key that nobody waits for: they wake nobody.
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

// retire puts a live topic without waiters at the end of the ring, and drops the longest idle one if there are too
// many. The caller has the lock.
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

// unlink takes t out of the ring of idle topics. The caller has the lock.
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
