package redis_test

import (
	"testing"

	"github.com/lockbench/lockbench/drivers"
	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/quorum"
)

// Every driver over Redis parses addresses alike, including a quorum of its nodes.
func TestAddressed(t *testing.T) {
	for _, name := range []string{"go-redis", "rueidis", "redsync", "redislock", "rueidislock"} {
		d, err := drivers.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range []drivers.Driver{d, quorum.Driver{Node: d.(quorum.Node)}} {
			a, ok := d.(drivers.Addressed)
			if !ok || a.Service() != "redis" {
				t.Errorf("%s: %T reads no addresses of redis", name, d)
				continue
			}
			want := drivers.Addr{Redacted: "rediss://h:6379/2", Network: "tls", Password: "s3cret"}
			if got, err := a.ReadAddr("rediss://me:s3cret@h/2"); err != nil || got != want {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			if _, err := a.ReadAddr("redis://me:s3cret@h:x"); err == nil || err.Error() != "the port of the address is not a number from 1 to 65535" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
