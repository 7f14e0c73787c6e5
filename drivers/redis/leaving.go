// Telling requested unsubscriptions from others.
package redis

import "sync"

// Leaving counts the channels that a sharded subscription was told to leave. The server also removes them itself, with
// the same message, when their slot moves to another node. The zero value is ready; it is safe for concurrent use.
type Leaving struct {
	mu     sync.Mutex
	counts map[string]int
}

// Expect must be called before the channels are left.
func (l *Leaving) Expect(channels []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	for _, channel := range channels {
		l.counts[channel]++
	}
}

// Expected records the server's message and reports whether it was requested.
func (l *Leaving) Expected(channel string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.counts[channel]
	if n == 0 {
		return false
	}
	if n == 1 {
		delete(l.counts, channel)
	} else {
		l.counts[channel] = n - 1
	}
	return true
}
