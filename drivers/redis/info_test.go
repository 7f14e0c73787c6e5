package redis

import (
	"reflect"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

func TestInfo(t *testing.T) {
	f := parseInfo("# Server\r\nredis_version:7.2.4\r\nvalkey_version:9.0.1\r\nserver_name:valkey\r\nredis_mode:cluster\r\nrun_id:abc\r\n" +
		"\r\n# Clients\r\nconnected_clients:3\r\nmaxclients:10000\r\n# Replication\r\nconnected_slaves:2\r\nslave0:ip=::1,port=1\r\n" +
		"used_cpu_sys:1.000001\r\nused_cpu_user:2.5\r\ntotal_commands_processed:42\r\ntotal_net_input_bytes:7\r\ntotal_net_output_bytes:x\r\n")
	if want := (drivers.Server{Name: "valkey", Version: "9.0.1", Mode: "cluster", RunID: "abc", Replicas: 2, MaxClients: 10000, Connected: 3}); !reflect.DeepEqual(f.server(), want) {
		t.Errorf("%+v", f.server())
	}
	if want := (drivers.Usage{CPU: 3500001 * time.Microsecond, Commands: 42, BytesIn: 7, BytesOut: -1}); f.usage() != want {
		t.Errorf("%+v", f.usage())
	}
	if f["slave0"] != "ip=::1,port=1" {
		t.Errorf("slave0 is %q", f["slave0"])
	}
}

// TestInfoOfVersions reads the INFO of old and new servers. Valkey calls the mode server_mode, and servers before Redis
// 2.8 have no net totals.
func TestInfoOfVersions(t *testing.T) {
	tests := []struct {
		text                string
		name, version, mode string
		bytesIn             int64
	}{
		{"# Server\r\nredis_version:2.6.17\r\nredis_git_sha1:00000000\r\nredis_mode:standalone\r\nused_cpu_sys:0.01\r\nused_cpu_user:0.02\r\n" +
			"# Keyspace\r\ndb0:keys=1,expires=0\r\n", "redis", "2.6.17", "standalone", -1},
		{"# Server\r\nredis_version:8.2.1\r\nredis_mode:cluster\r\nexecutable:/usr/bin/redis-server\r\ntotal_net_input_bytes:5\r\nused_cpu_sys:0.012345\r\nused_cpu_user:0.1\r\n" +
			"# Modules\r\nmodule:name=vectorset,ver=1,api=1,filters=0,usedby=[],using=[],options=[]\r\n" +
			"# Errorstats\r\nerrorstat_ERR:count=1\r\n# Keysizes\r\n", "redis", "8.2.1", "cluster", 5},
		{"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\nserver_mode:standalone\r\ntotal_net_input_bytes:5\r\n" +
			"used_cpu_sys:0.1\r\nused_cpu_user:0.1\r\n", "valkey", "8.0.1", "standalone", 5},
	}
	for _, test := range tests {
		fields := parseInfo(test.text)
		s, u := fields.server(), fields.usage()
		if s.Name != test.name || s.Version != test.version || s.Mode != test.mode || u.BytesIn != test.bytesIn || u.CPU <= 0 {
			t.Errorf("%s %s: %+v, %+v", test.name, test.version, s, u)
		}
	}
}

func TestPersistence(t *testing.T) {
	tests := []struct {
		aof, save, fsync string
		known            bool
		want             string
	}{
		{"0", "", "everysec", true, "none"},
		{"0", "60 1", "everysec", true, "rdb"},
		{"1", "", "everysec", true, "aof everysec"},
		{"1", "60 1", "no", true, "rdb + aof no"},
		{"0", "", "", false, ""}, // snapshots are unknown
		{"1", "", "", false, "aof"},
		{"", "", "", true, ""},
		{"", "60 1", "", true, ""},
	}
	for _, test := range tests {
		if got := (info{"aof_enabled": test.aof}).persistence(test.save, test.fsync, test.known); got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}

func FuzzParseInfo(f *testing.F) {
	f.Add("# Server\r\nredis_version:7.0.15\r\n\r\nused_cpu_sys:0.1\r\nused_cpu_user:99999999999\r\nmaxclients:18446744073709551615\r\n")
	f.Add("a")
	f.Fuzz(func(t *testing.T, text string) {
		fields := parseInfo(text)
		server, usage := fields.server(), fields.usage()
		if server.Replicas < 0 || server.MaxClients < 0 || server.Connected < 0 {
			t.Errorf("%+v", server)
		}
		if usage.CPU < -1 || usage.Commands < -1 || usage.BytesIn < -1 || usage.BytesOut < -1 {
			t.Errorf("%+v", usage)
		}
	})
}
