package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/drivers/testwait"
	"github.com/lockbench/lockbench/workloads/fleet/fleettest"
	"github.com/lockbench/lockbench/workloads/oracle"
)

// asFollower makes the test's own program a rank that follows: "RANK ADDRESS".
const asFollower = "FLEET_TEST_FOLLOW"

// readings is what two of the system's clock may leave open; see readMonotonic.
const readings = time.Microsecond

var clocks = Identity{Ranks: 5, Version: "v", Plans: "p"}

func init() {
	var rank int
	var addr string
	if n, _ := fmt.Sscan(os.Getenv(asFollower), &rank, &addr); n < 2 {
		return
	}
	conn, binding, err := Join(context.Background(), addr, time.Minute)
	if err == nil {
		err = Follow(context.Background(), conn, binding, rank, clocks, "secret", nil)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestClocksOfHosts knows by how much the clocks of four hosts differ from its own, exactly, and holds against it what
// the pings say. The answers of the last two hosts, or the requests to them, take longer.
func TestClocksOfHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("pings for some seconds")
	}
	bridge, hosts := fleettest.Hosts(t, 1000*time.Second+250*time.Millisecond, time.Nanosecond, 1e6*time.Second,
		7*time.Second+999_999_999)
	l := NewLeader(clocks, "secret")
	var v *Rendezvous
	if err := bridge.Do(func() (err error) {
		v, err = l.Listen(bridge.Addr+":0", t.Logf)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	dial := func() (c net.Conn, err error) {
		err = bridge.Do(func() error {
			c, err = net.Dial("tcp", v.Addr())
			return err
		})
		return c, err
	}
	slowAnswers, slowRequests := bridge.Listen(t, 0), bridge.Listen(t, 0)
	go fleettest.Relay(slowAnswers, 5*time.Millisecond, 0, dial)
	go fleettest.Relay(slowRequests, 0, 5*time.Millisecond, dial)
	for i, h := range hosts {
		addr := []string{v.Addr(), v.Addr(), slowAnswers.Addr().String(), slowRequests.Addr().String()}[i]
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", asFollower, i+1, addr))
		c.Stderr = os.Stderr
		if err := h.Do(c.Start); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := c.Wait(); err != nil {
				t.Errorf("rank %d: %v", i+1, err)
			}
		}()
	}
	defer l.Close(nil)
	if err := v.Wait(context.Background(), time.Minute); err != nil {
		t.Fatal(err)
	}
	of := map[string]bool{l.self.Clock.Of: true}
	for i, r := range l.ranks {
		var list oracle.Offsets
		testwait.Until(t, "twenty pings of the watch", func() bool {
			list = r.bounds(l.self.Clock)
			return len(list) >= 21 || r.lost() != ""
		})
		if text := r.lost(); text != "" {
			t.Fatal(text)
		}
		if of[r.Clock.Of] || r.Host != hosts[i].Name {
			t.Errorf("%s on %s reads the clock %s, as another one does", r.conn.Who, r.Host, r.Clock.Of)
		}
		of[r.Clock.Of] = true
		// Both clocks begin at zero with their processes.
		offset := r.Clock.Zero - l.self.Clock.Zero - hosts[i].Ahead
		checkBounds(t, r.conn.Who, list, func(oracle.Offset) (time.Duration, time.Duration) {
			return offset - readings, offset + readings
		})
	}
}

// TestClockDrifts pings a rank whose clock is fast by 80 ppm: no namespace has one.
func TestClockDrifts(t *testing.T) {
	if testing.Short() {
		t.Skip("pings for some seconds")
	}
	const fast, ahead = 80e-6, 5 * time.Second
	l := NewLeader(clocks, "")
	near, far := net.Pipe()
	r := l.newRank("rank", near, "", nil, near.Close)
	defer near.Close()
	go func() {
		h := hello{Identity: clocks, Rank: 1}
		for from := json.NewDecoder(far); ; {
			var asked lines.RequestHeader
			if from.Decode(&asked) != nil {
				return
			}
			now := l.clock.Now()
			_ = json.NewEncoder(far).Encode(map[string]any{
				"id": asked.ID, "rank": 1, "proof": proof("", "", 1), "hello": h, "at_ns": ahead + now + time.Duration(fast*float64(now)),
			})
		}
	}()
	if err := l.greet(context.Background(), r, silence); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "twenty pings of the watch", func() bool { return len(r.bounds(l.self.Clock)) >= 21 })
	checkBounds(t, "a fast clock", r.bounds(l.self.Clock), func(o oracle.Offset) (low, high time.Duration) {
		truth := time.Duration(float64(o.At-ahead)/(1+fast)) - o.At
		return truth - 2, truth + 2 // for what is rounded
	})
}

// checkBounds holds bounds against the truth, whose own bounds are given, and says how wide they are.
func checkBounds(t *testing.T, who string, list oracle.Offsets, truth func(oracle.Offset) (low, high time.Duration)) {
	t.Helper()
	tight := list.Tight()
	for i := range list {
		for _, o := range []oracle.Offset{list[i], tight[i]} {
			if low, high := truth(o); o.Low > high || o.High < low {
				t.Errorf("%s, sample %d: the offset is from %v to %v, and not from %v to %v", who, i, low, high, o.Low, o.High)
			}
		}
	}
	first, last := tight[0], tight[len(tight)-1]
	t.Logf("%s: %d samples in %v, bound ±%v", who, len(list), last.At-first.At, tight.Widest(first.At, last.At)/2)
	if wide := tight.Widest(first.At, last.At) / 2; wide > 50*time.Millisecond {
		t.Errorf("%s: a bound of ±%v", who, wide)
	}
}
