package redis_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// pipelinings are the ways to send of both libraries.
var pipelinings = []drivers.Pipelining{drivers.PipeliningAuto, drivers.PipeliningOff}

// TestDeadline stops the server: a request must return at its context's deadline, and not at the I/O time-out, which
// is set far beyond. The bound leaves room for a busy machine; without the deadline it would be 30 s.
func TestDeadline(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t)
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.url()}, Pipelining: pipelining, IOTimeout: 30 * time.Second})
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
					start := time.Now()
					held, err := a.Try(ctx, &leases[i])
					if took := time.Since(start); took > 5*time.Second {
						t.Errorf("%s: returned after %v", pipelining, took)
					}
					if held || drivers.ClassOf(err) != drivers.ClassTimeout || drivers.Refused(err) {
						t.Errorf("%s: %v, %v (%s), want class timeout", pipelining, held, err, drivers.ClassOf(err))
					}
				})
			}
			group.Wait()
			server.signal(syscall.SIGCONT)
			for i, a := range sessions { // whatever arrived late is still released by the owner that was set before
				eventually(t, "the lock is free again", func() bool {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
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
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t)
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.url()}, Pipelining: pipelining, Conns: 1, IOTimeout: 100 * time.Millisecond})
			a := session(t, s, 0)
			l := drivers.Lease{Key: string(pipelining), TTL: time.Minute} // which may be taken late, when the server goes on
			try(t, a, &l, true)
			release(t, a, &l, true)
			server.signal(syscall.SIGSTOP)
			start := time.Now()
			ctx, cancel := context.WithCancel(t.Context()) // can be cancelled but has no deadline, like that of a run
			if _, err := a.Try(ctx, &l); drivers.ClassOf(err) != drivers.ClassTimeout {
				t.Errorf("%s: %v (%s), want class timeout", pipelining, err, drivers.ClassOf(err))
			}
			cancel()
			if took := time.Since(start); took > 2*time.Second {
				t.Errorf("%s: returned after %v", pipelining, took)
			}
			server.signal(syscall.SIGCONT)
			eventually(t, "the server answers again", func() bool { return s.(drivers.Pinger).Ping(t.Context()) == nil })
		}
	})
}

// TestKilledServer goes through the death of a server and its return.
func TestKilledServer(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t)
		for _, pipelining := range pipelinings {
			s := open(t, driver, drivers.Config{Addrs: []string{server.url()}, Pipelining: pipelining, Conns: 2})
			a := session(t, s, 0)
			l := drivers.Lease{Key: "k", TTL: time.Minute}
			try(t, a, &l, true)
			server.kill()
			eventually(t, "connections are refused", func() bool {
				_, err := a.Release(t.Context(), &l)
				switch class := drivers.ClassOf(err); class {
				case drivers.ClassConnect:
					if !drivers.Refused(err) {
						t.Errorf("%s: %v is not refused", pipelining, err)
					}
					return true
				case drivers.ClassClosed:
					return false
				default:
					t.Fatalf("%s: %v (%s)", pipelining, err, class)
					return false
				}
			})
			server.start()
			eventually(t, "the lock works again", func() bool {
				l := drivers.Lease{Key: "k2", TTL: time.Minute}
				held, err := a.Try(t.Context(), &l)
				if err != nil {
					return false
				}
				release(t, a, &l, held)
				return held
			})
		}
	})
}

