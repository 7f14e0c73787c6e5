// The error threshold: how many errors are too many for a run to go on.

package workloads

import (
	"fmt"
	"strconv"

	"github.com/lockbench/lockbench/results/spec"
)

// enoughAttempts is how many acquisitions there have to be before a share of them says anything.
const enoughAttempts = 20

// exceeded returns why a run with that many errors stops, and nothing if it goes on.
func exceeded(m spec.MaxErrors, failed, attempts int64) string {
	switch {
	case m.Count > 0 && failed >= m.Count:
		return fmt.Sprintf("stopped: %s of %s; -max-errors %s is reached", many(failed, "error"), many(attempts, "acquisition"), m)
	case m.Share > 0 && attempts >= enoughAttempts && float64(failed) > m.Share*float64(attempts):
		return fmt.Sprintf("stopped: %s of %s are over -max-errors %s", many(failed, "error"), many(attempts, "acquisition"), m)
	}
	return ""
}

// many writes a number with its noun: "1 error", "3,000 acquisitions".
func many(n int64, noun string) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if n != 1 {
		noun += "s"
	}
	return digits + " " + noun
}
