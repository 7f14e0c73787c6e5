package redis_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/drivertest"
	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// TestOverContextSendsNothing checks on the server that nothing has arrived.
func TestOverContextSendsNothing(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		for _, pipelining := range pipelinings {
			cfg := drivers.Config{Addrs: plainRedis(t), Pipelining: pipelining}
			a := session(t, open(t, driver, cfg), 0)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for range 20 {
				held, err := a.Try(ctx, &drivers.Lease{Key: "k", TTL: time.Minute})
				if held || drivers.ClassOf(err) != drivers.ClassCanceled {
					t.Errorf("%s: %v, %v, want class canceled", pipelining, held, err)
				}
			}
			handOver(t, a, "other") // behind whatever is still queued
			if n := calls(t, bare(t, cfg))["set"]; n != 1 {
				t.Errorf("%s: %d SETs were sent, 1 with a context that was not over", pipelining, n)
			}
		}
	})
}

// TestPasswordHidden makes servers and formatting verbs try to reveal the password.
func TestPasswordHidden(t *testing.T) {
	const marker = "geheim"
	hidden := func(t *testing.T, what string, shown any) {
		t.Helper()
		for _, verb := range []string{"%v", "%+v", "%#v"} {
			if text := fmt.Sprintf(verb, shown); strings.Contains(text, marker) {
				t.Errorf("%s: %s gives the password away: %s", what, verb, text)
			}
		}
	}
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		mute := startRedis(t, servers.Options{Settings: map[string]string{"rename-command": `AUTH ""`}})
		for _, addr := range []string{
			"unix://:" + marker + "@" + mute.address(),         // a server that does not know AUTH quotes its arguments
			"unix://user:" + marker + "@" + mute.address(),     //
			"redis://user:" + marker + "@" + refusedAddr(t),    // no server
			"rediss://u:" + marker + "@" + talker(t, ""),       // no TLS
			"redis://u:" + marker + "@" + talker(t, "+OK\r\n"), // hangs up later
		} {
			s, err := d.Open(t.Context(), drivers.Config{Addrs: []string{addr}, IOTimeout: time.Second})
			if err == nil {
				s.Close()
				t.Error("Open succeeded")
			}
			hidden(t, "error", err)
		}
		server := startRedis(t, servers.Options{Password: marker})
		s := open(t, driver, drivers.Config{Addrs: []string{"unix://:" + marker + "@" + server.address()}, Wakes: true})
		hidden(t, "service", s)
		a := session(t, s, 0)
		hidden(t, "session", a)
		server.kill()
		_, err := a.Try(t.Context(), &drivers.Lease{Key: "k", TTL: time.Minute})
		hidden(t, "Try without a server", err)
	})
}

// TestScriptNotPermitted withholds a command that only a script calls. The server's own message does not name it.
func TestScriptNotPermitted(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		for _, command := range []string{"-publish", "-evalsha"} {
			server := startRedis(t, servers.Options{})
			a := session(t, open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Wakes: true}), 0)
			restrict(t, server, command)
			l := drivers.Lease{Key: "k", TTL: time.Minute}
			try(t, a, &l, true)
			_, err := a.Release(t.Context(), &l)
			if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), "EVALSHA, EVAL and what the script calls: GET, PUBLISH, DEL") {
				t.Errorf("%s: %v (%s), want class auth and what is needed", command, err, drivers.ClassOf(err))
			}
		}
	})
}

// TestScriptsRefused: a lock that cannot do without scripts is not opened, and any other does without.
func TestScriptsRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, servers.Options{})
		restrict(t, server, "-@scripting")
		opened := map[string]int{}
		for _, design := range designs(t) {
			for _, how := range []drivers.Config{{}, {Wakes: true}, {Renews: true}, {Passes: true}} {
				how.Lock, how.Addrs = design.Name, []string{server.URL()}
				s, err := lookup(t, driver).Open(t.Context(), how)
				if err != nil {
					if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(err.Error(), "-lock set-nx-del runs none") {
						t.Errorf("%+v: %v, want the remedy", how, err)
					}
					continue
				}
				opened[design.Name]++
				l := drivers.Lease{Key: "k", TTL: time.Minute}
				a := session(t, s, 0)
				try(t, a, &l, true)
				release(t, a, &l, true)
				s.Close()
			}
		}
		want := map[string]int{"setnx": 1, "setnx-expire": 1, "set-nx-del": 1, "set-nx-get-del": 1, "getset": 1, "setnx-steal": 1}
		if !maps.Equal(opened, want) {
			t.Errorf("without scripts there are %v, want %v", opened, want)
		}
	})
}

// TestListenersBeyondPool opens more listeners than a limited pool has connections.
func TestListenersBeyondPool(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		s := open(t, driver, drivers.Config{Addrs: plainRedis(t), Wakes: true, Conns: 1, Pipelining: drivers.PipeliningOff})
		a := session(t, s, 0)
		var heard [3]woken
		opened := make(chan struct{})
		go func() {
			defer close(opened)
			for i := range heard {
				l, err := s.(drivers.Subscriber).Listen(t.Context(), heard[i].wake)
				if err == nil {
					err = l.Add(t.Context(), "k")
				}
				if err != nil {
					t.Error(err)
				}
			}
		}()
		select {
		case <-opened:
		case <-time.After(time.Minute):
			t.Fatal("a listener waits for a connection that never comes free")
		}
		handOver(t, a, "k")
		for i := range heard {
			testwait.Until(t, "every listener wakes", func() bool { return heard[i].count("k") == 1 })
		}
	})
}

