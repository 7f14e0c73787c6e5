package compare

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ParseAlpha reads a probability: 0.05 or 5%.
func ParseAlpha(s string) (float64, error) {
	v, percent, err := parseShare(s)
	if err != nil || !(v > 0 && v <= 0.5) {
		return 0, errors.New("must be above 0 and not above 0.5, as 0.05 or 5%" + mistaken(s, v, percent, err))
	}
	return v, checkPercent(s, v, percent)
}

// ParseMinEffect reads a least effect: 2% or 0.02.
func ParseMinEffect(s string) (float64, error) {
	v, percent, err := parseShare(s)
	if err != nil || !(v > 0 && v < 1) {
		return 0, errors.New("must be above 0 and below 100%, as 2% or 0.02" + mistaken(s, v, percent, err))
	}
	return v, checkPercent(s, v, percent)
}

// checkPercent refuses percentages up to 0.1%: that 0.05% is 0.0005 is right, and nearly everyone who writes it means 0.05.
// Whoever does not can leave the sign out.
func checkPercent(s string, v float64, percent bool) error {
	if !percent || v > 0.001 {
		return nil
	}
	return fmt.Errorf("%s is %s: write %s or %s%% if that was meant, and %s if not", s, plainly(v), plainly(100*v), plainly(10_000*v), plainly(v))
}

// mistaken says what a number stands for that was probably meant as a percentage; nothing if it was not.
func mistaken(s string, v float64, percent bool, err error) string {
	if err != nil || percent || !(v >= 1 && v < 100) {
		return ""
	}
	return fmt.Sprintf("; %s without a %% sign is %s", s, plainly(100*v)+"%")
}

// plainly writes a number without an exponent and without what binary fractions add to it.
func plainly(v float64) string {
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64) // of our own making
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// parseShare reads a share: 0.05 or 5%.
func parseShare(s string) (v float64, percent bool, err error) {
	number, percent := strings.CutSuffix(s, "%")
	v, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	return v, percent, err
}
