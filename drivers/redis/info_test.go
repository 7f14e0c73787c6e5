package redis

import (
	"testing"
)

// TestInfo reads the INFO of servers of several kinds. Valkey calls the mode server_mode.
func TestInfo(t *testing.T) {
	tests := []struct {
		text                string
		name, version, mode string
		bytesIn             int64
		cpu                 bool // is a number that can be
	}{
		{"redis_version:7.2.4\r\nredis_mode:standalone\r\nused_cpu_sys:0.01\r\nused_cpu_user:99999999999\r\nmaxclients:18446744073709551615\r\n" +
			"total_net_input_bytes:x\r\n", "redis", "7.2.4", "standalone", -1, false},
		{"# Server\r\nredis_version:8.2.1\r\nredis_mode:cluster\r\nexecutable:/usr/bin/redis-server\r\ntotal_net_input_bytes:5\r\nused_cpu_sys:0.012345\r\nused_cpu_user:0.1\r\n" +
			"# Modules\r\nmodule:name=vectorset,ver=1,api=1,filters=0,usedby=[],using=[],options=[]\r\n" +
			"# Errorstats\r\nerrorstat_ERR:count=1\r\n# Keysizes\r\n", "redis", "8.2.1", "cluster", 5, true},
		{"# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\nserver_mode:standalone\r\ntotal_net_input_bytes:5\r\n" +
			"used_cpu_sys:0.1\r\nused_cpu_user:0.1\r\n", "valkey", "8.0.1", "standalone", 5, true},
	}
	for _, test := range tests {
		fields := parseInfo(test.text)
		s, u := fields.server(), fields.usage()
		if s.Name != test.name || s.Version != test.version || s.Mode != test.mode || u.BytesIn != test.bytesIn || u.CPU > 0 != test.cpu || s.MaxClients != 0 {
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
