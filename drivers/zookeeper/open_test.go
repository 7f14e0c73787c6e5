// Addresses, and the errors of Open.
package zookeeper_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

func TestReadAddr(t *testing.T) {
	d := zookeeper(t).(drivers.Addressed)
	if d.Service() != "zookeeper" {
		t.Errorf("service %q", d.Service())
	}
	for addr, want := range map[string]string{
		"zk1":                                  "zookeeper://zk1:2181",
		"127.0.0.1:2182":                       "zookeeper://127.0.0.1:2182",
		"zk1:2181/locks/test/":                 "zookeeper://zk1:2181/locks/test",
		"zookeeper://zk1":                      "zookeeper://zk1:2181",
		"zk://zk1:2181/":                       "zookeeper://zk1:2181",
		"zookeeper://us%3Aer:s%40ret@zk1/a":    "zookeeper://zk1:2181/a",
		"zk://[::1]:2181/a":                    "zookeeper://[::1]:2181/a",
		"[::1]":                                "zookeeper://[::1]:2181",
		"zks://zk1:2281":                       "zookeepers://zk1:2281",
		"zookeepers://u:p@zk1.example:2281/it": "zookeepers://zk1.example:2281/it",
	} {
		got, err := d.ReadAddr(addr)
		if err != nil || got.Redacted != want {
			t.Errorf("%s: %q, %v, want %q", addr, got.Redacted, err, want)
			continue
		}
		network := map[bool]string{true: "tls", false: "tcp"}[strings.HasPrefix(want, "zookeepers")]
		if got.Network != network {
			t.Errorf("%s: network %q", addr, got.Network)
		}
		if password := map[bool]drivers.Secret{true: "s@ret"}[strings.Contains(addr, "s%40ret")]; password != "" && got.Password != password {
			t.Errorf("%s: the password is not known", addr)
		}
		got.Password = ""
		if again, err := d.ReadAddr(got.Redacted); err != nil || again != got {
			t.Errorf("%s: the redacted address reads as %v, %v", addr, again, err)
		}
	}
	for addr, want := range map[string]string{
		"":                           "no host",
		"redis://zk1":                "scheme",
		"zookeeper://":               "no host",
		"zk1:0":                      "port",
		"zk1:x":                      "port",
		"zk1:":                       "port",
		"zk1:99999":                  "port",
		"::1":                        "brackets",
		"[zk1]":                      "IPv6",
		"[::1":                       "",
		"zk1,zk2":                    "each server",
		"zk1?x=1":                    "each server",
		"zk1//a":                     "chroot",
		"zk1/a/../b":                 "chroot",
		"zookeeper://:secret@zk1":    "password",
		"zookeeper://u:secret%zz@z":  "%25",
		"zookeeper://u:sec/ret@zk1":  "%2F",
		"zookeeper://u:p@secret zk1": "%20",
	} {
		_, err := d.ReadAddr(addr)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want it to speak of %q", addr, err, want)
		}
	}
}

