package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
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

// Of returns an objective as ParseSLO reads it, and its figure as metrics are called: "response.p99".
func (s SLO) Of(o Objective) (text, figure string) {
	figure = map[bool]string{false: "response.p", true: "acquire.p"}[s.Closed] +
		strings.TrimSuffix(spec.FormatShare(o.Quantile), "%")
	return figure + "<" + spec.Brief(o.Limit), figure
}

// Strictest returns the objective that allows the fewest late arrivals.
func (s SLO) Strictest() Objective { return s.Objectives[len(s.Objectives)-1] }

const maxLimit = time.Hour

// Above p99.99 no trial has enough arrivals, and below p50 most may be late.
var (
	quantileBelow = regexp.MustCompile(`^(response|acquire)\.p([5-9]\d)\.?(\d{0,2})\s*<([^<>=≤≥]+)$`)
	errorsBelow   = regexp.MustCompile(`^errors\s*<([^<>=≤≥]+)$`)
)

// ParseSLO reads conditions that are separated by commas, in any order: quantiles from p50 to p99.99 of the response
// (or of acquisitions, for a closed loop) that are below a time, of which there must be one at least, written p99.9 or
// p999; errors below a share; and violations=0, which changes nothing. Blanks may stand around names and values.
func ParseSLO(text string) (s SLO, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if err := s.condition(part); err != nil {
			return SLO{}, fmt.Errorf("%q: %w", part, err)
		}
	}
	if len(s.Objectives) == 0 {
		return SLO{}, errors.New("a limit of the response has to be there too, such as response.p99<20ms")
	}
	slices.SortFunc(s.Objectives, func(a, b Objective) int { return cmp.Compare(a.Quantile, b.Quantile) })
	var words []string
	for i, o := range s.Objectives {
		text, figure := s.Of(o)
		if words = append(words, text); i > 0 && o.Quantile == s.Objectives[i-1].Quantile {
			return SLO{}, fmt.Errorf("%s has two limits: leave one out", figure)
		} else if i > 0 && o.Limit <= s.Objectives[i-1].Limit {
			return SLO{}, errors.New("a lower quantile is never longer than a higher one: lower its limit")
		}
	}
	if s.HasErrors {
		words = append(words, "errors<"+spec.FormatShare(s.Errors))
	}
	s.Text = strings.Join(words, ",")
	return s, nil
}

// condition reads one condition.
func (s *SLO) condition(text string) (err error) {
	share, quantile := errorsBelow.FindStringSubmatch(text), quantileBelow.FindStringSubmatch(text)
	switch {
	case strings.ReplaceAll(text, " ", "") == "violations=0":
		return nil
	case share != nil && s.HasErrors:
		return errors.New("errors have two limits: leave one out")
	case share != nil:
		s.HasErrors = true
		s.Errors, err = spec.ParseShare(strings.TrimSpace(share[1]))
		if err == nil && (s.Errors == 0 || s.Errors == 1) {
			err = errors.New("write the share that may fail, between 0 and 100 %, such as 0.1%")
		}
		return err
	case quantile == nil:
		return errors.New("write a quantile from p50 to p99.99 and a time, or the share that may fail, as in " +
			"response.p99<20ms,errors<0.1%; with -max-clients it is acquire.p99")
	}
	o, closed := Objective{}, quantile[1] == "acquire"
	if o.Quantile, err = spec.ParseShare(quantile[2] + "." + quantile[3] + "0%"); err != nil {
		return err
	}
	o.Limit, err = spec.ParseTime(strings.TrimSpace(quantile[4]))
	switch {
	case err == nil && (o.Limit <= 0 || o.Limit > maxLimit):
		err = fmt.Errorf("the limit is a time up to %s, such as 20ms", spec.Brief(maxLimit))
	case len(s.Objectives) > 0 && closed != s.Closed:
		err = errors.New("objectives are of response, or with -max-clients of acquire, and not of both")
	}
	s.Closed, s.Objectives = closed, append(s.Objectives, o)
	return err
}
