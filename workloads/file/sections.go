// The parts of a workload: the top, its classes and its cells.

package file

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// The fields that are no flags.
const (
	fieldName    = "name"
	fieldAbout   = "about"
	fieldSLO     = "slo"
	fieldClasses = "classes"
	fieldCells   = "cells"
)

var ofTheTop = []string{fieldName, fieldAbout, fieldSLO, fieldClasses, fieldCells}

func (r *reader) top(entries []entry) {
	for _, e := range entries {
		switch e.name {
		case fieldName:
			r.Name = r.named(e, "the workload")
		case fieldAbout:
			r.About = r.about(e)
		case fieldSLO:
			r.SLO = r.slo(e)
		case fieldClasses:
			r.classes(e)
		case fieldCells:
			r.cells(e)
		default:
			r.Top = append(r.Top, r.setting(e, inTop))
		}
	}
}

// named reads a name: a word that needs no quotes anywhere.
func (r *reader) named(e entry, whose string) string {
	name := r.text(e.name, e.value)
	if err := checkName(name); err != nil {
		r.stop(first(e.value), "name %q of %s: %v", name, whose, err)
	}
	return name
}

// checkName wants letters, digits, dashes, dots and underscores.
func checkName(name string) error {
	word := func(c rune) bool {
		return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("-_.", c)
	}
	if name == "" || len(name) > maxName || strings.IndexFunc(name, func(c rune) bool { return !word(c) }) >= 0 ||
		strings.HasPrefix(name, "-") {
		return fmt.Errorf("must be 1 to %d letters, digits, dashes, dots and underscores", maxName)
	}
	return nil
}

// Named makes a name of a text: that of a file, say.
func Named(text string) string {
	name := strings.Map(func(c rune) rune {
		if checkName("x"+string(c)) == nil {
			return c
		}
		return '-'
	}, text)
	name = strings.TrimLeft(name, "-")
	return name[:min(len(name), maxName)]
}

func (r *reader) about(e entry) string {
	text := r.text(e.name, e.value)
	if strings.ContainsAny(text, "\n\r") || len(text) > maxAbout || strings.TrimSpace(text) == "" {
		r.stop(first(e.value), "about: must be one line of at most %d characters", maxAbout)
	}
	return text
}

// slo reads conditions: a list, or one text with commas between them.
func (r *reader) slo(e entry) *Setting {
	s := &Setting{Field: e.name, At: e.at}
	nodes := []ast.Node{e.value}
	if list, ok := e.value.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	if len(nodes) == 0 {
		r.stop(first(e.value), "slo: the list is empty")
	}
	for _, n := range nodes {
		s.Values = append(s.Values, Value{r.text(e.name, n), first(n)})
	}
	return s
}

// classes reads a mapping of names, or a list of classes that have theirs inside.
func (r *reader) classes(e entry) {
	if list, ok := e.value.(*ast.SequenceNode); ok {
		for _, n := range list.Values {
			r.listedClass(n)
		}
	} else {
		for _, named := range r.entries(e.value, "classes") {
			if err := checkName(named.name); err != nil {
				r.stop(named.at, "name %q of a class: %v", named.name, err)
			}
			r.class(named.name, named.at, named.value, "")
		}
	}
	if len(r.Classes) == 0 {
		r.stop(first(e.value), "classes: must have at least one; without any, leave the field out")
	}
}

// listedClass reads a class with its name inside.
func (r *reader) listedClass(n ast.Node) {
	entries := r.entries(n, "a class")
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == fieldName })
	if i < 0 {
		r.stop(first(n), "a class in a list needs a name")
	}
	r.class(r.named(entries[i], "a class"), entries[i].at, n, fieldName)
}

// class reads the fields of a class but for one of that name.
func (r *reader) class(name string, at Pos, n ast.Node, without string) {
	if i := slices.IndexFunc(r.Classes, func(c Class) bool { return c.Name == name }); i >= 0 {
		r.stop(at, "class %s is given twice, first on line %d", name, r.Classes[i].At.Line)
	}
	if most := r.v.MaxClasses; most > 0 && len(r.Classes) == most {
		r.stop(at, "class %s is one too many: there may be %d", name, most)
	}
	r.Classes = append(r.Classes, Class{name, at, r.settings(n, "class "+name, inClass, without)})
}

func (r *reader) cells(e entry) {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		r.stop(first(e.value), "cells: must be a list of mappings, and this is %s", kind(e.value))
	}
	for _, n := range list.Values {
		settings := r.settings(n, "a cell", inCell, "")
		if len(settings) == 0 {
			r.stop(first(n), "a cell without fields: it sets what tells it from the others")
		}
		r.Cells = append(r.Cells, Cell{At: first(n), Settings: settings})
	}
	if len(r.Cells) == 0 {
		r.stop(first(e.value), "cells: must have at least one; without any, leave the field out")
	}
}

// settings reads a mapping of fields but for one of that name.
func (r *reader) settings(n ast.Node, what string, in place, without string) (list Settings) {
	for _, e := range r.entries(n, what) {
		if without == "" || e.name != without {
			list = append(list, r.setting(e, in))
		}
	}
	return list
}

// place is where a field stands.
type place int

const (
	inTop place = iota
	inClass
	inCell
)

// setting reads one field.
func (r *reader) setting(e entry, in place) Setting {
	f := r.field(e, in)
	s := Setting{Field: e.name, At: e.at}
	list, isList := e.value.(*ast.SequenceNode)
	if !isList {
		s.Values = []Value{r.value(e, e.value)}
		return s
	}
	switch {
	case in == inClass:
		r.stop(first(list),
			"%s: a class takes one value: a list goes to the top, from where a class has what it does not set", e.name)
	case !f.Axis:
		r.stop(first(list), "%s: takes one value, and this is a list", e.name)
	case len(list.Values) == 0:
		r.stop(first(list), "%s: the list is empty", e.name)
	}
	for _, n := range list.Values {
		s.Values = append(s.Values, r.value(e, n))
	}
	return s
}

func (r *reader) value(e entry, n ast.Node) Value {
	text := r.text(e.name, n)
	switch {
	case text == "":
		r.stop(first(n), "%s: has no value", e.name)
	case strings.Contains(text, ","):
		r.stop(first(n), "%s: a list is written in brackets, [a, b]", e.name)
	}
	return Value{text, first(n)}
}

// field finds a field by its name, or tells why it is none here.
func (r *reader) field(e entry, in place) Field {
	var known []string
	for _, f := range r.v.Fields {
		switch {
		case f.Name == e.name && in == inClass && !f.Class:
			r.stop(e.at, "%s is for the whole workload and cannot differ between classes: put it at the top", e.name)
		case f.Name == e.name && in == inCell && f.Run:
			r.stop(e.at, "%s holds for the whole run and cannot differ between cells: put it at the top", e.name)
		case f.Name == e.name:
			return f
		case in != inClass || f.Class:
			known = append(known, f.Name)
		}
	}
	if in == inTop {
		known = append(known, ofTheTop...)
	} else if slices.Contains(ofTheTop, e.name) {
		r.stop(e.at, "%s stands at the top of a workload only", e.name)
	}
	if why := r.v.RejectHint(e.name); why != "" {
		r.stop(e.at, "%s: %s", e.name, why)
	}
	meant := ""
	if n := r.v.Nearest(e.name, known); n != "" {
		meant = " (did you mean " + n + "?)"
	}
	panic(r.Fault(e.at, "unknown field %q%s", e.name, meant))
}
