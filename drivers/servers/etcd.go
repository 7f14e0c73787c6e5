package servers

// A private etcd, alone or as an ensemble.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	// etcdQuota is the size at which the store refuses writes. History is not compacted during a run, so the store
	// keeps every lock that there ever was, a few hundred bytes each; etcd's default of 2 GB would be full after some
	// million locks. It is etcd's recommended maximum.
	etcdQuota = 8 << 30

	// etcdRoom is the free space that a file system in memory must have for each member: etcd preallocates several
	// files of 64 MB for the write-ahead log alone, and the smallest containers have no more than that.
	etcdRoom = 2 << 30
)

var etcdProgram = program{
	server: "etcd", names: []string{"etcd"},
	install: "the package etcd-server (Debian, Ubuntu) or etcd (Fedora, Arch, Homebrew), " +
		"or a release from github.com/etcd-io/etcd",
}

// StartEtcd starts n members, which form one etcd that tolerates the loss of (n-1)/2 of them. Strict, the default, is
// etcd as shipped: it fsyncs its log on a majority before it answers. Relaxed removes the fsync: from 3.5 on by
// --unsafe-no-fsync; older versions lack it and get a file system in memory, if there is one with enough room. TLS is
// on the client ports alone. Restart returns when the member answers, which takes a majority: after several were
// killed, restart that many at once.
func StartEtcd(ctx context.Context, n int, o Options) (_ *Group[*Server], err error) {
	if o.Binary, err = etcdProgram.find(o.Binary); err != nil {
		return nil, err
	}
	var fsync bool
	o.root, fsync = etcdPlace(ctx, o.Binary, n, o.Durability)
	e := &Group[*Server]{}
	return e, e.start(ctx, n, n, func(ctx context.Context, i int) (*Server, error) {
		return start(ctx, &etcdProgram, o, func(_ context.Context, s *Server, o Options) error {
			return setUpEtcd(s, o, e.ports, i, fsync)
		})
	})
}

// etcdPlace decides where the members' files go and whether they are fsynced.
func etcdPlace(ctx context.Context, binary string, n int, d Durability) (root string, fsync bool) {
	switch {
	case d != Relaxed:
		return "", true
	case etcdAlwaysFsyncs.MatchString(ProgramVersion(ctx, binary)):
		return memoryRoot(int64(n) * etcdRoom), true
	}
	return "", false
}

// etcdAlwaysFsyncs matches the versions before 3.5.
var etcdAlwaysFsyncs = regexp.MustCompile(`^([0-2]|3\.[0-4])\.`)

// setUpEtcd prepares the i-th member: address, certificates, configuration. Each peer has a port for the others.
func setUpEtcd(s *Server, o Options, peers []*port, i int, fsync bool) error {
	port, err := s.reserve()
	if err != nil {
		return err
	}
	s.argv = []string{o.Binary, "--config-file", s.dir.file("etcd.json")}
	s.url, s.persistence = "http://"+port.addr(), s.persists(fsync, "no fsync")
	transport := &http.Transport{DisableKeepAlives: true}
	if o.TLS {
		s.url = "https://" + port.addr()
		if transport.TLSClientConfig, err = s.certify(); err != nil {
			return err
		}
	}
	s.ready = func(ctx context.Context, _ int) error {
		return etcdHealth(ctx, &http.Client{Transport: transport}, s.url)
	}
	name := func(i int) string { return "m" + strconv.Itoa(i+1) }
	var members []string
	for i, p := range peers {
		members = append(members, name(i)+"=http://"+p.addr())
	}
	peer := "http://" + peers[i].addr()
	conf := map[string]any{
		"name":                        name(i),
		"data-dir":                    s.dir.file("data"),
		"listen-client-urls":          s.url,
		"advertise-client-urls":       s.url,
		"listen-peer-urls":            peer,
		"initial-advertise-peer-urls": peer,
		"initial-cluster":             strings.Join(members, ","),
		"initial-cluster-token":       "lockbench-" + strconv.Itoa(peers[0].number),
		"initial-cluster-state":       "new",
		"quota-backend-bytes":         int64(etcdQuota),
		"enable-grpc-gateway":         true, // etcd's default without a file
		"logger":                      "zap",
		"log-level":                   "error",
		"log-outputs":                 []string{"stderr"},
	}
	if !fsync {
		conf["unsafe-no-fsync"] = true
	}
	if o.TLS {
		conf["client-transport-security"] = map[string]any{"cert-file": s.dir.file(certFile), "key-file": s.dir.file(keyFile)}
	}
	for name, value := range o.Settings {
		conf[name] = json.RawMessage(value)
	}
	text, err := json.MarshalIndent(conf, "", "\t") // YAML contains JSON; with a file, etcd ignores other flags
	return errors.Join(err, s.write("etcd.json", string(text)))
}

// etcdHealth returns nil if the member has a leader and can read through it.
func etcdHealth(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/health: %s", url, response.Status)
	}
	return nil
}

func init() {
	Register(&Service{
		Name: "etcd", Schemes: []string{"etcd", "etcds", "http", "https"},
		Forms:    []string{"etcd://user:pass@host:2379", "etcds://host:2379 (TLS)"},
		Packages: "etcd-server", Limit: "ulimit -n", Prefixes: true, Note: wholeSeconds,
		Find: etcdProgram.locate, Start: func(ctx context.Context, o Options) (*Running, error) {
			return running(StartEtcd(ctx, max(1, o.Nodes), o))
		},
	})
}

// wholeSeconds says how etcd rounds a lease's time.
func wholeSeconds(ttl time.Duration) string {
	if whole := (ttl + time.Second - 1).Truncate(time.Second); whole != ttl {
		return fmt.Sprintf("etcd counts a session's time-out in whole seconds: a TTL of %v becomes %v at least", ttl, whole)
	}
	return ""
}
