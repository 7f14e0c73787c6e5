package servers

// A private etcd, alone or as an ensemble.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
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

// EtcdOptions describe one etcd or ensemble. The zero value is one with etcd's default durability, which is Strict.
type EtcdOptions struct {
	Binary string // path or name; "" is etcd on PATH

	// Durability: Strict, the default, is etcd as shipped: it fsyncs its log on a majority before it answers. Relaxed
	// removes the fsync: from 3.5 on by --unsafe-no-fsync; older versions lack it and get a file system in memory, if
	// there is one with enough room. Persistence returns the result.
	Durability Durability

	TLS bool // on the client ports, with a certificate of a private CA; members talk to each other in clear text
}

// Etcd is one member. Its methods are safe for concurrent use. Restart returns when the member answers, which takes a
// majority of its ensemble: after several were killed, restart that many at once.
type Etcd struct{ *process }

// Etcds are the members of one ensemble, or a single etcd.
type Etcds struct{ Group[*Etcd] }

// etcdMember is the configuration of a member.
type etcdMember struct {
	number int
	peers  []*port    // of all members, in order
	ca     *authority // nil without TLS
	root   string     // where its directory goes
	fsync  bool
}

// StartEtcd starts n members, which form one etcd that tolerates the loss of (n-1)/2 of them, and returns when it
// answers. ctx bounds the start, which fails after two minutes at the latest, not the life of the servers. The caller
// closes them. The error wraps exec.ErrNotFound if etcd is not installed.
func StartEtcd(ctx context.Context, n int, o EtcdOptions) (*Etcds, error) {
	binary, err := etcdProgram.find(o.Binary)
	if err != nil {
		return nil, err
	}
	m, err := etcdPlace(ctx, binary, n, o.Durability)
	if err != nil {
		return nil, fmt.Errorf("etcd: start: %w", err)
	}
	if o.TLS {
		m.ca = new(authority)
	}
	e := &Etcds{}
	err = e.start(ctx, n, n, func(ctx context.Context, i int) (*Etcd, error) {
		m := m
		m.number, m.peers = i, e.ports
		return startServer(ctx, place{name: "etcd", root: m.root}, func(p *process) (*Etcd, error) { return setUpEtcd(p, binary, m) })
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// etcdPlace decides where the members' files go and whether they are fsynced.
func etcdPlace(ctx context.Context, binary string, n int, d Durability) (etcdMember, error) {
	m := etcdMember{root: tempRoot(), fsync: true}
	if d != Relaxed {
		return m, nil
	}
	out, err := output(ctx, binary, "--version")
	if err != nil {
		return m, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(versionPattern.FindString(out), "%d.%d", &major, &minor); err != nil {
		return m, fmt.Errorf("%s --version does not tell the version of an etcd", binary)
	}
	if major > 3 || major == 3 && minor >= 5 {
		m.fsync = false
	} else if root := memoryRoot(int64(n) * etcdRoom); root != "" {
		m.root = root
	}
	return m, nil
}

// setUpEtcd prepares a member: address, certificates, configuration.
func setUpEtcd(p *process, binary string, m etcdMember) (*Etcd, error) {
	port, err := p.reserve()
	if err != nil {
		return nil, err
	}
	p.argv, p.persistence = []string{binary, "--config-file", p.dir.file("etcd.json")}, etcdPersistence(p.dir.path, m.fsync)
	transport, scheme := &http.Transport{DisableKeepAlives: true}, "http"
	if m.ca != nil {
		scheme = "https"
		if transport.TLSClientConfig, err = p.certify(m.ca, ""); err != nil {
			return nil, err
		}
	}
	p.url = scheme + "://" + port.addr()
	p.ready = func(ctx context.Context, _ int) error {
		return etcdHealth(ctx, &http.Client{Transport: transport}, p.url)
	}
	text, err := json.MarshalIndent(m.config(p.dir, p.url), "", "\t")
	return &Etcd{p}, errors.Join(err, p.write("etcd.json", string(text)))
}

// config returns the member's configuration file (YAML, of which JSON is a subset). With such a file, etcd ignores
// other flags.
func (m etcdMember) config(dir *tempDir, url string) map[string]any {
	name := func(i int) string { return "m" + strconv.Itoa(i+1) }
	members := make([]string, len(m.peers))
	for i, p := range m.peers {
		members[i] = name(i) + "=http://" + p.addr()
	}
	peer := "http://" + m.peers[m.number].addr()
	conf := map[string]any{
		"name":                        name(m.number),
		"data-dir":                    dir.file("data"),
		"listen-client-urls":          url,
		"advertise-client-urls":       url,
		"listen-peer-urls":            peer,
		"initial-advertise-peer-urls": peer,
		"initial-cluster":             strings.Join(members, ","),
		"initial-cluster-token":       "lockbench-" + strconv.Itoa(m.peers[0].number),
		"initial-cluster-state":       "new",
		"quota-backend-bytes":         int64(etcdQuota),
		"enable-grpc-gateway":         true, // etcd's default without a file
		"logger":                      "zap",
		"log-level":                   "error",
		"log-outputs":                 []string{"stderr"},
	}
	if !m.fsync {
		conf["unsafe-no-fsync"] = true
	}
	if m.ca != nil {
		conf["client-transport-security"] = map[string]any{"cert-file": dir.file(certFile), "key-file": dir.file(keyFile)}
	}
	return conf
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

// etcdPersistence says what is on disk when a change is answered. It is memory also with Strict if the temp dir is in memory.
func etcdPersistence(dir string, fsync bool) string {
	switch {
	case inMemory(dir):
		return "memory (tmpfs)"
	case fsync:
		return "fsync each commit"
	}
	return "no fsync"
}

// FindEtcd returns the path of the server that StartEtcd runs by default. The error wraps exec.ErrNotFound and says
// what to install.
func FindEtcd() (path string, err error) { return etcdProgram.find("") }

var etcdProgram = program{
	"etcd", []string{"etcd"}, onPath,
	"the package etcd-server (Debian, Ubuntu) or etcd (Fedora, Arch, Homebrew), or a release from github.com/etcd-io/etcd",
}

func init() {
	Register(&Service{
		Name: "etcd", Schemes: []string{"etcd", "etcds", "http", "https"},
		Forms:    []string{"etcd://user:pass@host:2379", "etcds://host:2379 (TLS)"},
		Packages: "etcd-server", Limit: "ulimit -n", Prefixes: true, Note: wholeSeconds,
		Find: FindEtcd, Start: func(ctx context.Context, o StartOptions) (*Running, error) {
			return running(StartEtcd(ctx, max(1, o.Nodes), EtcdOptions{Binary: o.Binary, Durability: o.Durability}))
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
