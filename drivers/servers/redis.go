package servers

// A private redis-server or valkey-server; both are configured and started alike.

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

var redisProgram = program{
	server: "redis", names: []string{"redis-server", "valkey-server"},
	install: "the package redis-server (Debian, Ubuntu), redis (Fedora, Arch, Homebrew) or valkey",
}

// Redis is a private server. Its methods are safe for concurrent use.
type Redis struct {
	*Server
	port  *port // nil for a unix socket
	bus   *port // for a cluster node; nil otherwise
	login goredis.Options
}

// StartRedis starts a Redis server. It keeps nothing unless it is Strict: then it has an append-only file that it
// fsyncs at each write. Settings are further directives of redis.conf. A server with a Password gets only its hash
// (Redis ≥ 6.2).
func StartRedis(ctx context.Context, o Options) (*Redis, error) {
	r := &Redis{}
	_, err := start(ctx, &redisProgram, o, r.setUp)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// setUp prepares a server: address, certificates, configuration.
func (r *Redis) setUp(_ context.Context, s *Server, o Options) (err error) {
	r.Server = s
	s.argv = append([]string{o.Binary, s.dir.file("redis.conf")}, o.args...)
	if o.Clock {
		if s.env, err = ownClock(s.dir); err != nil {
			return err
		}
	}
	r.login = goredis.Options{
		Network: "unix", Addr: s.dir.file("redis.sock"), Username: o.Username, Password: o.Password,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true, DialTimeout: askTimeout, ReadTimeout: askTimeout,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	s.url = (&url.URL{Scheme: "unix", Path: r.login.Addr}).String()
	if o.TCP || o.TLS {
		if r.port, err = s.reserve(); err != nil {
			return err
		}
		r.login.Network, r.login.Addr = "tcp", r.port.addr()
		s.url = "redis://" + r.login.Addr
	}
	if o.cluster {
		if r.bus, err = s.reserve(); err != nil {
			return err
		}
		o = o.with("cluster-port " + strconv.Itoa(r.bus.number))
	}
	if o.TLS {
		if r.login.TLSConfig, err = s.certify(); err != nil {
			return err
		}
		s.url = "rediss://" + r.login.Addr
	}
	s.ready = func(ctx context.Context, pid int) error { return ping(ctx, r.login, pid) }
	return s.write("redis.conf", redisConf(o, s.dir, r.port))
}

// redisConf returns the configuration of a server that listens on p, or on a unix socket in dir if p is nil.
func redisConf(o Options, dir *tempDir, p *port) string {
	file := func(name string) string { return strconv.Quote(dir.file(name)) }
	directives := map[string]string{
		"save":        `""`,   // no snapshots: nothing is kept, and nothing disturbs the measurement
		"tcp-backlog": "4096", // thousands of clients connect at once, and a full unix backlog refuses at once
		"daemonize":   "no",
		"dir":         strconv.Quote(dir.path),
		"logfile":     `""`, // standard output: errors about this very file go there as well
		"port":        "0",
	}
	if o.Durability == Strict {
		directives["appendonly"], directives["appendfsync"] = "yes", "always"
	}
	if p == nil {
		directives["unixsocket"], directives["unixsocketperm"] = file("redis.sock"), "700"
	} else {
		directives["bind"], directives["port"] = "127.0.0.1", strconv.Itoa(p.number)
	}
	if o.TLS {
		directives["port"], directives["tls-port"] = "0", strconv.Itoa(p.number)
		directives["tls-cert-file"], directives["tls-key-file"] = file(certFile), file(keyFile)
		directives["tls-ca-cert-file"], directives["tls-auth-clients"] = file(caFile), "no"
	}
	maps.Copy(directives, o.Settings)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		fmt.Fprintf(&b, "%s %s\n", name, directives[name])
	}
	for _, line := range o.lines {
		fmt.Fprintln(&b, line)
	}
	if o.Password == "" {
		return b.String()
	}
	user := "default"
	if o.Username != "" {
		user = o.Username
		b.WriteString("user default off\n")
	}
	fmt.Fprintf(&b, "user %s on #%x ~* &* +@all\n", user, sha256.Sum256([]byte(o.Password)))
	return b.String()
}

func init() {
	Register(&Service{
		Name: "redis", Schemes: []string{"redis", "rediss", "unix"}, Variable: "REDIS_URL",
		Forms: []string{
			"redis://user:pass@host:6379/0", "rediss://host:6380 (TLS)", "unix:///path/redis.sock", "host:6379",
		},
		Packages: "redis-server", Limit: "maxclients", Prefixes: true, SingleThreaded: true,
		Find: redisProgram.locate, Start: runRedis, Embedded: StartEmbedded,
	})
}

// runRedis leaves CPU nil, because INFO tells the CPU time.
func runRedis(ctx context.Context, o Options) (s *Running, err error) {
	switch o.Topology {
	case "redlock":
		s, err = running(StartNodes(ctx, o.Nodes, o))
	case "replicated":
		s, err = running(StartReplicated(ctx, o.Replicas, o))
	case "sentinel":
		s, err = running(StartSentinel(ctx, o.Replicas, Sentinels, o))
	case "cluster":
		s, err = running(StartCluster(ctx, o.Nodes, o))
	default:
		s, err = running(StartRedis(ctx, o))
	}
	if err != nil {
		return nil, err
	}
	s.CPU = nil
	return s, nil
}

// StartEmbedded starts servers inside this process: each is a miniredis on a loopback port, whose leases run in real
// time.
//
// By itself miniredis never lets a TTL run. There are two ways to change that. A ticker that calls FastForward
// subtracts the whole time since its last tick from every lease, even from one granted just before: leases end early,
// by up to the length of a tick, and by more when the machine is busy and the ticker late. That is exactly the fault
// that lockbench looks for in locks. ClockTTL is exact. It costs a pass over all keys at each command: next to nothing
// with ten keys, as much as the lock itself with five hundred.
func StartEmbedded(n int) (*Running, error) {
	var list []*miniredis.Miniredis
	r := &Running{Network: "tcp"}
	r.Close = sync.OnceValue(func() error {
		for _, server := range list {
			server.Close()
		}
		return nil
	})
	for range n {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		if err := server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, errors.Join(fmt.Errorf("miniredis: start: %w", err), r.Close())
		}
		r.URLs, list = append(r.URLs, "redis://"+server.Addr()), append(list, server)
	}
	return r, nil
}
