package servers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"
)

func TestStartRedis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		o      Options
		scheme string
		refuse []goredis.Options // logins that must fail; only their names and passwords count
	}{
		{name: "unix", o: Options{Settings: map[string]string{"maxclients": "123"}}, scheme: "unix:///"},
		{name: "tcp", o: Options{TCP: true}, scheme: "redis://127.0.0.1:"},
		{
			name: "password", o: Options{Password: `p"a s\s#>`}, scheme: "unix:///",
			refuse: []goredis.Options{{}, {Password: "wrong"}},
		},
		{
			name: "user", o: Options{TLS: true, Username: "alice", Password: "secret"}, scheme: "rediss://127.0.0.1:",
			refuse: []goredis.Options{{}, {Password: "secret"}, {Username: "alice", Password: "wrong"}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := startTest(t, tt.o)
			if !strings.HasPrefix(r.URL(), tt.scheme) || tt.o.Password != "" && strings.Contains(r.URL(), "@") {
				t.Errorf("URL %s does not begin with %s, or has credentials", r.URL(), tt.scheme)
			}
			l := loginTo(t, r, tt.o.Username, tt.o.Password)
			if err := ping(t.Context(), l, r.PID()); err != nil {
				t.Errorf("ping: %v", err)
			}
			if err := ping(t.Context(), l, r.PID()+1); err == nil || !strings.Contains(err.Error(), "another server") {
				t.Errorf("ping of another process: %v", err)
			}
			for _, l := range tt.refuse {
				if err := ping(t.Context(), loginTo(t, r, l.Username, l.Password), r.PID()); err == nil {
					t.Errorf("user %q with password %q was let in", l.Username, l.Password)
				}
			}
			if l.TLSConfig != nil { // the system's own CAs do not vouch for the private server
				l.TLSConfig.RootCAs = nil
				if err := ping(t.Context(), l, r.PID()); err == nil {
					t.Error("a client that does not trust the private CA connects")
				}
			}
			if lines, err := r.info(t.Context(), "clients"); err != nil || tt.o.Settings != nil && lines["maxclients"] != "123" {
				t.Errorf("maxclients %s, %v", lines["maxclients"], err)
			}
		})
	}
}

// A restarted server has its address, and only with persistence its data.
func TestRedisLifecycle(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{{}, {TCP: true, Durability: Strict}, {TLS: true}} {
		r := startTest(t, o)
		if err := r.Restart(t.Context()); err == nil {
			t.Errorf("%s: a running server restarts", r.URL())
		}
		say(t, r, "SET", "k", "v")
		pid := r.PID()
		if err := r.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := r.Kill(); err != nil { // a stopped process dies as well
				t.Fatal(err)
			}
		}
		if got := r.PID(); got != 0 {
			t.Errorf("%s: PID is %d after Kill", r.URL(), got)
		}
		if err := r.Signal(syscall.SIGCONT); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: Signal after Kill: %v", r.URL(), err)
		}
		if err := ping(t.Context(), r.login, pid); err == nil {
			t.Errorf("%s answers after Kill", r.URL())
		}
		if err := r.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := say(t, r, "EXISTS", "k"), map[bool]string{true: "1", false: "0"}[o.Durability == Strict]; got != want {
			t.Errorf("%s: %s keys after a restart, want %s", r.URL(), got, want)
		}
		checkLeft(t, r)
	}
}