// TestRefused asks for what a server refuses. Each error must have the class that says that nothing happened, and the
// next request must find that so.
func TestRefused(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, "--requirepass", "geheim")
		cfg := drivers.Config{Addrs: []string{server.url()}, Password: "geheim", Wakes: true}
		s := open(t, driver, cfg)
		a := session(t, s, 0)
		rdb := bare(t, drivers.Config{Addrs: []string{"unix://:geheim@" + server.socket()}})
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
			if drivers.ClassOf(err) != class || !drivers.Refused(err) {
				t.Errorf("%s: %v (%s), want class %s", what, err, drivers.ClassOf(err), class)
			}
			if err != nil && strings.Contains(err.Error(), "geheim") {
				t.Errorf("%s: %v gives the password away", what, err)
			}
		}

		l := drivers.Lease{Key: "k", TTL: time.Minute}
		set("maxmemory", "1")
		_, err := a.Try(t.Context(), &l)
		check("OOM", err, drivers.ClassServer)
		set("maxmemory", "0")
		try(t, a, &l, true)

		if err := rdb.Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
			t.Fatal(err)
		}
		_, err = a.Release(t.Context(), &l)
		check("READONLY, script", err, drivers.ClassServer)
		_, err = a.Try(t.Context(), &drivers.Lease{Key: "k2", TTL: time.Minute})
		check("READONLY, SET", err, drivers.ClassServer)
		if err := rdb.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
			t.Fatal(err)
		}
		release(t, a, &l, true)

		if err := rdb.Do(t.Context(), "LPUSH", "list", "x").Err(); err != nil {
			t.Fatal(err)
		}
		_, err = a.Release(t.Context(), &drivers.Lease{Key: "list", Owner: "x"})
		check("WRONGTYPE", err, drivers.ClassServer)

		// The password changes; connections made afterwards are turned away.
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

// TestWrongPasswordLater lets the connections break after the password has changed: the library, and not the first
// greeting, is turned away.
func TestWrongPasswordLater(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t, "--requirepass", "geheim")
		s := open(t, driver, drivers.Config{Addrs: []string{server.url()}, Password: "geheim", Conns: 1})
		a := session(t, s, 0)
		l := drivers.Lease{Key: "k", TTL: time.Minute}
		try(t, a, &l, true)
		rdb := bare(t, drivers.Config{Addrs: []string{server.url()}})
		conn := rdb.Conn()
		defer conn.Close()
		for _, command := range [][]any{{"AUTH", "geheim"}, {"CONFIG", "SET", "requirepass", "another"}, {"CLIENT", "KILL", "SKIPME", "yes"}} {
			if err := conn.Do(t.Context(), command...).Err(); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the library is turned away", func() bool {
			_, err := a.Release(t.Context(), &l)
			switch class := drivers.ClassOf(err); class {
			case drivers.ClassAuth:
				return drivers.Refused(err)
			case drivers.ClassClosed: // the broken connection, seen first
				return false
			default:
				t.Fatalf("%v (%s)", err, class)
				return false
			}
		})
	})
}

// silent accepts connections and never answers.
func silent(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		accepting.Wait()
	})
	return ln.Addr().String()
}

// talker answers every connection with one text after it has heard something, and hangs up.
func talker(t *testing.T, text string) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 512))
			conn.Write([]byte(text))
			conn.Close()
		}
	})
	t.Cleanup(func() {
		ln.Close()
		accepting.Wait()
	})
	return ln.Addr().String()
}

