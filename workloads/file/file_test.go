package file

import (
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml/token"
)

var fields = []Field{
	{Name: "clients", List: true, Class: true}, {Name: "hold", List: true, Class: true},
	{Name: "driver", List: true}, {Name: "duration"},
}

func parse(text string) (*Workload, error) {
	return Parse("w.yaml", []byte(text), fields, func(name string) string { return " (what is " + name + "?)" })
}

func TestParse(t *testing.T) {
	want := Workload{
		Source: "w.yaml", Name: "jobs", About: "it's, all: of it", SLO: "response.p99<1s,errors<1%",
		Top: Settings{
			{"clients", "64,1_000,10k", 4}, {"hold", "uniform:1ms:9ms", 6}, {"driver", "null,exec:a b", 7}, {"duration", "10s", 8},
		},
		Classes: []Class{{"batch", Settings{{"hold", "2s", 12}}}, {"idle", nil}},
	}
	for _, text := range []string{
		`# a comment
name: jobs   # and another
about: "it's, all: of it"
clients: [64, 1_000,
  10k]
hold: uniform:1ms:9ms
driver: [null, 'exec:a b']
duration: 10s
slo: response.p99<1s,errors<1%
classes:
  batch:
    hold: 2s
  idle: {}
`,
		"\ufeffname: jobs\r\nabout: \"it's, all: of it\"\r\n\r\nclients: [64, 1_000, 10k]\r\n\r\n" +
			"hold: uniform:1ms:9ms\r\ndriver: [ \"null\", exec:a b]\r\nduration: 10s\r\n\r\n" +
			"slo: [response.p99<1s, errors<1%]\r\n\r\nclasses: {batch: {hold: 2s}, idle: {}}\r\n",
	} {
		w, err := parse(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(*w, want) {
			t.Errorf("%s\nis read as\n%+v\nwant\n%+v", text, *w, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "1:1: must be one document with fields such as clients: 64"},
		{"# nothing\n", "1:1: must be one document with fields such as clients: 64"},
		{"clients: 3\n---\nclients: 4\n", "1:1: must be one document with fields such as clients: 64"},
		{"clients", "1:1: must be fields such as clients: 64"},
		{"- clients: 3", "1:1: must be fields such as clients: 64"},
		{"clients: 3\ncleints: 3", `2:1: unknown field "cleints" (what is cleints?)`},
		{"Clients: 3", `1:1: unknown field "Clients" (what is Clients?)`},
		{"cells: [{hold: 1s}]", `1:1: unknown field "cells" (what is cells?)`},
		{"classes:\n  a:\n    duration: 1s", `3:5: unknown field "duration" (what is duration?)`},
		{"clients: 3\nclients: 4", `2:1: mapping key "clients" already defined at [1:1]`},
		{"classes: {a: {hold: 1s, hold: 2s}}", `1:25: mapping key "hold" already defined at [1:15]`},
		{"classes:\n  a: {}\n  a: {}", `3:3: mapping key "a" already defined at [2:3]`},
		{"clients: {a: 3}", "1:10: clients: takes one value"},
		{"clients: [[3]]", "1:11: clients: takes one value"},
		{"clients: []", "1:10: clients: takes one value"},
		{"duration: [1s, 2s]", "1:11: duration: takes one value"},
		{"duration: 1s,2s", "1:11: duration: takes one value"},
		{"clients:", "1:10: clients: takes one value"},
		{"clients: ~", "1:10: clients: takes one value"},
		{"clients: ' '", "1:10: clients: takes one value"},
		{"clients: |\n  64\n", "1:10: clients: takes one value"},
		{"? hold\n: 3", `1:1: unknown field "?" (what is ??)`},
		{"hold: &h 1s\n", "1:7: hold: takes one value"},
		{"hold: *c", "1:7: hold: takes one value"},
		{"&a hold: 1s", `1:1: unknown field "&" (what is &?)`},
		{"<<: {hold: 1s}", `1:1: unknown field "<<" (what is <<?)`},
		{"clients: !!int 3", "1:10: clients: takes one value"},
		{"classes: {a: {hold: [1s, 2s]}}", "1:21: hold: takes one value"},
		{"classes: {a: {classes: {}}}", `1:15: unknown field "classes" (what is classes?)`},
		{"classes: 3", "1:10: must be fields such as clients: 64"},
		{"classes: [{name: a}]", "1:10: must be fields such as clients: 64"},
		{"classes:\n  a:\n", "2:6: must be fields such as clients: 64"},
		{"classes: {'a b': {}}", `1:11: name "a b": must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{`name: "a\nb"`, `1:7: name "a\nb": must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{"name: [x]", `1:7: name "[": must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{"about: ''", "1:8: about: takes one value"},
		{"clients: [1, 2", "1:10: sequence end token ']' not found"},
		{"hold: a: b", "1:7: mapping value is not allowed in this context"},
		{"hold: @x", "1:7: '@' is a reserved character"},
		{strings.Repeat("#\n", MaxSize) + "clients: 3", "1:1: is too long for a workload"},
	} {
		_, err := parse(test.text)
		if err == nil || err.Error() != "w.yaml:"+test.want {
			t.Errorf("%.60q:\n     %v\nwant w.yaml:%s", test.text, err, test.want)
		}
	}
}

// FuzzParse wants a workload of known fields or an error with a place, whatever the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"clients: [1, 2]\nclasses: {a: {hold: 1s}}", "a: &x [*x]", "- - -", "? ? ?", "{a: {b: [", "a: |\n b",
		"%YAML\n---\n", "hold: \"\\x\"", "\ufeff", "a: !!x y", "<<: *a", "'': 1", "1: 2", "[a]: b", "hold: >-\n  x\n\n  y",
		strings.Repeat("[", 2000), strings.Repeat("a: {", 2000), "hold: \xff", "clients: a\x00b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := parse(string(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "w.yaml:") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, s := range w.Top {
			if s.Text == "" || w.Top.Find(s.Field).Text != s.Text {
				t.Fatalf("%q: %+v", text, w.Top)
			}
		}
	})
}

// TestNamed makes names, which Parse takes, of the names of files.
func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"hot-key": "hot-key", "my load": "my-load", "-a\nb": "a-b", "ünï": "n-", strings.Repeat("x", 99): strings.Repeat("x", 64), "?": "",
	} {
		if got := Named(text); got != want || got != "" && checkName(&token.Token{Value: got}) != nil {
			t.Errorf("Named(%q) = %q, want %q", text, got, want)
		}
	}
}
