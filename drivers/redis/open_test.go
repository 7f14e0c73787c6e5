package redis_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/testwait"
)

// serving serves each connection, which is closed with the test at the latest, and returns its address.
func serving(t testing.TB, serve func(net.Conn)) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all.Go(func() { serve(conn) })
			defer conn.Close()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	return ln.Addr().String()
}

// silent accepts connections and never answers.
func silent(t *testing.T) string { return serving(t, func(net.Conn) {}) }

// talker answers every connection with one text after it has received something, and hangs up.
func talker(t *testing.T, text string) string {
	return serving(t, func(conn net.Conn) {
		conn.Read(make([]byte, 512))
		conn.Write([]byte(text))
		conn.Close()
	})
}

func refusedAddr(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestTLS locks over TLS, and does not when the certificate is not trusted.
func TestTLS(t *testing.T) {
	server := startRedis(t, servers.Options{TLS: true})
	addr := server.address()
	forBoth(t, func(t *testing.T, driver string) {
		s := open(t, driver, drivers.Config{Addrs: []string{addr}, TLS: trusting(t, server.CAFile(), ""), Wakes: true})
		var w woken
		add(t, listen(t, s, &w), "k")
		handOver(t, session(t, s, 0), "k")
		testwait.Until(t, "k wakes", func() bool { return w.count("k") == 1 })

		d, _ := drivers.Lookup(driver)
		_, err := d.Open(t.Context(), drivers.Config{Addrs: []string{"rediss://" + addr}})
		if err == nil || !strings.Contains(err.Error(), "-tls-ca") || drivers.ClassOf(err) != drivers.ClassConnect {
			t.Errorf("a certificate that no one trusts: %v", err)
		}
		_, err = d.Open(t.Context(), drivers.Config{Addrs: []string{addr}, IOTimeout: time.Second})
		if err == nil || !strings.Contains(err.Error(), "write rediss:// in place of redis://") {
			t.Errorf("plain to a TLS port: %v", err)
		}
	})
}

// TestOpenErrors opens what is not a Redis server, or rejects the client. Each error is one sentence that says what to
// do.
func TestOpenErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	plain := startRedis(t, servers.Options{TCP: true})
	tests := []struct {
		name string
		cfg  drivers.Config
		want string
		is   drivers.Class
	}{
		{"no server", drivers.Config{Addrs: []string{refusedAddr(t)}}, "connection refused", drivers.ClassConnect},
		{"no socket", drivers.Config{Addrs: []string{"unix:///nowhere/at/all"}}, "no such file", drivers.ClassConnect},
		{"web server", drivers.Config{Addrs: []string{web.Listener.Addr().String()}}, "it is a web server", drivers.ClassProtocol},
		{"mail server", drivers.Config{Addrs: []string{talker(t, "220 mail ESMTP\r\n")}}, "another protocol", drivers.ClassProtocol},
		{"TLS alert", drivers.Config{Addrs: []string{talker(t, "\x15\x03\x01\x00\x02\x02\x46")}}, "write rediss://", drivers.ClassProtocol},
		{"hangs up", drivers.Config{Addrs: []string{talker(t, "")}}, "hung up on the greeting", drivers.ClassClosed},
		{"endless line", drivers.Config{Addrs: []string{talker(t, strings.Repeat("+", 1<<14))}}, "another protocol", drivers.ClassProtocol},
		{"full", drivers.Config{Addrs: []string{talker(t, "-ERR max number of clients reached\r\n")}}, "max number of clients", drivers.ClassServer},
		{"loading", drivers.Config{Addrs: []string{talker(t, "-LOADING Redis is loading the dataset in memory\r\n")}}, "LOADING", drivers.ClassServer},
		{"protected", drivers.Config{Addrs: []string{talker(t, "-DENIED Redis is running in protected mode\r\n")}}, "DENIED", drivers.ClassServer},
		{"silent", drivers.Config{Addrs: []string{silent(t)}}, "no answer to the greeting", drivers.ClassTimeout},
		{"silent, with TLS", drivers.Config{Addrs: []string{"rediss://" + silent(t)}}, "no answer to the TLS handshake", drivers.ClassConnect},
		{"silent, TLS to a plain port", drivers.Config{Addrs: []string{"rediss://" + plain.address()}}, "redis:// in place of rediss://", drivers.ClassConnect},
		{"no such database", drivers.Config{Addrs: []string{plain.URL()}, Database: "99"}, "DB index is out of range", drivers.ClassServer},
		{"password not wanted", drivers.Config{Addrs: []string{plain.URL()}, Password: "geheim"}, "AUTH", drivers.ClassServer},
		{"unknown user", drivers.Config{Addrs: []string{plain.URL()}, Username: "u", Password: "geheim"}, "rejects the user or the password", drivers.ClassAuth},
		{"bad address", drivers.Config{Addrs: []string{"redis://u:geheim@h:x"}}, "port", drivers.ClassOther},
		{"bad lock", drivers.Config{Lock: "mutex", Addrs: []string{plain.URL()}}, `unknown lock "mutex"; there are set-nx, setnx`, drivers.ClassOther},
		{"negative pool", drivers.Config{Addrs: []string{plain.URL()}, Pipelining: "off", Conns: -1}, "-1 connections", drivers.ClassOther},
		{"unknown pipelining", drivers.Config{Addrs: []string{plain.URL()}, Pipelining: "on"}, `pipelining "on" is unknown`, drivers.ClassOther},
	}
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		for _, test := range tests {
			test.cfg.IOTimeout = 20 * time.Second
			if strings.HasPrefix(test.name, "silent") {
				test.cfg.IOTimeout = 200 * time.Millisecond
			}
			var err error
			testwait.Ends(t, "Open: "+test.name, func() { _, err = d.Open(t.Context(), test.cfg) })
			if err == nil || !strings.Contains(err.Error(), test.want) || drivers.ClassOf(err) != test.is {
				t.Errorf("%s: %v (%s), want %q of class %s", test.name, err, drivers.ClassOf(err), test.want, test.is)
				continue
			}
			if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "redis: open") {
				t.Errorf("%s: %q", test.name, err)
			}
		}
	})
}

