package redis

import (
	"crypto/tls"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers"
)

func TestParseTarget(t *testing.T) {
	tests := []struct {
		in, addr, network, redacted string
		user, password              string
		db                          int
	}{
		{in: "localhost", addr: "localhost:6379", network: "tcp", redacted: "redis://localhost:6379"},
		{in: "db.example:7000", addr: "db.example:7000", network: "tcp", redacted: "redis://db.example:7000"},
		{in: "[::1]:7000", addr: "[::1]:7000", network: "tcp", redacted: "redis://[::1]:7000"},
		{in: "[fe80::1%eth0]", addr: "[fe80::1%eth0]:6379", network: "tcp", redacted: "redis://[fe80::1%eth0]:6379"},
		{in: "redis://h", addr: "h:6379", network: "tcp", redacted: "redis://h:6379"},
		{in: "redis://h/", addr: "h:6379", network: "tcp", redacted: "redis://h:6379"},
		{in: "redis://h:1/3", addr: "h:1", network: "tcp", redacted: "redis://h:1/3", db: 3},
		{in: "redis://:geheim@h", addr: "h:6379", network: "tcp", redacted: "redis://h:6379", password: "geheim"},
		{in: "redis://u:p%40%2F%3a%25@h/1", addr: "h:6379", network: "tcp", redacted: "redis://h:6379/1", user: "u", password: "p@/:%", db: 1},
		{in: "redis://u:a@b@h", addr: "h:6379", network: "tcp", redacted: "redis://h:6379", user: "u", password: "a@b"},
		{in: "rediss://u:geheim@h:6380", addr: "h:6380", network: "tls", redacted: "rediss://h:6380", user: "u", password: "geheim"},
		{in: "redis://bench@h/3", addr: "h:6379", network: "tcp", redacted: "redis://h:6379/3", user: "bench", db: 3},
		{in: "redis://s:geheim@h?user=bench&master=my%20main", addr: "h:6379", network: "tcp", redacted: "redis://h:6379?master=my+main", user: "s", password: "geheim"},
		{in: "unix:///run/redis.sock", addr: "/run/redis.sock", network: "unix", redacted: "unix:///run/redis.sock"},
		{in: "unix://u:geheim@/a%20b%3f?db=2", addr: "/a b?", network: "unix", redacted: "unix:///a%20b%3F?db=2", user: "u", password: "geheim", db: 2},
	}
	for _, test := range tests {
		got, err := ParseTarget(test.in)
		if err != nil {
			t.Errorf("%s: %v", test.in, err)
			continue
		}
		if got.Addr() != test.addr || got.Network() != test.network || got.Redacted() != test.redacted ||
			got.Username != test.user || string(got.Password) != test.password || got.Database != test.db {
			t.Errorf("%s: %s %s %s %q %q %d", test.in, got.Addr(), got.Network(), got.Redacted(), got.Username, string(got.Password), got.Database)
		}
		if got.TLS != nil && got.TLS.ServerName != got.Host {
			t.Errorf("%s: certificates are checked for %q", test.in, got.TLS.ServerName)
		}
	}
}

// TestParseTargetErrors says what each error must mention: the part at fault and the remedy. All contain a password
// wherever one fits, and none may show it.
func TestParseTargetErrors(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", "write host:port"},
		{":6379", "no host: write localhost:6379"},
		{"h:0", "port of the address is not a number from 1 to 65535"},
		{"h:65536", "port"},
		{"h:geheim", "port"},
		{"h:", "port"},
		{"::1", "write an IPv6 address in brackets"},
		{"[::1", "[ without a ]"},
		{"[::1]x", "port"},
		{"[h]:1", "not an IPv6 address"},
		{"/run/geheim.sock", "write unix:///path/to.sock"},
		{"u:geheim@h", "write redis://user:password@host:port"},
		{"geheim h", "character that no host name has"},
		{"http://u:geheim@h", "other than redis://, rediss:// and unix://"},
		{"geheim://h", "other than redis://"},
		{"redis://", "no host"},
		{"redis://u:geheim@", "no host"},
		{"redis://u:geheim", "port"},
		{"redis://u:geheim@h:x", "port"},
		{"redis://u:geheim%@h", "write % as %25"},
		{"redis://u:geheim#@h", "write %23"},
		{"redis://u:ge/heim@h", "write / as %2F"},
		{"redis://u:ge?heim@h", "? as %3F"},
		{"redis://h/geheim", "database of the address is not a number"},
		{"redis://h/-1", "database"},
		{"redis://h/99999999999", "database"},
		{"redis://h?db=geheim", "write the database as /0"},
		{"rediss://h?x", "master=name"},
		{"redis://h?master=", "master=name"},
		{"redis://h?master=m&geheim=x", "master=name"},
		{"unix://", "absolute path"},
		{"unix://geheim/x", "absolute path"},
		{"unix:///", "absolute path"},
		{"unix:///x%zz", "%25"},
		{"unix:///x%00", "%25"},
		{"unix:///x?database=geheim", "write ?db=0"},
		{"unix:///x?db=geheim", "database"},
	}
	for _, test := range tests {
		_, err := ParseTarget(test.in)
		if err == nil {
			t.Errorf("%q: no error", test.in)
			continue
		}
		if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %q does not mention %q", test.in, err, test.want)
		}
		for _, secret := range []string{"geheim", "ge/heim", "ge?heim", "heim"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: %q gives the password away", test.in, err)
			}
		}
	}
}

