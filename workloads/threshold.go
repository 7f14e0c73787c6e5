// The error threshold: how many errors are too many for a run to go on.

package workloads

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// enoughAttempts is how many acquisitions there have to be before a share of them says anything.
const enoughAttempts = 20

// MaxErrors is when a run stops because of its errors; see spec.Plan.MaxErrors. The zero value is never. Errors are
// those of acquisitions, re-entries, renewals, releases and withdrawals, warm-up included.
type MaxErrors struct {
	Count int64   // stop at that many errors; 0: do not
	Share float64 // stop when there are more of them than this share of the acquisitions; 0: do not
}

// ParseMaxErrors reads a number of errors ("100") or a share of the acquisitions ("5%"); the empty text is never. The
// error says what would be right, without the flag's name.
func ParseMaxErrors(text string) (MaxErrors, error) {
	if text == "" {
		return MaxErrors{}, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil || math.IsNaN(percent) || percent <= 0 || percent > 100 {
			return MaxErrors{}, errors.New("a share above 0% and up to 100%, or a number of errors (1 stops at the first)")
		}
		return MaxErrors{Share: percent / 100}, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return MaxErrors{}, errors.New("a number of errors from 1 (which stops at the first), or a share of the acquisitions such as 5%")
	}
	return MaxErrors{Count: n}, nil
}

// String is the one canonical spelling.
func (m MaxErrors) String() string {
	switch {
	case m.Share > 0:
		return strconv.FormatFloat(math.Round(m.Share*1e8)/1e6, 'f', -1, 64) + "%"
	case m.Count > 0:
		return strconv.FormatInt(m.Count, 10)
	}
	return ""
}

// exceeded says why a run with that many errors stops, and nothing if it goes on.
func (m MaxErrors) exceeded(failed, attempts int64) string {
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

func checkMaxErrors(text string) error {
	if _, err := ParseMaxErrors(text); err != nil {
		return refuse("max-errors", text, err.Error())
	}
	return nil
}