func refusedAddr(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// certificate makes a certificate for 127.0.0.1 in dir, and a pool that trusts it.
func certificate(t *testing.T, dir string) (certFile, keyFile string, pool *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(certFile, certPEM, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600); err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AppendCertsFromPEM(certPEM)
	return certFile, keyFile, pool
}

// TestTLS locks over TLS, and does not when the certificate is not trusted.
func TestTLS(t *testing.T) {
	certFile, keyFile, trusted := certificate(t, t.TempDir())
	_, port, _ := net.SplitHostPort(refusedAddr(t))
	startRedis(t, "--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-auth-clients", "no", "--tls-ca-cert-file", certFile)
	addr := "127.0.0.1:" + port
	forBoth(t, func(t *testing.T, driver string) {
		s := open(t, driver, drivers.Config{Addrs: []string{addr}, TLS: &tls.Config{RootCAs: trusted}, Wakes: true})
		var w woken
		add(t, listen(t, s, &w), "k")
		handOver(t, session(t, s, 0), "k")
		eventually(t, "k wakes", func() bool { return w.count("k") == 1 })

		d, _ := drivers.Lookup(driver)
		_, err := d.Open(t.Context(), drivers.Config{Addrs: []string{"rediss://" + addr}})
		if err == nil || !strings.Contains(err.Error(), "certificate") || drivers.ClassOf(err) != drivers.ClassConnect {
			t.Errorf("a certificate that no one trusts: %v", err)
		}
		_, err = d.Open(t.Context(), drivers.Config{Addrs: []string{addr}, IOTimeout: time.Second})
		if err == nil || !strings.Contains(err.Error(), "write rediss:// in place of redis://") {
			t.Errorf("plain to a TLS port: %v", err)
		}
	})
}

// TestOpenErrors opens what is no Redis server, or not ours. Each yields one sentence that says what to do.
func TestOpenErrors(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	_, port, _ := net.SplitHostPort(refusedAddr(t))
	plain := startRedis(t, "--port", port, "--bind", "127.0.0.1")
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
		{"silent with TLS", drivers.Config{Addrs: []string{"rediss://" + silent(t)}}, "no answer to the TLS handshake", drivers.ClassConnect},
		{"TLS to a plain port", drivers.Config{Addrs: []string{"rediss://127.0.0.1:" + port}}, "redis:// in place of rediss://", drivers.ClassConnect},
		{"no such database", drivers.Config{Addrs: []string{plain.url() + "?db=99"}}, "DB index is out of range", drivers.ClassServer},
		{"password not wanted", drivers.Config{Addrs: []string{plain.url()}, Password: "geheim"}, "AUTH", drivers.ClassServer},
		{"unknown user", drivers.Config{Addrs: []string{plain.url()}, Username: "u", Password: "geheim"}, "rejects the user or the password", drivers.ClassAuth},
		{"bad address", drivers.Config{Addrs: []string{"redis://u:geheim@h:x"}}, "port", drivers.ClassOther},
		{"bad lock", drivers.Config{Lock: "mutex", Addrs: []string{plain.url()}}, `unknown lock "mutex"; there are set-nx, setnx`, drivers.ClassOther},
		{"negative pool", drivers.Config{Addrs: []string{plain.url()}, Pipelining: "off", Conns: -1}, "-1 connections", drivers.ClassOther},
		{"unknown pipelining", drivers.Config{Addrs: []string{plain.url()}, Pipelining: "on"}, `pipelining "on" is unknown`, drivers.ClassOther},
		{"delay without pipelining", drivers.Config{Addrs: []string{plain.url()}, Pipelining: "off", FlushDelay: 1}, "flush delay needs pipelining", drivers.ClassOther},
	}
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		for _, test := range tests {
			test.cfg.IOTimeout = 200 * time.Millisecond
			start := time.Now()
			_, err := d.Open(t.Context(), test.cfg)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%s: took %v", test.name, took)
			}
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

// TestOpenCancelled withdraws from a server that never answers.
func TestOpenCancelled(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		d, _ := drivers.Lookup(driver)
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(10*time.Millisecond, cancel).Stop()
		_, err := d.Open(ctx, drivers.Config{Addrs: []string{silent(t)}, IOTimeout: time.Minute})
		if drivers.ClassOf(err) != drivers.ClassCanceled {
			t.Errorf("%v (%s), want class canceled", err, drivers.ClassOf(err))
		}
	})
}

// TestCloseOnHungServer gives everything back although nothing is answered.
func TestCloseOnHungServer(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		server := startRedis(t)
		d, _ := drivers.Lookup(driver)
		s, err := d.Open(t.Context(), drivers.Config{Addrs: []string{server.url()}, Wakes: true, IOTimeout: 200 * time.Millisecond, Conns: 1})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.(drivers.Subscriber).Listen(t.Context(), func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		add(t, l, "k")
		try(t, session(t, s, 0), &drivers.Lease{Key: "k", TTL: time.Minute}, true)
		server.signal(syscall.SIGSTOP)
		start := time.Now()
		s.Close()
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("Close took %v", took)
		}
		server.signal(syscall.SIGCONT)
	})
}
