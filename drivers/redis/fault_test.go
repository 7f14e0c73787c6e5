package redis_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// pipelinings are the ways to send of both libraries.
var pipelinings = []drivers.Pipelining{drivers.PipeliningAuto, drivers.PipeliningOff}

// TestDeadline stops the server: a request must return at its context's deadline, and not at the I/O time-out, which is
// so long that the test would never end.
func TestDeadline(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that hangs or dies: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Pipelining: pipelining, IOTimeout: time.Hour})
			const clients = 8
			var leases [clients]drivers.Lease
			var sessions [clients]drivers.Session
			for i := range sessions {
				sessions[i] = session(t, s, i)
				leases[i] = drivers.Lease{Key: fmt.Sprint(pipelining, i), TTL: time.Minute}
				try(t, sessions[i], &leases[i], true)
				release(t, sessions[i], &leases[i], true)
			}
			server.signal(syscall.SIGSTOP)
			var group sync.WaitGroup
			for i, a := range sessions {
				group.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
					defer cancel()
					held, err := a.Try(ctx, &leases[i])
					if held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.NoEffect(err) {
						t.Errorf("%s: %v, %v (%s), want class timeout", pipelining, held, err, drivers.ClassOf(err))
					}
				})
			}
			testwait.Ends(t, "requests with a deadline", group.Wait)
			server.signal(syscall.SIGCONT)
			for i, a := range sessions { // what arrived late is still released by the owner set before
				testwait.Until(t, "the lock is free again", func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					a.Release(ctx, &leases[i])
					l := drivers.Lease{Key: leases[i].Key, TTL: time.Minute}
					held, err := a.Try(ctx, &l)
					if err != nil || !held {
						return false
					}
					owned, err := a.Release(ctx, &l)
					return owned && err == nil
				})
			}
		}
	})
}

// TestIOTimeout gives no deadline to a request that is never answered.
func TestIOTimeout(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that hangs or dies: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Pipelining: pipelining, Conns: 1, IOTimeout: 100 * time.Millisecond})
			a := session(t, s, 0)
			l := drivers.Lease{Key: string(pipelining), TTL: time.Minute} // may be taken late, when the server goes on
			drivertest.Warm(t, a, l.Key)
			server.signal(syscall.SIGSTOP)
			ctx, cancel := context.WithCancel(t.Context()) // can be cancelled but has no deadline, like that of a run
			testwait.Ends(t, "a request without a deadline", func() {
				if _, err := a.Try(ctx, &l); drivers.ClassOf(err) != drivers.ClassTimeout {
					t.Errorf("%s: %v (%s), want class timeout", pipelining, err, drivers.ClassOf(err))
				}
			})
			cancel()
			server.signal(syscall.SIGCONT)
			testwait.Until(t, "the server answers again", func() bool { return s.(drivers.Pinger).Ping(t.Context()) == nil })
		}
	})
}

// TestRefused makes requests that a server refuses. Each error must have a class that says that nothing happened, and
// the next request must confirm that.
func TestRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{Password: "geheim"})
		cfg := drivers.Config{Addrs: []string{server.URL()}, Password: "geheim", Wakes: true}
		s := open(t, driver, cfg)
		a := session(t, s, 0)
		rdb := bare(t, drivers.Config{Addrs: []string{"unix://:geheim@" + server.address()}})
		if err := rdb.Do(t.Context(), "AUTH", "geheim").Err(); err != nil {
			t.Fatal(err)
		}
		set := func(name, value string) {
			if err := rdb.ConfigSet(t.Context(), name, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		check := func(what string, err error, class drivers.Class) {
			t.Helper()
			if drivers.ClassOf(err) != class || !drivers.NoEffect(err) {
				t.Errorf("%s: %v (%s), want class %s", what, err, drivers.ClassOf(err), class)
			}
			if err != nil && strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %v gives the password away", what, err)
			}
		}

		l := drivers.Lease{Key: "k", TTL: time.Minute}
		set("maxmemory", "1")
		_, err := a.Try(t.Context(), &l)
		check("OOM, SET", err, drivers.ClassFull)
		set("maxmemory", "0")
		try(t, a, &l, true)

		if err := rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		_, err = a.Release(t.Context(), &l)
		check("READONLY, script", err, drivers.ClassReadOnly)
		_, err = a.Try(t.Context(), &drivers.Lease{Key: "k2", TTL: time.Minute})
		check("READONLY, SET", err, drivers.ClassReadOnly)
		if err := rdb.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		release(t, a, &l, true)

		if err := rdb.Do(t.Context(), "LPUSH", "list", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err = a.Release(t.Context(), &drivers.Lease{Key: "list", Owner: "x"})
		check("WRONGTYPE", err, drivers.ClassServer)

		// The password changes; later connections are rejected.
		set("requirepass", "another")
		d, _ := drivers.Lookup(driver)
		_, err = d.Open(t.Context(), cfg)
		check("WRONGPASS", err, drivers.ClassAuth)
		if err != nil && !strings.Contains(err.Error(), "rejects the user or the password") {
			t.Error(err)
		}
		cfg.Password = ""
		_, err = d.Open(t.Context(), cfg)
		check("NOAUTH", err, drivers.ClassAuth)
		if err != nil && !strings.Contains(err.Error(), "wants a password") {
			t.Error(err)
		}
	})
}