func TestTargetOf(t *testing.T) {
	list, err := targetsOf(drivers.Config{Addrs: []string{"redis://a:b@h/1"}, Username: "u", Password: "p", Database: "7", TLS: &tls.Config{}})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if got := list[0]; got.Username != "u" || got.Password != "p" || got.Database != 7 || got.Network() != "tls" || got.TLS.ServerName != "h" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, cfg := range []drivers.Config{
		{},
		{Addrs: []string{"a", "b"}},
		{Addrs: []string{"h"}, Database: "x"},
		{Addrs: []string{"h:x"}},
		{Addrs: []string{"unix:///s"}, TLS: &tls.Config{}},
		{Topology: drivers.TopologySentinel},
		{Topology: drivers.TopologyCluster},
		{Topology: drivers.TopologyCluster, Addrs: []string{"h/1"}},
		{Topology: drivers.TopologyCluster, Addrs: []string{"redis://h/1"}},
		{Topology: drivers.TopologyCluster, Addrs: []string{"unix:///s"}},
		{Addrs: []string{"redis://h?master=m"}},
		{Topology: drivers.TopologySentinel, Addrs: []string{"redis://h?master=m", "redis://h?master=n"}},
		{Topology: drivers.TopologySentinel, Addrs: []string{"redis://:a@h", "redis://:b@h"}},
		{Topology: drivers.TopologySentinel, Addrs: []string{"redis://a:p@h", "redis://b:p@h"}},
		{Topology: drivers.TopologySentinel, Addrs: []string{"redis://h/1", "redis://h/2"}},
		{Topology: drivers.TopologySentinel, Addrs: []string{"rediss://h", "redis://h"}},
	} {
		if _, err := targetsOf(cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

// TestSentinelsOfOnePrimary: it is enough that one address says what the sentinels call the primary, and who logs in there.
func TestSentinelsOfOnePrimary(t *testing.T) {
	list, err := targetsOf(drivers.Config{Topology: drivers.TopologySentinel, Password: "p", Addrs: []string{"redis://s:q@a", "redis://s:q@b?master=main&user=bench"}})
	if err != nil || len(list) != 2 || list[0].master != "main" || list[0].user != "bench" || !list[0].apart || list[0].Username != "s" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestTargetsOfMany(t *testing.T) {
	for _, topology := range []drivers.Topology{drivers.TopologySentinel, drivers.TopologyCluster} {
		list, err := targetsOf(drivers.Config{Topology: topology, Addrs: []string{"rediss://u:p@a:1", "rediss://u:p@b:2"}})
		if err != nil || len(list) != 2 || list[0].Addr() != "a:1" || list[1].Addr() != "b:2" || list[1].TLS.ServerName != "b" || list[1].Username != "u" {
			t.Errorf("%s: %v, %v", topology, list, err)
		}
	}
}

// FuzzParseTarget checks that a target parses back from its redacted form, and that neither that nor an error shows a
// password, wherever in the address it is.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"h:1", "redis://u:%s@h/1", "rediss://:%s@[::1]:1", "unix:///a%20b?db=1", "redis://%s", "redis://u:%s@h?master=m", "unix://u:%s@/x", "a://%s?%s#%s", "%s:%s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := ParseTarget(strings.ReplaceAll(s, "%s", "gEhEiM")); err != nil && strings.Contains(err.Error(), "gEhEiM") {
			t.Errorf("%q: %q gives the password away", s, err)
		}
		first, err := ParseTarget(s)
		if err != nil {
			return
		}
		second, err := ParseTarget(first.Redacted())
		if err != nil {
			t.Fatalf("%q: its redacted form %q does not parse: %v", s, first.Redacted(), err)
		}
		if first.Addr() != second.Addr() || first.Network() != second.Network() || first.Database != second.Database || first.Redacted() != second.Redacted() {
			t.Errorf("%q: %v became %v", s, first, second)
		}
		if second.Username != "" || second.Password != "" {
			t.Errorf("%q: the redacted form has credentials", s)
		}
	})
}
