package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lockbench/lockbench/results/spec"
)

// SLO is what must be true of the arrivals, written like "response.p99<20ms,errors<0.1%". Mutual exclusion is always part
// of it.
type SLO struct {
	Objectives []Objective // of the response, the strictest quantile last
	Errors     float64     // share of the arrivals that may end in an error or without an answer; 0 if none is given: see HasErrors
	HasErrors  bool
	Text       string // the canonical spelling
}

// Objective is a quantile of the response that must be below a limit: a share of 1−Quantile of the arrivals may take longer.
type Objective struct {
	Quantile float64 // 0.99
	Limit    time.Duration
}

// Allowed returns the share of the arrivals that may be late.
func (o Objective) Allowed() float64 { return 1 - o.Quantile }

// String returns the objective as ParseSLO reads it.
func (o Objective) String() string {
	return "response.p" + strings.TrimSuffix(spec.FormatShare(o.Quantile), "%") + "<" + spec.Brief(o.Limit)
}

// String returns the canonical spelling, which ParseSLO reads.
func (s SLO) String() string { return s.Text }

// Strictest returns the objective that allows the fewest late arrivals.
func (s SLO) Strictest() Objective { return s.Objectives[len(s.Objectives)-1] }

// SLOError says what is wrong with an SLO, and where.
type SLOError struct {
	Column int    // from 1, in characters
	What   string // what is wrong, and what would be right
}

func (e *SLOError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.What) }

const (
	minQuantile = 0.5    // below it, most arrivals may be late
	maxQuantile = 0.9999 // above it, no trial has enough arrivals
	maxLimit    = time.Hour

	limitForms = "response.p99<20ms and errors<0.1%"
)

// ParseSLO reads conditions that are separated by commas, in any order: quantiles of the response, from p50 to p99.99, that
// are below a time, of which there must be one at least; errors below a share; and violations=0, which changes nothing.
// Blanks may stand around names and values. The error is a *SLOError.
func ParseSLO(text string) (SLO, error) {
	p := sloParser{text: text, seen: map[string]bool{}}
	at := 0
	for part := range strings.SplitSeq(text, ",") {
		if err := p.condition(wordAt(part, at)); err != nil {
			return SLO{}, err
		}
		at += len(part) + 1
	}
	s := &p.slo
	if len(s.Objectives) == 0 {
		return SLO{}, p.fault(len(text), "a limit of the response has to be there too, such as response.p99<20ms: without one any queue would do")
	}
	slices.SortFunc(s.Objectives, func(a, b Objective) int { return cmp.Compare(a.Quantile, b.Quantile) })
	var words []string
	for _, o := range s.Objectives {
		words = append(words, o.String())
	}
	if s.HasErrors {
		words = append(words, "errors<"+spec.FormatShare(s.Errors))
	}
	s.Text = strings.Join(words, ",")
	return *s, nil
}

// word is a piece of the text, without blanks around it, and where it begins in bytes.
type word struct {
	text string
	at   int
}

func wordAt(text string, at int) word {
	left := strings.TrimLeft(text, " \t\r\n")
	return word{strings.TrimRight(left, " \t\r\n"), at + len(text) - len(left)}
}

type sloParser struct {
	text string
	slo  SLO
	seen map[string]bool // conditions, by figure
}

func (p *sloParser) fault(at int, what string, args ...any) error {
	return &SLOError{Column: utf8.RuneCountInString(p.text[:at]) + 1, What: fmt.Sprintf(what, args...)}
}

