package servers

// What an administrator asks of a private Redis server: faults, and the evidence of them.

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
)

// askTimeout bounds one connection and each of its commands; a server that is loading or stopped is asked again.
const askTimeout = 20 * time.Second

// ping expects a PONG from the process with that number, and not from another server that has taken the port.
func ping(ctx context.Context, login goredis.Options, pid int) error {
	c := goredis.NewClient(&login)
	defer c.Close()
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("PING: %w", err)
	}
	info, err := c.Info(ctx, "server").Result()
	if err == nil && !strings.Contains(info, fmt.Sprintf("\r\nprocess_id:%d\r\n", pid)) {
		err = fmt.Errorf("another server answers at %s: its process is not %d", login.Addr, pid)
	}
	return err
}

// client returns a client of a database. The caller closes it: the server has no idle connections.
func (r *Redis) client(database int) *goredis.Client {
	login := r.login
	login.DB = database
	return goredis.NewClient(&login)
}

// command sends one command and returns the text of the reply.
func (r *Redis) command(ctx context.Context, words ...any) (string, error) {
	c := r.client(0)
	defer c.Close()
	reply, err := c.Do(ctx, words...).Result()
	if err != nil {
		return "", fmt.Errorf("%v: %w", words[0], err)
	}
	return fmt.Sprint(reply), nil
}

// info returns the lines of a section of INFO by their names.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := r.command(ctx, "INFO", section)
	lines := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			lines[name] = value
		}
	}
	return lines, err
}

// number returns a number of a section of INFO.
func (r *Redis) number(ctx context.Context, section, name string) (int64, error) {
	lines, err := r.info(ctx, section)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(lines[name], 10, 64)
}

// Promote makes a replica a primary, as it is: what its old primary has not sent yet is lost.
func (r *Redis) Promote(ctx context.Context) error {
	_, err := r.command(ctx, "REPLICAOF", "NO", "ONE")
	return r.failed("promote", err)
}

// PromotedAt returns the offset of the former primary's stream of changes at which a replica was promoted, by Promote
// or by a sentinel: what that primary wrote after it is lost.
func (r *Redis) PromotedAt(ctx context.Context) (int64, error) {
	next, err := r.number(ctx, "replication", "second_repl_offset") // the first that it does not have
	if err == nil && next < 0 {
		err = errors.New("it has never been")
	}
	return next - 1, r.failed("promoted at", err)
}

// Follow makes a server the replica of another one, whose data it takes in place of its own. It returns when it has
// all of them. Both listen on loopback ports.
func (r *Redis) Follow(ctx context.Context, primary *Redis) error {
	if _, err := r.command(ctx, "REPLICAOF", "127.0.0.1", primary.port.number); err != nil {
		return r.failed("follow", err)
	}
	return poll(ctx, "redis: follow", func(ctx context.Context) error {
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
	return n, r.failed("followers", err)
}

// ReplicationOffset returns how many bytes of the stream of changes a primary has written, or a replica has carried
// out. A replica with less than its primary had after a change does not have that change.
func (r *Redis) ReplicationOffset(ctx context.Context) (int64, error) {
	n, err := r.number(ctx, "replication", "master_repl_offset") // a replica's own, in spite of the name
	return n, r.failed("replication offset", err)
}

// AwaitOffset returns when a server's ReplicationOffset is at least that.
func (r *Redis) AwaitOffset(ctx context.Context, offset int64) error {
	return poll(ctx, "redis: await offset", func(ctx context.Context) error {
		has, err := r.ReplicationOffset(ctx)
		if err == nil && has < offset {
			err = fmt.Errorf("%d of %d", has, offset)
		}
		return err
	})
}

const (
	// fillerDatabase is where Evict writes. The keys of all databases are evicted alike.
	fillerDatabase = 1

	// The fillers are few and large, so that the keys of locks are many of those that can be evicted.
	fillerSize = 1 << 20
	fillerRoom = 4 * fillerSize

	// maxFillers bounds the attempts. A policy for all keys may evict a filler each time.
	maxFillers = 1000
)

// Evict makes the server evict keys by a policy, such as "allkeys-lru" or "volatile-ttl". It limits the memory to
// little more than what is in use, and writes to another database until the given keys are gone from database 0, or
// the policy has no more keys to evict, or it has written a thousand times. Then it deletes what it has written and
// restores the limit and the policy. Other keys, also those of other clients, may be evicted too: look whether the
// given ones are gone.
func (r *Redis) Evict(ctx context.Context, policy string, keys ...string) (err error) {
	defer func() { err = r.failed("evict", err) }()
	memory, err := r.info(ctx, "memory")
	if err != nil {
		return err
	}
	used, err := strconv.ParseInt(memory["used_memory"], 10, 64)
	if err != nil {
		return err
	}
	locks, fillers := r.client(0), r.client(fillerDatabase)
	defer locks.Close()
	defer fillers.Close()
	limit := func(ctx context.Context, bytes, policy string) error {
		err := locks.ConfigSet(ctx, "maxmemory-policy", policy).Err()
		return errors.Join(err, locks.ConfigSet(ctx, "maxmemory", bytes).Err())
	}
	defer func() {
		ctx := context.WithoutCancel(ctx)
		err = errors.Join(err, fillers.FlushDB(ctx).Err(), limit(ctx, memory["maxmemory"], memory["maxmemory_policy"]))
	}()
	if err := limit(ctx, strconv.FormatInt(used+fillerRoom, 10), policy); err != nil {
		return err
	}
	for i, left := 0, int64(1); i < maxFillers && left > 0; i++ {
		err := fillers.SetRange(ctx, "filler:"+strconv.Itoa(i), fillerSize-1, "x").Err()
		if goredis.IsOOMError(err) {
			return nil // nothing more can be evicted
		}
		if err == nil {
			left, err = locks.Exists(ctx, keys...).Result()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// KeysWith returns the keys of database 0 whose names contain a part, which has no characters that a pattern would
// read in another way.
func (r *Redis) KeysWith(ctx context.Context, part string) ([]string, error) {
	c := r.client(0)
	defer c.Close()
	keys, err := c.Keys(ctx, "*"+part+"*").Result()
	return keys, r.failed("keys", err)
}
