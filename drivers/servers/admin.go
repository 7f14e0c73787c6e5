package servers

// What an administrator asks of a Redis server, and what the server says of itself: faults, and the evidence of them.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Promote makes a replica a primary, as it is: what its old primary has not sent yet is lost.
func (r *Redis) Promote(ctx context.Context) error {
	_, err := r.command(ctx, "REPLICAOF", "NO", "ONE")
	return failed("promote", err)
}

// PromotedAt returns the offset of the former primary's stream of changes at which a replica was promoted, by Promote or by a
// sentinel: what that primary wrote after it is lost.
func (r *Redis) PromotedAt(ctx context.Context) (int64, error) {
	next, err := r.number(ctx, "replication", "second_repl_offset") // the first that it does not have
	if err == nil && next < 0 {
		err = errors.New("it has never been")
	}
	return next - 1, failed("promoted at", err)
}

// Follow makes a server the replica of another one, whose data it takes in place of its own. It returns when it has all of
// them. Both listen on loopback ports.
func (r *Redis) Follow(ctx context.Context, primary *Redis) error {
	host, port, err := net.SplitHostPort(primary.login.address)
	if err == nil {
		_, err = r.command(ctx, "REPLICAOF", host, port)
	}
	if err != nil {
		return failed("follow", err)
	}
	return await(ctx, "redis: follow", func(ctx context.Context) error {
		lines, err := r.info(ctx, "replication")
		if link := lines["master_link_status"]; err == nil && link != "up" {
			err = fmt.Errorf("the link to the primary is %q", link)
		}
		return err
	})
}

// Followers returns how many replicas are connected to a server.
func (r *Redis) Followers(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "replication", "connected_slaves")
	return n, failed("followers", err)
}

// ReplicationOffset returns how many bytes of the stream of changes a primary has written, or a replica has carried out.
// A replica with less than its primary had after a change does not have that change.
func (r *Redis) ReplicationOffset(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "replication", "master_repl_offset") // a replica's own, in spite of the name
	return n, failed("replication offset", err)
}

// AwaitOffset returns when a server's ReplicationOffset is at least that.
func (r *Redis) AwaitOffset(ctx context.Context, offset int64) error {
	return await(ctx, "redis: await offset", func(ctx context.Context) error {
		has, err := r.ReplicationOffset(ctx)
		if err == nil && has < offset {
			err = fmt.Errorf("%d of %d", has, offset)
		}
		return err
	})
}

// RunID returns the identity of the server's process. It changes with each start.
func (r *Redis) RunID(ctx context.Context) (string, error) {
	server, err := r.info(ctx, "server")
	return server["run_id"], failed("run id", err)
}

// Evicted returns how many keys the server has evicted since its start, because it was short of memory.
func (r *Redis) Evicted(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "stats", "evicted_keys")
	return n, failed("evicted keys", err)
}

// Time returns the time of the server's clock, by which keys expire.
func (r *Redis) Time(ctx context.Context) (time.Time, error) {
	t, err := r.time(ctx)
	return t, failed("time", err)
}

func (r *Redis) time(ctx context.Context) (time.Time, error) {
	// TIME answers with an array; a script makes it a string.
	text, err := r.command(ctx, "EVAL", "local t = redis.call('TIME') return t[1] .. ' ' .. t[2]", "0")
	if err != nil {
		return time.Time{}, err
	}
	var seconds, micros int64
	if _, err := fmt.Sscan(text, &seconds, &micros); err != nil {
		return time.Time{}, fmt.Errorf("TIME: answered %q", text)
	}
	return time.Unix(seconds, micros*int64(time.Microsecond)), nil
}

// info returns the lines of a section of INFO by their names.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := r.command(ctx, "INFO", section)
	if err != nil {
		return nil, err
	}
	lines := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			lines[name] = value
		}
	}
	return lines, nil
}

// number returns a number of a section of INFO.
func (r *Redis) number(ctx context.Context, section, name string) (int64, error) {
	lines, err := r.info(ctx, section)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(lines[name], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("INFO %s: %s is %q", section, name, lines[name])
	}
	return n, nil
}

// failed says which request failed; without an error it returns nil.
func failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("redis: %s: %w", what, err)
}