// condition reads one condition.
func (p *sloParser) condition(w word) error {
	i := strings.IndexAny(w.text, "<>=≤≥")
	switch {
	case w.text == "":
		return p.fault(w.at, "here belongs a condition such as %s", limitForms)
	case i < 0:
		return p.fault(w.at+len(w.text), "after %q belongs < and a limit, as in %s", w.text, limitForms)
	}
	name, op := wordAt(w.text[:i], w.at), word{strings.TrimLeft(w.text[i:], "<>=≤≥"), w.at + i}
	value := wordAt(op.text, w.at+len(w.text)-len(op.text))
	op.text = w.text[i : len(w.text)-len(op.text)]
	switch {
	case name.text == "violations":
		if op.text != "=" || value.text != "0" {
			return p.fault(w.at, "no violation is ever allowed: write violations=0, or leave it out")
		}
		return p.once(name)
	case op.text != "<":
		return p.fault(op.at, "limits are upper ones and written with < alone, as in %s", limitForms)
	case name.text == "errors":
		return cmp.Or(p.once(name), p.errors(value))
	}
	return p.objective(name, value)
}

// once refuses a second condition for the same figure.
func (p *sloParser) once(name word) error {
	if p.seen[name.text] {
		return p.fault(name.at, "%s has a limit already: leave one out", name.text)
	}
	p.seen[name.text] = true
	return nil
}

// errors reads the share of the arrivals that may fail.
func (p *sloParser) errors(value word) error {
	share, err := spec.ParseShare(value.text)
	switch {
	case err != nil:
		return p.fault(value.at, "the limit of errors %v", err)
	case share == 0:
		return p.fault(value.at, "nothing is below 0: write the share that may fail, such as 0.1%%")
	case share == 1:
		return p.fault(value.at, "100%% allows every arrival to fail: write the share that may, such as 0.1%%")
	}
	p.slo.Errors, p.slo.HasErrors = share, true
	return nil
}

// objective reads a quantile of the response and its limit.
func (p *sloParser) objective(name, value word) error {
	figure, quantile, _ := strings.Cut(name.text, ".")
	if figure != "response" {
		return p.fault(name.at, "no limit can be set for %q: there are quantiles of the response and a share of errors, as in %s", name.text, limitForms)
	}
	q, err := parseQuantile(quantile)
	if err != nil {
		return p.fault(name.at, "%v", err)
	}
	o := Objective{Quantile: q}
	o.Limit, err = spec.ParseTime(value.text)
	switch {
	case value.text == "":
		return p.fault(value.at, "after < belongs a time such as 20ms")
	case err != nil:
		return p.fault(value.at, "the limit of %s %v", name.text, err)
	case o.Limit <= 0:
		return p.fault(value.at, "no response takes less than that: write a time such as 20ms")
	case o.Limit > maxLimit:
		return p.fault(value.at, "no response is recorded beyond %s: write a shorter time", spec.Brief(maxLimit))
	}
	for _, other := range p.slo.Objectives {
		switch {
		case other.Quantile == q:
			return p.fault(name.at, "%s has a limit already: leave one out", name.text)
		case (other.Quantile < q) == (other.Limit >= o.Limit):
			low, high := other, o
			if q < other.Quantile {
				low, high = o, other
			}
			return p.fault(name.at, "%s says nothing beside %s, since a lower quantile is never longer: leave it out, or lower its limit", low, high)
		}
	}
	p.slo.Objectives = append(p.slo.Objectives, o)
	return nil
}

// parseQuantile reads p99, p99.9 or, as other metrics of lockbench are named, p999.
func parseQuantile(text string) (float64, error) {
	const forms = "write response.p50 to response.p99.99"
	switch text {
	case "max":
		return 0, errors.New("no trial can bound the longest of all responses: " + forms)
	case "":
		return 0, errors.New("which quantile of the response? " + forms)
	case "mean":
		return 0, errors.New("a mean hides the slow responses that an SLO is about: " + forms)
	}
	digits, ok := strings.CutPrefix(text, "p")
	if len(digits) > 2 && !strings.Contains(digits, ".") {
		digits = digits[:2] + "." + digits[2:]
	}
	share, err := spec.ParseShare(digits + "%")
	if !ok || err != nil || share < minQuantile || share > maxQuantile {
		return 0, fmt.Errorf("no quantile of the response is called %q here: %s", text, forms)
	}
	return share, nil
}