// A server that cannot start says why in its log. Neither a failed start nor a cancelled one leaves a process or a
// directory.
func TestRedisStartFails(t *testing.T) {
	need(t, redisProgram.locate)
	root := canonical(t.TempDir())
	t.Setenv("TMPDIR", root)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	bad := Options{Settings: map[string]string{"no-such-directive": "1"}}
	for _, tt := range []struct {
		name  string
		want  string
		start func(o Options) error
		o     Options
	}{
		{"one", "no-such-directive", func(o Options) error { _, err := StartRedis(t.Context(), o); return err }, bad},
		{"nodes", "no-such-directive", func(o Options) error { _, err := StartNodes(t.Context(), 3, o); return err }, bad},
		{"replicated", "no-such-directive", func(o Options) error { _, err := StartReplicated(t.Context(), 1, o); return err }, bad},
		{"cluster", "no-such-directive", func(o Options) error { _, err := StartCluster(t.Context(), 2, o); return err }, bad},
		{"no binary", "/nonexistent/redis", func(o Options) error { _, err := StartRedis(t.Context(), o); return err },
			Options{Binary: "/nonexistent/redis"}},
		{"not a server", "exited: exit status 1", func(o Options) error { _, err := StartRedis(t.Context(), o); return err },
			Options{Binary: "false"}},
		{"cancelled", "context canceled", func(o Options) error { _, err := StartRedis(cancelled, o); return err }, Options{}},
	} {
		if err := tt.start(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v does not say %q", tt.name, err, tt.want)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestRedisConf(t *testing.T) {
	for _, tt := range []struct {
		golden string
		o      Options
		port   *port
	}{
		{golden: "unix.conf"},
		{golden: "tcp.conf", port: &port{number: 7000}, o: Options{Settings: map[string]string{"save": "900 1", "appendonly": "yes"}}},
		{golden: "tls.conf", port: &port{number: 7000}, o: Options{TLS: true, Username: "alice", Password: "secret"}},
		{golden: "strict.conf", o: Options{Durability: Strict}},
		{golden: "password.conf", o: Options{Password: "secret", Settings: map[string]string{"maxclients": "100"}}},
	} {
		got := []byte(redisConf(tt.o, &tempDir{path: "/private dir"}, tt.port))
		file := filepath.Join("testdata", tt.golden)
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s%v", tt.golden, got, want, err)
		}
	}
}

// A server evicts the keys of locks, and afterwards is as it was.
func TestEvict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy string
		keys   []string // to be evicted
		left   string   // how many of the three keys remain
	}{
		{"allkeys-random", []string{"lock", "other", "lasting"}, "0"},
		{"volatile-lru", []string{"lock", "other", "lasting"}, "1"},
		{"noeviction", []string{"lock"}, "3"},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			t.Parallel()
			r := startTest(t, Options{})
			say(t, r, "SET", "lock", "v", "PX", "3600000")
			say(t, r, "SET", "other", "v", "PX", "7200000")
			say(t, r, "SET", "lasting", "v")
			if keys, err := r.KeysWith(t.Context(), "o"); err != nil || len(keys) != 2 {
				t.Errorf("keys with an o: %q, %v", keys, err)
			}
			if err := r.Evict(t.Context(), tt.policy, tt.keys...); err != nil {
				t.Fatal(err)
			}
			if got := say(t, r, "EXISTS", "lock", "other", "lasting"); got != tt.left {
				t.Errorf("%s of three keys are left, want %s", got, tt.left)
			}
			memory, err := r.info(t.Context(), "memory")
			if err != nil || memory["maxmemory"] != "0" || memory["maxmemory_policy"] != "noeviction" {
				t.Errorf("afterwards its limit is %s, its policy %s, %v", memory["maxmemory"], memory["maxmemory_policy"], err)
			}
			if keys := say(t, r, "INFO", "keyspace"); strings.Contains(keys, "db1:") {
				t.Errorf("fillers are left: %s", keys)
			}
			if err := r.Evict(t.Context(), "all", "k"); err == nil || !strings.Contains(err.Error(), "maxmemory-policy") {
				t.Errorf("a policy that does not exist: %v", err)
			}
		})
	}
}

// A server that does not answer is an error of every request.
func TestAdminErrors(t *testing.T) {
	t.Parallel()
	r := startTest(t, Options{TCP: true})
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
		"evict":              func() error { return r.Evict(ctx, "allkeys-lru", "k") },
		"keys":               func() error { _, err := r.KeysWith(ctx, "k"); return err },
		"set clock":          func() error { return r.SetClock(ctx, 0) },
	} {
		if err := request(); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("redis: %s: ", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
