package file

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/lexer"
)

// many writes n lines, each with its number.
func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestBounded gives collections of one entry too many, in all the styles of YAML. What follows them cannot be parsed at
// all, so an error about the length proves that the parser, which is slow for these, has not seen them.
func TestBounded(t *testing.T) {
	fields, items := maxFields+1, MaxItems+1
	for name, text := range map[string]string{
		"fields":                 many(fields, "k%d: 1\n"),
		"classes":                "classes:\n" + many(fields, "  k%d: {clients: 1}\n"),
		"deeper between":         "classes:\n" + many(fields, "  k%d:\n    clients: 1\n    hold: 1s\n"),
		"quoted":                 many(fields, "'k%d': 1\n"),
		"questions":              many(fields, "? k%d\n"),
		"merged":                 many(fields, "<<: k%d\n"),
		"anchored":               many(fields, "&a k%d: 1\n"),
		"in a cell":              "cells:\n- k: 1\n" + many(fields, "  k%d: 1\n"),
		"braces":                 "classes: {" + many(fields, "k%d: 1,\n ") + "}",
		"bare":                   "classes: {" + many(fields, "k%d,\n ") + "}",
		"after a quoted bracket": "about: '[{'\n" + many(fields, "k%d: 1\n"),
		"cells":                  "cells:\n" + many(items, "  - {keys: %d}\n"),
		"cells not indented":     "cells:\n" + many(items, "- keys: %d\n  hold: 1s\n"),
		"values":                 "keys: [" + many(items, "%d,\n ") + "]",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("w.yaml", []byte(text+"\n'"), words)
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(e.What, "which no workload needs") {
				t.Fatalf("error %.200v", err)
			}
		})
	}
}

func TestMaxClasses(t *testing.T) {
	v := words
	v.MaxClasses = 100
	for name, text := range map[string]string{
		"mapping": "classes:\n" + many(101, "  c%d: {}\n"),
		"list":    "classes:\n" + many(101, "  - {name: c%d}\n"),
	} {
		if _, err := Parse("w.yaml", []byte(text), v); err == nil || !strings.Contains(err.Error(), "w.yaml:102:") ||
			!strings.Contains(err.Error(), "class c100 is one too many: there may be 100") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestWithinBounds takes the largest workload that there may be: lists in one another start anew, and so do mappings.
func TestWithinBounds(t *testing.T) {
	text := "cells:\n" + many(MaxItems, "- keys: [%d, 2]\n  hold: 1s\n") + "duration: 1s\n"
	r := &reader{Workload: &Workload{}}
	if err := r.bounded(lexer.Tokenize(strings.ReplaceAll(text, "keys", "clients"))); err != nil {
		t.Error(err)
	}
}
