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
	"github.com/lockbench/lockbench/results/spec"
)

// CSV writes a row a trial: which one it is, its settings by the names of the flags, what was measured, and every
// figure that any trial knows. Partial trials are among them, and say why in their column.
func CSV(w io.Writer, cells []*results.Cell) error {
	asked := slices.DeleteFunc(slices.Clone(settings), func(s spec.Setting) bool {
		always := slices.Contains([]string{"driver", "lock", "wait"}, s.Name)
		return !always && !slices.ContainsFunc(cells, func(c *results.Cell) bool { return textOf(s, c.First()) != "" })
	})
	figures := knownTo(cells)
	out := csvWriter{csv.NewWriter(w)}
	head := []any{"run", "cell", "trial", "side", "revision", "id", "started", "partial"}
	for _, s := range asked {
		head = append(head, s.Name)
	}
	head = append(head, "lockbench", "server", "machine", "limited-by", "saturated")
	for _, m := range figures {
		head = append(head, m.Name+m.Unit.Suffix)
	}
	out.row(head...)
	for _, c := range cells {
		for _, r := range c.Trials {
			e := r.Env
			row := []any{r.Run, r.Cell, r.Trial, r.Side, e.Revision, r.ID, r.Started.UTC().Format(time.RFC3339Nano), r.Partial}
			for _, s := range asked {
				row = append(row, textOf(s, r))
			}
			machine := words(e.CPUs, "×", e.CPU, e.OS+"/"+e.Arch, e.Kernel)
			row = append(row, e.Lockbench, serverName(r.Server), machine, r.Limit().By, r.Generator.Saturated)
			for _, m := range figures {
				row = append(row, m.Of(r.Figures()))
			}
			out.row(row...)
		}
	}
	return out.end()
}

// csvWriter writes rows of any values. Its errors are kept for end.
type csvWriter struct{ *csv.Writer }

func (out csvWriter) row(values ...any) {
	_ = out.Write(each(values, func(v any) string {
		if n, ok := v.(float64); ok {
			return digits(n)
		}
		return field(fmt.Sprint(v))
	}))
}

func (out csvWriter) end() error {
	out.Flush()
	return out.Error()
}

// field returns a field. A spreadsheet takes text that begins with one of these for a formula and runs it, so it gets
// an apostrophe (OWASP, CSV Injection). A number may begin with a minus.
func field(s string) string {
	s = plain(s)
	if _, err := strconv.ParseFloat(s, 64); err == nil || s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	return "'" + s
}

// ComparisonCSV writes a row a cell and figure. Medians, intervals and thresholds are in the figure's base unit (ns,
// µs of CPU time, bytes; shares from 0 to 1), changes are ratios less one: -0.05 is a loss of 5 %.
func ComparisonCSV(w io.Writer, c *compare.Comparison) error {
	out := csvWriter{csv.NewWriter(w)}
	out.row("cell", "figure", "unit", "base_n", "base_median", "base_low", "base_high",
		"head_n", "head_median", "head_low", "head_high", "change", "change_low", "change_high", "p", "p_adjusted",
		"threshold", "verdict", "why", "needed_trials", "reason")
	for _, cell := range c.Cells {
		for _, r := range cell.Figures {
			b, h, threshold, verdict := r.Change.Base, r.Change.Head, "", compare.Verdict("")
			if r.Threshold != nil {
				threshold, verdict = r.Threshold.Text, r.Verdict
			}
			out.row(cell.Label, r.Figure.Name, r.Figure.Unit.Word, b.N, b.Median, b.Low, b.High,
				h.N, h.Median, h.Low, h.High, r.Change.Ratio-1, r.Change.Low-1, r.Change.High-1, r.Change.P, r.P,
				threshold, verdict, r.Why, spec.FormatInt(r.Needed), r.Reason)
		}
	}
	return out.end()
}
