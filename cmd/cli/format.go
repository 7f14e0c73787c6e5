// How a command ends: what it has found goes out in the formats that -format names, and decides the exit code.

package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path/filepath"
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
	document func(v T) *report.Document
	formats  []output[T]   // besides those that draw the document
	exit     func(v T) int // nil: 0 whatever it is
}

// output is a format, and where it goes.
type output[T any] struct {
	name  string
	write func(w io.Writer, v T) error
	dir   func(create create, v T) error // makes several files in a directory, in place of write
	file  string                         // or directory; empty: standard output
}

// create makes a file of what write writes.
type create = func(name string, write func(io.Writer) error) error

// tableFormat goes to standard output unless -format names another that does.
const tableFormat = "table"

// all returns the formats in the order of the help.
func (k kind[T]) all(table draw.Options) []output[T] {
	return append([]output[T]{
		{name: tableFormat, write: func(w io.Writer, v T) error { return draw.Terminal(w, k.document(v), table) }},
		{name: "markdown", write: func(w io.Writer, v T) error { return draw.Markdown(w, k.document(v)) }},
		{name: "html", write: func(w io.Writer, v T) error { return draw.Page(w, k.document(v)) }},
	}, k.formats...)
}

func (k kind[T]) names() (names []string) {
	for _, f := range k.all(draw.Options{}) {
		names = append(names, f.name)
	}
	return names
}

// printer writes what a command has found as its options say.
type printer[T any] struct {
	*program
	kind[T]
	outputs []output[T] // the first goes to standard output
	table   draw.Options
}

// printer reads the options that say how results of the kind are written. It tries whether the files can be made, since
// nothing is measured yet. Inputs are the files that the command reads, which no format may replace.
func (k kind[T]) printer(p *program, o *options, inputs ...string) (out printer[T], err error) {
	opt, table := o.get("format"), p.drawOptions(o)
	for part := range strings.SplitSeq(cmp.Or(opt.text, tableFormat), ",") {
		f, err := k.parse(part, table, out.outputs, inputs)
		if err != nil {
			return out, o.complain(opt, "%w", err)
		}
		check := files.Check
		if f.dir != nil {
			check = files.CheckDir
		}
		if err := check(opt.flagOrVariable(), f.file); f.file != "" && err != nil {
			return out, err
		}
		out.outputs = append(out.outputs, f)
	}
	if !slices.ContainsFunc(out.outputs, func(f output[T]) bool { return f.file == "" }) {
		out.outputs = append(out.outputs, k.all(table)[0])
	}
	slices.SortFunc(out.outputs, func(a, b output[T]) int { return cmp.Compare(a.file, b.file) })
	return printer[T]{p, k, out.outputs, table}, nil
}

// parse reads a part of -format: a name, with a file or without. Before are the outputs that it has named already.
func (k kind[T]) parse(part string, table draw.Options, before []output[T], inputs []string) (f output[T], err error) {
	name, file, named := strings.Cut(strings.TrimSpace(part), "=")
	i := slices.Index(k.names(), name)
	if i < 0 {
		hint := suggest.DidYouMean("", name, k.names())
		return f, fmt.Errorf("unknown format %q%s; there are %s", name, hint, strings.Join(k.names(), ", "))
	}
	f = k.all(table)[i]
	if file != "-" {
		f.file = file
	}
	same := func(other output[T]) bool { return f.file == "" && other.file == "" || files.Same(f.file, other.file) }
	switch clash := slices.IndexFunc(before, same); {
	case named && file == "": // mostly a variable of a script that is not set
		err = fmt.Errorf("%s= names no file", name)
	case f.dir != nil && f.file == "":
		err = fmt.Errorf("%s makes several files: name a directory, as in %[1]s=DIR", name)
	case clash >= 0:
		err = fmt.Errorf("%s and %s both go to %s: name another file for one of them, as in %[2]s=FILE",
			before[clash].name, name, cmp.Or(f.file, "standard output"))
	case slices.ContainsFunc(inputs, func(in string) bool { return files.Same(in, f.file) }):
		err = fmt.Errorf("%s is read or written by this command already, and would be replaced", file)
	}
	return f, err
}

// drawOptions fits tables to COLUMNS, else to the terminal.
func (p *program) drawOptions(o *options) draw.Options {
	columns, _ := p.env.lookup("COLUMNS")
	noColor, _ := p.env.lookup("NO_COLOR") // https://no-color.org
	term, _ := p.env.lookup("TERM")
	terminal := progress.Terminal(p.stdout)
	width, err := strconv.Atoi(columns)
	if err != nil {
		width = cmp.Or(terminal, 100)
	}
	color := terminal > 0 && noColor == "" && term != "dumb"
	return draw.Options{Width: min(max(width, 40), 1000), Color: color, Verbose: o.on("verbose")}
}

// end writes v and returns the exit code as an error; nil for 0.
func (out printer[T]) end(v T) error {
	out.write(v)
	return out.code(v)
}

// code returns the exit code that v stands for as an error; nil for 0.
func (out printer[T]) code(v T) error {
	if out.exit == nil || out.exit(v) == exitOK {
		return nil
	}
	return exitCode(out.exit(v))
}

// write writes v in all formats. An error is printed, and the other formats are written all the same.
func (out printer[T]) write(v T) {
	out.draining.Store(false) // what was measured is kept, and a pipe may have no reader
	for _, f := range out.outputs {
		var err error
		if f.dir != nil {
			err = f.dir(out.into(f.file), v)
		} else {
			err = out.save(f.file, func(w io.Writer) error { return f.write(w, v) })
		}
		if err != nil {
			out.lose("-format %s: %s", f.name, err)
		}
	}
}

// into returns what makes files in a directory.
func (p *program) into(dir string) create {
	return func(name string, write func(io.Writer) error) error { return p.save(filepath.Join(dir, name), write) }
}

// save makes a file of what write writes, without secrets. Without a file it goes to standard output.
func (p *program) save(file string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	hidden := p.secrets.Hide(text.String())
	if file == "" {
		_, err := io.WriteString(p.stdout.W, hidden) // which may have colours
		return err
	}
	return files.Write(file, []byte(hidden))
}
