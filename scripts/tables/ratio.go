// One figure of a cell divided by that of another: the numbers in sentences.

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
)

// others are quotable figures that are not metrics.
var others = map[string]func(*results.Cell) float64{
	"owner-changes": func(c *results.Cell) float64 { return float64(c.Fairness.OwnerChanges) },
	"elapsed":       func(c *results.Cell) float64 { return c.First().Elapsed.Seconds() },
	"memory/client": func(c *results.Cell) float64 { return float64(c.Generator.Memory) / float64(c.Plan().Clients) / 1000 }, // KB
}

// named returns a metric of a whole cell by its name, or one of others; times are in milliseconds. With "each:NAME" it
// is the median over the trials: a quantile of all values together could come from a single disturbed trial.
func named(name string) (func(*results.Cell) float64, error) {
	if get := others[name]; get != nil {
		return get, nil
	}
	name, each := strings.CutPrefix(name, "each:")
	m, ok := metric.Named(name)
	if !ok {
		return nil, fmt.Errorf("no metric is called %q; there are %s", name, strings.Join(append(slices.Sorted(maps.Keys(others)), metric.Names()...), ", "))
	}
	scale := 1.0
	if m.Unit == metric.Duration {
		scale = float64(time.Millisecond)
	}
	return func(c *results.Cell) float64 {
		if each {
			return stats.Of(m.Values(c.Trials)).Median / scale
		}
		return m.Of(c.Figures()) / scale
	}, nil
}

// ratio reads "METRIC A / B; COMMON", where A, B and COMMON are words such as wait=queue that choose one cell each.
// Without B it returns the figure of A. A last "; at least 2.5" or "; at most 0.2" makes it an error if the text around
// the figure is no longer true.
func ratio(recs []*results.Record, words string) ([]byte, error) {
	parts := strings.Split(words, ";")
	name, choice, _ := strings.Cut(strings.TrimSpace(parts[0]), " ")
	get, err := named(name)
	if err != nil {
		return nil, err
	}
	common := ""
	if len(parts) > 1 {
		common = parts[1]
	}
	a, b, divided := strings.Cut(choice, "/")
	value, err := of(recs, a+" "+common, get)
	if err != nil {
		return nil, err
	}
	if divided {
		by, err := of(recs, b+" "+common, get)
		if err != nil {
			return nil, err
		}
		value /= by
	}
	for _, limit := range parts[min(2, len(parts)):] {
		if err := holds(value, strings.Fields(limit)); err != nil {
			return nil, fmt.Errorf("%s: %w", words, err)
		}
	}
	return []byte(short(value)), nil
}

// holds checks a value against "at least N" or "at most N".
func holds(value float64, limit []string) error {
	if len(limit) != 3 || limit[0] != "at" || limit[1] != "least" && limit[1] != "most" {
		return fmt.Errorf("%q is not a limit: write at least N or at most N", strings.Join(limit, " "))
	}
	n, err := strconv.ParseFloat(limit[2], 64)
	if err != nil {
		return err
	}
	if limit[1] == "least" && !(value >= n) || limit[1] == "most" && !(value <= n) {
		return fmt.Errorf("want %s, but the runs say %v", strings.Join(limit, " "), short(value))
	}
	return nil
}

// short returns three significant digits; whole numbers from 100 on, with a thousands separator; and a dash for a
// quantile of too few values.
func short(v float64) string {
	if math.IsNaN(v) {
		return format.None
	}
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return format.Count(int64(math.Round(v)))
}

// of returns the figure of the one cell that words choose.
func of(recs []*results.Record, words string, get func(*results.Cell) float64) (float64, error) {
	c, err := cell(recs, words)
	if err != nil {
		return 0, err
	}
	return get(c), nil
}

// cell returns the one cell that words choose.
func cell(recs []*results.Record, words string) (*results.Cell, error) {
	chosen, err := having(recs, strings.Fields(words))
	if err != nil {
		return nil, err
	}
	cells, ok := grouped[chosen[0]]
	if !ok || !slices.Equal(cells.of, chosen) {
		if cells.list, err = results.Group(chosen); err != nil {
			return nil, err
		}
		cells.of = chosen
		grouped[chosen[0]] = cells
	}
	if len(cells.list) != 1 {
		return nil, fmt.Errorf("%q chooses %d cells, and one is needed", strings.TrimSpace(words), len(cells.list))
	}
	return cells.list[0], nil
}

// grouped caches the cells of records by the first record: several figures of a sentence come from the same records,
// and merging their histograms takes time.
var grouped = map[*results.Record]struct {
	of   []*results.Record
	list []*results.Cell
}{}

// having returns the records whose plans have all values of words, such as clients=64, hold=1ms or lock=set-nx,fenced (one of the
// two). A name is that in the plan's JSON, without its unit; a field that the plan omits because it has its default has the
// empty value: topology=
func having(recs []*results.Record, words []string) ([]*results.Record, error) {
	if len(words) == 0 {
		return recs, nil
	}
	var chosen []*results.Record
	for _, r := range recs {
		fields, known := fieldsOf[r]
		if !known {
			var err error
			if fields, err = planFields(r); err != nil {
				return nil, err
			}
			fieldsOf[r] = fields
		}
		all := true
		for _, word := range words {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("%q: write name=value", word)
			}
			all = all && slices.Contains(strings.Split(value, ","), fields[name])
		}
		if all {
			chosen = append(chosen, r)
		}
	}
	if chosen == nil {
		return nil, fmt.Errorf("no record has %s", strings.Join(words, " "))
	}
	return chosen, nil
}

// fieldsOf caches planFields.
var fieldsOf = map[*results.Record]map[string]string{}

// planFields returns the fields of a plan as text; the name of a time loses its "_ns" and the value is written as 1ms.
func planFields(r *results.Record) (map[string]string, error) {
	text, err := json.Marshal(r.Plan)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var raw map[string]any
	if err := d.Decode(&raw); err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for name, value := range raw {
		text := fmt.Sprint(value)
		if short, isTime := strings.CutSuffix(name, "_ns"); isTime {
			ns, err := value.(json.Number).Int64()
			if err != nil {
				return nil, err
			}
			name, text = short, time.Duration(ns).String()
		}
		fields[name] = text
	}
	return fields, nil
}
