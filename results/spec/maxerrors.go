// The error threshold: how many errors are too many for a run to go on.

package spec

import (
	"errors"
	"strconv"
	"strings"
)

// MaxErrors is when a run stops because of its errors. The zero value is never. Errors are
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
		m := MaxErrors{Share: percent / 100}
		if err != nil || !(m.Share > 0 && percent <= 100) {
			return MaxErrors{}, errors.New("a share above 0% and up to 100%, or a number of errors (1 stops at the first)")
		}
		return m, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return MaxErrors{}, errors.New("a number of errors from 1 (which stops at the first), or a share of the acquisitions such as 5%")
	}
	return MaxErrors{Count: n}, nil
}

// String returns the canonical spelling; empty for never.
func (m MaxErrors) String() string {
	switch {
	case m.Share > 0:
		percent, _ := strconv.ParseFloat(strconv.FormatFloat(100*m.Share, 'g', 12, 64), 64) // 7, of 0.07 × 100
		return strconv.FormatFloat(percent, 'f', -1, 64) + "%"
	case m.Count > 0:
		return strconv.FormatInt(m.Count, 10)
	}
	return ""
}

// MarshalText implements encoding.TextMarshaler.
func (m MaxErrors) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *MaxErrors) UnmarshalText(text []byte) (err error) {
	*m, err = ParseMaxErrors(string(text))
	return unread(err, "max_errors must be a number of errors from 1, or a share such as 5%")
}
