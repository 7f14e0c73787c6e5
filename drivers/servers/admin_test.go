package servers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// links are the proxies between a primary and its replicas.
type links []*fault.Proxy

func (l *links) add(target string) (string, error) {
	p, err := fault.NewProxy(target)
	if err != nil {
		return "", err
	}
	*l = append(*l, p)
	return p.Addr(), nil
}

// startLinked starts a primary with replicas behind proxies.
func startLinked(t *testing.T, replicas int, o RedisOptions) (*Replicated, links) {
	t.Helper()
	var through links
	t.Cleanup(func() {
		for _, p := range through {
			p.Close()
		}
	})
	o.Link = through.add
	r := started(t, FindRedis, func(ctx context.Context) (*Replicated, error) { return StartReplicated(ctx, replicas, o) })
	return r, through
}

func offset(t *testing.T, r *Redis) int64 {
	t.Helper()
	n, err := r.ReplicationOffset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A write that is held in the link of a replica is missing when that replica is promoted, and another has it.
func TestPromoteWithoutHeldWrite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("several servers: make test-all")
	}
	for name, o := range groupOptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, through := startLinked(t, 2, o)
			behind, current := r.Replicas[0], r.Replicas[1]
			say(t, r.Primary, "SET", "before", "v")
			testwait.Until(t, "the replicas have a write", func() bool {
				return offset(t, behind) == offset(t, r.Primary) && offset(t, current) == offset(t, r.Primary)
			})
			held := through[0].Hold(fault.Replies)
			say(t, r.Primary, "SET", "k", "v")
			written := offset(t, r.Primary)
			testwait.Until(t, "the link holds a write", held)
			if err := current.AwaitOffset(t.Context(), written); err != nil {
				t.Fatal(err)
			}

			if at, err := behind.PromotedAt(t.Context()); err == nil {
				t.Errorf("a replica was promoted at %d", at)
			}
			had := offset(t, behind)
			if err := behind.Promote(t.Context()); err != nil {
				t.Fatal(err)
			}
			if at, err := behind.PromotedAt(t.Context()); err != nil || at != had || at >= written {
				t.Errorf("the replica at %d was promoted at %d, %v, and the write ends at %d", had, at, err, written)
			}
			if got := say(t, behind, "EXISTS", "before", "k"); got != "1" {
				t.Errorf("the promoted replica has %s of two keys, want the first", got)
			}
			if got := say(t, behind, "SET", "k", "other"); got != "OK" {
				t.Errorf("a write to the promoted replica: %q", got)
			}
			if got := say(t, current, "GET", "k"); got != "v" {
				t.Errorf("the other replica has %q", got)
			}
			through[0].Resume() // must not undo it
			if got := say(t, behind, "GET", "k"); got != "other" {
				t.Errorf("the promoted replica has %q", got)
			}

			// The other replica gives up what it has for what the new primary has.
			if n, err := behind.Followers(t.Context()); err != nil || n != 0 {
				t.Errorf("%d replicas follow the promoted one, %v", n, err)
			}
			if err := current.Follow(t.Context(), behind); err != nil {
				t.Fatal(err)
			}
			if n, err := behind.Followers(t.Context()); err != nil || n != 1 {
				t.Errorf("%d replicas follow the promoted one, %v; want 1", n, err)
			}
			if got := say(t, current, "GET", "k"); got != "other" {
				t.Errorf("the replica that follows it has %q", got)
			}
		})
	}
}

func TestLinkFails(t *testing.T) {
	t.Parallel()
	needRedis(t)
	for addr, want := range map[string]string{"": "the link of a replica: no proxy", "127.0.0.1": "missing port"} {
		r, err := StartReplicated(t.Context(), 1, RedisOptions{Link: func(string) (string, error) {
			if addr == "" {
				return "", errors.New("no proxy")
			}
			return addr, nil
		}})
		if err == nil {
			r.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	lines, err := replicaLines(1, "127.0.0.1:1", func(string) (string, error) { return "a\nport 1:2", nil })
	if err != nil || len(lines) != 1 || strings.Contains(lines[0], "\n") {
		t.Errorf("an address makes lines of its own: %q, %v", lines, err)
	}
}

// A write that is held in the link of a replica is missing when a sentinel promotes that one.
func TestSentinelPromotesWithoutHeldWrite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("several servers: make test-all")
	}
	var through links
	t.Cleanup(func() {
		for _, p := range through {
			p.Close()
		}
	})
	s := started(t, FindRedis, func(ctx context.Context) (*Sentinel, error) {
		return StartSentinel(ctx, 1, 1, RedisOptions{Link: through.add})
	})
	primary, replica := s.Nodes[0], s.Nodes[1]
	held := through[0].Hold(fault.Replies)
	say(t, primary, "SET", "k", "v")
	written := offset(t, primary)
	testwait.Until(t, "the link holds a write", held)
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitPrimary(t.Context(), replica); err != nil {
		t.Fatal(err)
	}
	if at, err := replica.PromotedAt(t.Context()); err != nil || at >= written {
		t.Errorf("the replica was promoted at %d, %v, and the write ends at %d", at, err, written)
	}
	if got := say(t, replica, "SET", "k", "other", "NX"); got != "OK" {
		t.Errorf("a write to the promoted replica: %q", got)
	}
}

// The identity shows that a server was restarted, and the key that it kept nothing.
func TestRunID(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
	id := func() string {
		t.Helper()
		id, err := r.RunID(t.Context())
		if err != nil || len(id) != 40 {
			t.Fatalf("run id %q, %v", id, err)
		}
		return id
	}
	first := id()
	say(t, r, "SET", "k", "v")
	if again := id(); again != first {
		t.Errorf("run id %s, and %s of the same process", first, again)
	}
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id() == first {
		t.Error("a restarted server is the same")
	}
	if got := say(t, r, "EXISTS", "k"); got != "0" {
		t.Error("a server without persistence has kept a key")
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
	before := time.Now().Truncate(time.Microsecond)
	now, err := r.Time(t.Context())
	if err != nil || now.Before(before) || now.After(time.Now()) {
		t.Errorf("between %v and %v the server says %v, %v", before, time.Now(), now, err)
	}
}

// A server that does not answer is an error of every request.
func TestAdminErrors(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for name, request := range map[string]func() error{
		"promote":            func() error { return r.Promote(ctx) },
		"promoted at":        func() error { _, err := r.PromotedAt(ctx); return err },
		"follow":             func() error { return r.Follow(ctx, r) },
		"followers":          func() error { _, err := r.Followers(ctx); return err },
		"replication offset": func() error { _, err := r.ReplicationOffset(ctx); return err },
		"run id":             func() error { _, err := r.RunID(ctx); return err },
		"evicted keys":       func() error { _, err := r.Evicted(ctx); return err },
		"time":               func() error { _, err := r.Time(ctx); return err },
		"evict":              func() error { _, err := r.Evict(ctx, "allkeys-lru", "k"); return err },
		"keys":               func() error { _, err := r.KeysWith(ctx, "k"); return err },
		"set clock":          func() error { return r.SetClock(ctx, 0) },
	} {
		if err := request(); err == nil || !strings.HasPrefix(err.Error(), "redis: "+name+": ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
