package servers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRedisConf(t *testing.T) {
	for _, tt := range []struct {
		golden string
		o      RedisOptions
		port   *port
	}{
		{golden: "unix.conf"},
		{golden: "tcp.conf", port: &port{number: 7000}, o: RedisOptions{Config: map[string]string{"save": "900 1", "Appendonly": "yes"}}},
		{golden: "tls.conf", port: &port{number: 7000}, o: RedisOptions{TLS: true, Username: "alice", Password: "secret"}},
		{golden: "strict.conf", o: RedisOptions{Durability: Strict}},
		{golden: "password.conf", o: RedisOptions{Password: "secret", Config: map[string]string{"maxclients": "100"}}},
	} {
		got, err := redisConf(tt.o, "/private dir", tt.port)
		if err != nil {
			t.Errorf("%s: %v", tt.golden, err)
			continue
		}
		file := filepath.Join("testdata", tt.golden)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.golden, got, want)
		}
	}
}

// No name, value, user or password can add a line to the file, and the file never contains the password.
func FuzzRedisConf(f *testing.F) {
	f.Add("maxclients", "100", "alice", "secret")
	f.Add("save\nport", "1\r\nport 2", "a\nuser b on nopass", "#")
	f.Add("", "", "default", "0")
	f.Fuzz(func(t *testing.T, name, value, username, password string) {
		o := RedisOptions{Username: username, Password: password, Config: map[string]string{name: value}}
		conf, err := redisConf(o, "/d", nil)
		if err != nil {
			return
		}
		plain, err := redisConf(RedisOptions{Username: "u", Password: "p", Config: map[string]string{"maxclients": "1"}}, "/d", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, limit := strings.Count(conf, "\n"), strings.Count(plain, "\n"); got > limit {
			t.Errorf("%d lines, expected no more than %d:\n%s", got, limit, conf)
		}
		users, err := redisUsers(o)
		// A password of hexadecimal digits can occur in the hash by chance.
		if err == nil && strings.Trim(password, "0123456789abcdef") != "" && !strings.Contains("user default off on #~* &* +@all\n"+username, password) && strings.Contains(users, password) {
			t.Errorf("%q holds the password %q", users, password)
		}
	})
}
