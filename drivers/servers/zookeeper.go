package servers

// Private ZooKeeper servers: a single one, or an ensemble.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// zooKeeperTick is the server's unit of time. A session lasts at least two of them, so that tests and faults can see
// one end; the default tick is 2 s.
const zooKeeperTick = 200 * time.Millisecond

// zooKeeperElection is the longest that a member that elects waits, in milliseconds, before it asks the others again
// for their votes. By default the wait doubles up to a minute, so that one lost vote can leave an ensemble without a
// leader for that long.
const zooKeeperElection = 1000

// zooKeeperHeap bounds the heap of one server. A session needs a few KB of it, a lock a few hundred bytes.
const zooKeeperHeap = "256m"

// StartZooKeeper starts n servers. Members can be killed and restarted one by one; a restarted member serves only
// with a majority.
func StartZooKeeper(ctx context.Context, n int, o Options) (_ *Group[*Server], err error) {
	var classes string
	if o.Binary, classes, err = findZooKeeper(); err != nil {
		return nil, err
	}
	list, ports := &Group[*Server]{}, 2*n
	if n == 1 {
		ports = 0
	}
	return list, list.start(ctx, n, ports, func(ctx context.Context, i int) (*Server, error) {
		return start(ctx, &javaProgram, o, func(_ context.Context, s *Server, o Options) error {
			return setUpZooKeeper(s, i+1, list.ports, classes, o)
		})
	})
}

// setUpZooKeeper prepares a server: address, files, command line. Two ports of each peer are for the others: those of
// the quorum and of elections; without any, the server is by itself. Snapshots and the log are as shipped.
func setUpZooKeeper(s *Server, id int, peers []*port, classes string, o Options) error {
	port, err := s.reserve()
	if err != nil {
		return err
	}
	s.url, s.persistence = "zookeeper://"+port.addr(), s.persists(o.Durability == Strict, "fsync off")
	s.ready = func(ctx context.Context, _ int) error { return serves(ctx, port.addr()) }
	forceSync, members := "no", ""
	if o.Durability == Strict {
		forceSync = "yes"
	}
	for i := 0; i < len(peers); i += 2 {
		members += fmt.Sprintf("server.%d=%s:%d\n", i/2+1, peers[i].addr(), peers[i+1].number)
	}
	s.argv = slices.Concat([]string{o.Binary}, JavaOptions, []string{
		"-Xmx" + zooKeeperHeap, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData", "-Djava.io.tmpdir=" + s.dir.path, // no files outside its directory
		"-Djava.net.preferIPv4Stack=true", "-Dzookeeper.forceSync=" + forceSync,
		fmt.Sprint("-Dzookeeper.fastleader.maxNotificationInterval=", zooKeeperElection),
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", classes + string(filepath.ListSeparator) + s.dir.path,
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", s.dir.file("zoo.cfg"),
	})
	config := fmt.Sprintf(`dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
tickTime=%d
initLimit=%d
syncLimit=%d
minSessionTimeout=%d
maxSessionTimeout=%d
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
autopurge.purgeInterval=0
%s`, s.dir.file("data"), port.number, zooKeeperTick.Milliseconds(), 10*time.Second/zooKeeperTick,
		5*time.Second/zooKeeperTick, 2*zooKeeperTick.Milliseconds(), time.Hour.Milliseconds(), members)
	for name, value := range o.Settings { // the last one of a name counts
		config += name + "=" + value + "\n"
	}
	// Apache's archive contains logback, which logs everything unless it finds a file of this name in the class path.
	return errors.Join(os.Mkdir(s.dir.file("data"), 0o700), s.write("data/myid", strconv.Itoa(id)+"\n"),
		s.write("zoo.cfg", config), s.write("logback.xml", logback))
}

const logback = `<configuration>
<appender name="CONSOLE" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%p %c: %m%n</pattern></encoder></appender>
<root level="WARN"><appender-ref ref="CONSOLE"/></root>
</configuration>
`

// serves returns nil if the server reports a role: it answers other questions before it serves clients.
func serves(ctx context.Context, addr string) error {
	text, err := exchange(ctx, "tcp", addr, "srvr", 64<<10)
	if err == nil && !strings.Contains(text, "\nMode: ") {
		first, _, _ := strings.Cut(text, "\n")
		err = fmt.Errorf("it says %q", first)
	}
	return err
}

// zooKeeperJars is where packages put the server and what its logging needs.
var zooKeeperJars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// JavaOptions are the first options of each java program that is started. Tests set them.
var JavaOptions []string

// findZooKeeper returns the java program and the class path, which begins with the server's jar: in $ZOOKEEPER_HOME/lib
// of Apache's own archive, else that of the system's package.
func findZooKeeper() (java, classes string, err error) {
	if home := os.Getenv("ZOOKEEPER_HOME"); home != "" {
		found, _ := filepath.Glob(filepath.Join(home, "lib", "zookeeper-[0-9]*.jar"))
		if len(found) == 0 {
			return "", "", fmt.Errorf("zookeeper: no server in $ZOOKEEPER_HOME/lib: %w; let ZOOKEEPER_HOME name the directory "+
				"of Apache's archive, or unset it", exec.ErrNotFound)
		}
		classes = found[0] + string(filepath.ListSeparator) + filepath.Join(home, "lib", "*")
	} else {
		for _, jar := range zooKeeperJars {
			if _, err := os.Stat(jar); err != nil {
				return "", "", &MissingError{"zookeeper", jar, "the package libzookeeper-java (Debian, Ubuntu), or " +
					"unpack Apache's archive and set ZOOKEEPER_HOME"}
			}
		}
		classes = strings.Join(zooKeeperJars, string(filepath.ListSeparator))
	}
	java, err = javaProgram.locate()
	return java, classes, err
}

var javaProgram = program{
	server: "zookeeper", names: []string{"java"},
	install: "the package default-jre-headless (Debian, Ubuntu) or any other Java from 8 on",
}

func init() {
	Register(&Service{
		Name: "zookeeper", Schemes: []string{"zookeeper", "zk"},
		Forms:    []string{"zookeeper://user:pass@host:2181/chroot", "zookeepers://host:2281 (TLS)"},
		Packages: "libzookeeper-java default-jre-headless", Home: "ZOOKEEPER_HOME", Limit: "maxCnxns",
		Find: func() (jar string, err error) {
			_, classes, err := findZooKeeper()
			jar, _, _ = strings.Cut(classes, string(filepath.ListSeparator))
			return jar, err
		},
		Start: func(ctx context.Context, o Options) (*Running, error) {
			return running(StartZooKeeper(ctx, max(1, o.Nodes), o))
		},
	})
}
