// Package file reads workloads from YAML, and writes them. A workload is a flat mapping whose fields are lockbench's flags,
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
// Values stay text: the parser of a flag's value reads them.
package file

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. Comments may be long: -dry-run has two lines for each cell of a matrix. The parser takes time that
// grows with the square of the fields and of the depth of lists.
const (
	MaxSize  = 8 << 20 // bytes
	maxText  = 48 << 10
	maxLists = 1000
)

var comments = regexp.MustCompile(`(?m)^ *#.*$`)

// Field is a field that takes a value.
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
type Setting struct{ Field, Text string }

// Find returns the setting of a field, or nil.
func (s Settings) Find(field string) *Setting {
	if i := slices.IndexFunc(s, func(one Setting) bool { return one.Field == field }); i >= 0 {
		return &s[i]
	}
	return nil
}

// Add gives a field a value.
func (s *Settings) Add(field, text string) { *s = append(*s, Setting{field, text}) }

// Parse reads a workload of these fields. Errors begin with source, the line and the column. Remedy returns what to do about a
// field that is not known, or nothing.
func Parse(source string, text []byte, fields []Field, remedy func(name string) string) (*Workload, error) {
	w := &Workload{Source: source}
	err := errors.New("is too long for a workload")
	if len(text) <= MaxSize {
		text = comments.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), nil)
	}
	if len(text) <= maxText && bytes.Count(text, []byte("[")) <= maxLists {
		var tree *ast.File
		if tree, err = parser.ParseBytes(text, 0); err == nil {
			err = w.read(tree, fields)
		}
	}
	if err == nil {
		return w, nil
	}
	line, column := 1, 1
	what := err.Error()
	if fault, ok := errors.AsType[yaml.Error](err); ok {
		what = fault.GetMessage()
		if t := fault.GetToken(); t != nil && t.Position != nil {
			line, column = t.Position.Line, t.Position.Column
		}
	}
	if unknown, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
		what += remedy(unknown.Token.Value)
	}
	return nil, fmt.Errorf("%s:%d:%d: %s", source, line, column, what)
}

// fault returns an error of the library about a token.
func fault(t *token.Token, format string, args ...any) error {
	return &yaml.SyntaxError{Message: fmt.Sprintf(format, args...), Token: t}
}

func (w *Workload) read(tree *ast.File, fields []Field) error {
	docs := slices.DeleteFunc(tree.Docs, func(d *ast.DocumentNode) bool {
		return d.Body == nil || d.Body.Type() == ast.CommentGroupType
	})
	if len(docs) != 1 {
		return errors.New("must be one document with fields such as clients: 64")
	}
	top, err := mapping(docs[0].Body)
	for _, pair := range top {
		if err != nil {
			return err
		}
		switch name := pair.Key.GetToken().Value; name {
		case "name":
			if w.Name, err = text(name, pair.Value); err == nil && !nameForm.MatchString(w.Name) {
				err = fault(pair.Value.GetToken(), "name %q: must be %s", w.Name, nameRule)
			}
		case "about":
			w.About, err = text(name, pair.Value)
			if strings.ContainsAny(w.About, "\r\n") {
				err = fault(pair.Value.GetToken(), "about: must be one line")
			}
		case "slo":
			w.SLO, err = texts(name, pair.Value)
		case "classes":
			err = w.readClasses(pair.Value, fields)
		default:
			err = w.Top.read(pair, fields)
		}
	}
	return err
}

// NamePattern is the form of names of workloads and classes, which need no quotes anywhere.
const NamePattern = `^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,63}$`

var nameForm = regexp.MustCompile(NamePattern)

const nameRule = "1 to 64 letters, digits, dashes, dots and underscores"

func (w *Workload) readClasses(n ast.Node, fields []Field) error {
	var own []Field
	for _, f := range fields {
		if f.Class {
			own = append(own, Field{Name: f.Name})
		}
	}
	classes, err := mapping(n)
	for _, pair := range classes {
		c := Class{Name: pair.Key.GetToken().Value}
		if !nameForm.MatchString(c.Name) {
			return fault(pair.Key.GetToken(), "class %q: its name must be %s", c.Name, nameRule)
		}
		settings, err := mapping(pair.Value)
		if err != nil {
			return err
		}
		for _, one := range settings {
			if err := c.read(one, own); err != nil {
				return err
			}
		}
		w.Classes = append(w.Classes, c)
	}
	return err
}

