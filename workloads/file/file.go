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
	"cmp"
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
	err := reader{fields, remedy}.read(w, bytes.TrimPrefix(text, []byte("\ufeff")))
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

// checkName refuses a name of another form.
func checkName(t *token.Token) error {
	if regexp.MustCompile(NamePattern).MatchString(t.Value) {
		return nil
	}
	return fault(t, "name %q: must be 1 to 64 letters, digits, dashes, dots and underscores", t.Value)
}

// Named makes a name of a text, such as that of a file.
func Named(text string) string {
	name := strings.TrimLeft(regexp.MustCompile(`[^A-Za-z0-9_.-]`).ReplaceAllString(text, "-"), "-")
	return name[:min(len(name), 64)]
}

type reader struct {
	fields []Field
	remedy func(name string) string
}

func (r reader) read(w *Workload, data []byte) error {
	if len(data) > MaxSize || bytes.Count(data, []byte("[")) > maxLists {
		return errors.New("is too long for a workload")
	}
	tree, err := parser.ParseBytes(data, 0)
	switch {
	case err != nil:
		return err
	case len(tree.Docs) != 1 || tree.Docs[0].Body == nil:
		return errors.New("must be one document with fields such as clients: 64")
	}
	return each(tree.Docs[0].Body, func(key *token.Token, value ast.Node) (err error) {
		switch key.Value {
		case "name":
			w.Name, err = value.GetToken().Value, checkName(value.GetToken())
		case "about":
			w.About, err = text(key.Value, value)
		case "slo":
			w.SLO, err = texts(key.Value, value)
		case "classes":
			return each(value, func(name *token.Token, settings ast.Node) error {
				c := Class{Name: name.Value}
				err := each(settings, func(key *token.Token, value ast.Node) error {
					return r.setting(&c.Settings, true, key, value)
				})
				w.Classes = append(w.Classes, c)
				return cmp.Or(checkName(name), err)
			})
		default:
			err = r.setting(&w.Top, false, key, value)
		}
		return err
	})
}

// setting reads a field and its value. Those of a class are no lists.
func (r reader) setting(to *Settings, class bool, key *token.Token, value ast.Node) error {
	i := slices.IndexFunc(r.fields, func(f Field) bool { return f.Name == key.Value && (f.Class || !class) })
	if i < 0 {
		return fault(key, "unknown field %q%s", key.Value, r.remedy(key.Value))
	}
	v, err := texts(key.Value, value)
	if err == nil && (class || !r.fields[i].List) && strings.Contains(v, ",") {
		err = fault(value.GetToken(), "%s: takes one value", key.Value)
	}
	*to = append(*to, Setting{key.Value, v, key.Position.Line})
	return err
}

// each calls do with the fields of a mapping, in their order, until there is an error.
func each(n ast.Node, do func(key *token.Token, value ast.Node) error) error {
	fields, ok := n.(ast.MapNode)
	if !ok {
		return fault(n.GetToken(), "must be fields such as clients: 64")
	}
	for i := fields.MapRange(); i.Next(); {
		if err := do(i.Key().GetToken(), i.Value()); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the text of one value, or that of a list.
func texts(field string, n ast.Node) (string, error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok || len(list.Values) == 0 {
		return text(field, n)
	}
	var all []string
	for _, n := range list.Values {
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
	switch n.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode, *ast.NullNode:
		if strings.TrimSpace(t.Value) != "" && t.Value != "~" && t.Type != token.ImplicitNullType {
			return t.Value, nil
		}
	}
	return "", fault(t, "%s: takes one value", field)
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
	return map[bool]string{true: "- "}[item] + string(text), err
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
