// One figure of a cell divided by that of another: the numbers in sentences.

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/results/view"
)

// others are quotable figures that are not metrics.
var others = map[string]func(*results.Cell) float64{
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
func (d *document) ratio(names, words string) ([]byte, error) {
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
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
	value := 1.0
	for i, words := range strings.SplitN(choice, "/", 2) {
		c, err := cell(recs, words+" "+common)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			value = get(c)
		} else {
			value /= get(c)
		}
	}
	for _, limit := range parts[min(2, len(parts)):] {
		if err := holds(value, strings.TrimSpace(limit)); err != nil {
			return nil, fmt.Errorf("%s: %w", words, err)
		}
	}
	return []byte(short(value)), nil
}

// holds checks a value against "at least N" or "at most N".
func holds(value float64, limit string) error {
	var word string
	var n float64
	if _, err := fmt.Sscanf(limit, "at %s %g", &word, &n); err != nil || word != "least" && word != "most" {
		return fmt.Errorf("%q is not a limit: write at least N or at most N", limit)
	}
	if word == "least" && !(value >= n) || word == "most" && !(value <= n) {
		return fmt.Errorf("want %s, but the runs say %v", limit, short(value))
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

// cell returns the one cell that words choose.
func cell(recs []recorded, words string) (*results.Cell, error) {
	cells, err := chosen(recs, strings.Fields(words))
	if err == nil && len(cells) != 1 {
		err = fmt.Errorf("%q chooses %d cells, and one is needed", strings.TrimSpace(words), len(cells))
	}
	if err != nil {
		return nil, err
	}
	return cells[0], nil
}

// chosen returns the cells of the records whose plans have all values of words, such as clients=64, hold=1ms or lock=set-nx,fenced
// (one of the two). A name is that in the plan's JSON, without its unit; a field that the plan omits because it has its default
// has the empty value: topology=
func chosen(recs []recorded, words []string) ([]*results.Cell, error) {
	var list []*results.Record
	for _, r := range recs {
		all := true
		for _, word := range words {
			name, value, ok := strings.Cut(word, "=")
			if !ok {
				return nil, fmt.Errorf("%q: write name=value", word)
			}
			all = all && slices.Contains(strings.Split(value, ","), r.plan[name])
		}
		if all {
			list = append(list, r.Record)
		}
	}
	if list == nil {
		return nil, fmt.Errorf("no record has %s", strings.Join(words, " "))
	}
	return results.Group(list)
}

// recorded is a record, and the fields of its plan as text; the name of a time loses its "_ns" and the value is written as 1ms.
type recorded struct {
	*results.Record
	plan map[string]string
}

// loadAll reads files whose names have commas between them.
func loadAll(dir, names string) (all []recorded, err error) {
	for name := range strings.SplitSeq(names, ",") {
		recs, err := load(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, recs...)
	}
	return all, nil
}

// load reads a file once, because many figures come from the same one.
func load(path string) ([]recorded, error) {
	if list, ok := loaded[path]; ok {
		return list, nil
	}
	recs, err := records(path)
	list := make([]recorded, len(recs))
	for i, r := range recs {
		list[i] = recorded{r, map[string]string{}}
		text, marshalErr := json.Marshal(r.Plan)
		var fields map[string]json.RawMessage
		err = errors.Join(err, marshalErr, json.Unmarshal(text, &fields))
		for name, value := range fields {
			text := strings.Trim(string(value), `"`)
			if short, isTime := strings.CutSuffix(name, "_ns"); isTime {
				ns, _ := strconv.ParseInt(text, 10, 64)
				name, text = short, time.Duration(ns).String()
			}
			list[i].plan[name] = text
		}
	}
	if err == nil {
		loaded[path] = list
	}
	return list, err
}

var loaded = map[string][]recorded{}

// The table that answers which lock to choose.

// choices are the words that choose the cell of each row.
var choices = []string{
	"driver=rueidis lock=set-nx wait=queue topology=",
	"driver=rueidis lock=set-nx wait=backoff topology=",
	"driver=rueidis lock=fenced wait=queue topology=",
	"driver=rueidis lock=set-nx wait=backoff topology=redlock",
	"driver=redsync topology=",
	"driver=redsync topology=redlock",
	"driver=redislock",
	"driver=rueidislock",
	"driver=postgres lock=advisory",
	"driver=mysql lock=get-lock",
	"driver=zookeeper lock=sequential",
	"driver=etcd lock=lease",
}

// locks returns the table, the highest throughput first. Words name the file of a run in which holders die, and may choose
// among the cells of both.
func (d *document) locks(names, words string) ([]byte, error) {
	name, words, _ := strings.Cut(words, " ")
	recs, err := loadAll(d.dir, names)
	if err != nil {
		return nil, err
	}
	dying, err := loadAll(d.dir, name)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	var cells []*results.Cell
	for _, choice := range choices {
		c, err := cell(recs, choice+" "+words)
		if err != nil {
			return nil, err
		}
		recovery := "not measured"
		if d, err := cell(dying, choice+" "+words); err == nil && formatted(d, "recovery.p50") != format.None {
			recovery = formatted(d, "recovery.p50")
		}
		token := "no"
		if c.First().Traits.Fenced {
			token = "yes"
		}
		cells = append(cells, c)
		rows = append(rows, []string{"", rateOf(c), formatted(c, "acquire.p50"), formatted(c, "acquire.p99"), recovery, token, view.Risk(c)})
	}
	for i, name := range view.NewRun(cells).Names {
		rows[i][0] = name
	}
	return []byte("| lock | locks/s | wait p50 | wait p99 | after a death | token | main risk |\n|:--|--:|--:|--:|--:|:-:|:--|\n" +
		ranked(rows, cells) + "\n" + uncertainty(cells) + "\n"), nil
}

// ranked returns the lines of rows, that of the cell with the highest throughput first.
func ranked(rows [][]string, cells []*results.Cell) (lines string) {
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(cells[b].Rate.Median, cells[a].Rate.Median) })
	for _, i := range order {
		lines += line(rows[i]...)
	}
	return lines
}

// rateOf returns the locks a second of a cell, with a mark if they are not the lock's limit.
func rateOf(c *results.Cell) string {
	if c.Generator.Saturated {
		return formatted(c, "locks/s") + "*"
	}
	return formatted(c, "locks/s")
}

// uncertainty says what the locks a second of cells are, how far off they may be, and what their mark means.
func uncertainty(cells []*results.Cell) string {
	trials, each := len(cells[0].Trials), cells[0].Plan().Duration
	reach, saturated := 0.0, false
	for _, c := range cells {
		trials = min(trials, len(c.Trials))
		if e := view.Rate(c); e.Known() {
			reach = max(reach, (e.High-e.Median)/e.Median, (e.Median-e.Low)/e.Median)
		}
		saturated = saturated || c.Generator.Saturated
	}
	text := "locks/s: median of " + format.Plural(trials, "trial") + " of " + format.Exact(each)
	if reach > 0 {
		text += "; its 95 % interval reaches up to ±" + format.Percent(reach)
	}
	if saturated {
		text += ". `*`: lockbench or its machine, not the lock, was the limit"
	}
	return text + "."
}

// formatted returns a metric of a cell as tables show it.
func formatted(c *results.Cell, name string) string {
	m, known := metric.Named(name)
	if !known {
		panic("tables: no metric is called " + name)
	}
	return m.Unit.Format(m.Of(c.Figures()))
}
