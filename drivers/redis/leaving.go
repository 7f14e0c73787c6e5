// Telling an end that was asked for from one that was not.
package redis

import "sync"

// Leaving counts the channels that a sharded subscription was told to leave. The server also takes them away by
// itself, with the same message, when their slot moves to another node. The zero value is ready; it is safe for
// concurrent use.
type Leaving struct {
	mu     sync.Mutex
	counts map[string]int
}

// Expect is called before the channels are left.
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

// Expected takes note of the server's message and reports whether it was asked for.
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
