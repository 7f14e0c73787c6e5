package servers

// The kinds of servers that drivers measure: each describes itself once, and is registered like a driver.

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"
)

// Service is one kind of server: how it is addressed, found, started and spoken of. Drivers name theirs; see
// drivers.Addressed.
type Service struct {
	Name     string
	Schemes  []string // with which its addresses begin; each belongs to one service
	Variable string   // the environment variable that names the user's server, or none

	// PasswordVariable is the environment variable in which its clients find a password, or none.
	PasswordVariable string

	Packages string // of Debian and Ubuntu, which bring the server
	Home     string // the environment variable that names an unpacked archive in place of packages, or none
	Limit    string // its own word for how many connections it accepts
	Database Database

	// Ignored are the environment variables that its clients usually heed, that would change what is measured and that its
	// drivers ignore, each with what to do instead.
	Ignored map[string]string

	Pipelines bool // its libraries can be told whether clients share connections

	Find     func() (path string, err error) // the program that Start runs; the error says what to install. Nil: there is none
	Start    func(ctx context.Context, o StartOptions) (*Running, error)
	Embedded func(n int) (*Running, error)  // starts n stand-ins of it inside this process; nil: there is none
	Note     func(ttl time.Duration) string // what it makes of a session's time-out that it cannot keep; may be nil
}

// Database is how a service tells its databases apart.
type Database string

// The values of a Database.
const (
	DatabaseNone   Database = ""
	DatabaseNumber Database = "number"
	DatabaseName   Database = "name"
)

// StartOptions are what private servers are started with.
type StartOptions struct {
	Binary          string // that Find has found
	Durability      Durability
	Topology        string // as a drivers.Topology: how several of them belong together; empty: one server
	Nodes, Replicas int    // of the topology
	Conns           int    // that the biggest cell on it needs
}

// Running is what Start has started.
type Running struct {
	URLs        []string             // may carry passwords: never printed
	Network     string               // "unix", "tcp" or "tls"
	Master      string               // sentinels: their name for the primary
	Persistence string               // what is on disk when they answer, as far as they do not tell it themselves
	CPU         func() time.Duration // what they have used; nil if that is unknown
	Close       func() error
}

var services []*Service

// Register makes a service known. Its name and its schemes have to be new. It is called before main.
func Register(s *Service) {
	for _, other := range services {
		if other.Name == s.Name || slices.ContainsFunc(s.Schemes, func(scheme string) bool { return slices.Contains(other.Schemes, scheme) }) {
			panic("servers: " + s.Name + " is registered twice, or has a scheme of " + other.Name)
		}
	}
	services = append(services, s)
	slices.SortFunc(services, func(a, b *Service) int { return cmp.Compare(a.Name, b.Name) })
}

// Services returns all services in alphabetical order.
func Services() []*Service { return slices.Clone(services) }

// Named returns the service of a name, always the same one. One that nobody has registered can be addressed, but not
// started, and is none of Services.
func Named(name string) *Service {
	i := slices.IndexFunc(services, func(s *Service) bool { return s.Name == name })
	if i >= 0 {
		return services[i]
	}
	s, _ := undescribed.LoadOrStore(name, &Service{Name: name})
	return s.(*Service)
}

var undescribed sync.Map // services by name

// Locate returns the path of the program that Start runs. The error says what to do about it.
func (s *Service) Locate() (path string, err error) {
	if s.Find == nil {
		return "", fmt.Errorf("lockbench cannot start %s: give -addr with the address of yours", s.Name)
	}
	return s.Find()
}

// Example shows how an address of the service begins.
func (s *Service) Example() string {
	if len(s.Schemes) == 0 {
		return "host:port"
	}
	return s.Schemes[0] + "://…"
}

// Install returns how the service is installed. Packages are no help to a user who has it looked for elsewhere.
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

// ProgramVersion asks the program at path, or reads it off the name of a Java archive. It is empty if that does not help.
func ProgramVersion(ctx context.Context, path string) string {
	if filepath.Ext(path) == ".jar" {
		return jarVersion(path)
	}
	ctx, cancel := context.WithTimeout(ctx, versionPatience)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	return versionPattern.FindString(string(out))
}

// jarVersion reads the version off the name of a Java archive. Debian drops it there, and keeps it in that of a link to
// the archive beside it.
func jarVersion(path string) string {
	name := path[:len(path)-len(".jar")]
	if v := versionPattern.FindString(filepath.Base(name)); v != "" {
		return v
	}
	links, _ := filepath.Glob(name + "-[0-9]*.jar")
	for _, link := range links {
		if to, err := filepath.EvalSymlinks(link); err == nil && to == path {
			return versionPattern.FindString(filepath.Base(link))
		}
	}
	return ""
}

// one is a private server that is one process, and ensemble one that is several.
type (
	one interface {
		URL() string
		Persistence() string
		CPU() time.Duration
		Close() error
	}
	ensemble interface {
		URLs() []string
		Persistence() string
		CPU() time.Duration
		Close() error
	}
)

func runningOne(s one, err error) (*Running, error) {
	if err != nil {
		return nil, err
	}
	return &Running{URLs: []string{s.URL()}, Network: "unix", Persistence: s.Persistence(), CPU: s.CPU, Close: s.Close}, nil
}

func runningEnsemble(s ensemble, err error) (*Running, error) {
	if err != nil {
		return nil, err
	}
	return &Running{URLs: s.URLs(), Network: "tcp", Persistence: s.Persistence(), CPU: s.CPU, Close: s.Close}, nil
}

// room returns what a database is told to have room for, with a few connections for looking at it and for mending what an
// outage has left. Up to the usual it is left alone, which is 0.
func room(conns int) int {
	const usual, spare = 500, 50
	if conns <= usual {
		return 0
	}
	return conns + spare
}
