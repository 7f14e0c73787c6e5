// The kinds of servers that drivers measure: how each is addressed, found, started and spoken of.

package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
)

// service is one kind of server. Drivers name theirs; see drivers.Addressed.
type service struct {
	name     string
	schemes  []string // with which its addresses begin; each belongs to one service
	variable string   // the environment variable that names the user's server, or none
	packages string   // of Debian and Ubuntu, which bring the server
	home     string   // the environment variable that names an unpacked archive in place of packages, or none
	limit    string   // its own word for how many connections it accepts
	database database
	embedded bool // there is a stand-in of it inside lockbench

	pipelines bool // its libraries can be told whether clients share connections

	find  func() (path string, err error) // the program that start runs; the error says what to install
	start func(ctx context.Context, d deployment, o startOptions) (*server, error)
	note  func(ttl time.Duration) string // what it makes of a session's time-out that it cannot keep; may be nil
}

// database is how a service tells its databases apart.
type database string

const (
	databaseNone   database = ""
	databaseNumber database = "number"
	databaseName   database = "name"
)

// startOptions are what a private server is started with.
type startOptions struct {
	binary     string
	durability servers.Durability
	conns      int // that the biggest cell on it needs
}

var services = []*service{
	{
		name: "redis", schemes: []string{"redis", "rediss", "unix"}, variable: "REDIS_URL",
		packages: "redis-server", limit: "maxclients", database: databaseNumber, embedded: true, pipelines: true,
		find: servers.FindRedis, start: startRedis,
	},
	{
		name: "zookeeper", schemes: []string{"zookeeper", "zk"},
		packages: "libzookeeper-java default-jre-headless", home: "ZOOKEEPER_HOME", limit: "maxCnxns",
		find: servers.FindZooKeeper, start: startZooKeeper,
	},
	{
		name: "etcd", schemes: []string{"etcd", "etcds", "http", "https"},
		packages: "etcd-server", limit: "ulimit -n",
		find: servers.FindEtcd, start: startEtcd, note: wholeSeconds,
	},
	{
		name: "mysql", schemes: []string{"mysql"},
		packages: "mariadb-server", limit: "max_connections", database: databaseName,
		find: servers.FindMySQL, start: startMySQL,
	},
	{
		name: "postgres", schemes: []string{"postgres", "postgresql"},
		packages: "postgresql", limit: "max_connections", database: databaseName,
		find: servers.FindPostgres, start: startPostgres,
	},
}

// wholeSeconds is what etcd makes of a lease's time.
func wholeSeconds(ttl time.Duration) string {
	if whole := (ttl + time.Second - 1).Truncate(time.Second); whole != ttl {
		return fmt.Sprintf("etcd counts a session's time-out in whole seconds: a TTL of %v becomes %v at least", ttl, whole)
	}
	return ""
}

// serviceOf is the service of a driver, and nil for one that needs no server.
func serviceOf(driver string) *service {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return nil
	}
	a, ok := d.(drivers.Addressed)
	if !ok {
		return nil
	}
	i := slices.IndexFunc(services, func(s *service) bool { return s.name == a.Service() })
	if i < 0 {
		panic("lockbench: " + driver + " needs a service that nobody knows: " + a.Service())
	}
	return services[i]
}

// inProcessDriver tells of a driver that needs no server.
func inProcessDriver(name string) bool { return serviceOf(name) == nil }

// servicesOf are the services of a list of drivers, each once, in the order in which they come.
func servicesOf(driverNames []string) (list []*service) {
	for _, name := range driverNames {
		if s := serviceOf(name); s != nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// readAddr reads an address of the service, as any of its drivers would.
func (s *service) readAddr(addr string) (drivers.Addr, error) {
	for _, name := range drivers.Names() {
		if d, _ := drivers.Lookup(name); serviceOf(name) == s {
			return d.(drivers.Addressed).ReadAddr(addr)
		}
	}
	panic("lockbench: no driver reads addresses of " + s.name)
}

// example shows how an address of the service begins.
func (s *service) example() string { return s.schemes[0] + "://…" }

// orVariable adds the environment variable that does as well.
func (s *service) orVariable() string {
	if s.variable == "" {
		return ""
	}
	return " or " + s.variable
}

// install is how the service is installed. Packages are no help to who has it look elsewhere.
func (s *service) install() string {
	text := "apt-get install " + s.packages
	if s.home != "" && os.Getenv(s.home) != "" {
		text += ", and unset " + s.home + ", where it was looked for"
	}
	return text
}

var versionPattern = regexp.MustCompile(`\d+(\.\d+)+`)

// version asks the program at path, or reads it off the name of a Java archive. It is empty if that does not help.
func (s *service) version(ctx context.Context, path string) string {
	if name, ok := strings.CutSuffix(path, ".jar"); ok {
		return jarVersion(name)
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return ""
	}
	return versionPattern.FindString(string(out))
}

// jarVersion reads the version off the name of a Java archive. Debian drops it there, and keeps it in that of a link to
// the archive beside it.
func jarVersion(name string) string {
	if v := versionPattern.FindString(filepath.Base(name)); v != "" {
		return v
	}
	links, _ := filepath.Glob(name + "-[0-9]*.jar")
	for _, link := range links {
		if to, err := filepath.EvalSymlinks(link); err == nil && to == name+".jar" {
			return versionPattern.FindString(filepath.Base(link))
		}
	}
	return ""
}

func serviceNames(list []*service) string {
	var names []string
	for _, s := range list {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}
