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
)

var redisProgram = program{
	"redis", []string{"redis-server", "valkey-server"}, onPath,
	"the package redis-server (Debian, Ubuntu), redis (Fedora, Arch, Homebrew) or valkey",
}

// RedisOptions describe one Redis server. The zero value is a server without persistence on a unix socket.
type RedisOptions struct {
	Binary     string     // path or name; "" is the first of redis-server, valkey-server on PATH
	Durability Durability // "" is Relaxed: nothing is kept; Strict is an append-only file that is fsynced at each write

	TCP bool // a free loopback port instead of a unix socket in the private directory
	TLS bool // TLS on such a port, with a certificate of a private CA

	// Password alone is that of the default user, as with requirepass. With a Username it is that user's, who has all
	// rights, and the default user is disabled. The server gets only its hash (Redis ≥ 6.2).
	Username, Password string

	// Config holds further directives of redis.conf, as they are in the file, e.g. {"maxclients": "100"}.
	Config map[string]string

	// Clock gives the server a clock of its own, which SetClock moves. It needs libfaketime; see FindFaketime.
	Clock bool

	// Link returns the address (host:port) at which a replica reaches its primary at target, also host:port: that of a
	// proxy, for example. StartReplicated calls it once for each replica, in their order. nil: the target itself.
	Link func(target string) (addr string, err error)

	member // of a group of servers; zero for a server by itself
}

// member makes a server part of a group. It is for the functions of this package that start groups.
type member struct {
	lines   []string   // of the configuration
	args    []string   // of the program, after its configuration file
	cluster bool       // a node of a cluster, with a second port for the other nodes
	ca      *authority // that the group shares; nil: one of its own
}

// Redis is a private server. Its methods are safe for concurrent use.
type Redis struct {
	*process
	port  *port // nil for a unix socket
	bus   *port // for a cluster node; nil otherwise
	login login
}

// StartRedis starts a private Redis server and returns when it answers. ctx bounds the start, which fails after two
// minutes at the latest, not the life of the server. The caller closes the server.
func StartRedis(ctx context.Context, o RedisOptions) (*Redis, error) {
	binary, err := redisProgram.find(o.Binary)
	if err != nil {
		return nil, err
	}
	return startServer(ctx, place{name: "redis"}, func(p *process) (*Redis, error) { return setUpRedis(p, binary, o) })
}

// setUpRedis prepares a server: address, certificates, configuration.
func setUpRedis(p *process, binary string, o RedisOptions) (_ *Redis, err error) {
	r := &Redis{process: p}
	r.argv = append([]string{binary, p.dir.file("redis.conf")}, o.args...)
	if o.Clock {
		if r.env, err = ownClock(p.dir); err != nil {
			return nil, err
		}
	}
	l := login{username: o.Username, password: o.Password}
	if !o.TCP && !o.TLS {
		l.network, l.address = "unix", p.dir.file("redis.sock")
		r.url = (&url.URL{Scheme: "unix", Path: l.address}).String()
	} else {
		if r.port, err = r.reserve(); err != nil {
			return nil, err
		}
		l.network, l.address = "tcp", r.port.addr()
		r.url = "redis://" + l.address
	}
	if o.cluster {
		if r.bus, err = r.reserve(); err != nil {
			return nil, err
		}
		o = o.with("cluster-port " + strconv.Itoa(r.bus.number))
	}
	if o.TLS {
		if o.ca == nil {
			o.ca = new(authority)
		}
		if l.tls, err = p.certify(o.ca, ""); err != nil {
			return nil, err
		}
		r.url = "rediss://" + l.address
	}
	r.login = l
	r.ready = func(ctx context.Context, pid int) error { return ping(ctx, l, pid) }
	return r, p.write("redis.conf", redisConf(o, p.dir, r.port))
}

// redisConf returns the configuration of a server that listens on p, or on a unix socket in dir if p is nil.
func redisConf(o RedisOptions, dir *tempDir, p *port) string {
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
	maps.Copy(directives, o.Config)
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

// FindRedis returns the path of the server that StartRedis runs by default. The error wraps exec.ErrNotFound and says
// what to install.
func FindRedis() (path string, err error) { return redisProgram.find("") }

func init() {
	Register(&Service{
		Name: "redis", Schemes: []string{"redis", "rediss", "unix"}, Variable: "REDIS_URL",
		Forms:    []string{"redis://user:pass@host:6379/0", "rediss://host:6380 (TLS)", "unix:///path/redis.sock", "host:6379"},
		Packages: "redis-server", Limit: "maxclients", Prefixes: true, SingleThreaded: true,
		Find: FindRedis, Start: runRedis, Embedded: runEmbedded,
	})
}

// runRedis leaves CPU nil, because INFO tells the CPU time.
func runRedis(ctx context.Context, o StartOptions) (s *Running, err error) {
	redis, master := RedisOptions{Binary: o.Binary, Durability: o.Durability}, ""
	switch o.Topology {
	case "redlock":
		s, err = running(StartNodes(ctx, o.Nodes, redis))
	case "replicated":
		s, err = running(StartReplicated(ctx, o.Replicas, redis))
	case "sentinel":
		master = SentinelMaster
		s, err = running(StartSentinel(ctx, o.Replicas, Sentinels, redis))
	case "cluster":
		s, err = running(StartCluster(ctx, o.Nodes, redis))
	default:
		s, err = running(StartRedis(ctx, redis))
	}
	if err != nil {
		return nil, err
	}
	s.CPU, s.Master = nil, master
	return s, nil
}

func runEmbedded(n int) (*Running, error) {
	var list []*Embedded
	s := &Running{Network: "tcp", Close: func() (err error) {
		for _, e := range list {
			err = errors.Join(err, e.Close())
		}
		return err
	}}
	for range n {
		e, err := StartEmbedded()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.URLs, list = append(s.URLs, e.URL()), append(list, e)
	}
	return s, nil
}
