package exec

import (
	"slices"
	"testing"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
)

// refusals counts what an observer is told.
type refusals int

func (r *refusals) ServiceRefused() { *r++ }

// waits is a service whose sessions wait.
type waits struct{ drivers.Service }

func (waits) Traits() drivers.Traits { return drivers.Traits{Waits: true} }

// An acquisition is a wait and nothing else, of which the adapter tells the refusals, the attempts, and that the
// library gave up.
func TestCalls(t *testing.T) {
	const isRefused = `{"event":"refused","session":1}` + "\n"
	for _, tt := range []struct {
		name, told, answer string
		again              bool
		want               wait.Attempt
		refused            refusals
		ops                []string
	}{
		{"granted at once", "", `"held":true,"tries":1`, false, wait.Attempt{Tries: 1, Held: true}, 0, []string{"wait"}},
		{"granted in the end", isRefused, `"held":true,"tries":3`, false, wait.Attempt{Tries: 3, Waits: 1, Held: true}, 1, []string{"wait"}},
		{"gave up", isRefused, `"held":false,"tries":4,"gave_up":true`, false, wait.Attempt{Tries: 4, Waits: 1, GaveUp: true}, 1, []string{"wait", "cancel"}},
		{"no attempts told", "", `"held":true`, false, wait.Attempt{Tries: 1, Waits: 1, Held: true, Guessed: true}, 0, []string{"wait"}},
		{"worth a try", "", `"held":false,"tries":1`, false, wait.Attempt{Tries: 1, Waits: 1, Held: true, Guessed: true}, 0, []string{"wait", "try", "cancel"}},
		{"called again", "", `"held":false,"tries":4,"gave_up":true`, true, wait.Attempt{Tries: 5, Waits: 1, Held: true}, 0, []string{"wait", "wait"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, end := answering(func(ops []string) (told, fields string) {
				switch op := ops[len(ops)-1]; {
				case op == "wait" && !slices.Contains(ops[:len(ops)-1], op):
					return tt.told, "," + tt.answer
				case op == "wait", op == "try":
					return "", `,"held":true,"tries":1`
				}
				return "", `,"owned":true`
			})
			c.again = tt.again
			own, err := c.session(t.Context(), claims{Traits: drivers.Traits{Waits: true}, TakesOwner: true})
			if err != nil {
				t.Fatal(err)
			}
			room, err := wait.NewRoom(t.Context(), wait.Native, waits{}, wait.Options{Calls: true})
			if err != nil {
				t.Fatal(err)
			}
			s, w, err := room.Client(own, 0)
			if err != nil {
				t.Fatal(err)
			}
			l, clock, refused := &drivers.Lease{Key: "k", TTL: time.Minute}, drivers.NewClock(), refusals(0)
			granted, err := s.Try(t.Context(), l)
			if granted || err != nil {
				t.Fatalf("a Try before the call: %v, %v", granted, err)
			}
			a, err := wait.After(t.Context(), granted, err, s, w, l, &clock, &refused)
			a.Began, a.Asked = 0, 0
			ops := end()
			if a != tt.want || err != nil || refused != tt.refused {
				t.Errorf("got %+v, %v and %d refusals,\nwant %+v and %d", a, err, refused, tt.want, tt.refused)
			}
			if want := append([]string{"session"}, tt.ops...); !slices.Equal(ops, want) {
				t.Errorf("requests %v, want %v", ops, want)
			}
		})
	}
}
