package drivers

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Config is what Open needs to know. In every field but Lock the zero value means "the usual".
type Config struct {
	Lock string // the design, one of Designs()

	// Addrs are the addresses of the service in the service's own notation: host:port, a unix socket's path
	// (unix:///…), or a URL. A URL may carry user, password and database number; the fields below take precedence. The
	// Topology decides how many there are, and of what.
	Addrs    []string
	Username string
	Password Secret
	Database string      // number or name, as the service has it
	TLS      *tls.Config // nil: no TLS, unless the URL's scheme asks for it
	Embedded bool        // the server is the in-process substitute, which lacks a few commands

	Topology    Topology
	Master      string        // TopologySentinel: the sentinels' name for the primary
	Acks        int           // TopologyReplicated: replicas that have to acknowledge an acquisition; 0 means 1
	NodeTimeout time.Duration // how long one node of TopologyRedlock, or the acknowledgement of TopologyReplicated, may take; 0 means DefaultNodeTimeout

	Release Release // the variant of the compare-and-delete

	Prefix  string // begins every name that the driver makes (channels, counters)
	Clients int    // the number of sessions that will be opened
	Wakes   bool   // releases must wake subscribers (Traits.Wakes); otherwise the design saves that cost
	Blocks  bool   // releases must wake a client that sleeps on the server (Traits.Blocks); likewise

	// Polls says that a client that is refused comes back by Try alone (-wait poll, backoff). A design with a queue of
	// its own then keeps its place from Try to Try; otherwise only Wait takes a place, and a refused Try leaves no
	// trace.
	Polls bool

	Renews bool // leases will be renewed (Renewer)
	Passes bool // holders will pass keys on (Passer)

	// Crashes says that clients will crash: a session in a process that is not this one has to die without the others.
	Crashes bool

	// TTL is the plan's lease, for libraries that fix it at set-up; 0 means the library's default. Designs that can
	// take it from the Lease do. Under Traits.Session it is the session's time-out: how long the service waits for a
	// sign of life, as far as a client can choose. The driver's doc says what becomes of a value that the service does
	// not support.
	TTL time.Duration

	// Lockers is the number of processes that the clients are spread over: whatever a library keeps once per process (a
	// client, a local queue) exists that often, and session id uses number id % Lockers. 0 means 1.
	Lockers int

	Params map[string]string // the library's own options by name; see Parametrised

	Conns      int           // connections of the pool; 0 means the client library's default
	Pipelining Pipelining    // whether concurrent commands share a connection
	FlushDelay time.Duration // how long a pipelining client collects commands before it writes; 0 means not at all

	// IOTimeout bounds one request on the wire, and one connection attempt, if the context has no earlier deadline; 0
	// means DefaultIOTimeout.
	IOTimeout time.Duration

	// The two below are for showing what a lock loses to. No benchmark sets them.

	// Retries is how many times the client library sends a request again whose answer it has not got. A benchmark with
	// retries would measure the library's patience as the server's latency, count two requests as one, and blame the
	// lock for a release that was sent twice; see rule 5 of the package. Only go-redis has them, for a single server or
	// one that sentinels name; other drivers reject or ignore them.
	Retries int

	// ClockOffset is how far the clients' clock is ahead of the true time, or behind it if it is negative. It is in each time that
	// they tell the server or compare with one of the server's (getset, setnx-steal, rueidislock). Other drivers ignore it: a clock
	// that is only read to measure how long something takes may be wrong. A client with a wrong clock is one of a service of its
	// own. No clock of the harness is changed, and Lease.ValidUntil is in true time.
	ClockOffset time.Duration
}

// Format prints a Config without the users, passwords and parameters of its Addrs.
func (c Config) Format(f fmt.State, verb rune) {
	type plain Config // without this method
	p := plain(c)
	p.Addrs = make([]string, len(c.Addrs))
	for i, addr := range c.Addrs {
		p.Addrs[i] = withoutSecrets(addr)
	}
	fmt.Fprintf(f, fmt.FormatString(f, verb), p)
}

// withoutSecrets hides everything in an address in which a service may have a password.
func withoutSecrets(addr string) string {
	if at := strings.LastIndexByte(addr, '@'); at >= 0 {
		scheme, _, isURL := strings.Cut(addr[:at], "://")
		addr = "***" + addr[at:]
		if isURL {
			addr = scheme + "://" + addr
		}
	}
	if before, _, found := strings.Cut(addr, "?"); found {
		return before + "?***"
	}
	if strings.Contains(addr, "=") { // host=… password=…
		return "***"
	}
	return addr
}

// DefaultIOTimeout is the time after which an unanswered request counts as unknown. It is go-redis's default for
// reading a reply.
const DefaultIOTimeout = 3 * time.Second

// DefaultNodeTimeout is the time after which Redlock counts a node as having said no. The algorithm's description asks
// for 5 to 50 ms with a lease of 10 s: long for a node that answers, short against the lease.
const DefaultNodeTimeout = 50 * time.Millisecond

// MaxNodes is the highest number of servers of one service. More than a handful make no majority safer.
const MaxNodes = 64

// Topology is how several servers form one lock service.
type Topology string

const (
	TopologySingle     Topology = "single"     // one server; the empty value means the same
	TopologyRedlock    Topology = "redlock"    // a majority of independent servers; Addrs has each of them
	TopologyReplicated Topology = "replicated" // a primary whose replicas acknowledge each acquisition; Addrs has the primary
	TopologySentinel   Topology = "sentinel"   // a primary that sentinels know and replace; Addrs has the sentinels
	TopologyCluster    Topology = "cluster"    // keys are spread over several primaries; Addrs has at least one node
	TopologyEnsemble   Topology = "ensemble"   // servers that agree on every change by majority (ZooKeeper, etcd); Addrs has at least one
)