// The errors of Open say what is at fault, and never contain a password.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	conn := raw(t, z.Nodes[0])
	if err := conn.AddAuth("digest", []byte("alice:secret")); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Create("/private", nil, 0, zk.DigestACL(zk.PermAll, "alice", "secret")); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		t.Fatal(err) // with -count=2 the node exists
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	hangup := listener(t, func(conn net.Conn) {})
	talks := listener(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\n\r\n")
		io.Copy(io.Discard, conn)
	})
	deaf := listener(t, func(conn net.Conn) { io.Copy(io.Discard, conn) })
	url := z.URLs()[0]
	for name, tt := range map[string]struct {
		drivers.Config
		class drivers.Class
		want  string
	}{
		"no address":     {drivers.Config{}, "", "0 addresses"},
		"two addresses":  {drivers.Config{Addrs: []string{url, url}}, "", "topology ensemble"},
		"topology":       {drivers.Config{Addrs: []string{url}, Topology: drivers.TopologyCluster}, "", "topology cluster"},
		"lock":           {drivers.Config{Addrs: []string{url}, Lock: "magic"}, "", "unknown lock"},
		"release":        {drivers.Config{Addrs: []string{url}, Release: drivers.ReleaseLua}, "", "-release lua"},
		"half a login":   {drivers.Config{Addrs: []string{url}, Password: "secret"}, "", "user"},
		"unlike logins":  {drivers.Config{Addrs: []string{"zk://a:secret@h", "zk://b:secret@h"}, Topology: drivers.TopologyEnsemble}, "", "differ"},
		"unlike chroots": {drivers.Config{Addrs: []string{"h/a", "i/b"}, Topology: drivers.TopologyEnsemble}, "", "chroot"},
		"no server":      {drivers.Config{Addrs: []string{closed.Addr().String()}}, drivers.ClassConnect, "refused"},
		"hangs up":       {drivers.Config{Addrs: []string{hangup}}, drivers.ClassConnect, "maxClientCnxns"},
		"never answers":  {drivers.Config{Addrs: []string{deaf}}, drivers.ClassConnect, "greeted"},
		"no majority":    {drivers.Config{Addrs: []string{hangup, closed.Addr().String()}, Topology: drivers.TopologyEnsemble}, drivers.ClassConnect, "majority of its members"},
		"other service":  {drivers.Config{Addrs: []string{talks}}, drivers.ClassConnect, "greeted"},
		"no chroot":      {drivers.Config{Addrs: []string{url + "/nowhere"}}, "", "create it"},
		"not allowed":    {drivers.Config{Addrs: []string{url + "/private"}}, drivers.ClassAuth, "password"},
		"wrong password": {drivers.Config{Addrs: []string{"zk://alice:secret2@" + url[len("zookeeper://"):] + "/private"}}, drivers.ClassAuth, "another chroot"},
		"no TLS there":   {drivers.Config{Addrs: []string{url}, TLS: &tls.Config{}}, drivers.ClassConnect, "secureClientPort"},
	} {
		t.Run(name, func(t *testing.T) {
			tt.Prefix, tt.IOTimeout = "test:", time.Second
			if tt.class == drivers.ClassAuth || tt.want == "create it" {
				tt.IOTimeout = 0
			}
			svc, err := zookeeper(t).Open(t.Context(), tt.Config)
			if err == nil {
				svc.Close()
				t.Fatal("it opens")
			}
			if !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v; want it to speak of %q", err, tt.want)
			}
			if class := drivers.ClassOf(err); tt.class != "" && class != tt.class {
				t.Errorf("%v: class %s, want %s", err, class, tt.class)
			}
		})
	}
	svc := open(t, drivers.Config{
		Addrs: []string{url + "/wrong"}, Database: "private", Username: "alice", Password: "secret", Clients: 1,
	})
	s := client(t, svc, 0)
	l := hold(t, s, "test:mine")
	if _, _, err := conn.Children("/private/test:mine"); err != nil {
		t.Errorf("the chroot: %v", err)
	}
	other := raw(t, z.Nodes[0])
	if names, _, err := other.Children("/private/test:mine"); err == nil {
		t.Errorf("another client may read %v", names)
	}
	free(t, s, l)
}

