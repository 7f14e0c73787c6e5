// Package metric is the table of metrics: each number that a record, a cell or a class of clients has, with its unit and what
// is better. Tables, pages, exports, thresholds, comparisons and histories loop over it, so that all mean the same by
// "acquire.p99". A new row is all that a new metric of a record takes.
package metric

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

// Better is the direction in which a metric improves.
type Better string

const (
	Neither Better = "" // a property of the load: a change is a change
	Higher  Better = "higher"
	Lower   Better = "lower"
)

// Group is the question that a metric answers.
type Group int

const (
	Speed Group = iota // how fast, and how long a wait
	Fairness
	Safety
	Outcomes // of acquisitions
	Cost     // of one lock
	Machine  // what lockbench itself used
)

// Metric is one number that a record has, or has not. How those of several trials become one is up to package stats.
type Metric struct {
	Name   string
	Group  Group
	Unit   *Unit
	Better Better
	About  string // half a line
	Label  string // in tables and pages, where the group is clear; empty: Name

	// Column is the metric's place in the table of cells, nil if it has none.
	Column *Column

	of func(results.Figures) float64
}

// Column is how the table of cells shows a metric.
type Column struct {
	Group, Title string // the two lines of its head
	Unit         *Unit  // nil: the metric's own
	Drop         int    // columns that do not fit are dropped from the highest on; 0: never
	Classes      bool   // classes of clients have it as well

	// Only reports whether a cell has the metric at all. The column is there if any cell has it; nil: always.
	Only func(*results.Cell) bool
}

// Of returns the metric of f in the base unit. It is NaN if f does not know it, or if it is a quantile of too few values (see
// results.Enough).
func (m *Metric) Of(f results.Figures) float64 { return m.of(f) }

// Values returns the metric of each trial, NaN where it is not known.
func (m *Metric) Values(trials []*results.Record) []float64 {
	values := make([]float64, len(trials))
	for i, r := range trials {
		values[i] = m.of(r.Figures())
	}
	return values
}

// Title returns the name of m in tables and pages.
func (m *Metric) Title() string {
	if m.Label == "" {
		return m.Name
	}
	return m.Label
}

// WhyUnknown returns the likely reason why no trial knows m; empty if there is none that is likelier than others.
func (m *Metric) WhyUnknown() string {
	distribution, _, isQuantile := strings.Cut(m.Name, ".")
	switch {
	case m.Group == Safety:
		return "the oracle was off"
	case slices.Contains([]results.Metric{results.Response, results.Lag, results.Backlog}, results.Metric(distribution)):
		return "only an open loop has it"
	case isQuantile:
		return "there were too few values, or none; a longer -duration gives more"
	}
	return ""
}

// All returns all metrics in the order in which they are read: how fast, how fair, how safe, what it costs.
func All() []*Metric { return slices.Clone(table) }

// Names returns the names of all metrics.
func Names() (names []string) {
	for _, m := range table {
		names = append(names, m.Name)
	}
	return names
}

// Of returns the metrics of a group.
func Of(g Group) []*Metric {
	return slices.DeleteFunc(All(), func(m *Metric) bool { return m.Group != g })
}

// Named returns the metric of that name.
func Named(name string) (*Metric, bool) {
	i := slices.IndexFunc(table, func(m *Metric) bool { return m.Name == name })
	if i < 0 {
		return nil, false
	}
	return table[i], true
}

// Distribution is a latency that records hold as a histogram.
type Distribution struct {
	Metric results.Metric
	Title  string
	Better Better
	About  string

	columns []column // of its quantiles
}

// column is the Column of one quantile.
type column struct {
	quantile string
	Column
}

// Latency returns the distribution of m.
func Latency(m results.Metric) Distribution {
	for _, d := range Distributions {
		if d.Metric == m {
			return d
		}
	}
	return Distribution{Metric: m, Title: string(m)}
}

// metrics returns those of the distribution: its quantiles, mean and maximum.
func (d *Distribution) metrics() (all []*Metric) {
	add := func(name string, of func(results.Latency) float64) {
		m := &Metric{
			Name: string(d.Metric) + "." + name, Unit: Duration, Better: d.Better, About: d.About, Label: d.Title + " " + name,
			of: func(f results.Figures) float64 { return of(f.Latency[d.Metric]) },
		}
		for _, c := range d.columns {
			if c.quantile == name {
				c.Group, c.Title = d.Title, name
				m.Column = &c.Column
			}
		}
		all = append(all, m)
	}
	for _, q := range Quantiles {
		add(q.Name, func(l results.Latency) float64 { return l.Quantile(q.Q) })
	}
	add("mean", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Mean)) })
	add("max", func(l results.Latency) float64 { return known(l.Count > 0, float64(l.Max)) })
	return all
}

