package progress

import (
	"testing"
	"time"

	"github.com/lockbench/lockbench/results/format"
)

func TestSeconds(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "0s", 400 * time.Millisecond: "0s", 59 * time.Second: "59s", time.Minute: "1m", 90 * time.Second: "1m30s",
		100 * time.Second: "1m40s", 2 * time.Hour: "2h0m", 3601 * time.Second: "1h0m1s", 10 * time.Minute: "10m",
	} {
		if got := Seconds(in); got != want {
			t.Errorf("%v is %q, want %q", in, got, want)
		}
	}
	for in, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := format.Count(in); got != want {
			t.Errorf("%d is %q, want %q", in, got, want)
		}
	}
}