// listener returns the address of a server that calls a function for each connection.
func listener(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// TLS uses Config.TLS, which the certificate is checked with. The servers here have none, so something else ends it.
func TestTLS(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	front := listener(t, func(conn net.Conn) {
		secure := tls.Server(conn, &tls.Config{Certificates: authority.TLS.Certificates})
		server, err := net.Dial("tcp", strings.TrimPrefix(z.URLs()[0], "zookeeper://"))
		if err != nil {
			return
		}
		defer server.Close()
		go func() {
			io.Copy(server, secure)
			server.Close()
		}()
		io.Copy(secure, server)
	})
	roots := x509.NewCertPool()
	roots.AddCert(authority.Certificate())
	svc := open(t, drivers.Config{Addrs: []string{front}, TLS: &tls.Config{RootCAs: roots}, Clients: 1})
	s := client(t, svc, 0)
	free(t, s, hold(t, s, "test:tls"))
	inspector, _ := drivers.As[drivers.Inspector](svc)
	if server, _, err := inspector.Inspect(t.Context()); err != nil || server.Mode != "standalone" {
		t.Errorf("Inspect: %+v, %v", server, err)
	}
	strange := drivers.Config{Addrs: []string{"zks://" + front}, IOTimeout: 20 * time.Second} // it does not take that long
	if svc, err := zookeeper(t).Open(t.Context(), strange); err == nil {
		svc.Close()
		t.Error("a certificate of an unknown authority is accepted")
	} else if !strings.Contains(err.Error(), "-tls-ca") {
		t.Errorf("%v does not speak of the certificate", err)
	} else if !strings.Contains(err.Error(), "TLS with "+front) {
		t.Errorf("%v does not name the server", err)
	}
	s = client(t, open(t, drivers.Config{Addrs: []string{front}, TLS: &tls.Config{InsecureSkipVerify: true}, Clients: 1}), 0)
	free(t, s, hold(t, s, "test:tls"))
}

// A server behind one that answers the commands of four letters by itself, or refuses them.
func TestInspect(t *testing.T) {
	t.Parallel()
	z := single.Get(t)
	for commands, want := range map[string]int{
		"%s is not executed because it is not in the whitelist.\n": 0,
		"clientPort=2181\nmaxClientCnxns=60\nmaxCnxns=0\n":         60,
		"maxClientCnxns=0\n": 0,
	} {
		front := listener(t, func(conn net.Conn) {
			first := make([]byte, 4)
			if _, err := io.ReadFull(conn, first); err != nil {
				return
			}
			if first[0] != 0 { // a command, not the length of a greeting
				if strings.Contains(commands, "%s") {
					fmt.Fprintf(conn, commands, first)
				} else {
					io.WriteString(conn, commands)
				}
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(z.URLs()[0], "zookeeper://"))
			if err != nil {
				return
			}
			defer server.Close()
			go func() {
				server.Write(first)
				io.Copy(server, conn)
				server.Close()
			}()
			io.Copy(conn, server)
		})
		svc := open(t, drivers.Config{Addrs: []string{front}, Clients: 1})
		if got := svc.Traits().MaxSessions; got != max(0, want-2) {
			t.Errorf("%q: %d sessions, want two less than %d", commands, got, want)
		}
		inspector, _ := drivers.As[drivers.Inspector](svc)
		server, usage, err := inspector.Inspect(t.Context())
		if err != nil || server.Name != "zookeeper" || usage.Commands >= 0 || server.MaxClients != want ||
			(server.ClientLimit == "maxClientCnxns") != (want > 0) {
			t.Errorf("%q: %+v, %+v, %v", commands, server, usage, err)
		}
	}
}

// A server that wants a login, and takes four connections, says so by a code without a name and by hanging up.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	z := servertest.ZooKeeper(t, 1, servers.Options{Settings: map[string]string{
		"enforce.auth.enabled": "true", "enforce.auth.schemes": "digest", "maxClientCnxns": "4", "4lw.commands.whitelist": "srvr",
	}})
	cfg := drivers.Config{Addrs: z.URLs(), Prefix: "test:", Clients: 10, IOTimeout: 2 * time.Second}
	svc, err := zookeeper(t).Open(t.Context(), cfg)
	if err == nil {
		svc.Close()
	}
	if drivers.ClassOf(err) != drivers.ClassAuth || !strings.Contains(fmt.Sprint(err), "SASL") || strings.Contains(fmt.Sprint(err), "-124") {
		t.Errorf("without a login: %v", err)
	}
	cfg.Username, cfg.Password = "alice", "secret"
	svc = open(t, cfg)
	refused := func() error {
		for id := range cfg.Clients {
			if _, err := svc.Session(t.Context(), id); err != nil {
				return err
			}
		}
		return nil
	}
	if err := refused(); drivers.ClassOf(err) != drivers.ClassLimit || !strings.Contains(err.Error(), "maxClientCnxns") {
		t.Errorf("the fifth connection: %v", err)
	}
	if err := z.Nodes[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := refused(); err == nil || drivers.ClassOf(err) == drivers.ClassLimit {
		t.Errorf("without a server: %v", err)
	}
}
