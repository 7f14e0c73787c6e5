package format

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestFewWords: what people read beside figures takes twelve words at most; the rest stands in the help. Texts that
// are added to one another are one; templates are none.
func TestFewWords(t *testing.T) {
	const most = 12
	for _, dir := range []string{"report", "draw", "view", "export", "format", "metric"} {
		files, err := filepath.Glob("../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		set := token.NewFileSet()
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			seen := map[ast.Node]bool{}
			ast.Inspect(tree, func(n ast.Node) bool {
				if field, is := n.(*ast.Field); is && field.Tag != nil {
					seen[field.Tag] = true
				}
				if e, is := n.(ast.Expr); is && !seen[n] {
					text := literals(e, seen)
					template := strings.Contains(text, "{{") || strings.HasPrefix(text, "<")
					if n := len(word.FindAllString(text, -1)); n > most && !template {
						t.Errorf("%s: %d words: %s", set.Position(e.Pos()), n, text)
					}
				}
				return true
			})
		}
	}
}

// word finds the beginning of one; what a format fills in is none.
var word = regexp.MustCompile(`(^|\s)[(-]*\pL`)

// literals returns those of a sum, which it marks as seen, and nothing of another expression.
func literals(e ast.Expr, seen map[ast.Node]bool) string {
	seen[e] = true
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return literals(e.X, seen) + " " + literals(e.Y, seen)
		}
	}
	seen[e] = false
	return ""
}
