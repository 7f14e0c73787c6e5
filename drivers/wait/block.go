// The waiter that sleeps on the server until a release wakes it alone.

package wait

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers"
)

// blocked is the block waiter of one client. A release wakes one sleeper, which tries again; a client that arrives just
// then may be faster. A wake-up can be lost if the client that was woken dies, and nothing announces the end of a
// lease. So each sleep is bounded by the rest of the holder's lease, which costs one request before it.
//
// A client that gets the lock after a sleep may be the only one that knows how long its lease is. If that is less than
// the longest sleep, it wakes another client, which asks.
type blocked struct {
	server drivers.Blocker
	lease  drivers.Remainer // nil if leases do not end
	waited bool
	unused bool // it was woken and cannot use it, or may have been: Leave wakes another
}

func (b *blocked) Wait(ctx context.Context, l *drivers.Lease) error {
	if err := ctx.Err(); err != nil || left(l) <= 0 {
		return err
	}
	d := MaxSleep
	if b.lease != nil {
		var err error
		if d, err = rest(ctx, Block, b.lease, l); err != nil {
			return err
		}
	}
	b.waited = true
	if d = min(d, left(l)); d <= 0 {
		return nil
	}
	woken, err := b.server.Block(ctx, l, d)
	b.unused = ctx.Err() != nil || woken && left(l) <= 0
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("wait: block: %w", err)
	}
	return nil
}

// Leave wakes another sleeper if this client was woken and did not use that, or if its lease may end before those who
// asked about an earlier one wake up.
func (b *blocked) Leave(ctx context.Context, l *drivers.Lease) error {
	wakes := b.unused || b.waited && b.lease != nil && l.TTL < MaxSleep
	b.unused, b.waited = false, false
	if !wakes {
		return nil
	}
	if err := b.server.Rouse(ctx, l); err != nil {
		return fmt.Errorf("wait: block: %w", err)
	}
	return nil
}
