// From text to Workload: the YAML that is allowed, and nothing else of it.

package file

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The bounds of a file. A matrix of 10,000 cells fits; what is far beyond, or nested as no workload is, would cost the
// parser time and stack that grow with its square.
const (
	MaxSize = 8 << 20 // bytes

	// MaxItems is how many values a list may have, and a workload cells.
	MaxItems = 10_000

	maxFields = 500 // of a mapping
	maxLine   = 64 << 10
	maxDepth  = 100
	maxAbout  = 200
	maxName   = 64
)

// Parse reads a workload; source is its name in errors, which are all of type *Error.
func Parse(source string, text []byte, v Vocabulary) (_ *Workload, err error) {
	clean := strings.ReplaceAll(strings.TrimPrefix(string(text), "\ufeff"), "\r\n", "\n")
	w := &Workload{Source: source, lines: strings.Split(clean, "\n")}
	r := &reader{Workload: w, v: v}
	defer r.stopped(&err)
	if err := r.check(clean); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(clean)
	if err := r.bounded(tokens); err != nil {
		return nil, err
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, r.syntax(err)
	}
	r.top(r.body(tree))
	return w, nil
}

// reader fills a workload. What it calls with the tree ends by a panic at the first fault, which Parse returns.
type reader struct {
	*Workload
	v Vocabulary
}

func (r *reader) stop(at Pos, format string, args ...any) { panic(r.Fault(at, format, args...)) }

func (r *reader) stopped(err *error) {
	switch fault := recover().(type) {
	case nil:
	case *Error:
		*err = fault
	default:
		panic(fault)
	}
}

// check looks at what would be costly, or wrong, to hand on.
func (r *reader) check(text string) error {
	if len(text) > MaxSize {
		return r.Fault(Pos{1, 1}, "is longer than %d MiB, which no workload is", MaxSize>>20)
	}
	depth := 0
	for i, line := range r.lines {
		switch {
		case len(line) > maxLine:
			return r.Fault(Pos{i + 1, 1}, "a line of more than %d KiB", maxLine>>10)
		case !utf8.ValidString(line):
			return r.Fault(Pos{i + 1, 1}, "is not UTF-8")
		}
		for column, c := range line {
			switch {
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth = max(0, depth-1)
			case c < ' ' && c != '\t' || c == 0x7f:
				return r.Fault(Pos{i + 1, utf8.RuneCountInString(line[:column]) + 1}, "a control character, %U", c)
			}
			if depth > maxDepth {
				return r.Fault(Pos{i + 1, utf8.RuneCountInString(line[:column]) + 1}, "is nested too deeply")
			}
		}
	}
	return nil
}

// syntax rewords the parser's complaint, which comes with a picture of its own.
func (r *reader) syntax(err error) error {
	var fault yaml.Error
	if !errors.As(err, &fault) || fault.GetToken() == nil {
		return r.Fault(Pos{1, 1}, "%s", strings.ReplaceAll(err.Error(), "\n", " "))
	}
	at := Pos{1, 1}
	if p := fault.GetToken().Position; p != nil && p.Line > 0 {
		at = Pos{min(p.Line, len(r.lines)), max(1, p.Column)}
	}
	what := fault.GetMessage()
	for _, hint := range hints {
		if strings.Contains(what, hint.says) {
			what += hint.means
		}
	}
	return r.Fault(at, "%s", what)
}

// hints add to what the parser says, where that leaves a user alone.
var hints = []struct{ says, means string }{
	{"tab character", ": YAML is indented with spaces"},
	{"found character '\t'", ": YAML is indented with spaces"},
	{"mapping value is not allowed",
		": put quotes around a text with a colon and a blank, and indent what belongs together alike"},
	{"reserved character", ": put quotes around the text"},
}

// body returns the fields that the file is made of.
func (r *reader) body(tree *ast.File) []entry {
	var bodies []ast.Node
	for _, doc := range tree.Docs {
		if doc.Body != nil && doc.Body.Type() == ast.DirectiveType {
			r.stop(first(doc.Body), "a directive, which no workload needs")
		}
		if doc.Body != nil && doc.Body.Type() != ast.CommentGroupType {
			bodies = append(bodies, doc.Body)
		}
	}
	switch {
	case len(bodies) == 0:
		r.stop(Pos{1, 1}, "is empty: a workload sets at least one field")
	case len(bodies) > 1:
		r.stop(first(bodies[1]), "a second document: a file is one workload")
	}
	return r.entries(bodies[0], "a workload")
}

// extra returns what is wrong with a node that YAML has and no workload needs. An alias may stand for any amount of text.
func extra(n ast.Node) (wrong string) {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "anchors and aliases are not read here: write the value out"
	case *ast.TagNode:
		return "tags are not read here: write the value alone"
	}
	return ""
}

// entry is one field of a mapping.
type entry struct {
	name  string
	at    Pos
	value ast.Node
}

// entries returns the fields of a mapping, each once; what says what else is no mapping.
func (r *reader) entries(n ast.Node, what string) (list []entry) {
	var pairs []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		pairs = n.Values
	case *ast.MappingValueNode:
		pairs = []*ast.MappingValueNode{n}
	default:
		if wrong := extra(n); wrong != "" {
			r.stop(first(n), "%s", wrong)
		}
		r.stop(first(n), "%s is made of fields, as in clients: 64, and this is %s", what, kind(n))
	}
	for _, pair := range pairs {
		at := first(pair.Key)
		if pair.Key.IsMergeKey() {
			r.stop(at, "anchors and aliases are not read here: write the values out")
		}
		if wrong := extra(pair.Key); wrong != "" {
			r.stop(at, "%s", wrong)
		}
		name, wrong := textOf(pair.Key)
		if wrong != "" {
			r.stop(at, "a field's name must be a word, and this is %s", kind(pair.Key))
		}
		if i := slices.IndexFunc(list, func(e entry) bool { return e.name == name }); i >= 0 {
			r.stop(at, "%s is given twice, first on line %d", name, list[i].at.Line)
		}
		list = append(list, entry{name, at, pair.Value})
	}
	return list
}

// text returns the text of a field's value.
func (r *reader) text(field string, n ast.Node) string {
	text, wrong := textOf(n)
	if wrong != "" {
		r.stop(first(n), "%s: %s", field, wrong)
	}
	return text
}

// textOf returns the text of a value that is neither list nor mapping, as it was written, or what is wrong with it.
func textOf(n ast.Node) (text, wrong string) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, ""
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, ""
	case *ast.NullNode:
		if tk := n.GetToken(); tk.Type == token.NullType && tk.Value == "null" { // the name of a driver
			return tk.Value, ""
		}
		return "", "has no value"
	}
	return "", cmp.Or(extra(n), "must be one value, and this is "+kind(n))
}

// kind returns what a node is, in a sentence.
func kind(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.NullNode:
		return "nothing"
	case *ast.MappingKeyNode:
		return "a question mark"
	}
	return "a single value"
}

// first returns where a node begins.
func first(n ast.Node) Pos {
	switch x := n.(type) {
	case *ast.MappingNode:
		if len(x.Values) > 0 && !x.IsFlowStyle {
			return first(x.Values[0].Key) // its token is the colon
		}
	case *ast.MappingValueNode:
		return first(x.Key)
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return Pos{max(1, t.Position.Line), max(1, t.Position.Column)}
	}
	return Pos{1, 1}
}
