// One figure of a cell divided by that of another, which is how a sentence gets its number.

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

// besides are the figures that can be quoted and that no metric is.
var besides = map[string]func(*results.Cell) float64{
	"owner-changes": func(c *results.Cell) float64 { return float64(c.Fairness.OwnerChanges) },
	"elapsed":       func(c *results.Cell) float64 { return c.First().Elapsed.Seconds() },
	"memory/client": func(c *results.Cell) float64 { return float64(c.Generator.Memory) / float64(c.Plan().Clients) / 1000 }, // KB
}

// named returns a metric of a whole cell by its name, or one of besides; times are in milliseconds. Of "each:NAME" it is the
// median over the trials: a quantile of all values together would be that of the one trial in which the machine did something
// else.
func named(name string) (func(*results.Cell) float64, error) {
	if get := besides[name]; get != nil {
		return get, nil
	}
	name, each := strings.CutPrefix(name, "each:")
	m, ok := metric.Named(name)
	if !ok {
		return nil, fmt.Errorf("no metric is called %q; there are %s", name, strings.Join(append(slices.Sorted(maps.Keys(besides)), metric.Names()...), ", "))
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

// ratio reads "METRIC A / B; COMMON", where A, B and COMMON are words such as wait=queue that choose one cell each. With
// B left out it is the figure of A itself. A last "; at least 2.5" or "; at most 0.2" makes it an error if the text
// around the figure is no longer true.
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
		return fmt.Errorf("%q is no limit: write at least N or at most N", strings.Join(limit, " "))
	}
	n, err := strconv.ParseFloat(limit[2], 64)
	if err != nil {
		return err
	}
	if limit[1] == "least" && !(value >= n) || limit[1] == "most" && !(value <= n) {
		return fmt.Errorf("the text says %s, and the runs say %v", strings.Join(limit, " "), short(value))
	}
	return nil
}

// short writes three significant digits, a dash for a quantile of too few values, and whole numbers from 100 on with their thousands set apart.
func short(v float64) string {
	if math.IsNaN(v) {
		return format.None
	}
	if v < 100 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return format.Count(int64(math.Round(v)))
}

// of is the figure of the one cell that words choose.
func of(recs []*results.Record, words string, get func(*results.Cell) float64) (float64, error) {
	chosen, err := having(recs, strings.Fields(words))
	if err != nil {
		return 0, err
	}
	cells, ok := grouped[chosen[0]]
	if !ok || !slices.Equal(cells.of, chosen) {
		if cells.list, err = results.Group(chosen); err != nil {
			return 0, err
		}
		cells.of = chosen
		grouped[chosen[0]] = cells
	}
	if len(cells.list) != 1 {
		return 0, fmt.Errorf("%q chooses %d cells, and one is needed", strings.TrimSpace(words), len(cells.list))
	}
	return get(cells.list[0]), nil
}

// grouped are the cells of the records that were asked for last, by the first of them: several figures of a sentence come
// from the same ones, and merging their histograms takes time.
var grouped = map[*results.Record]struct {
	of   []*results.Record
	list []*results.Cell
}{}

// having chooses the records whose plans have all values of words, such as clients=64 or hold=1ms. A name is that of
// the plan in JSON, without its unit; what a plan leaves out, because it is the usual, has the empty value: topology=
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
			all = all && fields[name] == value
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

// fieldsOf are the planFields of records that were looked at before.
var fieldsOf = map[*results.Record]map[string]string{}

// planFields are the fields of a plan as text; a time's name loses its "_ns" and its value is spelt 1ms.
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
