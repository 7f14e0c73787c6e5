// Package file reads workloads from YAML, and writes them. A workload is a flat mapping of lockbench's settings,
// written as on the command line; a list makes a matrix. Kinds of clients that differ are a mapping of names:
//
//	name: night-jobs
//	about: batch jobs beside the online traffic
//	keys: 100
//	hold: [1ms, 5ms]
//	classes:                  # what a class leaves out it has from the top
//	  online: {clients: 64, rate: 500}
//	  batch:  {clients: 4, hold: 2s}
//
// Values stay text: their settings read them.
package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file: the parser takes time that grows with the square of the fields and of the depth of lists.
const (
	MaxSize  = 48 << 10 // bytes
	maxLists = 1000
)

// Field is a setting that a workload can have.
type Field struct {
	Name  string
	List  bool // takes a list
	Class bool // a class may set it
}

// Workload is what a file says, in its order.
type Workload struct {
	Source  string // the file, as errors name it
	Name    string // what it calls itself, or empty
	About   string // one line on what it imitates, or empty
	SLO     string // what must be true of the arrivals, or empty
	Top     Settings
	Classes []Class // none: all clients are of one kind
}

// Class is one kind of clients.
type Class struct {
	Name string
	Settings
}

// Settings are fields that are given a value, each at most once.
type Settings []Setting

// Setting is a field and its value as a flag has it: a list has commas.
type Setting struct {
	Field, Text string
	Line        int // of the file, from 1
}

// Find returns the setting of a field, or nil.
func (s Settings) Find(field string) *Setting {
	if i := slices.IndexFunc(s, func(one Setting) bool { return one.Field == field }); i >= 0 {
		return &s[i]
	}
	return nil
}

// Parse reads a workload of these fields. Errors begin with source, the line and the column. Remedy returns what to do
// about a field that is not known, or nothing.
func Parse(source string, text []byte, fields []Field, remedy func(name string) string) (*Workload, error) {
	w := &Workload{Source: source}
	err := w.parse(bytes.TrimPrefix(text, []byte("\ufeff")), fields, remedy)
	if err == nil {
		return w, nil
	}
	line, column, what := 1, 1, err.Error()
	if fault, ok := errors.AsType[yaml.Error](err); ok {
		what = fault.GetMessage()
		if t := fault.GetToken(); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
	}
	return nil, fmt.Errorf("%s:%d:%d: %s", source, line, column, what)
}

// fault returns an error of the library about a token.
func fault(t *token.Token, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: t}
}

// NamePattern is the form of the names of workloads and classes, which need no quotes anywhere.
const NamePattern = `^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$`

var nameForm = regexp.MustCompile(NamePattern)

const nameRule = "1 to 64 letters, digits, dashes, dots and underscores"

// Named makes a name of a text, such as that of a file.
func Named(text string) string {
	name := strings.TrimLeft(regexp.MustCompile(`[^A-Za-z0-9_.-]`).ReplaceAllString(text, "-"), "-")
	return name[:min(len(name), 64)]
}

func (w *Workload) parse(data []byte, fields []Field, remedy func(name string) string) error {
	if len(data) > MaxSize || bytes.Count(data, []byte("[")) > maxLists {
		return errors.New("is too long for a workload")
	}
	tree, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	docs := slices.DeleteFunc(tree.Docs, func(d *ast.DocumentNode) bool {
		return d.Body == nil || d.Body.Type() == ast.CommentGroupType
	})
	if len(docs) != 1 {
		return errors.New("must be one document with fields such as clients: 64")
	}
	return each(docs[0].Body, func(key *token.Token, value ast.Node) (err error) {
		switch key.Value {
		case "name":
			if w.Name, err = text(key.Value, value); err == nil && !nameForm.MatchString(w.Name) {
				err = fault(value.GetToken(), "name %q: must be %s", w.Name, nameRule)
			}
		case "about":
			w.About, err = text(key.Value, value)
		case "slo":
			w.SLO, err = texts(key.Value, value)
		case "classes":
			err = w.readClasses(value, fields, remedy)
		default:
			err = w.Top.read(key, value, fields, remedy)
		}
		return err
	})
}

