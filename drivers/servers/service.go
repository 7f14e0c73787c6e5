// Package servers starts private servers for a run or a test: child processes in temp dirs of their own, and the
// embedded server, which needs no binary.
//
// A private server is reachable only by users of this machine (a unix socket or a loopback port), keeps nothing, and
// does not outlive its parent for long: on Linux the kernel kills it together with the parent. The next process that
// starts a server removes the directory of a dead one. It has its own process group, so that a Ctrl-C in the terminal
// reaches only the parent, which then cleans up.
//
// Each function that starts servers returns when they answer. Its context bounds the start, which fails after two
// minutes at the latest, not the life of the servers: the caller closes them. The error wraps exec.ErrNotFound if a
// program is not installed.
//
// The package has layers: tempDir (a locked directory), Server (one process in one tempDir), Group, and above them what
// a particular server needs: its configuration and its readiness check.
package servers

// The kinds of servers that drivers measure. Each describes itself once, and is registered like a driver.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// Service is one kind of server: how to address, find, start and describe it. A driver names its own; see
// drivers.Addressed.
type Service struct {
	Name     string
	Schemes  []string // that its addresses begin with; each belongs to one service
	Forms    []string // of its addresses, the usual one first, for the help
	Variable string   // the environment variable that names the user's server, if any

	// PasswordVariable is the environment variable from which its clients take a password, if any.
	PasswordVariable string

	// OtherVariables names further ones that its drivers read, for help.
	OtherVariables string

	Packages string // of Debian and Ubuntu that contain the server
	Home     string // the environment variable that names an unpacked archive, used instead of packages, if any
	Limit    string // its own name for the maximum number of connections

	// Prefixes says that a user may be permitted keys with one prefix only, in a space that all users share.
	Prefixes bool

	// SingleThreaded says that the main thread of each process executes all commands, however many cores there are.
	SingleThreaded bool

	Find     func() (path string, err error) // the program of Start, or what to install; nil: there is none
	Start    func(ctx context.Context, o Options) (*Running, error)
	Embedded func(n int) (*Running, error)  // starts n substitutes inside this process; nil: there is none
	Note     func(ttl time.Duration) string // says how it changes a session time-out that it does not support; may be nil
}

// Options say how private servers run. The zero value is one server on a unix socket if it can listen on one, without a
// password. A service ignores what it does not have.
type Options struct {
	Binary     string     // path or name of the program; "" is the one that is found
	Durability Durability // "" is Strict for etcd, as it is shipped, and Relaxed for the others
	Conns      int        // that the largest cell needs; 0: more than tests do

	Topology        string // a drivers.Topology; empty: one server
	Nodes, Replicas int    // of the topology

	TCP bool // a free loopback port, for servers that can do without
	TLS bool // TLS on such a port, with a certificate of a private CA

	// Password alone is that of the default user. With a Username, of Redis alone, it is that user's, who has all rights,
	// and the default user is disabled.
	Username, Password string

	// Settings are further ones of Redis, MySQL, etcd or ZooKeeper, by their names in the configuration file.
	Settings map[string]string

	// Clock gives a Redis server a clock of its own, which SetClock moves. It needs libfaketime; see FindFaketime.
	Clock bool

	// Proxied makes each replica of Redis reach its primary through a proxy, which Replicated.Links has.
	Proxied bool

	// What the functions that start groups tell each member.
	root    string   // the directory for its private one; "": the temp dir
	lines   []string // of Redis's configuration
	args    []string // of Redis, after its configuration file
	cluster bool     // a node of a Redis Cluster, with a second port for the other nodes
}

// Running is a started server or group.
type Running struct {
	URLs        []string             // may contain passwords: never printed
	Network     string               // "unix" or "tcp"
	Master      string               // sentinels: their name for the primary
	Persistence string               // what is on disk when they answer, if their drivers do not tell that
	CPU         func() time.Duration // the CPU time used; nil if unknown
	PIDs        func() []int         // the processes, their descendants included; nil: there are none
	Nodes       []*Server            // the servers behind URLs that can be killed; nil: there are none
	Close       func() error
}

