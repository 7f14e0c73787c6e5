package servers

// A private primary with replicas.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
)

// replicationDefaults let a replica be in sync as soon as possible: by default a primary waits 5 s for more of them.
var replicationDefaults = map[string]string{"repl-diskless-sync-delay": "0"}

// Replicated is a primary and its replicas. No replica is promoted when the primary dies; see Redis.Promote and
// Sentinel.
type Replicated struct {
	Group[*Redis] // the primary first
	Primary       *Redis
	Replicas      []*Redis
}

// StartReplicated starts a primary and its replicas, and returns when the replicas are in sync, so that WAIT counts all
// of them. Replicas connect to loopback ports: there is no unix socket, whatever the options say.
func StartReplicated(ctx context.Context, replicas int, o RedisOptions) (*Replicated, error) {
	if replicas < 0 {
		return nil, fmt.Errorf("redis: start: %d replicas are not possible", replicas)
	}
	o.ca = cmp.Or(o.ca, new(authority))
	o = o.linked().with(replicationDefaults)
	primary, err := StartRedis(ctx, o)
	if err != nil {
		return nil, err
	}
	r := &Replicated{Group: Group[*Redis]{[]*Redis{primary}}, Primary: primary}
	lines, err := replicaLines(replicas, primary.port.addr(), o.Link)
	if err == nil {
		r.Replicas, err = startAll(ctx, replicas, func(ctx context.Context, i int) (*Redis, error) {
			return StartRedis(ctx, o.with(nil, lines[i]))
		})
	}
	if err == nil {
		r.Nodes = append(r.Nodes, r.Replicas...)
		err = await(ctx, "redis: start: the replicas are not in sync", r.inSync)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// replicaLines returns the line for the configuration of each replica that names its primary.
func replicaLines(replicas int, primary string, link func(string) (string, error)) ([]string, error) {
	lines := make([]string, replicas)
	for i := range lines {
		addr, err := primary, error(nil)
		if link != nil {
			addr, err = link(primary)
		}
		if err != nil {
			return nil, fmt.Errorf("redis: start: the link of a replica: %w", err)
		}
		host, number, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("redis: start: the link of a replica: %w", err)
		}
		lines[i] = "replicaof " + quoteRedis(host) + " " + quoteRedis(number)
	}
	return lines, nil
}

// inSync returns nil if all replicas acknowledge what the primary sends. It publishes something first: without traffic
// from the client, WAIT counts even a replica that still loads its first copy.
func (r *Replicated) inSync(ctx context.Context) error {
	all := strconv.Itoa(len(r.Replicas))
	replies, err := r.Primary.login.ask(ctx, command{"PUBLISH", "lockbench:sync", ""}, command{"WAIT", all, "100"})
	if err == nil && replies[1] != all {
		err = fmt.Errorf("%s of %s replicas acknowledge", replies[1], all)
	}
	return err
}

// URLs returns the address of the primary.
func (r *Replicated) URLs() []string { return []string{r.Primary.URL()} }
