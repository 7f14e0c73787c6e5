package servers

// Private ZooKeeper servers: a single one, or an ensemble.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ZooKeeperOptions describe the servers. The zero value suits a benchmark that does not measure the disk.
type ZooKeeperOptions struct {
	Binary     string     // the java program; "" is java on PATH. FindZooKeeper finds the jars
	Durability Durability // "" means Relaxed
}

// ZooKeeper is one private server. Its methods are safe for concurrent use.
type ZooKeeper struct {
	*process
	addr string
}

// ZooKeepers are the members of one ensemble, or one server by itself.
type ZooKeepers struct{ Group[*ZooKeeper] }

// zooKeeperTick is the server's unit of time. A session lasts at least two of them, so that tests and faults can see
// one end; the default tick is 2 s.
const zooKeeperTick = 200 * time.Millisecond

// zooKeeperElection is the longest that a member that elects waits, in milliseconds, before it asks the others again for
// their votes. By default the wait doubles up to a minute, so that one lost vote can leave an ensemble without a leader
// for that long.
const zooKeeperElection = 1000

// zooKeeperHeap bounds the heap of one server. A session needs a few KB of it, a lock a few hundred bytes.
const zooKeeperHeap = "256m"

// StartZooKeeper starts n servers, one or three, and returns when they serve. ctx bounds the start, which fails after
// two minutes at the latest, not the life of the servers. The caller closes them. Members can be killed and restarted
// one by one; a restarted member serves only with a majority.
func StartZooKeeper(ctx context.Context, n int, o ZooKeeperOptions) (*ZooKeepers, error) {
	if n != 1 && n != 3 {
		return nil, fmt.Errorf("zookeeper: start: %d servers are not possible: ask for 1 or 3", n)
	}
	java, classes, err := findZooKeeper(o.Binary)
	if err != nil {
		return nil, err
	}
	list, ports := &ZooKeepers{}, 2*n
	if n == 1 {
		ports = 0
	}
	err = list.start(ctx, n, ports, func(ctx context.Context, i int) (*ZooKeeper, error) {
		return startServer(ctx, place{name: "zookeeper"}, func(p *process) (*ZooKeeper, error) {
			return setUpZooKeeper(p, i+1, list.ports, java, classes, o.Durability)
		})
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// setUpZooKeeper prepares a server, by itself if it has no peers: address, files, command line. Two ports of each peer are for the
// others: those of the quorum and of elections.
func setUpZooKeeper(p *process, id int, peers []*port, java, classes string, d Durability) (*ZooKeeper, error) {
	port, err := p.reserve()
	if err != nil {
		return nil, err
	}
	z := &ZooKeeper{p, port.addr()}
	z.url, z.persistence = "zookeeper://"+z.addr, d.or("fsync off")
	z.ready = func(ctx context.Context, _ int) error { return serves(ctx, z.addr) }
	forceSync, class, members := "no", "org.apache.zookeeper.server.ZooKeeperServerMain", ""
	if d == Strict {
		forceSync = "yes"
	}
	for i := 0; i < len(peers); i += 2 {
		class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
		members += fmt.Sprintf("server.%d=%s:%d\n", i/2+1, peers[i].addr(), peers[i+1].number)
	}
	z.argv = append([]string{java}, JavaOptions...)
	z.argv = append(z.argv,
		"-Xmx"+zooKeeperHeap, "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError",
		"-XX:-UsePerfData", "-Djava.io.tmpdir="+p.dir.path, // no files outside its directory
		"-Djava.net.preferIPv4Stack=true", "-Dzookeeper.forceSync="+forceSync,
		fmt.Sprint("-Dzookeeper.fastleader.maxNotificationInterval=", zooKeeperElection),
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
		"-cp", classes+string(filepath.ListSeparator)+p.dir.path, class, p.dir.file("zoo.cfg"),
	)
	// Apache's archive contains logback, which logs everything unless it finds a file of this name in the class path.
	return z, errors.Join(os.Mkdir(p.dir.file("data"), 0o700), p.write("data/myid", strconv.Itoa(id)+"\n"),
		p.write("zoo.cfg", p.zooKeeperConfig(port.number, members)), p.write("logback.xml", logback))
}

// zooKeeperConfig returns the configuration file. Settings of snapshots and the log have their defaults.
func (p *process) zooKeeperConfig(port int, members string) string {
	ticks := func(d time.Duration) int { return int(d / zooKeeperTick) }
	return fmt.Sprintf(`dataDir=%s
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
%s`, p.dir.file("data"), port, zooKeeperTick.Milliseconds(), ticks(10*time.Second), ticks(5*time.Second),
		2*zooKeeperTick.Milliseconds(), time.Hour.Milliseconds(), members)
}

const logback = `<configuration>
<appender name="CONSOLE" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%p %c: %m%n</pattern></encoder></appender>
<root level="WARN"><appender-ref ref="CONSOLE"/></root>
</configuration>
`

// roleTimeout bounds one question for the role. A server that starts may take a connection and never answer on it.
const roleTimeout = 2 * time.Second

// serves returns nil if the server reports a role: it answers other questions before it serves clients.
func serves(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, roleTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return err
	}
	text, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), "\nMode: ") {
		first, _, _ := strings.Cut(string(text), "\n")
		return fmt.Errorf("it says %q", first)
	}
	return nil
}

// zooKeeperJars is where packages put the server and what its logging needs.
var zooKeeperJars = []string{"/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"}

// FindZooKeeper returns the server's jar that StartZooKeeper runs: in $ZOOKEEPER_HOME/lib of Apache's own archive, else
// that of the system's package. The error wraps exec.ErrNotFound and says what to install.
func FindZooKeeper() (path string, err error) {
	_, classes, err := findZooKeeper("")
	path, _, _ = strings.Cut(classes, string(filepath.ListSeparator))
	return path, err
}

// JavaOptions are the first options of each java program that is started. Tests set them.
var JavaOptions []string

// findZooKeeper returns the java program and the class path, which begins with the server's jar.
func findZooKeeper(java string) (path, classes string, err error) {
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
	if path, err = javaProgram.find(java); err != nil {
		return "", "", err
	}
	return path, classes, nil
}

var javaProgram = program{
	"zookeeper", []string{"java"}, onPath, "the package default-jre-headless (Debian, Ubuntu) or any other Java from 8 on",
}

func init() {
	Register(&Service{
		Name: "zookeeper", Schemes: []string{"zookeeper", "zk"},
		Forms:    []string{"zookeeper://user:pass@host:2181/chroot", "zookeepers://host:2281 (TLS)"},
		Packages: "libzookeeper-java default-jre-headless", Home: "ZOOKEEPER_HOME", Limit: "maxCnxns",
		Find: FindZooKeeper, Start: func(ctx context.Context, o StartOptions) (*Running, error) {
			return running(StartZooKeeper(ctx, max(1, o.Nodes), ZooKeeperOptions{Durability: o.Durability}))
		},
	})
}
