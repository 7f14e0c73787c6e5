package export

// CSV (RFC 4180) for spreadsheets and data frames. Units stand in the header; an empty field is not known, or was not
// set.

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/results/stats"
)

// CSV writes a row a trial: which one it is, its settings by the names of the flags, what was measured, and every
// figure that any trial knows. Partial trials are among them, and say why in their column.
func CSV(w io.Writer, cells []*results.Cell) error {
	typed := slices.DeleteFunc(slices.Clone(settings), func(s spec.Setting) bool {
		always := slices.Contains([]string{"driver", "lock", "wait"}, s.Name)
		return !always && !slices.ContainsFunc(cells, func(c *results.Cell) bool { return textOf(s, c.First()) != "" })
	})
	figures := slices.DeleteFunc(metric.All(), func(m *metric.Metric) bool {
		return !slices.ContainsFunc(cells, func(c *results.Cell) bool { return stats.Of(m.Values(c.Trials)).N > 0 })
	})
	head := []any{"run", "cell", "trial", "side", "revision", "id", "started", "partial"}
	for _, s := range typed {
		head = append(head, s.Name)
	}
	head = append(head, "lockbench", "server", "machine", "limited-by", "saturated")
	for _, m := range figures {
		head = append(head, m.Name+endings[m.Unit].csv)
	}
	rows := [][]any{head}
	for _, c := range cells {
		for _, r := range c.Trials {
			e := r.Env
			row := []any{r.Run, r.Cell, r.Trial, r.Side, e.Revision, r.ID, r.Started.UTC().Format(time.RFC3339Nano), r.Partial}
			for _, s := range typed {
				row = append(row, textOf(s, r))
			}
			machine := words(e.CPUs, "×", e.CPU, e.OS+"/"+e.Arch, e.Kernel)
			row = append(row, e.Lockbench, serverName(r.Server), machine, r.Limit().By, r.Generator.Saturated)
			for _, m := range figures {
				row = append(row, m.Of(r.Figures()))
			}
			rows = append(rows, row)
		}
	}
	return writeRows(w, rows)
}

func writeRows(w io.Writer, rows [][]any) error {
	return csv.NewWriter(w).WriteAll(each(rows, func(row []any) []string { return each(row, field) }))
}

// field returns a field: a figure with all its digits and without an exponent, or empty if it is not known. A
// spreadsheet takes text that begins with one of =+-@ for a formula and runs it, so it gets an apostrophe (OWASP, CSV
// Injection).
func field(v any) string {
	switch n, isNumber := v.(float64); {
	case isNumber && known(n) == nil:
		return ""
	case isNumber:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	s := plain(fmt.Sprint(v))
	if _, err := strconv.ParseFloat(s, 64); err == nil || s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	return "'" + s
}

// ComparisonCSV writes a row a cell and figure. Medians, intervals and thresholds are in the figure's base unit (ns,
// µs of CPU time, bytes; shares from 0 to 1), changes are ratios less one: -0.05 is a loss of 5 %.
func ComparisonCSV(w io.Writer, c *compare.Comparison) error {
	rows := [][]any{{"cell", "figure", "unit", "base_n", "base_median", "base_low", "base_high",
		"head_n", "head_median", "head_low", "head_high", "change", "change_low", "change_high", "p", "p_adjusted",
		"threshold", "verdict", "why", "needed_trials", "reason"}}
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			change, b, h, threshold, needed := r.Change, r.Change.Base, r.Change.Head, "", ""
			if r.Threshold != nil {
				threshold = r.Threshold.Text
			}
			if r.Needed > 0 {
				needed = field(r.Needed)
			}
			rows = append(rows, []any{cell.Label, r.Figure.Name, r.Figure.Unit.Word, b.N, b.Median, b.Low, b.High,
				h.N, h.Median, h.Low, h.High, change.Ratio - 1, change.Low - 1, change.High - 1, change.P, r.P,
				threshold, r.Verdict, r.Why, needed, r.Reason})
		}
	}
	return writeRows(w, rows)
}
