package servers

// Groups of private servers: what they have in common, and groups of independent servers.

import (
	"context"
	"fmt"
	"maps"
	"strings"
)

// Nodes are independent private servers, as Redlock needs them.
type Nodes struct{ Group[*Redis] }

// StartNodes starts n independent servers at once, with the options of StartRedis. If one fails, none is left.
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
	return &Nodes{Group[*Redis]{nodes}}, nil
}

// grouped returns o for the members of a group, which share a certificate authority.
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

// with returns o with further defaults and configuration lines.
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

// linked returns o for servers that connect to each other: by TCP, with the same password. Their file holds the
// password in clear text, because they have no other way to learn it; it is in their private directory.
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
