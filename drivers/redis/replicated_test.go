package redis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// startReplicated starts a primary with replicas.
func startReplicated(t *testing.T, replicas int) *servers.Replicated {
	t.Helper()
	return servertest.Replicated(t, replicas, servers.Options{})
}

// TestReplicatedStalled stops the replicas: no lock is granted, and none is left on the primary.
func TestReplicatedStalled(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		r := startReplicated(t, 2)
		cfg := drivers.Config{Addrs: r.URLs(), Topology: drivers.TopologyReplicated, Acks: 2, NodeTimeout: 100 * time.Millisecond}
		rdb := bare(t, drivers.Config{Addrs: r.URLs()})
		a := session(t, open(t, driver, cfg), 0)
		l := drivers.Lease{Key: "k", TTL: time.Minute}
		unacked := func() {
			t.Helper()
			held, err := a.Try(t.Context(), &l)
			if held || drivers.ClassOf(err) != drivers.ClassUnacked || !drivers.NoEffect(err) {
				t.Fatalf("Try = %v, %v (%s), want class unacked", held, err, drivers.ClassOf(err))
			}
			if n := rdb.Exists(t.Context(), "k").Val(); n != 0 {
				t.Fatal("a lock that was not acknowledged is left")
			}
		}
		granted := func() {
			t.Helper()
			testwait.Until(t, "acknowledgements come again", func() bool {
				held, err := a.Try(t.Context(), &l)
				if err != nil && drivers.ClassOf(err) != drivers.ClassUnacked {
					t.Fatal(err)
				}
				return held
			})
			release(t, a, &l, true)
		}
		granted()
		for _, one := range r.Nodes[1:] {
			if err := one.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			unacked()
			if err := one.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			granted()
		}
	})
}

// TestReplicatedBehind opens the service while a replica is stopped, which the primary counts as connected: the service
// is not ready before the replica has caught up.
func TestReplicatedBehind(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		r := startReplicated(t, 1)
		d, _ := drivers.Lookup(driver)
		cfg := drivers.Config{Lock: "set-nx", Addrs: r.URLs(), Prefix: "test:", Topology: drivers.TopologyReplicated, NodeTimeout: 2 * time.Second}
		if err := r.Nodes[1].Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := d.Open(ctx, cfg)
		if err == nil {
			s.Close()
		}
		if err == nil || drivers.ClassOf(err) == drivers.ClassUnacked && !strings.Contains(err.Error(), "have caught up: 0") {
			t.Errorf("Open with a stopped replica: %v", err)
		}
		if err := r.Nodes[1].Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		open(t, driver, cfg)
		if left := bare(t, drivers.Config{Addrs: r.URLs()}).PTTL(t.Context(), "test:sync").Val(); left < 0 && left != -2 {
			t.Errorf("what the replicas had to acknowledge is left for %v", left)
		}
	})
}

// TestReplicatedOpen asks for more replicas than there are.
func TestReplicatedOpen(t *testing.T) {
	r := startReplicated(t, 1)
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		fresh := embedded(t)
		for _, test := range []struct {
			cfg  drivers.Config
			want string
		}{
			{drivers.Config{Addrs: r.URLs(), Acks: 2}, "replicas that have to acknowledge: 2, and the server has 1"},
			{drivers.Config{Addrs: plainRedis(t)}, "replicas that have to acknowledge: 1, and the server has 0"},
			{drivers.Config{Addrs: []string{r.Nodes[1].URL()}}, "give the address of the primary"},
			{drivers.Config{Addrs: r.URLs(), NodeTimeout: time.Second, IOTimeout: time.Second}, "below the I/O time-out"},
			{fresh, "embedded"},
			{drivers.Config{Addrs: r.URLs(), Lock: "fair"}, "choose another lock"},
		} {
			test.cfg.Topology = drivers.TopologyReplicated
			s, err := d.Open(t.Context(), test.cfg)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		}
	})
}

// primary is a Conn with scripted answers to WAIT, and the other answers of a server with replicas.
type primary struct {
	setErr       error
	setIsRefused bool
	acked        int64
	waitErr      error
	releaseErr   error
	opened       bool
	waited       []string // commands that WAIT followed
	others       []string // all others
}

func (c *primary) Do(_ context.Context, args []string, _ int) (redis.Reply, error) {
	switch {
	case args[0] == "INFO":
		return redis.Text("role:master\r\nconnected_slaves:2\r\n"), nil
	case args[0] == "DEL":
		return redis.Int(0), nil
	case asksForScripts(args):
		return redis.Reply{}, errNoScript
	}
	c.others = append(c.others, args[0])
	return redis.Int(1), c.releaseErr
}

func (c *primary) DoWait(_ context.Context, args []string, _ int, _ []string) (redis.Reply, error, int64, error) {
	if !c.opened { // Open makes the replicas acknowledge a write
		c.opened = true
		return redis.Text("OK"), nil, 2, nil
	}
	c.waited = append(c.waited, args[0])
	switch {
	case c.setErr != nil:
		return redis.Reply{}, c.setErr, 0, c.setErr
	case c.setIsRefused:
		return redis.Nil(), nil, 0, nil
	}
	return redis.Text("OK"), nil, c.acked, c.waitErr
}

func (c *primary) Send(context.Context, []redis.Command) {}

func (c *primary) Subscribe(context.Context, func(string, string)) (redis.Subscription, error) {
	return nil, errors.ErrUnsupported
}
func (c *primary) Close() error { return nil }

// TestReplicatedAnswers goes through the possible answers to SET, WAIT and the release.
func TestReplicatedAnswers(t *testing.T) {
	lost := errors.New("connection lost")
	greets := plainRedis(t) // Open greets a server before it dials
	for _, test := range []struct {
		name  string
		conn  primary
		held  bool
		class drivers.Class
		gives bool // the lock is given back
	}{
		{"acknowledged", primary{acked: 2}, true, "", false},
		{"too few", primary{acked: 1}, false, drivers.ClassUnacked, true},
		{"WAIT refused", primary{waitErr: redis.ServerError("NOPERM no WAIT")}, false, drivers.ClassUnacked, true},
		{"taken", primary{setIsRefused: true}, false, "", false},
		{"reply lost", primary{setErr: lost}, false, drivers.ClassOther, false},
		{"release lost", primary{acked: 1, releaseErr: lost}, false, drivers.ClassOther, true},
		{"release refused", primary{acked: 1, releaseErr: redis.ServerError("OOM")}, false, drivers.ClassOther, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := &test.conn
			s, err := redis.Driver{Dial: func(context.Context, redis.Options) (redis.Conn, error) { return conn, nil }}.
				Open(t.Context(), drivers.Config{Addrs: greets, Topology: drivers.TopologyReplicated, Acks: 2})
			if err != nil {
				t.Fatal(err)
			}
			a := session(t, s, 0)
			held, err := a.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
			if test.class == drivers.ClassUnacked { // that answer must not affect the next attempt
				conn.acked, conn.waitErr = 2, nil
				again, err := a.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
				if !again || err != nil {
					t.Errorf("the next Try = %v, %v", again, err)
				}
				conn.waited = conn.waited[1:]
			}
			if held != test.held || (err == nil) != (test.class == "") || err != nil && drivers.ClassOf(err) != test.class {
				t.Errorf("Try = %v, %v (%s), want %v, %s", held, err, drivers.ClassOf(err), test.held, test.class)
			}
			if !slices.Equal(conn.waited, []string{"SET"}) || test.gives != (len(conn.others) > 0) {
				t.Errorf("WAIT followed %v; without it: %v", conn.waited, conn.others)
			}
		})
	}
}