// TestOpenCancelled cancels on a server that never answers: before the connection is made, and later.
func TestOpenCancelled(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		for name, after := range map[string]time.Duration{"at once": 0, "while connected": 10 * time.Millisecond} {
			for _, scheme := range []string{"redis://", "rediss://"} {
				ctx, cancel := context.WithCancel(t.Context())
				if after == 0 {
					cancel()
				}
				defer time.AfterFunc(after, cancel).Stop()
				_, err := d.Open(ctx, drivers.Config{Addrs: []string{scheme + silent(t)}, IOTimeout: time.Minute})
				if drivers.ClassOf(err) != drivers.ClassCanceled {
					t.Errorf("%s, %s: %v (%s), want class canceled", name, scheme, err, drivers.ClassOf(err))
				}
			}
		}
	})
}

// TestConns checks that the libraries use the configured number of connections.
func TestConns(t *testing.T) {
	tests := []struct {
		driver     string
		pipelining drivers.Pipelining
		conns      int
		refused    bool
	}{
		{"go-redis", "off", 3, false}, {"go-redis", "auto", 1, false}, {"go-redis", "auto", 2, false},
		{"rueidis", "off", 3, false}, {"rueidis", "auto", 1, false}, {"rueidis", "auto", 4, false},
		{"rueidis", "auto", 3, true}, {"rueidis", "auto", 512, true}, {"rueidis", "", -1, true},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.driver, test.pipelining, test.conns), func(t *testing.T) {
			cfg := drivers.Config{Addrs: plainRedis(t), Pipelining: test.pipelining, Conns: test.conns, Clients: 32}
			d, _ := drivers.Lookup(test.driver)
			s, err := d.Open(t.Context(), cfg)
			if test.refused {
				if err == nil || !strings.Contains(err.Error(), "give 1, 2, 4, 8") {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			var group sync.WaitGroup
			for i := range cfg.Clients {
				a := session(t, s, i)
				group.Go(func() {
					for range 20 {
						l := drivers.Lease{Key: fmt.Sprint(i), TTL: time.Minute}
						if held, err := a.Try(t.Context(), &l); err != nil || !held {
							t.Errorf("Try = %v, %v", held, err)
							return
						}
						if owned, err := a.Release(t.Context(), &l); err != nil || !owned {
							t.Errorf("Release = %v, %v", owned, err)
							return
						}
					}
				})
			}
			group.Wait()
			server, _, err := s.(drivers.Inspector).Inspect(t.Context())
			most := test.conns
			if test.driver == "rueidis" && test.pipelining == "off" {
				most++ // the one that it opens first and keeps for pipelining
			}
			if err != nil || server.Connected > most {
				t.Errorf("%d connections, %v, want %d at most", server.Connected, err, most)
			}
		})
	}
}
