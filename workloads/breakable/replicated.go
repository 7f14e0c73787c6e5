package breakable

// A primary with replicas, one of which takes its place.

import (
	"context"
	"fmt"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// replicated is a primary with replicas, which reach it through proxies, and, if there is one, the sentinel that
// watches them.
type replicated struct {
	*servers.Redis // the primary
	all            *servers.Replicated
	sentinel       *servers.Sentinel // nil: replicas are promoted by hand
	close          func() error

	held  bool  // the link of the first replica
	since int64 // the primary's offset at that time, which may be 0
}

// startReplicated lets a replica take its first copy from a file: one without acknowledges nothing for a second after
// that.
func startReplicated(ctx context.Context, replicas int, o servers.Options) (*replicated, error) {
	o.Proxied, o.Settings = true, map[string]string{"repl-diskless-sync": "no"}
	all, err := servers.StartReplicated(ctx, replicas, o)
	if err != nil {
		return nil, err
	}
	return &replicated{Redis: all.Nodes[0], all: all, close: all.Close}, nil
}

// startSentinel starts one sentinel: several may vote for different ones among them, and try again much later. It
// watches the primary itself and not a link to it. A held link would keep the primary's answers from it as well, and
// it would promote the replica of a primary that lives.
func startSentinel(ctx context.Context, o servers.Options) (*replicated, error) {
	o.Proxied = true
	s, err := servers.StartSentinel(ctx, 1, 1, o)
	if err != nil {
		return nil, err
	}
	return &replicated{Redis: s.Nodes[0], all: s.Replicated, sentinel: s, close: s.Close}, nil
}

// URL returns the address that clients are given.
func (r *replicated) URL() string {
	if r.sentinel != nil {
		return r.sentinel.URLs()[0]
	}
	return r.Redis.URL()
}

// Close stops all of them.
func (r *replicated) Close() error { return r.close() }

// HoldLink holds what the primary answers to the replica's request for changes.
func (r *replicated) HoldLink(ctx context.Context) (err error) {
	_ = r.all.Links[0].Hold(fault.Replies) // the offsets show what it has kept
	r.held = true
	r.since, err = r.ReplicationOffset(ctx)
	return err
}

func (r *replicated) FailOver(ctx context.Context, f hazards.FailOver) (evidence string, err error) {
	replicas := r.all.Nodes[1:]
	n := len(replicas) - 1
	if f.Behind {
		n = 0
	}
	next := replicas[n]
	wrote, err := r.ReplicationOffset(ctx)
	for i, one := range replicas {
		if err == nil && (i > 0 || !r.held) {
			err = one.AwaitOffset(ctx, wrote) // all but the one behind the held link have all
		}
	}
	if err == nil {
		err = r.Kill()
	}
	by := "by hand"
	switch {
	case err != nil:
		return "", err
	case r.sentinel != nil:
		by = "by a sentinel"
		err = r.sentinel.AwaitPrimary(ctx, next)
	default:
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
		wrote, n+1, len(replicas), has, by)
	if n == 0 && r.held {
		evidence += fmt.Sprintf(", with its link held since %d", r.since)
		if has > r.since || wrote <= r.since {
			return "", fmt.Errorf("it lacks nothing: %s", evidence)
		}
	}
	if n == 0 && len(replicas) > 1 {
		evidence += ", while the others had all"
	}
	for i, other := range replicas {
		if err == nil && i != n && !f.Alone {
			err = other.Follow(ctx, next)
		}
	}
	if err != nil {
		return "", err
	}
	followers, err := r.Followers(ctx)
	return fmt.Sprintf("%s (connected_slaves:%d)", evidence, followers), err
}