// read reads a field and its value.
func (s *Settings) read(pair *ast.MappingValueNode, fields []Field) error {
	key := pair.Key.GetToken()
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Name == key.Value })
	if i < 0 {
		return &yaml.UnknownFieldError{Message: fmt.Sprintf("unknown field %q", key.Value), Token: key}
	}
	v, err := texts(key.Value, pair.Value)
	if err == nil && !fields[i].List && strings.Contains(v, ",") {
		err = fault(pair.Value.GetToken(), "%s: takes one value here", key.Value)
	}
	s.Add(key.Value, v)
	return err
}

// mapping returns the fields of a mapping.
func mapping(n ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	}
	return nil, fault(n.GetToken(), "must be fields such as clients: 64, not %s", kind(n))
}

// kind returns what a node is, with its article.
func kind(n ast.Node) string {
	name := strings.ToLower(n.Type().String())
	if strings.ContainsAny(name[:1], "aeiou") {
		return "an " + name
	}
	return "a " + name
}

// texts returns the text of one value, or that of a list.
func texts(field string, n ast.Node) (string, error) {
	list, ok := n.(*ast.SequenceNode)
	if !ok {
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
	if len(all) == 0 {
		return "", fault(n.GetToken(), "%s: the list is empty", field)
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
			return "", fault(t, "%s: has no value", field)
		}
	default:
		return "", fault(t, "%s: takes one value, not %s", field, kind(n))
	}
	if strings.TrimSpace(written) == "" {
		return "", fault(t, "%s: has no value", field)
	}
	return written, nil
}

// Named makes a name of a text, such as that of a file.
func Named(text string) string {
	name := strings.Map(func(c rune) rune {
		if nameForm.MatchString("x" + string(c)) {
			return c
		}
		return '-'
	}, text)
	name = strings.TrimLeft(name, "-")
	return name[:min(len(name), 64)]
}

// String returns the workload as a file, which Parse reads again.
func (w *Workload) String() string {
	var b strings.Builder
	if w.Name != "" {
		fmt.Fprintf(&b, "name: %s\n", scalar(w.Name))
	}
	if w.About != "" {
		fmt.Fprintf(&b, "about: %s\n", quoted(w.About))
	}
	for _, one := range w.Top {
		fmt.Fprintln(&b, one)
	}
	if w.SLO != "" {
		fmt.Fprintln(&b, Setting{"slo", w.SLO})
	}
	if len(w.Classes) > 0 {
		b.WriteString("classes:\n")
	}
	for _, c := range w.Classes {
		fmt.Fprintf(&b, "  %s\n", c)
	}
	return b.String()
}

// Inline returns the name, the top and the classes in braces, on one line.
func (w *Workload) Inline() string {
	var all, classes []string
	if w.Name != "" {
		all = append(all, "name: "+scalar(w.Name))
	}
	for _, one := range w.Top {
		all = append(all, one.String())
	}
	for _, c := range w.Classes {
		classes = append(classes, c.String())
	}
	all = append(all, "classes: {"+strings.Join(classes, ", ")+"}")
	return "{" + strings.Join(all, ", ") + "}"
}

func (c Class) String() string {
	var own []string
	for _, one := range c.Settings {
		own = append(own, one.String())
	}
	return scalar(c.Name) + ": {" + strings.Join(own, ", ") + "}"
}

func (s Setting) String() string {
	values := strings.Split(s.Text, ",")
	for i, v := range values {
		values[i] = scalar(strings.TrimSpace(v))
	}
	if len(values) == 1 {
		return s.Field + ": " + values[0]
	}
	return s.Field + ": [" + strings.Join(values, ", ") + "]"
}

// plain is what YAML reads as it is written, wherever it stands: no list, comment or quote can begin in it.
var plain = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:%*+@/=#-]*$`)

// scalar writes a value. Null is quoted, since other readers take it for nothing at all.
func scalar(text string) string {
	if plain.MatchString(text) && text != "null" && !strings.HasSuffix(text, ":") {
		return text
	}
	return quoted(text)
}

// quoted writes a text of one line in quotes.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
