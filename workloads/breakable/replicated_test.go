package breakable_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/safety"
	"github.com/lockbench/lockbench/workloads/breakable"
	"github.com/lockbench/lockbench/workloads/hazards"
)

// What becomes of a lock whose primary fails over depends on which replica takes its place, and on who has acknowledged it. No
// design without a fault is judged.
func TestFailOvers(t *testing.T) {
	if testing.Short() {
		t.Skip("servers that fail over: make test-all")
	}
	const (
		fails    = safety.Fails
		survives = safety.Survives
		not      = safety.NotApplicable
	)
	var started breakable.Servers
	t.Cleanup(func() {
		if err := started.Close(); err != nil {
			t.Error(err)
		}
	})
	for hazard, locks := range map[drivers.Hazard]map[string]safety.Verdict{
		drivers.HazardFailover: {
			"rueidis set-nx": fails, "go-redis fair": fails, "rueidis@sentinel set-nx": fails, "go-redis@sentinel redisson": fails,
			"rueidis@replicated set-nx": survives, "go-redis@replicated getset": survives, "rueidis@replicated fair": not,
			"rueidis@redlock set-nx": not,
		},
		drivers.HazardWaitOne: {
			"rueidis set-nx": fails, "go-redis getset": fails, "go-redis@replicated set-nx": fails,
			"rueidis fair": not, "redislock library": not, "rueidis@sentinel set-nx": not, "rueidis@redlock set-nx": not,
		},
		drivers.HazardFenceFailover: {
			"rueidis fenced": fails, "go-redis@sentinel fenced": fails, "rueidis@replicated fenced": survives, "rueidis set-nx": not,
		},
		drivers.HazardWaitForever: {
			"rueidis set-nx": fails, "go-redis redisson": fails, "rueidis@replicated set-nx": fails,
			"rueidis fair": survives, "redislock library": survives, "rueidis@sentinel set-nx": not,
		},
		drivers.HazardOverrun: {"rueidis@replicated set-nx": not, "rueidis@sentinel set-nx": not},
	} {
		t.Run(string(hazard), func(t *testing.T) {
			t.Parallel()
			all := hazards.All()
			h := &all[slices.IndexFunc(all, func(h hazards.Hazard) bool { return h.Name == hazard })]
			var list []hazards.Lock
			for name := range locks {
				list = append(list, lockOf(t, name))
			}
			o := hazards.Options{Attempts: 1, Each: time.Minute, Prefix: "failovers:"}
			for i, c := range hazards.Run(t.Context(), h, list, &started, o) {
				want := locks[list[i].Name()]
				switch {
				case c.Verdict == safety.NoServer && os.Getenv("CI") != "true":
					t.Logf("%s: %s", list[i].Name(), c.Why)
				case c.Verdict != want, want != not && c.Listed != (want == fails):
					var story strings.Builder
					_ = safety.WriteStory(&story, &c) // never fails
					t.Errorf("%s: %s, want %s; it admits that: %v\n%s", list[i].Name(), c.Verdict, want, c.Listed, story.String())
				case want == fails && hazard == drivers.HazardWaitForever && !c.Never:
					t.Errorf("%s: it is free again", list[i].Name())
				}
			}
			if why := hazards.Placebo(t.Context(), h, &started, o); why != "" {
				t.Error(why)
			}
		})
	}
}
