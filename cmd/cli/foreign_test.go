package cli

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// TestStrangers has another client use the server when the load has begun: what a lock costs the server is not known then, and
// it is where nobody else is.
func TestStrangers(t *testing.T) {
	redis := servertest.Redis(t, servers.RedisOptions{}).URL()
	for _, c := range []struct {
		what, driver, lock, wait string
		server                   func() string
		stranger                 func(t *testing.T, driver, lock, addr string) (act func())
		acts                     int64 // as many as are beyond all doubt, while the load acquires 50 locks a second at the most
		says                     string
	}{
		{"long keys", "go-redis", "set-nx", "backoff", nil, asking(strings.Repeat("k", 4096)), 300, "other clients sent"},
		{"long keys", "rueidis", "set-nx", "backoff", nil, asking(strings.Repeat("k", 4096)), 300, "other clients sent"},
		{"a script of 3,000 commands", "rueidis", "set-nx", "backoff", nil,
			saying(`EVAL "for i=1,3000 do redis.call('SET','stranger',i) end return 1" 0`, ":1\r\n"), 10, "commands a second for other clients"},
		{"long answers", "go-redis", "fenced", "backoff", nil, saying(`EVAL "return string.rep('x',100000)" 0`, strings.Repeat("x", 100_000)+"\r\n"),
			10, "other clients were sent"},
		{"MONITOR", "rueidis", "set-nx", "backoff", nil, monitoring, 1000, "other clients were sent"},
		{"another client", "mysql", "unique-row", "backoff", func() string {
			return servertest.MySQL(t, servers.MySQLOptions{TCP: true}).URL()
		}, asking("k"), 300, "commands a second for other clients"},
		{"another client", "etcd", "lease", "native", func() string {
			return servertest.Etcd(t, 1, servers.EtcdOptions{}).URLs()[0]
		}, asking("k"), 300, "commands a second for other clients"},
		{"another client", "zookeeper", "sequential", "native", func() string {
			return servertest.ZooKeeper(t, 1, servers.ZooKeeperOptions{}).URLs()[0]
		}, asking("k"), 300, "commands a second for other clients"},
	} {
		if testing.Short() && c.server != nil {
			continue
		}
		t.Run(c.driver+"/"+c.what, func(t *testing.T) {
			addr := redis
			if c.server != nil {
				addr = c.server()
			}
			p := spec.Plan{Driver: c.driver, Lock: c.lock, Wait: c.wait, Load: spec.Load{Clients: 4, Hold: 20 * time.Millisecond, TTL: time.Minute, Timeout: time.Minute}}
			for _, disturbed := range []bool{false, true} {
				acted, stopped := new(atomic.Int64), make(chan struct{})
				begun := false
				r := watched(t, p, []string{addr}, func(s workloads.Snapshot, _ bool) bool {
					if disturbed && !begun {
						begun = true
						act := c.stranger(t, c.driver, c.lock, addr)
						go func() {
							defer close(stopped)
							for acted.Load() < c.acts && t.Context().Err() == nil {
								act()
								acted.Add(1)
							}
						}()
					}
					return s.Acquired > 25 && (!disturbed || acted.Load() == c.acts)
				})
				if begun {
					<-stopped
				}
				warned := strings.Contains(strings.Join(r.Warnings, "\n"), c.says)
				if known := r.Cost.Commands >= 0; warned != disturbed || known == disturbed {
					t.Errorf("disturbed %v: costs %+v, warnings %q", disturbed, r.Cost, r.Warnings)
				}
			}
		})
	}
}

// asking is another client of the same design, which tries to acquire a lock of that name.
func asking(name string) func(t *testing.T, driver, lock, addr string) (act func()) {
	return func(t *testing.T, driver, lock, addr string) (act func()) {
		d, err := drivers.Lookup(driver)
		if err != nil {
			t.Fatal(err)
		}
		svc, err := d.Open(t.Context(), drivers.Config{Lock: lock, Addrs: []string{addr}, Prefix: "stranger:", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { svc.Close() })
		session, err := svc.Session(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		l := &drivers.Lease{Key: "stranger:" + name, TTL: time.Minute}
		return func() {
			session.Try(t.Context(), l)
			session.Release(t.Context(), l)
		}
	}
}

// saying is a connection to Redis that says something, again and again, and reads an answer that ends in end.
func saying(command, end string) func(t *testing.T, driver, lock, addr string) (act func()) {
	return func(t *testing.T, _, _, addr string) (act func()) {
		conn, replies := connected(t, addr)
		return func() {
			fmt.Fprintf(conn, "%s\r\n", command)
			for line := "\n"; !strings.HasSuffix(line, end); {
				var err error
				if line, err = replies.ReadString('\n'); err != nil {
					t.Errorf("%s: %v", command, err)
					return
				}
			}
		}
	}
}

// monitoring is a connection to Redis that is told all commands.
func monitoring(t *testing.T, _, _, addr string) (act func()) {
	conn, replies := connected(t, addr)
	fmt.Fprint(conn, "MONITOR\r\n")
	return func() {
		conn.SetReadDeadline(time.Now().Add(time.Second)) // when the load has ended there is nothing to tell
		replies.ReadString('\n')
	}
}

func connected(t *testing.T, addr string) (net.Conn, *bufio.Reader) {
	conn, err := net.Dial("unix", strings.TrimPrefix(addr, "unix://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, bufio.NewReader(conn)
}
