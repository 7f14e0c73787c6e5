package servers

// The stand-in that is always there: miniredis, inside this process.

import (
	"fmt"
	"sync"

	"github.com/alicebob/miniredis/v2"
)

// Embedded is a miniredis on a loopback port.
type Embedded struct {
	server *miniredis.Miniredis
	url    string
	close  sync.Once
}

// StartEmbedded starts a miniredis whose leases run in real time.
//
// By itself miniredis never lets a TTL run. Of the two ways to make it, a ticker that calls FastForward takes the
// time since its last tick off a lease that was granted after that tick, so that leases end early by as much as the
// ticker is late, which on a busy machine is tens of milliseconds: just the fault that lockbench looks for in locks.
// ClockTTL is exact. It costs a pass over all keys at each command, which is lost beside a script's 100 µs up to some
// hundred keys.
func StartEmbedded() (*Embedded, error) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("miniredis: start: %w", err)
	}
	return &Embedded{server: server, url: "redis://" + server.Addr()}, nil
}

// URL is where the server listens.
func (e *Embedded) URL() string { return e.url }

// Close stops the server and cuts its connections. It can be called more than once.
func (e *Embedded) Close() error {
	e.close.Do(e.server.Close)
	return nil
}
