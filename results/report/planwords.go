package report

// The words of the reasons of a plan.

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
)

// PlanReason returns a reason in words, and what to do about it if there is something.
func PlanReason(a *capacity.Answer, r capacity.Reason) (why, next string) {
	level := func(v float64) string { return PlanLevel(a.Axis, v) }
	at, cores := level(r.Level), format.Three(r.Cores)+" of "+format.Plural(int(r.Of), "core")
	const (
		larger  = "give it a larger -budget"
		quieter = "let nothing else run on this machine"
	)
	say := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	switch r.Code {
	case capacity.Impossible:
		return say("the hottest key would be held for %s of the time", format.Percent(r.Share)),
			"shorten the hold, spread the load over more keys, or ask for less"
	case capacity.Rare:
		return say("a trial at %s, which is possible on paper, sees too few arrivals", at), larger
	case capacity.Untried:
		return "it was not tried", larger
	case capacity.AtMost, capacity.ServerFull:
		most := strings.TrimSuffix("it sustains "+at+" at the most: ", "it sustains "+format.None+" at the most: ")
		if r.Code == capacity.AtMost {
			return strings.TrimSuffix(most, ": "), ""
		}
		return most + "its server used " + cores, ""
	case capacity.Failing:
		return say("%s of the arrivals fail at %s, and %s may", format.Percent(r.Share), at, format.Percent(r.Allowed)), ""
	case capacity.Late:
		return say("%s of the arrivals are late at %s, and %s may be", format.Percent(r.Share), at, format.Percent(r.Allowed)), ""
	case capacity.Unproven:
		return say("too few arrivals to show that %s fail: it takes %s", format.Percent(r.Allowed), format.Count(r.N)), larger
	case capacity.Others:
		return "other programs of this machine used " + cores, quieter
	case capacity.Host:
		return "the host of this machine gave others " + cores, "use a machine whose cores are its own"
	case capacity.Machine:
		return say("this machine is too small: lockbench and its server used %s", cores), "use a larger machine, or a server elsewhere"
	case capacity.Slow:
		return say("lockbench sent %s late, and used %s", format.Duration(r.Time), cores), "allow more time, or fewer arrivals at once"
	case capacity.Within:
		return say("%s lies within its interval, %s to %s", level(a.Asked), level(r.Low), level(r.High)), larger
	case capacity.Refuted:
		return say("fresh trials at %s broke the objective", at), larger
	case capacity.Unconfirmed:
		return "the budget ended before fresh trials confirmed it", larger
	case capacity.Chance:
		return say("just above what is asked for, by chance among %d candidates", r.N), larger
	case capacity.Broken:
		return say("two clients held a key at once, %s", format.Plural(r.N, "time")), ""
	case capacity.SharedHost:
		return say("the server shared %s with lockbench", format.Plural(int(r.Of), "core")), ""
	case capacity.LeftOut:
		return say("%s left out: %s", format.Plural(r.N, "trial"), r.Text), ""
	}
	return r.Text, ""
}
