// Parsers for what flags are written as: numbers, times, lists.

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

// parseInt reads a whole number, which may be grouped (1_000) and carry k or M for thousands and millions (10k).
func parseInt(s string) (int, error) {
	digits, factor := s, 1
	switch {
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "K"):
		digits, factor = s[:len(s)-1], 1_000
	case strings.HasSuffix(s, "M"):
		digits, factor = s[:len(s)-1], 1_000_000
	}
	plain, err := ungroup(digits)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(plain)
	if errors.Is(err, strconv.ErrRange) || err == nil && (n > math.MaxInt/factor || n < math.MinInt/factor) {
		return 0, errors.New("too large a number")
	}
	if err != nil {
		return 0, errNumber
	}
	return n * factor, nil
}

var errNumber = errors.New("must be a whole number such as 64, 1_000 or 10k")

// ungroup takes the underscores out of 1_000; they may only stand between digits.
func ungroup(s string) (string, error) {
	for i := range len(s) {
		if s[i] == '_' && (i == 0 || i == len(s)-1 || !digit(s[i-1]) || !digit(s[i+1])) {
			return "", errNumber
		}
	}
	return strings.ReplaceAll(s, "_", ""), nil
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// parseSeed reads a seed: any number of 64 bits.
func parseSeed(s string) (uint64, error) {
	plain, err := ungroup(s)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(plain, 0, 64)
	if err != nil {
		return 0, errors.New("must be a number from 0 to 2^64-1")
	}
	return n, nil
}

// parseTime reads a time as Go writes it. A number without a unit is refused: it means seconds to some and
// milliseconds to others.
func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err == nil {
		return d, nil
	}
	if _, numeric := strconv.ParseFloat(s, 64); numeric == nil {
		return 0, fmt.Errorf("must have a unit, as in %ss or %sms", s, s)
	}
	return 0, errors.New("must be a time such as 250us, 1.5ms, 30s or 2m")
}

func parseSwitch(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("must be true or false")
}

// The values of a switch that is an axis.
const (
	switchOff = "off"
	switchOn  = "on"
)

// parseOnOff reads one value of a switch that is an axis, in the spelling of other switches too.
func parseOnOff(s string) (bool, error) {
	switch s {
	case switchOn, "true":
		return true, nil
	case switchOff, "false":
		return false, nil
	}
	return false, errors.New("must be on, off, or both as in off,on")
}

// parseReentry reads how often a lock is acquired before it is given up. 1, which is no re-entry, is 0 in a plan.
func parseReentry(s string) (int, error) {
	n, err := parseInt(s)
	switch {
	case err != nil:
		return 0, err
	case n < 1 || n > workloads.MaxReentry:
		return 0, fmt.Errorf("must be 1 to %d", workloads.MaxReentry)
	case n == 1:
		return 0, nil
	}
	return n, nil
}

// What stands for nothing in flags that usually take something else. Plans have the zero value for it.
const (
	uniformKeys = "uniform" // -key-dist
	noShare     = "0%"      // -try-only and its like
	closedLoop  = "0"       // -rate
	neverStop   = "never"   // -max-errors
)

// parseRate reads a rate of arrivals; 0 is the closed loop.
func parseRate(s string) (spec.Rate, error) {
	if s == closedLoop {
		return spec.Rate{}, nil
	}
	return spec.ParseRate(s)
}

// parseOps reads how many acquisitions end a trial.
func parseOps(s string) (int64, error) {
	n, err := parseInt(s)
	return int64(n), err
}

// parseMaxErrors reads when errors are too many.
func parseMaxErrors(s string) (spec.MaxErrors, error) {
	if s == neverStop {
		return spec.MaxErrors{}, nil
	}
	m, err := spec.ParseMaxErrors(s)
	if err != nil {
		return m, fmt.Errorf("must be %s, or %w", neverStop, err)
	}
	return m, nil
}

// parseProbe reads how often a second a neighbour sends a request.
func parseProbe(s string) (float64, error) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !workloads.ValidProbe(f) {
		return 0, errors.New("must be " + workloads.ProbeRange)
	}
	return f, nil
}

func parseText(s string) (string, error) { return s, nil }

// partError is the fault of one value of a list.
type partError struct {
	index int
	err   error
}

func (e *partError) Error() string { return e.err.Error() }
func (e *partError) Unwrap() error { return e.err }

// parseList reads a comma list. An empty part or one that is given twice is more likely a slip than a wish.
func parseList[T comparable](s string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, errors.New("must not have an empty part")
		}
		v, err := parse(part)
		if err != nil {
			return nil, &partError{len(list), err}
		}
		if slices.Contains(list, v) {
			return nil, &partError{len(list), fmt.Errorf("must not name %s twice", part)}
		}
		list = append(list, v)
	}
	return list, nil
}

// parseParams reads NAME=VALUE+NAME=VALUE: a plus sign joins, because commas separate the values of an axis and a
// semicolon would end the shell's command. It returns them in alphabetical order, so that a set has one spelling.
func parseParams(s string) (string, error) {
	params := map[string]bool{}
	var words []string
	for word := range strings.SplitSeq(s, "+") {
		name, value, ok := strings.Cut(word, "=")
		switch {
		case !ok || name == "" || value == "":
			return "", errors.New("must be NAME=VALUE, or several of them joined by a plus sign")
		case params[name]:
			return "", fmt.Errorf("must not set %s twice", name)
		}
		params[name] = true
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, "+"), nil
}

// paramMap takes apart what parseParams has put together.
func paramMap(s string) map[string]string {
	if s == "" {
		return nil
	}
	params := map[string]string{}
	for word := range strings.SplitSeq(s, "+") {
		name, value, _ := strings.Cut(word, "=")
		params[name] = value
	}
	return params
}
