package servers

// The substitute that is always available: miniredis, inside this process.

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
// By itself miniredis never lets a TTL run. There are two ways to change that. A ticker that calls FastForward
// subtracts the whole time since its last tick from every lease, even from one granted just before: leases end early,
// by up to the length of a tick, and by more when the machine is busy and the ticker late. That is exactly the fault
// that lockbench looks for in locks. ClockTTL is exact. It costs a pass over all keys at each command: next to nothing
// with ten keys, as much as the lock itself with five hundred.
func StartEmbedded() (*Embedded, error) {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true)
	if err := server.StartAddr("127.0.0.1:0"); err != nil {
		return nil, fmt.Errorf("miniredis: start: %w", err)
	}
	return &Embedded{server: server, url: "redis://" + server.Addr()}, nil
}

// URL returns the server's address.
func (e *Embedded) URL() string { return e.url }

// Close stops the server and cuts its connections. It can be called more than once.
func (e *Embedded) Close() error {
	e.close.Do(e.server.Close)
	return nil
}
