package compare

import (
	"cmp"
	"fmt"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/stats"
)

// TooFew returns why a comparison of that many cells can show no regression, however large it is, with so many trials of a
// cell of the base and of the head, and "" if it can: its test knows the order of the trials alone, or of pairs that of their
// changes, and few of them have few orders. The remedy takes no more than most trials of the head.
func (o Options) TooFew(cells, base, head int, pairs bool, most int) string {
	alpha, list := cmp.Or(o.Alpha, DefaultAlpha), o.Thresholds
	if len(list) == 0 {
		list, _ = ParseThresholds(DefaultThresholds) // a constant
	}
	figures := map[string]bool{} // tested against relative thresholds
	for _, t := range list {
		if t.Relative {
			figures[t.Figure.Name] = true
		}
	}
	tests := cells * len(figures)
	if tests == 0 {
		return ""
	}
	each := alpha / float64(tests) // what Holm leaves to the smallest p
	least := func(head int) float64 {
		if pairs {
			return stats.MinPairsP(head)
		}
		return stats.MinP(base, head)
	}
	if least(head) < each {
		return ""
	}
	remedy := "measure the base anew, with more trials"
	for need := head; need <= most; need++ {
		if least(need) < each {
			remedy = fmt.Sprintf("take -trials %d or more", need)
			break
		}
	}
	return fmt.Sprintf("%s against %d can show no regression, however large: %s at -alpha %v want p < %.2g, and the least they can have is %.2g; %s",
		format.Plural(head, "trial"), base, format.Plural(tests, "test"), alpha, each, least(head), remedy)
}
