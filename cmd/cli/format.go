// -format: in which formats, and into which files, cells or a comparison go.

package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/export"
	"github.com/lockbench/lockbench/results/html"
	"github.com/lockbench/lockbench/results/metric"
	"github.com/lockbench/lockbench/results/report"
	"github.com/lockbench/lockbench/results/svg"
	"github.com/lockbench/lockbench/results/text"
	"github.com/lockbench/lockbench/results/view"
)

// exporter is a way to write a T: the cells of report, or the comparison of compare.
type exporter[T any] struct {
	name  string
	about string // for the help
	write func(w io.Writer, v T) error

	// dir writes several files into a directory, in place of write.
	dir func(create files.Create, v T) error

	// beside says that it may share standard output with another format, whose lines cannot be taken for its own.
	beside bool
}

// output is one format of -format and where it goes.
type output[T any] struct {
	exporter[T]
	file string // or directory; empty: standard output
	from string // the flag or the variable that asks for it; empty: nobody has
}

// tableFormat is what goes to standard output unless -format names another that does.
const tableFormat = "table"

// reported is what report has to write.
type reported struct {
	cells   []*results.Cell
	check   *compare.Check // of the cells
	table   draw.Options   // of the table alone
	summary string         // file of the summary of a step of GitHub Actions; empty: this is not one
}

// reported returns what report has to write, or a run.
func (p *program) reported(cells []*results.Cell, check *compare.Check, table draw.Options) reported {
	summary, _ := p.env.lookup(summaryVariable)
	return reported{cells, check, table, summary}
}

