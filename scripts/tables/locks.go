// The table that answers which lock to choose.

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/view"
)

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
	type row struct {
		*results.Cell
		text string
	}
	var rows []row
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
		token, mark := "no", ""
		if c.First().Traits.Fenced {
			token = "yes"
		}
		if c.Generator.Saturated {
			mark = "*"
		}
		cells = append(cells, c)
		rows = append(rows, row{c, fmt.Sprintf("%s%s | %s | %s | %s | %s | %s |\n",
			formatted(c, "locks/s"), mark, formatted(c, "acquire.p50"), formatted(c, "acquire.p99"), recovery, token, view.Risk(c))})
	}
	chosen := view.NewRun(cells)
	for i := range rows {
		rows[i].text = "| " + chosen.Names[i] + " | " + rows[i].text
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.Rate.Median, a.Rate.Median) })
	var b bytes.Buffer
	b.WriteString("| lock | locks/s | wait p50 | wait p99 | after a death | token | main risk |\n|:--|--:|--:|--:|--:|:-:|:--|\n")
	for _, r := range rows {
		b.WriteString(r.text)
	}
	fmt.Fprintf(&b, "\n%s\n", uncertainty(cells))
	return b.Bytes(), nil
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