// TestWrongPasswordLater breaks the connections after the password has changed: the library, and not the first
// greeting, is rejected.
func TestWrongPasswordLater(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{Password: "geheim"})
		s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Password: "geheim", Conns: 1})
		a := session(t, s, 0)
		l := drivers.Lease{Key: "k", TTL: time.Minute}
		try(t, a, &l, true)
		rdb := bare(t, drivers.Config{Addrs: []string{server.URL()}})
		conn := rdb.Conn()
		defer conn.Close()
		for _, command := range [][]any{{"AUTH", "geheim"}, {"CONFIG", "SET", "requirepass", "another"}, {"CLIENT", "KILL", "SKIPME", "yes"}} {
			if err := conn.Do(t.Context(), command...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		testwait.Until(t, "the library is turned away", func() bool {
			_, err := a.Release(t.Context(), &l)
			switch class := drivers.ClassOf(err); class {
			case drivers.ClassAuth:
				return drivers.NoEffect(err)
			case drivers.ClassClosed: // the broken connection, noticed first
				return false
			default:
				t.Fatalf("%v (%s)", err, class)
				return false
			}
		})
	})
}

// TestCloseOnHungServer closes everything although nothing is answered.
func TestCloseOnHungServer(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that hangs or dies: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Wakes: true, IOTimeout: 2 * time.Second, Conns: 1})
		l, err := s.(drivers.Subscriber).Listen(t.Context(), func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "k")
		try(t, session(t, s, 0), &drivers.Lease{Key: "k", TTL: time.Minute}, true)
		server.signal(syscall.SIGSTOP)
		testwait.Ends(t, "Close", func() { s.Close() })
		server.signal(syscall.SIGCONT)
	})
}

// dropper returns a server that can be connected to, counts each SET and hangs up on it.
func dropper(t *testing.T, sets *atomic.Int64) string {
	return serving(t, func(conn net.Conn) {
		defer conn.Close()
		cluster := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch strings.ToUpper(lines.Text()) {
			case "PING":
				conn.Write([]byte("+PONG\r\n"))
			case "HELLO":
				conn.Write([]byte("-ERR unknown command 'HELLO'\r\n"))
			case "INFO":
				conn.Write([]byte("-NOPERM not for you\r\n"))
			case "DEL":
				conn.Write([]byte(":0\r\n"))
			case "EVALSHA":
				conn.Write([]byte("-NOSCRIPT No matching script.\r\n"))
			case "CLUSTER": // the one and only node
				cluster = true
			case "SLOTS":
				if cluster {
					host, port, _ := net.SplitHostPort(conn.LocalAddr().String())
					fmt.Fprintf(conn, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$%d\r\n%s\r\n:%s\r\n", len(host), host, port)
				}
			case "SET":
				sets.Add(1)
				return
			}
		}
	})
}

// TestNoRetry counts how often a command is sent whose connection breaks before the answer.
func TestNoRetry(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		for _, pipelining := range pipelinings {
			var sets atomic.Int64
			addr := dropper(t, &sets)
			s := open(t, driver, drivers.Config{Addrs: []string{addr}, Pipelining: pipelining, Embedded: true})
			held, err := session(t, s, 0).Try(within(t, time.Minute), &drivers.Lease{Key: "k", TTL: time.Minute})
			if held || drivers.ClassOf(err) != drivers.ClassClosed || drivers.NoEffect(err) {
				t.Errorf("%s: %v, %v (%s), want class closed", pipelining, held, err, drivers.ClassOf(err))
			}
			if n := sets.Load(); n != 1 {
				t.Errorf("%s: sent %d times", pipelining, n)
			}
		}
	})
}
