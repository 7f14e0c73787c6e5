package servers

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/testwait"
)

// groupOptions are the ways in which the members of a group can reach each other.
var groupOptions = map[string]RedisOptions{
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
func testGroup[G group](t *testing.T, start func(ctx context.Context, o RedisOptions) (G, error), members func(G) []*Redis, check func(t *testing.T, g G)) {
	if testing.Short() {
		t.Skip("several servers: make test-all")
	}
	needRedis(t)
	for name, o := range groupOptions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			all := members(g)
			t.Cleanup(func() {
				for range 2 {
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				}
				for _, r := range all {
					if r.PID() != 0 || exists(r.dir.path) {
						t.Errorf("%s is left", r.URL())
					}
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

// say sends one command with the right credentials.
func say(t *testing.T, r *Redis, command ...string) string {
	t.Helper()
	reply, err := r.command(t.Context(), command...)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestStartNodes(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o RedisOptions) (*Nodes, error) { return StartNodes(ctx, 3, o) }
	testGroup(t, start, func(n *Nodes) []*Redis { return n.Nodes }, func(t *testing.T, n *Nodes) {
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
	start := func(ctx context.Context, o RedisOptions) (*Replicated, error) { return StartReplicated(ctx, 2, o) }
	all := func(r *Replicated) []*Redis { return append([]*Redis{r.Primary}, r.Replicas...) }
	testGroup(t, start, all, func(t *testing.T, r *Replicated) {
		if urls := r.URLs(); len(urls) != 1 || urls[0] != r.Primary.URL() {
			t.Errorf("URLs %v", urls)
		}
		acked := ""
		for attempt := 0; acked != "2"; attempt++ { // a machine that stalls may need several
			replies, err := r.Primary.login.ask(t.Context(), command{"SET", "k", "v"}, command{"WAIT", "2", "500"})
			if err == nil {
				acked = replies[1]
			}
			if attempt == 20 {
				t.Fatalf("WAIT: %q, %v", acked, err)
			}
		}
		for _, replica := range r.Replicas {
			if got := say(t, replica, "GET", "k"); got != "v" {
				t.Errorf("the replica has %q", got)
			}
		}
	})
}

func TestStartSentinel(t *testing.T) {
	t.Parallel()
	start := func(ctx context.Context, o RedisOptions) (*Sentinel, error) { return StartSentinel(ctx, 1, 3, o) }
	all := func(s *Sentinel) []*Redis { return append(append([]*Redis{}, s.Nodes...), s.Sentinels...) }
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
	start := func(ctx context.Context, o RedisOptions) (*Cluster, error) { return StartCluster(ctx, 3, o) }
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

// If one member does not start, the group leaves nothing behind, and says why.
func TestGroupFailsAsOne(t *testing.T) {
	needRedis(t)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	bad := RedisOptions{Config: map[string]string{"no-such-directive": "1"}}
	for name, start := range map[string]func(o RedisOptions) error{
		"nodes":      func(o RedisOptions) error { _, err := StartNodes(t.Context(), 3, o); return err },
		"replicated": func(o RedisOptions) error { _, err := StartReplicated(t.Context(), 1, o); return err },
		"sentinel":   func(o RedisOptions) error { _, err := StartSentinel(t.Context(), 1, 1, o); return err },
		"cluster":    func(o RedisOptions) error { _, err := StartCluster(t.Context(), 2, o); return err },
		"none":       func(RedisOptions) error { _, err := StartNodes(t.Context(), 0, bad); return err },
	} {
		err := start(bad)
		if err == nil || !strings.Contains(err.Error(), "no-such-directive") && name != "none" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestQuoteRedis(t *testing.T) {
	for in, want := range map[string]string{"": `""`, `a"b\c d`: `"a\"b\\c d"`, "é\n": `"\xc3\xa9\x0a"`} {
		if got := quoteRedis(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
