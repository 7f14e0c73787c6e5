// The figures of sentences.

package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
)

// figure returns one figure of a file as people say it. Of records it reads "METRIC A / B; COMMON; LIMIT": a metric of the cell
// that A and COMMON choose, divided by that of B and COMMON. All but the metric may be missing. A limit, at least 2.5 or at most
// 100ms, makes it an error if the sentence around the figure is no longer true. Of a file of text it reads a regular expression,
// which matches once and has a group.
func figure(path, title string) (string, error) {
	if filepath.Ext(path) == ".txt" {
		return match(path, title)
	}
	parts := strings.Split(title, "; ")
	name, choice, _ := strings.Cut(parts[0], " ")
	m, known := metric.Named(name)
	if !known {
		return "", fmt.Errorf("no metric is called %q; there are %s", name, strings.Join(metric.Names(), ", "))
	}
	unit, common, limits := m.Unit, "", []string(nil)
	for _, part := range parts[1:] {
		if strings.HasPrefix(part, "at ") {
			limits = append(limits, part)
		} else {
			common += " " + part
		}
	}
	a, b, divided := strings.Cut(choice, "/ ")
	c, err := cell(path, a+common)
	if err != nil {
		return "", err
	}
	value := m.Of(c.Figures())
	if divided {
		if c, err = cell(path, b+common); err != nil {
			return "", err
		}
		value, unit = value/m.Of(c.Figures()), metric.Ratio
	}
	if math.IsNaN(value) {
		return "", fmt.Errorf("%s is not known", title)
	}
	for _, limit := range limits {
		if err := holds(value, unit, limit); err != nil {
			return "", err
		}
	}
	if divided {
		return ratio(value), nil
	}
	return unit.Format(value), nil
}

// holds checks a value against "at least N" or "at most N".
func holds(value float64, unit *metric.Unit, limit string) error {
	most, isMost := strings.CutPrefix(limit, "at most ")
	n, ok := unit.Parse(strings.TrimPrefix(most, "at least "))
	switch {
	case !ok:
		return fmt.Errorf("%q is not a limit: write at least N or at most N", limit)
	case isMost && !(value <= n), !isMost && !(value >= n):
		return fmt.Errorf("want %s, but the runs say %s", limit, unit.Format(value))
	}
	return nil
}

// ratio returns 8 %, 93 %, 105 %, 2.4 times, 18 times.
func ratio(v float64) string {
	switch {
	case v < 1.5:
		return format.Percent(v)
	case v < 9.95:
		return strconv.FormatFloat(v, 'f', 1, 64) + " times"
	}
	return strconv.FormatFloat(v, 'f', 0, 64) + " times"
}

// match returns what the only group of a regular expression matches in a file of text: a count, or a ratio if it has a fraction.
func match(path, expr string) (string, error) {
	re, err := regexp.Compile("(?m)" + expr)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	found := re.FindAllSubmatch(text, -1)
	if len(found) != 1 || len(found[0]) != 2 {
		return "", fmt.Errorf("%s must match once, and have a group", expr)
	}
	figure := string(found[0][1])
	if n, err := strconv.ParseInt(figure, 10, 64); err == nil {
		return format.Count(n), nil
	}
	if v, err := strconv.ParseFloat(figure, 64); err == nil {
		return ratio(v), nil
	}
	return figure, nil
}
