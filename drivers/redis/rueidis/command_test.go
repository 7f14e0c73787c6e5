package rueidis

import (
	"testing"

	"github.com/redis/rueidis"

	"github.com/lockbench/lockbench/drivers/redis"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// BenchmarkCommand is what the adapter adds to a command: with the slot of its key, which the cluster client alone asks for,
// and without.
func BenchmarkCommand(b *testing.B) {
	target, err := redis.ParseTarget(servertest.Embedded(b).URL())
	if err != nil {
		b.Fatal(err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{target.Addr()}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	args := []string{"SET", "lockbench:run:17", "0123456789abcdef012345", "NX", "PX", "30000"}
	for _, c := range []*conn{{client: client}, {client: client, cluster: true}} {
		name := "single"
		if c.cluster {
			name = "cluster"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.command(args, 1)
			}
		})
	}
}