func (w *Workload) readClasses(classes ast.Node, fields []Field, remedy func(name string) string) error {
	var own []Field
	for _, f := range fields {
		if f.Class {
			own = append(own, Field{Name: f.Name})
		}
	}
	return each(classes, func(key *token.Token, settings ast.Node) error {
		c := Class{Name: key.Value}
		if !nameForm.MatchString(c.Name) {
			return fault(key, "class %q: its name must be %s", c.Name, nameRule)
		}
		err := each(settings, func(key *token.Token, value ast.Node) error { return c.read(key, value, own, remedy) })
		w.Classes = append(w.Classes, c)
		return err
	})
}

// read reads a field and its value.
func (s *Settings) read(key *token.Token, value ast.Node, fields []Field, remedy func(name string) string) error {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
	if i < 0 {
		return fault(key, "unknown field %q%s", key.Value, remedy(key.Value))
	}
	v, err := texts(key.Value, value)
	if err == nil && !fields[i].List && strings.Contains(v, ",") {
		err = fault(value.GetToken(), "%s: takes one value", key.Value)
	}
	*s = append(*s, Setting{key.Value, v, key.Position.Line})
	return err
}

// each calls do with the fields of a mapping, in their order, until there is an error.
func each(n ast.Node, do func(key *token.Token, value ast.Node) error) error {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		return fault(n.GetToken(), "must be fields such as clients: 64")
	}
	for _, pair := range pairs {
		if err := do(pair.Key.GetToken(), pair.Value); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the text of one value, or that of a list.
func texts(field string, n ast.Node) (string, error) {
	values := []ast.Node{n}
	if list, ok := n.(*ast.SequenceNode); ok {
		values = list.Values
	}
	if len(values) == 0 {
		return "", fault(n.GetToken(), "%s: the list is empty", field)
	}
	var all []string
	for _, n := range values {
		one, err := text(field, n)
		if err != nil {
			return "", err
		}
		all = append(all, one)
	}
	return strings.Join(all, ","), nil
}

// text returns the text of one value as it is written.
func text(field string, n ast.Node) (string, error) {
	t := n.GetToken()
	written := t.Value
	switch n := n.(type) {
	case *ast.StringNode:
		written = n.Value
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
	case *ast.NullNode:
		if t.Type != token.NullType || written != "null" { // null is the name of a driver
			written = ""
		}
	default:
		return "", fault(t, "%s: takes one value", field)
	}
	if strings.TrimSpace(written) == "" {
		return "", fault(t, "%s: has no value", field)
	}
	return written, nil
}

// YAML returns the name, the settings and the classes as Parse reads them: in lines, or as an item of a list, in one.
func (w *Workload) YAML(item bool) (string, error) {
	all, classes := w.Top.yaml(), yaml.MapSlice{}
	if w.Name != "" {
		all = append(yaml.MapSlice{{Key: "name", Value: w.Name}}, all...)
	}
	for _, c := range w.Classes {
		classes = append(classes, yaml.MapItem{Key: c.Name, Value: c.yaml()})
	}
	if len(classes) > 0 {
		all = append(all, yaml.MapItem{Key: "classes", Value: classes})
	}
	text, err := yaml.MarshalWithOptions(all, yaml.Flow(item))
	if item {
		text = append([]byte("- "), text...)
	}
	return string(text), err
}

func (s Settings) yaml() (fields yaml.MapSlice) {
	for _, one := range s {
		var value any = one.Text
		if n, err := strconv.Atoi(one.Text); err == nil && strconv.Itoa(n) == one.Text {
			value = n
		}
		fields = append(fields, yaml.MapItem{Key: one.Field, Value: value})
	}
	return fields
}
