// The error threshold: how many errors are too many for a run to go on.

package workloads

import (
	"fmt"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// enoughAttempts is how many acquisitions there have to be before a share of them says anything.
const enoughAttempts = 20

// exceeded returns why a run with that many errors stops, and nothing if it goes on.
func exceeded(m spec.MaxErrors, failed, attempts int64) string {
	switch {
	case m.Count > 0 && failed >= m.Count:
		return fmt.Sprintf("stopped: %s of %s; -max-errors %s is reached", format.Plural(failed, "error"), format.Plural(attempts, "acquisition"), m)
	case m.Share > 0 && attempts >= enoughAttempts && float64(failed) > m.Share*float64(attempts):
		return fmt.Sprintf("stopped: %s of %s are over -max-errors %s", format.Plural(failed, "error"), format.Plural(attempts, "acquisition"), m)
	}
	return ""
}