// Quantiles are those that records spell out.
var Quantiles = []struct {
	Name string
	Q    float64
}{{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}}

func known(is bool, v float64) float64 {
	if !is {
		return math.NaN()
	}
	return v
}

// Unit is what a metric is counted in, and how people and programs write it. Values are always in the base unit.
type Unit struct {
	Word    string // the base unit, where a column says it
	Suffix  string // of a metric's name in a CSV header: "_ns"
	Example string // an amount as a threshold writes it

	// Bench returns the name of a metric in Go's benchmark format and what its value is divided by for the unit that
	// benchstat scales: seconds, or bytes. nil: as it is.
	Bench func(name string) (string, float64)

	write    func(float64) string
	suffixes []suffix // of amounts in a threshold; the first that fits is taken, so that MB comes before B
}

type suffix struct {
	text   string
	factor float64
}

var (
	// PerSecond is a rate.
	PerSecond = &Unit{Word: "1/s", Example: "50k", write: format.Three, suffixes: []suffix{{"k", 1e3}, {"M", 1e6}, {"", 1}}}
	// Duration is a time in nanoseconds.
	Duration = &Unit{
		Word: "ns", Suffix: "_ns", Example: "20ms",
		Bench:    func(name string) (string, float64) { return name + "-sec", 1e9 },
		write:    func(v float64) string { return format.Duration(time.Duration(v)) },
		suffixes: []suffix{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}},
	}
	// Ratio is from 0 to 1, or a factor.
	Ratio = &Unit{
		Word: "ratio", Example: "0.9", suffixes: []suffix{{"", 1}},
		write: func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	}
	// Share is from 0 to 1, and written as a percentage.
	Share = &Unit{Word: "ratio", Example: "80%", write: format.Percent, suffixes: []suffix{{"%", 0.01}}}
	// PerLock is any amount for one granted lock.
	PerLock = &Unit{Word: "1/lock", Example: "2.5", write: format.Three, suffixes: []suffix{{"k", 1e3}, {"", 1}}}
	// Micros is microseconds of CPU time for one granted lock.
	Micros = &Unit{
		Word: "us/lock", Suffix: "_us", Example: "20us",
		Bench:    func(name string) (string, float64) { return strings.Replace(name, "/", "-sec/", 1), 1e6 },
		write:    func(v float64) string { return format.Three(v) + " µs" },
		suffixes: []suffix{{"us", 1}, {"µs", 1}, {"ms", 1e3}},
	}
	// Count is how many.
	Count = &Unit{
		Word: "count", Example: "0", suffixes: []suffix{{"k", 1e3}, {"M", 1e6}, {"", 1}},
		write: func(v float64) string { return format.Count(int64(v)) },
	}
	// Bytes is of memory.
	Bytes = &Unit{
		Word: "bytes", Suffix: "_bytes", Example: "64MB",
		Bench:    func(name string) (string, float64) { return name + "-B", 1 },
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
	if v == 0 {
		return "0"
	}
	s := u.suited(v)
	return shortest(v, s.factor) + s.text
}

// Plain returns v as people write it, without loss: 20 ms, 3,000, 80 %.
func (u *Unit) Plain(v float64) string {
	text := trailing.ReplaceAllString(u.Format(v), "$1")
	if read, ok := u.Parse(strings.NewReplacer(" ", "", ",", "").Replace(text)); ok && read == v {
		return text
	}
	s := u.suited(v)
	if slices.Contains(u.suffixes, suffix{"", 1}) {
		s = suffix{"", 1}
	}
	return strings.TrimSpace(shortest(v, s.factor) + " " + s.text)
}

// trailing finds the zeros behind a point, and the point if nothing else is behind it.
var trailing = regexp.MustCompile(`\.0+\b|(\.\d*[1-9])0+\b`)

// Rounded returns v as Parse reads it, with three significant digits or, of whole numbers, all.
func (u *Unit) Rounded(v float64) string {
	s := u.suited(v)
	n, digits := v/s.factor, 0
	for limit := 99.95; digits < 2 && math.Abs(n) < limit && n != math.Round(n); limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(n, 'f', digits, 64) + s.text
}

// suited returns the largest suffix that makes v a number from 1 on, or the smallest there is.
func (u *Unit) suited(v float64) suffix {
	list := slices.SortedStableFunc(slices.Values(u.suffixes), func(a, b suffix) int { return cmp.Compare(b.factor, a.factor) })
	for _, s := range list {
		if v >= s.factor {
			return s
		}
	}
	return list[len(list)-1]
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
