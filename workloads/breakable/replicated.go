package breakable

// A primary with replicas, one of which takes its place.

import (
	"context"
	"errors"
	"fmt"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// links are the proxies between a primary and its replicas, in their order.
type links []*fault.Proxy

// add makes one; see servers.RedisOptions.
func (l *links) add(primary string) (addr string, err error) {
	p, err := fault.NewProxy(primary)
	if err != nil {
		return "", err
	}
	*l = append(*l, p)
	return p.Addr(), nil
}

// replicated is a primary with replicas and, if there is one, the sentinel that watches them.
type replicated struct {
	*servers.Redis // the primary
	replicas       []*servers.Redis
	sentinel       *servers.Sentinel // nil: replicas are promoted by hand
	stop           func() error

	links links
	held  bool  // the link of the first replica
	since int64 // the primary's offset at that time, which may be 0
}

// startReplicated lets a replica take its first copy from a file: one without acknowledges nothing for a second after that.
func startReplicated(ctx context.Context, replicas int) (*replicated, error) {
	r := &replicated{}
	all, err := servers.StartReplicated(ctx, replicas, servers.RedisOptions{
		TCP: true, Link: r.links.add, Config: map[string]string{"repl-diskless-sync": "no"},
	})
	if err != nil {
		return nil, errors.Join(err, closeAll(r.links))
	}
	r.Redis, r.replicas, r.stop = all.Primary, all.Replicas, all.Close
	return r, nil
}

// startSentinel starts one sentinel: several may vote for different ones among them, and try again much later. It watches the
// primary itself and not a link to it. A held link would keep the primary's answers from it as well, and it would promote the
// replica of a primary that lives.
func startSentinel(ctx context.Context) (hazards.Server, error) {
	r := &replicated{}
	all, err := servers.StartSentinel(ctx, 1, 1, servers.RedisOptions{TCP: true, Link: r.links.add})
	if err != nil {
		return nil, errors.Join(err, closeAll(r.links))
	}
	r.Redis, r.replicas, r.sentinel, r.stop = all.Nodes[0], all.Nodes[1:], all, all.Close
	return r, nil
}

// URL returns the address that clients are given.
func (r *replicated) URL() string {
	if r.sentinel != nil {
		return r.sentinel.URLs()[0]
	}
	return r.Redis.URL()
}

// Close stops all of them.
func (r *replicated) Close() error { return errors.Join(closeAll(r.links), r.stop()) }

func (r *replicated) HoldLink(ctx context.Context) (err error) {
	_ = r.links[0].Hold(fault.Replies) // the offsets show what it has kept: the primary answers the replica's request for changes
	r.held = true
	r.since, err = r.ReplicationOffset(ctx)
	return err
}

func (r *replicated) FailOver(ctx context.Context, f hazards.FailOver) (evidence string, err error) {
	wrote, err := r.ReplicationOffset(ctx)
	if err != nil {
		return "", err
	}
	if err := r.catchUp(ctx, wrote); err != nil {
		return "", err
	}
	n := len(r.replicas) - 1
	if f.Behind {
		n = 0
	}
	next := r.replicas[n]
	if err := r.Kill(); err != nil {
		return "", err
	}
	by := "by hand"
	if r.sentinel != nil {
		by = "by a sentinel"
		err = r.sentinel.AwaitPrimary(ctx, next)
	} else {
		err = next.Promote(ctx)
	}
	if err != nil {
		return "", err
	}
	r.Redis = next
	has, err := next.PromotedAt(ctx)
	if err != nil {
		return "", err
	}
	evidence = fmt.Sprintf("the primary was killed at replication offset %d, and replica %d of %d was promoted at %d %s",
		wrote, n+1, len(r.replicas), has, by)
	if n == 0 && r.held {
		evidence += fmt.Sprintf(", with its link held since %d", r.since)
		if has > r.since || wrote <= r.since {
			return "", fmt.Errorf("it lacks nothing: %s", evidence)
		}
	}
	if n == 0 && len(r.replicas) > 1 {
		evidence += ", while the others had all" // by catchUp
	}
	for i, other := range r.replicas {
		if i != n && !f.Alone {
			if err := other.Follow(ctx, next); err != nil {
				return "", err
			}
		}
	}
	followers, err := r.Followers(ctx)
	return fmt.Sprintf("%s (connected_slaves:%d)", evidence, followers), err
}

// catchUp waits until the replicas whose link is not held have all up to an offset.
func (r *replicated) catchUp(ctx context.Context, offset int64) error {
	for i, one := range r.replicas {
		if i > 0 || !r.held {
			if err := one.AwaitOffset(ctx, offset); err != nil {
				return err
			}
		}
	}
	return nil
}
