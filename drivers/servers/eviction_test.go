package servers

import (
	"strings"
	"testing"
)

func TestEvict(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		policy string
		keys   []string // to be evicted
		left   string   // how many of the three keys remain
	}{
		{"allkeys-lru", []string{"lock"}, ""},
		{"allkeys-random", []string{"lock", "other", "lasting"}, "0"},
		{"volatile-ttl", []string{"lock"}, "1"},
		{"volatile-lru", []string{"lock", "other", "lasting"}, "1"},
		{"volatile-random", nil, "1"},
		{"noeviction", []string{"lock"}, "3"},
	} {
		t.Run(tt.policy, func(t *testing.T) {
			t.Parallel()
			r := startTest(t, RedisOptions{})
			say(t, r, "SET", "lock", "v", "PX", "3600000")
			say(t, r, "SET", "other", "v", "PX", "7200000")
			say(t, r, "SET", "lasting", "v")
			if keys, err := r.KeysWith(t.Context(), "o"); err != nil || len(keys) != 2 {
				t.Errorf("keys with an o: %q, %v", keys, err)
			}
			evicted, err := r.Evict(t.Context(), tt.policy, tt.keys...)
			if err != nil {
				t.Fatal(err)
			}
			total, err := r.Evicted(t.Context())
			if err != nil || total != evicted || (evicted == 0) != (tt.policy == "noeviction") {
				t.Errorf("%d were evicted, and %d since the start, %v", evicted, total, err)
			}
			if got := say(t, r, "EXISTS", "lock"); (got == "0") != (evicted > 0) {
				t.Errorf("EXISTS lock: %s", got)
			}
			if got := say(t, r, "EXISTS", "lock", "other", "lasting"); tt.left != "" && got != tt.left {
				t.Errorf("%s of three keys are left, want %s", got, tt.left)
			}
			memory, err := r.info(t.Context(), "memory")
			if err != nil || memory["maxmemory"] != "0" || memory["maxmemory_policy"] != "noeviction" {
				t.Errorf("afterwards its limit is %s, its policy %s, %v", memory["maxmemory"], memory["maxmemory_policy"], err)
			}
			if keys := say(t, r, "INFO", "keyspace"); strings.Contains(keys, "db1:") {
				t.Errorf("fillers are left: %s", keys)
			}
		})
	}
}

func TestEvictErrors(t *testing.T) {
	t.Parallel()
	r := startTest(t, RedisOptions{})
	if _, err := r.Evict(t.Context(), "all"); err == nil || !strings.Contains(err.Error(), "maxmemory-policy") {
		t.Errorf("a policy that does not exist: %v", err)
	}
}
