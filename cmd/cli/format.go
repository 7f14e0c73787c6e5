// How a command ends: what it has found goes out in the formats that -format names, and decides the exit code.

package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/files"
	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/results/draw"
	"github.com/lockbench/lockbench/results/report"
)

// kind is a kind of result, such as a comparison: how it is written, and what it means for the exit code.
type kind[T any] struct {
	formats  []exporter[T]              // in the order of the help; the first is the table
	document func(v T) *report.Document // for the formats without a write of their own
	exit     func(v T) int              // nil: 0 whatever it is
}

// documents returns the kind of a result that is written as a document alone: as a table, as Markdown, and as a page.
func documents[T any](document func(T) *report.Document) kind[T] {
	return kind[T]{document: document, formats: []exporter[T]{{name: tableFormat}, {name: markdownFormat}, {name: htmlFormat}}}
}

// exporter is a format.
type exporter[T any] struct {
	name string

	// write writes v; nil for a format that draws the document.
	write func(w io.Writer, v T) error

	// dir writes several files into a directory, in place of write.
	dir func(create files.Create, v T) error
}

// output is one format of -format and where it goes.
type output[T any] struct {
	exporter[T]
	file string // or directory; empty: standard output
	from string // the flag or the variable that asks for it; empty: nobody has
}

// printer writes what a command has found as its options say.
type printer[T any] struct {
	*program
	kind[T]
	outputs []output[T]
	table   draw.Options
}

// Formats that draw a document.
const (
	tableFormat    = "table" // goes to standard output unless -format names another that does
	markdownFormat = "markdown"
	htmlFormat     = "html"
)

// printer reads the options that say how results of the kind are written. Inputs are the files that the command reads, which no
// format may replace.
func (k kind[T]) printer(p *program, o *options, inputs ...string) (out printer[T], err error) {
	out = printer[T]{program: p, kind: k, table: p.drawOptions(o)}
	out.outputs, err = k.parse(o.get("format"), inputs)
	return out, err
}

// end writes v and returns the exit code as an error; nil for 0.
func (out printer[T]) end(v T) error {
	out.write(v)
	return out.code(v)
}

// code returns the exit code that v stands for as an error; nil for 0.
func (out printer[T]) code(v T) error {
	if out.exit != nil {
		if code := out.exit(v); code != exitOK {
			return exitCode(code)
		}
	}
	return nil
}

// write writes v in all formats, standard output first. An error is printed with the name of its
// file, and the other formats are written all the same.
func (out printer[T]) write(v T) {
	out.draining.Store(false) // what was measured is kept, and a pipe may have no reader
	for _, f := range out.outputs {
		write := out.secrets.Hiding(func(w io.Writer) error { return out.writeAs(w, f.exporter, v) })
		var err error
		switch {
		case f.file == "":
			err = write(out.stdout.W) // with colours of its own
		case f.dir != nil:
			err = files.Into(f.file, func(create files.Create) error { return f.dir(out.hidden(create), v) })
		default:
			err = files.Replace(f.file, write)
		}
		if err != nil {
			out.lose("%s %s: %s", cmp.Or(f.from, "-format"), f.name, err)
		}
	}
}

// hidden returns what creates files without secrets.
func (p *program) hidden(create files.Create) files.Create {
	return func(path string, write func(io.Writer) error) error { return create(path, p.secrets.Hiding(write)) }
}

// writeAs writes v in one format.
func (out printer[T]) writeAs(w io.Writer, f exporter[T], v T) error {
	switch {
	case f.write != nil:
		return f.write(w, v)
	case f.name == markdownFormat:
		return draw.Markdown(w, out.document(v))
	case f.name == htmlFormat:
		return draw.Page(w, out.document(v))
	}
	return draw.Terminal(w, out.document(v), out.table)
}

// drawOptions fits tables to COLUMNS, else to the terminal.
func (p *program) drawOptions(o *options) draw.Options {
	width, tty := progress.Terminal(p.stdout)
	if !tty {
		width = 100
	}
	columns, _ := p.env.lookup("COLUMNS")
	if n, err := strconv.Atoi(columns); err == nil {
		width = n
	}
	noColor, _ := p.env.lookup("NO_COLOR") // https://no-color.org
	return draw.Options{
		Width: min(max(width, 40), 1000), Color: tty && noColor == "", Verbose: o.find("verbose") != nil && o.on("verbose"),
	}
}

func (k kind[T]) names() (names []string) {
	for _, f := range k.formats {
		names = append(names, f.name)
	}
	return names
}

// first is the output that there is if -format names none.
func (k kind[T]) first() []output[T] { return []output[T]{{exporter: k.formats[0]}} }

// parse reads -format: names, each with a file or without, separated by commas. The first output is the one that goes to
// standard output: what has no file, or else the table. Inputs are the files that are read, which none may replace.
func (k kind[T]) parse(opt *option, inputs []string) ([]output[T], error) {
	outputs, named := k.first(), ""
	if opt.text == "" {
		return outputs, nil
	}
	for part := range strings.SplitSeq(opt.text, ",") {
		name, file, hasFile := strings.Cut(strings.TrimSpace(part), "=")
		if file == "-" {
			file, hasFile = "", false
		}
		i := slices.Index(k.names(), name)
		var err error
		switch {
		case i < 0:
			err = fmt.Errorf("unknown format %q%s; there are %s", name, suggest.DidYouMean("", name, k.names()), strings.Join(k.names(), ", "))
		case hasFile && file == "":
			err = fmt.Errorf("%s= names no file", name)
		case k.formats[i].dir != nil && !hasFile:
			err = fmt.Errorf("%s makes several files: name a directory, as in %s=DIR", name, name)
		case !hasFile && named != "":
			err = fmt.Errorf("%s and %s both go to standard output: name a file for one of them, as in %s=FILE", named, name, name)
		case slices.ContainsFunc(outputs, func(other output[T]) bool { return files.Same(file, other.file) }):
			err = fmt.Errorf("%s and another format both write %s", name, file)
		case slices.ContainsFunc(inputs, func(in string) bool { return files.Same(file, in) }):
			err = fmt.Errorf("%s is read or written by this command already, and would be replaced", file)
		case !hasFile:
			named, outputs[0] = name, output[T]{k.formats[i], "", opt.flagOrVariable()}
		default:
			outputs = append(outputs, output[T]{k.formats[i], file, opt.flagOrVariable()})
		}
		if err != nil {
			return nil, usageErrorf("%s: %w", opt.written(), err)
		}
	}
	for _, out := range outputs[1:] { // before anything is measured
		check := files.CheckReplace
		if out.dir != nil {
			check = files.CheckInto
		}
		if err := check(out.from, out.file); err != nil {
			return nil, err
		}
	}
	return outputs, nil
}