// OneServer returns an error unless c fits locks that live on one server.
func (c Config) OneServer() error {
	switch n := len(c.Addrs); {
	case c.Topology != "" && c.Topology != TopologySingle:
		return fmt.Errorf("topology %s: the locks live on one server: give single", c.Topology)
	case n != 1:
		return fmt.Errorf("the locks live on one server, and there are %d addresses: give exactly one", n)
	}
	return nil
}

// Release is a way to delete a key atomically if it has the right value.
type Release string

const (
	ReleaseDefault Release = ""        // the design's own; lua where there is a choice
	ReleaseLua     Release = "lua"     // a script
	ReleaseDelIfEq Release = "delifeq" // DELIFEQ key owner (Valkey ≥ 9.0)
	ReleaseDelEx   Release = "delex"   // DELEX key IFEQ owner (Redis ≥ 8.4)
)

// IO returns IOTimeout or its default.
func (c Config) IO() time.Duration {
	if c.IOTimeout > 0 {
		return c.IOTimeout
	}
	return DefaultIOTimeout
}

// Pipelining says whether a client library sends commands of several goroutines over a shared connection.
type Pipelining string

const (
	PipeliningDefault Pipelining = ""     // the library's default
	PipeliningAuto    Pipelining = "auto" // the library batches concurrent commands by itself
	PipeliningOff     Pipelining = "off"  // one command at a time on a connection

	// PipeliningBatch has no goroutine a client: a few of them carry all clients, and send what is ready in one write. The
	// service is a Batcher then.
	PipeliningBatch Pipelining = "batch"
)

// Secret is a string that prints as "***" wherever it is printed or marshalled by mistake. Convert it to a string to
// use it.
type Secret string

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// Format hides the secret from every verb. String alone is not enough: for %d and the like, fmt does not call it and
// prints the value in its complaint. (For %p and a misplaced %w it calls neither; go vet rejects those.)
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'q' || verb == 'v' && f.Flag('#') {
		io.WriteString(f, `"`+s.String()+`"`)
		return
	}
	io.WriteString(f, s.String())
}

// MarshalText hides the secret from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Addressed is a Driver that can parse the addresses of its service without connecting. Every driver that needs a
// server is one: the example of this package shows such a driver as a whole.
type Addressed interface {
	// Service returns the kind of server: "redis", "zookeeper", "etcd", "mysql", "postgres". Drivers of one kind
	// measure the same servers. Package servers describes those that lockbench can start; others need -addr.
	Service() string

	// ReadAddr parses one of Config.Addrs. The error says what is wrong with it and how to write it, and quotes nothing
	// of it, because in a malformed address the password may be anywhere.
	ReadAddr(addr string) (Addr, error)
}

// Addr is what is known of an address without using it.
type Addr struct {
	Redacted string // the address without user and password
	User     string // of a database; elsewhere, that the address names without a password
	Network  string // "unix", "tcp" or "tls"
	Password Secret // the password that it logs in with, wherever the driver takes it from, to be kept out of errors

	Unverified bool // the address asks for TLS with whatever certificate the server has
}

// ParseLogin parses the part of an address before its @, "user:password", in which special characters are percent-encoded.
func ParseLogin(s string) (user string, password Secret, err error) {
	user, plain, _ := strings.Cut(s, ":")
	user, err1 := url.PathUnescape(user)
	plain, err2 := url.PathUnescape(plain)
	if err1 != nil || err2 != nil {
		return "", "", errors.New("the user or password of the address has a % that is not followed by two hexadecimal digits: write % as %25")
	}
	return user, Secret(plain), nil
}

// ParseHost parses "host:port", where the host is a name or an address, with brackets if it is one of IPv6. Without a port it is the
// usual one.
func ParseHost(s string, usual int) (host string, port int, err error) {
	host, number := s, ""
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", 0, fmt.Errorf("the host of the address has a [ without a ]: write an IPv6 address as [::1]:%d", usual)
		}
		host, number = s[1:end], s[end+1:]
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
			return "", 0, errors.New("the host of the address has brackets around something that is not an IPv6 address")
		}
	case strings.Count(s, ":") > 1:
		return "", 0, fmt.Errorf("the address has more than one colon: write an IPv6 address in brackets, as [::1]:%d", usual)
	default:
		if i := strings.IndexByte(s, ':'); i >= 0 {
			host, number = s[:i], s[i:]
		}
	}
	if host == "" {
		return "", 0, fmt.Errorf("the address has no host: write localhost:%d", usual)
	}
	for _, c := range host {
		if c <= ' ' || c == 0x7f || c == utf8.RuneError || strings.ContainsRune(`[]?#@/\"<>^{|}`+"`", c) || c == '%' && !strings.Contains(host, ":") {
			return "", 0, errors.New("the host of the address has a character that no host name has")
		}
	}
	if number == "" {
		return host, usual, nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(number, ":"), 10, 16)
	if err != nil || n == 0 || number[0] != ':' {
		return "", 0, errors.New("the port of the address is not a number from 1 to 65535")
	}
	return host, int(n), nil
}

// SplitAddrs splits a comma-separated list of addresses. A comma in a password does not split: there, an @ follows
// before the next address begins.
func SplitAddrs(list string) []string {
	var addrs []string
	start := 0
	for i := range len(list) {
		if list[i] != ',' {
			continue
		}
		at, scheme := strings.Index(list[i:], "@"), strings.Index(list[i:], "://")
		if at >= 0 && (scheme < 0 || at < scheme) {
			continue
		}
		addrs = append(addrs, strings.TrimSpace(list[start:i]))
		start = i + 1
	}
	return append(addrs, strings.TrimSpace(list[start:]))
}
