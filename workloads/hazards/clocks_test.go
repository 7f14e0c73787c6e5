package hazards

import (
	"fmt"
	"testing"
	"time"
)

// TestTimesAbout: a request tells a time of a clock if it has one as text, in any unit, from now to the end of a lease.
func TestTimesAbout(t *testing.T) {
	const ttl = 30 * time.Second
	now := time.Now()
	for _, off := range []time.Duration{2 * ttl, -2 * ttl} {
		clock := now.Add(off)
		end := clock.Add(ttl)
		for request, want := range map[string]int64{
			fmt.Sprint(clock.Unix()):                   1,
			fmt.Sprint(end.Unix()):                     1,
			fmt.Sprint(end.UnixMilli()):                1,
			fmt.Sprint(end.UnixMicro()):                1,
			fmt.Sprint(end.UnixNano()):                 1,
			fmt.Sprint(end.Add(time.Hour).UnixMilli()): 0,
			fmt.Sprintf("*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$17\r\n%d.123456\r\n", end.Unix()):                1,
			fmt.Sprintf("*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nPXAT\r\n$13\r\n%d", now.Add(ttl).UnixMilli()): 0,
			fmt.Sprintf("*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nPXAT\r\n$13\r\n%d", now.UnixMilli()):          0,
			"*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nPX\r\n$5\r\n30000":                                        0,
			"": 0,
		} {
			if got := timesAbout([]byte(request), clock, ttl); got != want {
				t.Errorf("%v: %q: %d times, want %d", off, request, got, want)
			}
		}
	}
}
