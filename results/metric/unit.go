package metric

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results/format"
)

// Unit is what a metric is counted in, and how people and programs write it. Values are always in the base unit.
type Unit struct {
	Word     string // the base unit, where a column says it
	Example  string // an amount as a threshold writes it
	write    func(float64) string
	suffixes []suffix // of amounts in a threshold, the largest first
}

type suffix struct {
	text   string
	factor float64
}

var thousands = []suffix{{"M", 1e6}, {"k", 1e3}, {"", 1}}

var (
	// PerSecond is a rate.
	PerSecond = &Unit{Word: "1/s", Example: "50k", write: format.Three, suffixes: thousands}
	// Duration is a time in nanoseconds.
	Duration = &Unit{
		Word: "ns", Example: "20ms",
		write:    func(v float64) string { return format.Duration(time.Duration(v)) },
		suffixes: []suffix{{"m", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"µs", 1e3}, {"ns", 1}},
	}
	// Ratio is from 0 to 1, or a factor.
	Ratio = &Unit{
		Word: "ratio", Example: "0.9", suffixes: []suffix{{"", 1}},
		write: func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	}
	// Share is from 0 to 1, and written as a percentage.
	Share = &Unit{Word: "ratio", Example: "80%", write: format.Percent, suffixes: []suffix{{"%", 0.01}}}
	// PerLock is any amount for one granted lock.
	PerLock = &Unit{Word: "1/lock", Example: "2.5", write: format.Three, suffixes: thousands}
	// Micros is microseconds of CPU time for one granted lock.
	Micros = &Unit{
		Word: "us/lock", Example: "20us",
		write:    func(v float64) string { return format.Three(v) + " µs" },
		suffixes: []suffix{{"ms", 1e3}, {"us", 1}, {"µs", 1}},
	}
	// Count is how many.
	Count = &Unit{
		Word: "count", Example: "0", suffixes: thousands,
		write: func(v float64) string { return format.Count(int64(v)) },
	}
	// Bytes is of memory.
	Bytes = &Unit{
		Word: "bytes", Example: "64MB",
		write:    func(v float64) string { return format.Three(v/1e6) + " MB" },
		suffixes: []suffix{{"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}},
	}
)

// Format returns v as people read it: three significant digits in the unit that suits it, and – for NaN.
func (u *Unit) Format(v float64) string {
	if math.IsNaN(v) {
		return format.None
	}
	return u.write(v)
}

// Parse returns the amount that text is, such as 20ms. Zero needs no unit.
func (u *Unit) Parse(text string) (v float64, ok bool) {
	if v, ok := digits(text); ok && v == 0 {
		return 0, true
	}
	for _, s := range u.suffixes {
		if number, has := strings.CutSuffix(text, s.text); has {
			if v, ok := digits(number); ok {
				return times(v, s.factor), true
			}
		}
	}
	return 0, false
}

// Exact returns v as Parse reads it, without loss.
func (u *Unit) Exact(v float64) string {
	s := u.suited(v)
	return shortest(v, s.factor) + s.text
}

// Plain returns v as people write it, without loss: 20 ms, 3,000, 80 %.
func (u *Unit) Plain(v float64) string {
	if u == Duration {
		return format.Exact(time.Duration(v))
	}
	s := u.suited(v)
	switch bare := (suffix{"", 1}); {
	case !slices.Contains(u.suffixes, bare):
		return shortest(v, s.factor) + " " + strings.Replace(s.text, "us", "µs", 1)
	case v == math.Trunc(v):
		return format.Count(int64(v))
	}
	return shortest(v, 1)
}

// suited returns the largest suffix that makes v a number from 1 on, or the smallest there is.
func (u *Unit) suited(v float64) suffix {
	i := slices.IndexFunc(u.suffixes, func(s suffix) bool { return v >= s.factor })
	if i < 0 {
		i = len(u.suffixes) - 1
	}
	return u.suffixes[i]
}

// digits reads digits with a point among them, or none: no sign, no exponent, nothing that is not finite.
func digits(text string) (float64, bool) {
	if strings.Trim(text, "0123456789.") != "" || len(text) > 64 {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// times is n × factor. A hundredth is divided by: 7/100 is the number that 0.07 is, and 7 × 0.01 is the next one.
func times(n, factor float64) float64 {
	if factor < 1 {
		return n / math.Round(1/factor)
	}
	return n * factor
}

// shortest returns the shortest decimal that times the factor is v again.
func shortest(v, factor float64) string {
	n := v / factor
	for digits := range 20 {
		s := strconv.FormatFloat(n, 'f', digits, 64)
		if n, err := strconv.ParseFloat(s, 64); err == nil && times(n, factor) == v {
			return s
		}
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}
