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

func (r *reader) top(entries []entry) (err error) {
	for _, e := range entries {
		switch e.name {
		case fieldName:
			r.Name, err = r.named(e, "the workload")
		case fieldAbout:
			r.About, err = r.about(e)
		case fieldSLO:
			r.SLO, err = r.slo(e)
		case fieldClasses:
			err = r.classes(e)
		case fieldCells:
			err = r.cells(e)
		default:
			var s Setting
			s, err = r.setting(e, inTop)
			r.Top = append(r.Top, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// named reads a name: a word that needs no quotes anywhere.
func (r *reader) named(e entry, whose string) (string, error) {
	name, err := r.scalar(e.value)
	if err != nil {
		return "", r.label(err, e.name)
	}
	if err := checkName(name); err != nil {
		return "", r.Fault(first(e.value), "name %q of %s: %v", name, whose, err)
	}
	return name, nil
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

func (r *reader) about(e entry) (string, error) {
	text, err := r.scalar(e.value)
	switch {
	case err != nil:
		return "", r.label(err, e.name)
	case strings.ContainsAny(text, "\n\r") || len(text) > maxAbout || strings.TrimSpace(text) == "":
		return "", r.Fault(first(e.value), "about: must be one line of at most %d characters", maxAbout)
	}
	return text, nil
}

// slo reads conditions: a list, or one text with commas between them.
func (r *reader) slo(e entry) (*Setting, error) {
	s := &Setting{Field: e.name, At: e.at}
	nodes := []ast.Node{e.value}
	if list, ok := e.value.(*ast.SequenceNode); ok {
		nodes = list.Values
	}
	if len(nodes) == 0 {
		return nil, r.Fault(first(e.value), "slo: the list is empty")
	}
	for _, n := range nodes {
		text, err := r.scalar(n)
		if err != nil {
			return nil, r.label(err, e.name)
		}
		s.Values = append(s.Values, Value{text, first(n)})
	}
	return s, nil
}

// label puts a field's name before what is wrong with its value.
func (r *reader) label(err error, name string) error {
	e := err.(*Error) // as all errors here
	e.What = name + ": " + e.What
	return e
}

// classes reads a mapping of names, or a list of classes that have theirs inside.
func (r *reader) classes(e entry) error {
	if list, ok := e.value.(*ast.SequenceNode); ok {
		for _, n := range list.Values {
			if err := r.listedClass(n); err != nil {
				return err
			}
		}
	} else {
		entries, err := r.entries(e.value, "classes")
		if err != nil {
			return err
		}
		for _, named := range entries {
			if err := checkName(named.name); err != nil {
				return r.Fault(named.at, "name %q of a class: %v", named.name, err)
			}
			if err := r.class(named.name, named.at, named.value, ""); err != nil {
				return err
			}
		}
	}
	if len(r.Classes) == 0 {
		return r.Fault(first(e.value), "classes: must have at least one; without any, leave the field out")
	}
	return nil
}

// listedClass returns a class with its name inside.
func (r *reader) listedClass(n ast.Node) error {
	entries, err := r.entries(n, "a class")
	if err != nil {
		return err
	}
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == fieldName })
	if i < 0 {
		return r.Fault(first(n), "a class in a list needs a name")
	}
	name, err := r.named(entries[i], "a class")
	if err != nil {
		return err
	}
	return r.class(name, entries[i].at, n, fieldName)
}

// class reads the fields of a class but for one of that name.
func (r *reader) class(name string, at Pos, n ast.Node, without string) error {
	if i := slices.IndexFunc(r.Classes, func(c Class) bool { return c.Name == name }); i >= 0 {
		return r.Fault(at, "class %s is given twice, first on line %d", name, r.Classes[i].At.Line)
	}
	if most := r.v.MaxClasses; most > 0 && len(r.Classes) == most {
		return r.Fault(at, "class %s is one too many: there may be %d", name, most)
	}
	settings, err := r.settings(n, "class "+name, inClass, without)
	r.Classes = append(r.Classes, Class{name, at, settings})
	return err
}

func (r *reader) cells(e entry) error {
	list, ok := e.value.(*ast.SequenceNode)
	if !ok {
		return r.Fault(first(e.value), "cells: must be a list of mappings, and this is %s", kind(e.value))
	}
	for _, n := range list.Values {
		settings, err := r.settings(n, "a cell", inCell, "")
		if err != nil {
			return err
		}
		if len(settings) == 0 {
			return r.Fault(first(n), "a cell without fields: it sets what tells it from the others")
		}
		r.Cells = append(r.Cells, Cell{At: first(n), Settings: settings})
	}
	if len(r.Cells) == 0 {
		return r.Fault(first(e.value), "cells: must have at least one; without any, leave the field out")
	}
	return nil
}

// settings reads a mapping of fields but for one of that name.
func (r *reader) settings(n ast.Node, what string, in place, without string) (list Settings, err error) {
	entries, err := r.entries(n, what)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if without != "" && e.name == without {
			continue
		}
		s, err := r.setting(e, in)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// place is where a field stands.
type place int

const (
	inTop place = iota
	inClass
	inCell
)

// setting reads one field.
func (r *reader) setting(e entry, in place) (Setting, error) {
	f, err := r.field(e, in)
	if err != nil {
		return Setting{}, err
	}
	s := Setting{Field: e.name, At: e.at}
	list, isList := e.value.(*ast.SequenceNode)
	if !isList {
		v, err := r.value(e, e.value)
		s.Values = []Value{v}
		return s, err
	}
	switch {
	case in == inClass:
		return s, r.Fault(first(list),
			"%s: a class takes one value: a list goes to the top, from where a class has what it does not set", e.name)
	case !f.Axis:
		return s, r.Fault(first(list), "%s: takes one value, and this is a list", e.name)
	case len(list.Values) == 0:
		return s, r.Fault(first(list), "%s: the list is empty", e.name)
	}
	for _, n := range list.Values {
		v, err := r.value(e, n)
		if err != nil {
			return s, err
		}
		s.Values = append(s.Values, v)
	}
	return s, nil
}

func (r *reader) value(e entry, n ast.Node) (Value, error) {
	text, err := r.scalar(n)
	switch {
	case err != nil:
		return Value{}, r.label(err, e.name)
	case text == "":
		return Value{}, r.Fault(first(n), "%s: has no value", e.name)
	case strings.Contains(text, ","):
		return Value{}, r.Fault(first(n), "%s: a list is written in brackets, [a, b]", e.name)
	}
	return Value{text, first(n)}, nil
}

// field finds a field by its name, or tells why it is none here.
func (r *reader) field(e entry, in place) (Field, error) {
	var known []string
	for _, f := range r.v.Fields {
		switch {
		case f.Name == e.name && in == inClass && !f.Class:
			return f, r.Fault(e.at,
				"%s is for the whole workload and cannot differ between classes: put it at the top", e.name)
		case f.Name == e.name && in == inCell && f.Run:
			return f, r.Fault(e.at,
				"%s holds for the whole run and cannot differ between cells: put it at the top", e.name)
		case f.Name == e.name:
			return f, nil
		case in != inClass || f.Class:
			known = append(known, f.Name)
		}
	}
	if in == inTop {
		known = append(known, ofTheTop...)
	} else if slices.Contains(ofTheTop, e.name) {
		return Field{}, r.Fault(e.at, "%s stands at the top of a workload only", e.name)
	}
	if why := r.v.RejectHint(e.name); why != "" {
		return Field{}, r.Fault(e.at, "%s: %s", e.name, why)
	}
	meant := ""
	if n := r.v.Nearest(e.name, known); n != "" {
		meant = " (did you mean " + n + "?)"
	}
	return Field{}, r.Fault(e.at, "unknown field %q%s", e.name, meant)
}
