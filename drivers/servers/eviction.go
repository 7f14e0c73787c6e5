package servers

// Eviction: a Redis server that is short of memory deletes keys by itself, whatever they are for.

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
)

const (
	// fillerDatabase is where Evict writes. The keys of all databases are evicted alike.
	fillerDatabase = "1"

	// The fillers are few and large, so that the keys of locks are many of those that can be evicted.
	fillerSize = 1 << 20
	fillerRoom = 4 * fillerSize

	// maxFillers bounds the attempts. A policy for all keys may evict a filler each time.
	maxFillers = 1000
)

// Evict makes the server evict keys by a policy, such as "allkeys-lru" or "volatile-ttl". It limits the memory to little
// more than what is in use, and writes to another database until the given keys are gone from database 0. It stops
// earlier if the policy has no more keys to evict, which a volatile one has not when only keys without a TTL are left,
// and after a thousand writes. Then it deletes what it has written and restores the limit and the policy.
//
// evicted counts its own keys as well, so look whether the given ones are gone. Without any, all keys are evicted that a
// volatile policy may evict. Other clients that write meanwhile would have their keys evicted too.
func (r *Redis) Evict(ctx context.Context, policy string, keys ...string) (evicted int64, err error) {
	evicted, err = r.evict(ctx, policy, keys)
	return evicted, failed("evict", err)
}

func (r *Redis) evict(ctx context.Context, policy string, keys []string) (evicted int64, err error) {
	memory, err := r.info(ctx, "memory")
	if err != nil {
		return 0, err
	}
	used, err := r.number(ctx, "memory", "used_memory")
	if err != nil {
		return 0, err
	}
	before, err := r.Evicted(ctx)
	if err != nil {
		return 0, err
	}
	defer func() {
		err = errors.Join(err, r.restoreMemory(context.WithoutCancel(ctx), memory["maxmemory"], memory["maxmemory_policy"]))
	}()
	if err := r.limitMemory(ctx, strconv.FormatInt(used+fillerRoom, 10), policy); err != nil {
		return 0, err
	}
	for i, more := 0, true; more && i < maxFillers; i++ {
		if more, err = r.fill(ctx, "filler:"+strconv.Itoa(i), keys); err != nil {
			return 0, err
		}
	}
	after, err := r.Evicted(ctx)
	return after - before, err
}

// KeysWith returns the keys of database 0 whose names contain a part, which has no characters that a pattern would read in
// another way.
func (r *Redis) KeysWith(ctx context.Context, part string) ([]string, error) {
	// KEYS answers with an array; a script makes it a string.
	text, err := r.command(ctx, "EVAL", `return table.concat(redis.call('KEYS', '*' .. ARGV[1] .. '*'), '\n')`, "0", part)
	return strings.Fields(text), failed("keys", err)
}

func (r *Redis) limitMemory(ctx context.Context, limit, policy string) error {
	_, err := r.login.ask(ctx, command{"CONFIG", "SET", "maxmemory-policy", policy}, command{"CONFIG", "SET", "maxmemory", limit})
	return err
}

// fill writes one filler. It reports whether one of the keys is still there, and could be evicted by another filler.
func (r *Redis) fill(ctx context.Context, filler string, keys []string) (more bool, err error) {
	commands := []command{{"SELECT", fillerDatabase}, {"SETRANGE", filler, strconv.Itoa(fillerSize - 1), "x"}, {"SELECT", "0"}}
	if len(keys) > 0 {
		commands = append(commands, append(command{"EXISTS"}, keys...))
	}
	replies, err := r.login.ask(ctx, commands...)
	if err != nil && strings.Contains(err.Error(), `"OOM `) {
		return false, nil // nothing more can be evicted
	}
	return !slices.Contains(replies, "0"), err
}

func (r *Redis) restoreMemory(ctx context.Context, limit, policy string) error {
	_, err := r.login.ask(ctx, command{"SELECT", fillerDatabase}, command{"FLUSHDB"})
	return errors.Join(err, r.limitMemory(ctx, limit, policy))
}
