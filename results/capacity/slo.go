package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// SLO is what must be true of the arrivals, written like "response.p99<20ms,errors<0.1%". Mutual exclusion is always
// part of it.
type SLO struct {
	Objectives []Objective // the strictest quantile last
	Errors     float64     // share of the arrivals that may end in an error or without an answer; 0 if none is given
	HasErrors  bool
	Closed     bool   // the objectives are of acquisitions of a closed loop, and not of responses to arrivals
	Text       string // the canonical spelling
}

// Objective is a quantile of the time to a grant that must be below a limit: a share of 1−Quantile may take longer.
type Objective struct {
	Quantile float64 // 0.99
	Limit    time.Duration
}

// Allowed returns the share that may be late.
func (o Objective) Allowed() float64 { return 1 - o.Quantile }

// name returns the figure of the objective as metrics are called: "response.p99".
func (o Objective) name(closed bool) string {
	figure := map[bool]string{false: "response.p", true: "acquire.p"}[closed]
	return figure + strings.TrimSuffix(spec.FormatShare(o.Quantile), "%")
}

// Of returns an objective as ParseSLO reads it, and the name of its figure.
func (s SLO) Of(o Objective) (text, figure string) {
	figure = o.name(s.Closed)
	return figure + "<" + spec.Brief(o.Limit), figure
}

// Strictest returns the objective that allows the fewest late arrivals.
func (s SLO) Strictest() Objective { return s.Objectives[len(s.Objectives)-1] }

const (
	minQuantile = 0.5    // below it, most arrivals may be late
	maxQuantile = 0.9999 // above it, no trial has enough arrivals
	maxLimit    = time.Hour
)

// ParseSLO reads conditions that are separated by commas, in any order: quantiles from p50 to p99.99 of the response
// (or of acquisitions, for a closed loop) that are below a time, of which there must be one at least; errors below a
// share; and violations=0, which changes nothing. Blanks may stand around names and values.
func ParseSLO(text string) (s SLO, err error) {
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, err := s.condition(strings.TrimSpace(part))
		if err == nil && seen[name] {
			err = errors.New("has a limit already: leave one out")
		}
		if err != nil {
			return SLO{}, fmt.Errorf("%q: %w", strings.TrimSpace(part), err)
		}
		seen[name] = true
	}
	if len(s.Objectives) == 0 {
		return SLO{}, errors.New("a limit of the response has to be there too, such as response.p99<20ms")
	}
	slices.SortFunc(s.Objectives, func(a, b Objective) int { return cmp.Compare(a.Quantile, b.Quantile) })
	var words []string
	for i, o := range s.Objectives {
		if i > 0 && o.Limit <= s.Objectives[i-1].Limit {
			return SLO{}, errors.New("a lower quantile is never longer than a higher one: lower its limit")
		}
		text, _ := s.Of(o)
		words = append(words, text)
	}
	if s.HasErrors {
		words = append(words, "errors<"+spec.FormatShare(s.Errors))
	}
	s.Text = strings.Join(words, ",")
	return s, nil
}

// condition reads one condition, and returns what it is about.
func (s *SLO) condition(text string) (name string, err error) {
	name, value, less := strings.Cut(text, "<")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	switch {
	case strings.ReplaceAll(text, " ", "") == "violations=0":
		return "violations", nil
	case !less || strings.ContainsAny(name+value, "<>=≤≥"):
		return "", errors.New("write a figure, < and its upper limit, as in response.p99<20ms and errors<0.1%")
	case name == "errors":
		s.HasErrors = true
		s.Errors, err = spec.ParseShare(value)
		if err == nil && (s.Errors == 0 || s.Errors == 1) {
			err = errors.New("write the share that may fail, between 0 and 100 %, such as 0.1%")
		}
		return name, err
	}
	figure, quantile, _ := strings.Cut(name, ".")
	closed := figure == "acquire"
	if figure != "response" && !closed || len(s.Objectives) > 0 && closed != s.Closed {
		return "", errors.New("objectives are of response, or with -max-clients of acquire, and of errors")
	}
	o := Objective{}
	if o.Quantile, err = parseQuantile(quantile); err != nil {
		return "", err
	}
	if o.Limit, err = spec.ParseTime(value); err == nil && (o.Limit <= 0 || o.Limit > maxLimit) {
		err = fmt.Errorf("the limit is a time up to %s, such as 20ms", spec.Brief(maxLimit))
	}
	s.Closed, s.Objectives = closed, append(s.Objectives, o)
	return o.name(closed), err
}

// parseQuantile reads p99, p99.9 or, as other metrics of lockbench are named, p999.
func parseQuantile(text string) (float64, error) {
	digits, ok := strings.CutPrefix(text, "p")
	if len(digits) > 2 && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:]
	}
	share, err := spec.ParseShare(digits + "%")
	if !ok || err != nil || share < minQuantile || share > maxQuantile {
		return 0, fmt.Errorf("%q is no quantile that a trial can bound: write p50 to p99.99", text)
	}
	return share, nil
}
