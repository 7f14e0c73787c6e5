package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/safety"
)

// differ tells which cells have more than one verdict in several reports, and how many alarms and wrong controls the
// reports have.
func differ(out io.Writer, files []string) error {
	cells := map[[3]string]map[safety.Verdict]int{}
	alarms, wrong := 0, 0
	for _, file := range files {
		report, err := read(file)
		if err != nil {
			return err
		}
		for _, c := range report.Cells {
			at := [3]string{c.Hazard, c.Driver, c.Lock}
			if cells[at] == nil {
				cells[at] = map[safety.Verdict]int{}
			}
			cells[at][c.Verdict]++
		}
		alarms += len(report.Select((*safety.Cell).Alarm))
		for _, h := range report.Hazards {
			if h.Control != "" {
				wrong++
			}
		}
	}
	differ, open := 0, 0
	for _, at := range slices.SortedFunc(maps.Keys(cells), func(a, b [3]string) int { return slices.Compare(a[:], b[:]) }) {
		verdicts := cells[at]
		known := len(verdicts)
		for v, n := range verdicts {
			if v.Open() {
				known--
				open += n
			}
		}
		if known > 1 {
			differ++
		}
		if len(verdicts) > 1 {
			fmt.Fprintf(out, "%s %s %s:%s\n", at[0], at[1], at[2], counts(verdicts))
		}
	}
	fmt.Fprintf(out, "%s of %s: %s, %s; %d differ, %s without a verdict\n", format.Plural(len(files), "run"), format.Plural(len(cells), "cell"),
		format.Plural(alarms, "alarm"), format.Plural(wrong, "wrong control"), differ, format.Plural(open, "time"))
	return nil
}

// counts returns " what count" of each, in their order.
func counts[K cmp.Ordered](of map[K]int) (text string) {
	for _, k := range slices.Sorted(maps.Keys(of)) {
		text += fmt.Sprintf(" %v (%s)", k, format.Plural(of[k], "time"))
	}
	return text
}
