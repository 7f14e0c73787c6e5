package servers

// Groups of private servers: what they have in common, and several servers that know nothing of each other.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"
)

// Nodes are private servers that know nothing of each other, as Redlock wants them.
type Nodes struct{ Nodes []*Redis }

// StartNodes starts n independent servers at once. It takes what StartRedis takes and fails as that does; then none
// is left.
func StartNodes(ctx context.Context, n int, o RedisOptions) (*Nodes, error) {
	if n < 1 {
		return nil, fmt.Errorf("redis: start: %d servers are not possible: ask for 1 or more", n)
	}
	o, err := o.grouped()
	if err != nil {
		return nil, err
	}
	nodes, err := startAll(ctx, n, func(ctx context.Context, _ int) (*Redis, error) { return StartRedis(ctx, o) })
	if err != nil {
		return nil, err
	}
	return &Nodes{nodes}, nil
}

// URLs are where the servers listen.
func (n *Nodes) URLs() []string { return urlsOf(n.Nodes) }

// CAFile is the PEM file of the private CA that signed all their certificates; "" without TLS.
func (n *Nodes) CAFile() string { return n.Nodes[0].CAFile() }

// Close stops all servers. It can be called more than once.
func (n *Nodes) Close() error { return closeAll(n.Nodes) }

// grouped is o for the members of a group, which share a certificate authority.
func (o RedisOptions) grouped() (RedisOptions, error) {
	if !o.TLS || o.ca != nil {
		return o, nil
	}
	ca, err := newAuthority()
	if err != nil {
		return o, fmt.Errorf("redis: start: %w", err)
	}
	o.ca = ca
	return o, nil
}

// with is o with further defaults and lines of the configuration.
func (o RedisOptions) with(defaults map[string]string, lines ...string) RedisOptions {
	config := maps.Clone(defaults)
	for name, value := range o.Config {
		if config == nil {
			config = map[string]string{}
		}
		config[strings.ToLower(name)] = value
	}
	o.Config = config
	o.lines = append(o.lines[:len(o.lines):len(o.lines)], lines...)
	return o
}

// linked is o for servers that connect to each other: by TCP, and with the same password. Their file holds that in
// clear, as they have no other way to learn it; it is in their private directory.
func (o RedisOptions) linked() RedisOptions {
	o.TCP = true
	if o.TLS {
		o = o.with(nil, "tls-replication yes")
	}
	if o.Password != "" {
		o = o.with(nil, "masterauth "+quoteRedis(o.Password))
	}
	if o.Username != "" {
		o = o.with(nil, "masteruser "+o.Username)
	}
	return o
}

// startAll starts n servers at once. If one does not start, none stays.
func startAll(ctx context.Context, n int, start func(ctx context.Context, i int) (*Redis, error)) ([]*Redis, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	list := make([]*Redis, n)
	var starting sync.WaitGroup
	for i := range list {
		starting.Go(func() {
			r, err := start(ctx, i)
			if err != nil {
				cancel(err) // the first error is the cause, those of the others follow from it
				return
			}
			list[i] = r
		})
	}
	starting.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, errors.Join(err, closeAll(list))
	}
	return list, nil
}

// closeAll stops the servers of the list that there are.
func closeAll(list []*Redis) error {
	var errs []error
	for _, r := range list {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

func urlsOf(list []*Redis) []string {
	urls := make([]string, len(list))
	for i, r := range list {
		urls[i] = r.URL()
	}
	return urls
}

// await asks until ready answers nil, for as long as a start may take. what says for what it waits.
func await(ctx context.Context, what string, ready func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for pause := pollMin; ; pause = min(2*pause, pollMax) {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("redis: start: %s: %w (last: %w)", what, ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}
