// Whether holds lasted as long as they were asked to.

package results

import (
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

const (
	// holdTolerance is the part, a tenth, by which two lengths of holds may differ and still count as the same.
	holdTolerance = 10

	// fewHolds are too few for a median, and fewDrawn for the mean of lengths that are drawn: those of a lognormal
	// distribution whose p99 is 20 times its median scatter by twice their mean.
	fewHolds = 10
	fewDrawn = 10_000
)

// Lasted returns how long the holds of a load lasted, from their latencies: the median if all were asked to last as
// long, which a pause of the machine does not move, and the mean if their lengths were drawn. It returns 0 if the load
// has no holds, or too few to tell.
func Lasted(l *spec.Load, holds Latency) time.Duration {
	switch {
	case l.HoldTimes().IsZero():
		return 0
	case l.HoldDist.IsZero() && holds.Count >= fewHolds:
		return holds.P50
	case !l.HoldDist.IsZero() && holds.Count >= fewDrawn:
		return holds.Mean
	}
	return 0
}

// Apart reports whether two lengths of holds or thinks differ by more than 10 % of the first. A length of 0 is not known.
func Apart(asked, lasted time.Duration) bool {
	return asked > 0 && lasted > 0 && (lasted-asked).Abs() > asked/holdTolerance
}

// HoldWarning is the format of the warning of a record whose holds did not last as long as they were asked to: how long they were
// to last, how long they did, and whether that is the median or the mean.
const HoldWarning = "holds of %s lasted %s (%s): the figures are those of such holds"

// IsHoldWarning reports whether a warning is a HoldWarning, of all clients.
func IsHoldWarning(warning string) bool {
	return strings.HasPrefix(warning, "holds of ") && strings.HasSuffix(warning, HoldWarning[strings.LastIndex(HoldWarning, ":"):])
}

// HoldsLasted returns how long the holds of each group of clients lasted, in the order of Plan.Groups.
func (r *Record) HoldsLasted() []time.Duration {
	groups := r.Plan.Groups()
	lasted := make([]time.Duration, len(groups))
	for i := range groups {
		holds := r.Latency[Hold]
		if len(r.Plan.Classes) > 0 {
			if i >= len(r.Classes) {
				break
			}
			holds = r.Classes[i].Latency[Hold]
		}
		lasted[i] = Lasted(&groups[i].Load, holds)
	}
	return lasted
}
