package rueidislock

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// The library tells the server when a lease ends, by the clock of its process: what becomes of the key is what a client makes of it
// whose clock is wrong. Without PXAT it only tells how long the lease is.
func TestClockOffset(t *testing.T) {
	const ttl = time.Minute
	server := servertest.Redis(t, servers.Options{})
	for _, test := range []struct {
		name     string
		offset   time.Duration
		fallback string
		rest     time.Duration // of the key's lease, at the most; 0: the key is gone
	}{
		{"right", 0, "false", ttl},
		{"ahead", time.Hour, "false", time.Hour + ttl},
		{"behind", -time.Hour, "false", 0},
		{"relative", time.Hour, "true", ttl},
	} {
		t.Run(test.name, func(t *testing.T) {
			params := patient()
			params["fallback-setpx"] = test.fallback
			svc := openWith(t, drivers.Config{
				Prefix: "test:" + test.name, TTL: ttl, Addrs: []string{server.URL()}, Params: params, ClockOffset: test.offset,
			}).(*service)
			l := &drivers.Lease{Key: "k", TTL: ttl}
			mustTry(t, sessionOf(t, svc, 0), l, true)
			client := svc.lockers[0].interceptor.Client
			millis, err := client.Do(t.Context(), client.B().Pttl().Key(svc.key(l.Key)).Build()).AsInt64()
			if err != nil {
				t.Fatal(err)
			}
			switch rest := time.Duration(millis) * time.Millisecond; {
			case test.rest == 0 && millis != -2:
				t.Errorf("the key lasts for another %v, and was to be gone", rest)
			case test.rest > 0 && (rest > test.rest || rest < test.rest-ttl/2):
				t.Errorf("the key lasts for another %v, want %v", rest, test.rest)
			}
		})
	}
}
