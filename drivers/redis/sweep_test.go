// What a run leaves whose process is killed.
package redis_test

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// TestLeftoversExpire has clients that hold, were handed a lock, wait in line and have left a token to a sleeper, and
// then are gone: every key that they leave expires by itself, if the design claims Expires. The value of getset and
// setnx-steal is the expiry, which the server does not know.
func TestLeftoversExpire(t *testing.T) {
	forBoth(t, func(t *testing.T, driver string) {
		cfg := drivers.Config{Addrs: plainRedis(t), Clients: 3, Prefix: "left:", Wakes: true, Polls: true}
		rdb := bare(t, cfg)
		for _, d := range designs(t) {
			cfg.Lock, cfg.Blocks = d.Name, d.Traits.Blocks
			rdb.FlushAll(t.Context())
			s := open(t, driver, cfg)
			a, b, c := session(t, s, 0), session(t, s, 1), session(t, s, 2)
			one, two := drivers.Lease{Key: cfg.Prefix + "1", TTL: time.Minute}, drivers.Lease{Key: cfg.Prefix + "2", TTL: time.Minute}
			try(t, a, &one, true)
			if p, ok := drivers.As[drivers.Passer](a); ok {
				next := one
				if owned, err := p.Pass(t.Context(), &one, &next); !owned || err != nil {
					t.Fatalf("%s: Pass = %v, %v", d.Name, owned, err)
				}
			}
			try(t, b, &two, true)
			release(t, b, &two, true) // leaves a token
			try(t, b, &two, true)
			try(t, c, &drivers.Lease{Key: one.Key, TTL: time.Minute}, false) // a client that polls takes a place in line
			keys := rdb.Keys(t.Context(), "*").Val()
			want := 2 + map[string]int{"fair": 1, "fenced": 2}[d.Name] // the line, the counters
			if d.Traits.Blocks {
				want++ // the token
			}
			if len(keys) != want {
				t.Errorf("%s leaves %q, want %d keys", d.Name, keys, want)
			}
			for _, key := range keys {
				ttl := rdb.PTTL(t.Context(), key).Val()
				if want := d.Traits.Expires && !slices.Contains([]string{"getset", "setnx-steal"}, d.Name); ttl > 0 != want {
					t.Errorf("%s: the TTL of %s is %v, and that it has one should be %v", d.Name, key, ttl, want)
				}
			}
		}
	})
}