// TestSilentLink makes a listener's connection die silently. Releases meanwhile must not be missed.
func TestSilentLink(t *testing.T) {
	if testing.Short() {
		t.Skip("a connection that dies: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Wakes: true, Conns: 1}
		rdb := bare(t, cfg)
		connections := func() string {
			return rdb.InfoMap(t.Context(), "stats").Item("Stats", "total_connections_received")
		}
		proxy := drivertest.Through(t, cfg.Addrs...)[0]
		a := session(t, open(t, driver, cfg), 0)
		handOver(t, a, "k") // makes its only connection
		cfg.Addrs, cfg.IOTimeout = []string{proxy.Addr()}, 2*time.Second
		var w woken
		add(t, listen(t, open(t, driver, cfg), &w), "k")
		lost := proxy.Drop(fault.Replies)
		before := connections()
		handOver(t, a, "k")
		testwait.Until(t, "the listener is not told", lost)
		testwait.Until(t, "the silent connection is given up for another", func() bool { return connections() != before })
		proxy.Resume()
		testwait.Until(t, "it reports the break", func() bool { return w.count("") > 0 })
	})
}

// TestQuietLink listens for longer than a request may take while nothing is released: that is not a break. A listener asks after
// each such silence, and asks again on the same connection only if that has not counted as broken.
func TestQuietLink(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for seconds: make test-all")
	}
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		t.Parallel()
		cfg.Wakes = true
		a, key := session(t, open(t, driver, cfg), 0), cfg.Prefix+"k"
		proxy := drivertest.Through(t, cfg.Addrs...)[0]
		var mu sync.Mutex
		asked, most := map[any]int{}, 0 // by connections that listen
		proxy.Watch(func(p fault.Passage) {
			mu.Lock()
			defer mu.Unlock()
			data := bytes.ToLower(p.Data)
			if _, listens := asked[p.Link]; listens && p.Direction == fault.Requests && bytes.Contains(data, []byte("ping")) {
				asked[p.Link]++
				most = max(most, asked[p.Link])
			} else if !listens && bytes.Contains(data, []byte("subscribe")) {
				asked[p.Link] = 0
			}
		})
		cfg.Addrs, cfg.IOTimeout = []string{proxy.Addr()}, 2*time.Second
		var w woken
		add(t, listen(t, open(t, driver, cfg), &w), key)
		testwait.Until(t, "a connection has asked twice", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return most > 1
		})
		handOver(t, a, key)
		testwait.Until(t, "k wakes", func() bool { return w.count(key)+w.count("") > 0 })
	})
}

// TestLateAddKeepsTheLink adds keys when there is no time left. That must not cost the connection, which others use.
func TestLateAddKeepsTheLink(t *testing.T) {
	forEach(t, func(t *testing.T, driver string, cfg drivers.Config) {
		cfg.Wakes = true
		s := open(t, driver, cfg)
		var w woken
		l := listen(t, s, &w)
		key := cfg.Prefix + "k"
		add(t, l, key)
		late, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		for i := range 20 {
			if err := l.Add(late, fmt.Sprint(key, i)); err == nil {
				t.Error("Add succeeds although its context is over")
			}
			l.Remove(late, fmt.Sprint(key, i))
		}
		add(t, l, key+"0")
		handOver(t, session(t, s, 0), key)
		testwait.Until(t, "the key wakes", func() bool { return w.count(key) > 0 })
		if n := w.count(""); n != 0 {
			t.Errorf("the connection was lost %d times", n)
		}
	})
}

// TestCloseUnderWay closes a service while a request waits for a stopped server. Afterwards the session's errors say
// so.
func TestCloseUnderWay(t *testing.T) {
	if testing.Short() {
		t.Skip("a server that hangs: make test-all")
	}
	forBoth(t, func(t *testing.T, driver string) {
		for _, pipelining := range pipelinings {
			server := startRedis(t, servers.Options{})
			s := open(t, driver, drivers.Config{Addrs: []string{server.URL()}, Pipelining: pipelining, Conns: 1, IOTimeout: 300 * time.Millisecond})
			a := session(t, s, 0)
			drivertest.Warm(t, a, "k")
			server.signal(syscall.SIGSTOP)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if held, err := a.Try(context.Background(), &drivers.Lease{Key: "k", TTL: time.Minute}); held || err == nil {
					t.Errorf("%s: %v, %v, but no answer was to be had", pipelining, held, err)
				}
				testwait.Until(t, "class closed", func() bool {
					_, err := a.Try(context.Background(), &drivers.Lease{Key: "k", TTL: time.Minute})
					return drivers.ClassOf(err) == drivers.ClassClosed
				})
			}()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			testwait.Ends(t, "a request, which outlasts its service", func() { <-ended })
			server.signal(syscall.SIGCONT)
		}
	})
}