// Start starts private servers of a service.
func Start(ctx context.Context, service string, o Options) (*Running, error) {
	s := Named(service)
	if s.Start == nil {
		var names []string
		for _, s := range services {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("lockbench does not know how to start %s: it starts %s, and what servers.Register describes",
			service, strings.Join(names, ", "))
	}
	if o.Binary == "" {
		path, err := s.Locate()
		if err != nil {
			return nil, err
		}
		o.Binary = path
	}
	return s.Start(ctx, o)
}

// running describes what has been started to what measures it.
func running(g interface{ running() *Running }, err error) (*Running, error) {
	if err != nil {
		return nil, err
	}
	return g.running(), nil
}

var services []*Service

// Register adds a service. Its name and its schemes have to be new. Call it from init functions.
func Register(s *Service) {
	for _, other := range services {
		known := func(scheme string) bool { return slices.Contains(other.Schemes, scheme) }
		if other.Name == s.Name || slices.ContainsFunc(s.Schemes, known) {
			panic("servers: " + s.Name + " is registered twice, or has a scheme of " + other.Name)
		}
	}
	services = append(services, s)
	slices.SortFunc(services, func(a, b *Service) int { return cmp.Compare(a.Name, b.Name) })
}

// Services returns all services in alphabetical order.
func Services() []*Service { return slices.Clone(services) }

// Named returns the service of that name, always the same one. An unregistered service can be addressed but not
// started, and is not among Services.
func Named(name string) *Service {
	if i := slices.IndexFunc(services, func(s *Service) bool { return s.Name == name }); i >= 0 {
		return services[i]
	}
	s, _ := undescribed.LoadOrStore(name, &Service{Name: name})
	return s.(*Service)
}

var undescribed sync.Map // services by name

// Locate returns the path of the program that Start runs. The error says what to do.
func (s *Service) Locate() (path string, err error) {
	if s.Find == nil {
		return "", fmt.Errorf("lockbench cannot start %s: give -addr with the address of yours", s.Name)
	}
	return s.Find()
}

// Example returns an example of how an address of the service begins.
func (s *Service) Example() string {
	if len(s.Schemes) == 0 {
		return "host:port"
	}
	return s.Schemes[0] + "://…"
}

// Install says how to install the service. Packages do not help if $Home names another place.
func (s *Service) Install() string {
	if s.Packages == "" {
		return "lockbench does not start it"
	}
	text := "apt-get install " + s.Packages
	if s.Home != "" && os.Getenv(s.Home) != "" {
		text += ", and unset " + s.Home + ", where it was looked for"
	}
	return text
}

var versionPattern = regexp.MustCompile(`\d+(\.\d+)+`)

// ProgramVersion asks the program at path for its version, or takes it from the name of a Java archive or, as Debian
// has it, of a link to that. It returns "" if neither works.
func ProgramVersion(ctx context.Context, path string) string {
	if name, jar := strings.CutSuffix(path, ".jar"); jar {
		links, _ := filepath.Glob(name + "-[0-9]*.jar")
		return versionPattern.FindString(filepath.Base(append(links, path)[0]))
	}
	out, _ := output(ctx, path, "--version")
	return versionPattern.FindString(out)
}

// Durability says what a private server has on disk when it confirms a change.
type Durability string

const (
	// Relaxed means nothing: the server fsyncs late or never, as far as it can be configured. Confirmed changes may be
	// lost with the machine, and with some servers (Redis) even with the process.
	Relaxed Durability = "relaxed"

	// Strict means the change itself: it is fsynced before the answer, on every server that has to agree.
	Strict Durability = "strict"
)

// room returns the connection limit for a database: conns, plus a few for inspecting it and for cleaning up after an
// outage. Up to the default limit it returns 0.
func room(conns int) int {
	const usual, spare = 500, 50
	if conns <= usual {
		return 0
	}
	return conns + spare
}