// reportFormats are the formats of report, in the order of the help.
var reportFormats = []exporter[reported]{
	{name: tableFormat, about: "the table, or one cell in detail", write: func(w io.Writer, v reported) error {
		if limits := report.Check(v.check); limits != nil {
			if err := draw.Terminal(w, limits, v.table); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return text.Table(w, v.cells, v.table)
	}},
	{name: "markdown", about: "the table with every column", write: writeMarkdown},
	{name: "csv", about: "a row a trial, every figure that is known", write: func(w io.Writer, v reported) error {
		return export.CSV(w, v.cells)
	}},
	{name: "benchfmt", about: "Go's benchmark format, for benchstat", write: func(w io.Writer, v reported) error {
		return export.Benchfmt(w, v.cells)
	}},
	{name: "hgrm", about: "percentiles for HdrHistogram's plotter, a file a cell and metric in a directory", dir: func(create files.Create, v reported) error {
		return export.Hgrm(v.cells, view.Labels(v.cells), create)
	}},
	{name: "html", about: "one page with charts, which needs no other file", write: func(w io.Writer, v reported) error {
		return html.Write(w, v.cells, html.Options{Check: v.check})
	}},
	{name: "svg", about: "charts for a README, those that the records make, as .svg files in a directory:\n" +
		strings.Join(svg.Names, ", "), dir: writeCharts},
	{name: "json", about: "all of it, for programs; lockbench schema report has its schema", write: func(w io.Writer, v reported) error {
		return export.CheckJSON(w, v.check)
	}},
	{name: "junit", about: "a test case a cell for mutual exclusion, and for each threshold", write: func(w io.Writer, v reported) error {
		return export.CheckJUnit(w, v.check)
	}},
	{name: "github", beside: true, about: "annotations, beside the table; the summary of the step, if there is one", write: func(w io.Writer, v reported) error {
		if err := export.CheckAnnotations(w, v.check); err != nil {
			return err
		}
		return addSummary(v.summary, func(w io.Writer) error { return writeMarkdown(w, v) })
	}},
	{name: "bigger-is-better", about: "locks/s and the like, for github-action-benchmark", write: func(w io.Writer, v reported) error {
		return export.Action(w, v.cells, metric.Higher)
	}},
	{name: "smaller-is-better", about: "latencies and costs, for github-action-benchmark", write: func(w io.Writer, v reported) error {
		return export.Action(w, v.cells, metric.Lower)
	}},
}

// compared is what compare has to write.
type compared struct {
	*compare.Comparison
	options report.ComparisonOptions
	table   draw.Options // of the table
	summary string       // file of the summary of a step of GitHub Actions; empty: this is not one
}

func (v compared) document() *report.Document { return report.Comparison(v.Comparison, v.options) }

// compareFormats are the formats of compare, in the order of the help.
var compareFormats = []exporter[compared]{
	{name: tableFormat, about: "medians, changes and the verdict", write: func(w io.Writer, v compared) error {
		return draw.Terminal(w, v.document(), v.table)
	}},
	{name: "markdown", about: "the same for a comment, the verdict first", write: func(w io.Writer, v compared) error {
		return draw.Markdown(w, v.document(), draw.CommentRoom)
	}},
	{name: "csv", about: "a row a cell and figure", write: func(w io.Writer, v compared) error {
		return export.ComparisonCSV(w, v.Comparison)
	}},
	{name: "html", about: "one page with charts, which needs no other file", write: func(w io.Writer, v compared) error {
		return draw.Page(w, v.document())
	}},
	{name: "json", about: "all of it, for programs; lockbench schema comparison has its schema", write: func(w io.Writer, v compared) error {
		return export.ComparisonJSON(w, v.Comparison)
	}},
	{name: "junit", about: "a test case for each threshold and cell", write: func(w io.Writer, v compared) error {
		return export.JUnit(w, v.Comparison)
	}},
	{name: "github", beside: true, about: "annotations, beside the table; the summary of the step, if there is one", write: func(w io.Writer, v compared) error {
		if err := export.Annotations(w, v.Comparison); err != nil {
			return err
		}
		return addSummary(v.summary, func(w io.Writer) error { return draw.Markdown(w, v.document(), draw.CommentRoom) })
	}},
}

// summaryVariable names the file that GitHub Actions shows as the summary of a step.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// writeMarkdown writes the table, below what became of the thresholds.
func writeMarkdown(w io.Writer, v reported) error {
	if limits := report.Check(v.check); limits != nil {
		if err := draw.Markdown(w, limits, draw.CommentRoom); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return text.Markdown(w, v.cells)
}

// addSummary adds a page of Markdown to the file of a step's summary, as much of it as GitHub takes; to none if there is no file.
func addSummary(name string, write func(io.Writer) error) error {
	if name == "" {
		return nil
	}
	var page strings.Builder
	if err := write(&page); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("%s: %w", summaryVariable, err)
	}
	room := int64(export.SummaryLimit)
	if info, err := f.Stat(); err == nil {
		room -= info.Size()
	}
	text := export.Fit(page.String(), int(room))
	return files.Write(f, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// writeCharts writes all charts that the cells have the data for.
func writeCharts(create files.Create, v reported) error {
	for _, c := range svg.Charts(v.cells) {
		err := create(c.Name+".svg", func(w io.Writer) error {
			_, err := w.Write(c.SVG)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// runOutputs reads -format of a run. Its formats are report's; those of a run that compares are compare's, whose table
// comes below the run's own, and whose other formats have standard output for themselves.
func (p plan) runOutputs(compares bool) (cells []output[reported], found []output[compared], err error) {
	if !compares {
		cells, err = parseFormats(p.options, reportFormats, p.files())
		return cells, nil, err
	}
	found, err = parseFormats(p.options, compareFormats, p.files())
	if err == nil && found[0].name == tableFormat {
		cells = []output[reported]{{exporter: reportFormats[0]}}
	}
	return cells, found, err
}

// files returns those that a run reads, or writes other than by -format: what the flags of its sides name, and the times that
// it replays.
func (p plan) files() (names []string) {
	sides := []*options{p.options}
	for _, s := range p.sides {
		sides = append(sides, s.plan.options)
	}
	for _, o := range sides {
		for _, opt := range o.list {
			if opt.namesFile() {
				names = append(names, opt.text)
			}
		}
	}
	for _, c := range p.Cells {
		for _, load := range c.Plan.Groups() {
			names = append(names, load.HoldDist.Path, load.ThinkDist.Path)
		}
	}
	return names
}

// aboutFormats lists formats for the help.
func aboutFormats[T any](formats []exporter[T]) string {
	var b strings.Builder
	for _, f := range formats {
		fmt.Fprintf(&b, "  %-18s %s\n", f.name, strings.ReplaceAll(f.about, "\n", "\n"+strings.Repeat(" ", 21)))
	}
	return b.String()
}

// parseFormats reads -format: names, each with a file or without, separated by commas. The first output is the one that
// goes to standard output: what has no file, or else the table. Inputs are the files that are read, which none may
// replace.
func parseFormats[T any](o *options, formats []exporter[T], inputs []string) ([]output[T], error) {
	opt := o.get("format")
	outputs := []output[T]{{exporter: formats[0]}}
	named := ""
	for part := range strings.SplitSeq(opt.text, ",") {
		name, file, hasFile := strings.Cut(strings.TrimSpace(part), "=")
		if name == "" && opt.text == "" {
			break
		}
		f, err := findFormat(formats, name)
		if file == "-" {
			file, hasFile = "", false
		}
		switch {
		case err != nil:
		case hasFile && file == "":
			err = fmt.Errorf("%s= names no file", name)
		case f.dir != nil && !hasFile:
			err = fmt.Errorf("%s makes several files: name a directory, as in %s=DIR", name, name)
		case !hasFile && f.beside:
			if slices.ContainsFunc(outputs[1:], func(other output[T]) bool { return other.name == name && other.file == "" }) {
				err = fmt.Errorf("%s is given twice", name)
			}
			outputs = append(outputs, output[T]{f, "", opt.flagOrVariable()})
		case !hasFile && named != "":
			err = fmt.Errorf("%s and %s both go to standard output: name a file for one of them, as in %s=FILE", named, name, name)
		case !hasFile:
			named, outputs[0] = name, output[T]{f, "", opt.flagOrVariable()}
		default:
			outputs = append(outputs, output[T]{f, file, opt.flagOrVariable()})
			err = checkFile(file, outputs[:len(outputs)-1], inputs)
		}
		if err != nil {
			return nil, usageErrorf("%s: %w", opt.written(), err)
		}
	}
	for _, out := range outputs {
		if err := out.check(); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}

// check tells before anything is measured that an output cannot be written.
func (out output[T]) check() error {
	switch {
	case out.file == "":
		return nil
	case out.dir != nil:
		return files.CheckInto(out.from, out.file)
	}
	return files.CheckReplace(out.from, out.file)
}

func findFormat[T any](formats []exporter[T], name string) (exporter[T], error) {
	i := slices.IndexFunc(formats, func(f exporter[T]) bool { return f.name == name })
	if i >= 0 {
		return formats[i], nil
	}
	names := formatNames(formats)
	return exporter[T]{}, fmt.Errorf("unknown format %q%s; there are %s", name, suggest.DidYouMean("", name, names), strings.Join(names, ", "))
}

// checkFile refuses a file that is written already, or read.
func checkFile[T any](file string, others []output[T], inputs []string) error {
	for _, other := range others {
		if files.Same(file, other.file) {
			return fmt.Errorf("%s and another format both write %s", other.name, file)
		}
	}
	for _, in := range inputs {
		if files.Same(file, in) {
			return fmt.Errorf("%s is read or written by this command already, and would be replaced", file)
		}
	}
	return nil
}

// writeOutputs writes v in all formats, standard output first. What goes wrong with one is said, with the name of the
// file, and keeps none of the others from being written; the error is an exitCode.
func writeOutputs[T any](p *program, outputs []output[T], v T) error {
	p.draining.Store(false) // what was measured is kept, and a pipe may have no reader
	failed := false
	for _, out := range outputs {
		var err error
		switch {
		case out.file == "":
			err = out.write(p.stdout, v)
		case out.dir != nil:
			err = files.Into(out.file, func(create files.Create) error { return out.dir(create, v) })
		default:
			err = files.Replace(out.file, func(w io.Writer) error { return out.write(w, v) })
		}
		if err != nil {
			failed = true
			fmt.Fprintf(p.stderr, "lockbench: %s %s: %s\n", cmp.Or(out.from, "-format"), out.name, oneLine(err.Error()))
		}
	}
	if failed {
		return exitCode(exitError)
	}
	return nil
}
