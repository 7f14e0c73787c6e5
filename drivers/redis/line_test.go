package redis

import (
	"slices"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/servers/servertest"
)

// TestKeepPlace renews places: they stay where they are in line, unless they were dropped.
func TestKeepPlace(t *testing.T) {
	for _, url := range []string{servertest.Redis(t, servers.Options{}).URL(), servertest.Embedded(t)} {
		options, err := goredis.ParseURL(url)
		if err != nil {
			t.Fatal(err)
		}
		rdb := goredis.NewClient(options)
		defer rdb.Close()
		rdb.Set(t.Context(), "k", "holder", 0)
		wait := func(owner, keep, kept string) (until string) {
			items, err := rdb.Eval(t.Context(), fairWaitScript.source, []string{"k", "line"}, owner, "5000", "inbox", keep, kept).Slice()
			if err != nil || items[0] != int64(0) || items[1] != int64(-1) {
				t.Fatalf("%v, %v", items, err)
			}
			for _, place := range rdb.LRange(t.Context(), "line", 0, -1).Val() {
				if fields := strings.Fields(place); fields[2] == owner {
					until = fields[0]
				}
			}
			return until
		}
		line := func(want ...string) {
			t.Helper()
			var got []string
			for _, place := range rdb.LRange(t.Context(), "line", 0, -1).Val() {
				fields := strings.Fields(place)
				if len(fields) != 4 || fields[1] != "5000" || fields[3] != "inbox" {
					t.Errorf("a place is %q", place)
				}
				got = append(got, fields[2])
			}
			if !slices.Equal(got, want) {
				t.Errorf("the line is %q, want %q", got, want)
			}
		}
		a := wait("a", "1000", "")
		b := wait("b", "1000", "")
		line("a", "b")
		if kept := wait("a", "0", a); kept != a {
			t.Errorf("kept until %s, want %s as before", kept, a)
		}
		if longer := wait("a", "2000", a); longer <= a {
			t.Errorf("kept until %s, want later than %s", longer, a)
		}
		line("a", "b")
		rdb.LPop(t.Context(), "line")
		rdb.LPop(t.Context(), "line")
		c := wait("c", "1000", "")
		wait("b", "1000", b)
		line("c", "b")
		wait("c", "1000", c)
		line("c", "b")
		if ttl := rdb.PTTL(t.Context(), "line").Val(); ttl <= placeTime {
			t.Errorf("the line is gone in %v, a place is kept for %v", ttl, placeTime)
		}
	}
}
