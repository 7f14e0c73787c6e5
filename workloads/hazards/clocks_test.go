package hazards

import (
	"fmt"
	"testing"
	"time"
)

// TestTimesAfter: a request tells a time if it has one as text, in any unit.
func TestTimesAfter(t *testing.T) {
	now := time.Now()
	late := now.Add(time.Minute)
	for request, want := range map[string]int64{
		fmt.Sprint(late.Unix()):      1,
		fmt.Sprint(late.UnixMilli()): 1,
		fmt.Sprint(late.UnixMicro()): 1,
		fmt.Sprint(late.UnixNano()):  1,
		fmt.Sprintf("*3\r\n$5\r\nSETNX\r\n$1\r\nk\r\n$17\r\n%d.123456\r\n", late.Unix()):      1,
		fmt.Sprintf("*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nPXAT\r\n$13\r\n%d", now.UnixMilli()): 0,
		"*5\r\n$3\r\nSET\r\n$1\r\nk\r\n$2\r\nPX\r\n$5\r\n30000":                               0,
		"": 0,
	} {
		if got := timesAfter([]byte(request), now.Add(30*time.Second)); got != want {
			t.Errorf("%q: %d times, want %d", request, got, want)
		}
	}
}
