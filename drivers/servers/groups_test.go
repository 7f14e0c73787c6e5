package servers

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// groupOptions are the ways in which the members of a group can reach each other.
var groupOptions = map[string]Options{
	"plain":    {},
	"password": {Password: `p"a s\s#>é`},
	"user":     {TLS: true, Username: "alice", Password: "secret"},
}

// group is what all groups have in common.
type group interface {
	URLs() []string
	CAFile() string
	Close() error
}

// testGroup starts a group with all options, passes it to check, and expects that nothing is left of it.
func testGroup[G group](t *testing.T, start func(ctx context.Context, o Options) (G, error), members func(G) []*Redis, check func(t *testing.T, g G)) {
	if testing.Short() {
		t.Skip("several servers: make test-all")
	}
	need(t, redisProgram.locate)
	for name, o := range groupOptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			all := members(g)
			t.Cleanup(func() {
				if err := g.Close(); err != nil {
					t.Error(err)
				}
				for _, r := range all {
					checkLeft(t, r)
				}
			})
			for _, r := range all {
				if err := ping(t.Context(), loginTo(t, r, o.Username, o.Password), r.PID()); err != nil {
					t.Errorf("%s: %v", r.URL(), err)
				}
				if o.Password != "" {
					if err := ping(t.Context(), loginTo(t, r, "", ""), r.PID()); err == nil {
						t.Errorf("%s accepts every client", r.URL())
					}
				}
			}
			if (g.CAFile() != "") != o.TLS {
				t.Errorf("CA file %q", g.CAFile())
			}
			check(t, g)
		})
	}
}

func TestStartNodes(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o Options) (*Group[*Redis], error) { return StartNodes(ctx, 3, o) }
	testGroup(t, start, func(n *Group[*Redis]) []*Redis { return n.Nodes }, func(t *testing.T, n *Group[*Redis]) {
		if len(n.URLs()) != 3 {
			t.Errorf("URLs %v", n.URLs())
		}
		say(t, n.Nodes[0], "SET", "k", "v")
		if got := say(t, n.Nodes[1], "EXISTS", "k"); got != "0" {
			t.Error("the servers are one")
		}
	})
}

func TestStartReplicated(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o Options) (*Replicated, error) { return StartReplicated(ctx, 2, o) }
	testGroup(t, start, func(r *Replicated) []*Redis { return r.Nodes }, func(t *testing.T, r *Replicated) {
		if urls := r.URLs(); len(urls) != 1 || urls[0] != r.Nodes[0].URL() {
			t.Errorf("URLs %v", urls)
		}
		client := r.Nodes[0].client(0)
		defer client.Close()
		for attempt := 0; ; attempt++ { // a machine that stalls may need several
			if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
				t.Fatal(err)
			}
			n, err := client.Wait(t.Context(), 2, time.Second/2).Result()
			if n == 2 {
				break
			}
			if attempt == 20 {
				t.Fatalf("WAIT: %d, %v", n, err)
			}
		}
		for _, replica := range r.Nodes[1:] {
			if got := say(t, replica, "GET", "k"); got != "v" {
				t.Errorf("the replica has %q", got)
			}
		}
	})
}

func TestStartSentinel(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o Options) (*Sentinel, error) { return StartSentinel(ctx, 1, 3, o) }
	all := func(s *Sentinel) []*Redis { return slices.Concat(s.Nodes, s.Sentinels.Nodes) }
	testGroup(t, start, all, func(t *testing.T, s *Sentinel) {
		first, err := s.Primary(t.Context())
		if err != nil || first != s.Nodes[0] {
			t.Fatalf("primary %v, %v", first, err)
		}
		if err := first.Kill(); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the replica is promoted", func() bool {
			now, err := s.Primary(t.Context())
			if err != nil || now != s.Nodes[1] {
				return false
			}
			got, err := now.command(t.Context(), "SET", "k", "v")
			return err == nil && got == "OK"
		})
	})
}

func TestStartCluster(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o Options) (*Cluster, error) { return StartCluster(ctx, 3, o) }
	testGroup(t, start, func(c *Cluster) []*Redis { return c.Nodes }, func(t *testing.T, c *Cluster) {
		served := 0
		for _, node := range c.Nodes {
			reply, err := node.command(t.Context(), "SET", "k", "v")
			switch {
			case err == nil && reply == "OK":
				served++
			case !strings.Contains(err.Error(), "MOVED "):
				t.Errorf("%s: %q, %v", node.URL(), reply, err)
			}
		}
		if served != 1 {
			t.Errorf("%d nodes serve the key", served)
		}
		// A node comes back at its addresses with its slots.
		if err := c.Nodes[2].Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Nodes[2].Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the cluster is up again", func() bool { return c.up(t.Context()) == nil })
	})
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
	o := groupOptions["password"]
	o.Proxied = true
	r := started(t, redisProgram.locate, func(ctx context.Context) (*Replicated, error) { return StartReplicated(ctx, 2, o) })
	behind, current := r.Nodes[1], r.Nodes[2]
	say(t, r.Nodes[0], "SET", "before", "v")
	testwait.Until(t, "the replicas have a write", func() bool {
		return offset(t, behind) == offset(t, r.Nodes[0]) && offset(t, current) == offset(t, r.Nodes[0])
	})
	held := r.Links[0].Hold(fault.Replies)
	say(t, r.Nodes[0], "SET", "k", "v")
	written := offset(t, r.Nodes[0])
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
	r.Links[0].Resume() // must not undo it
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
}

// A write that is held in the link of a replica is missing when a sentinel promotes that one.
func TestSentinelPromotesWithoutHeldWrite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("several servers: make test-all")
	}
	s := started(t, redisProgram.locate, func(ctx context.Context) (*Sentinel, error) {
		return StartSentinel(ctx, 1, 1, Options{Proxied: true})
	})
	primary, replica := s.Nodes[0], s.Nodes[1]
	held := s.Links[0].Hold(fault.Replies)
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
