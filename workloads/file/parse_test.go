package file

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// words is a small vocabulary with a field of each kind.
var words = Vocabulary{
	Fields: []Field{
		{Name: "clients", Axis: true, Class: true}, {Name: "hold", Axis: true, Class: true},
		{Name: "driver", Axis: true}, {Name: "duration"}, {Name: "trials", Run: true},
	},
	RejectHint: func(name string) string {
		if name == "addr" {
			return "give -addr"
		}
		return ""
	},
	Nearest: func(s string, known []string) string {
		for _, name := range known {
			if len(s) > 2 && strings.HasPrefix(name, s[:3]) {
				return name
			}
		}
		return ""
	},
}

func TestParse(t *testing.T) {
	for name, text := range map[string]string{
		"block": `# a comment
name: jobs   # and another
about: "it's, all: of it"
clients: [64, 1_000,
  10k]
hold: uniform:1ms:9ms
driver: null
duration: 10s
classes:
  batch: {hold: 2s}
  idle: {}
cells:
  - driver: [memory, "null"]
  - hold: 'exp:5ms'
    clients: 3
`,
		"list": `{name: jobs, about: 'it''s, all: of it', clients: [64, 1_000, 10k], hold: uniform:1ms:9ms, driver: null, duration: 10s,
classes: [{hold: 2s, name: batch}, {name: idle}], cells: [{driver: [memory, "null"]}, {hold: exp:5ms, clients: 3}]}`,
		"marked": "\ufeff---\r\nname: jobs\r\nabout: \"it's, all: of it\"\r\nclients:\r\n- 64\r\n- 1_000\r\n- 10k\r\nhold: uniform:1ms:9ms\r\n" +
			"driver: null\r\nduration: 10s\r\nclasses:\r\n  - name: batch\r\n    hold: 2s\r\n  - name: idle\r\n" +
			"cells:\r\n- driver: [memory, 'null']\r\n- {hold: exp:5ms, clients: 3}\r\n",
	} {
		written := func(text string) string {
			w, err := Parse("w.yaml", []byte(text), words)
			if err != nil {
				t.Fatal(err)
			}
			w.Cells[0].Notes = []string{"a note", "and: another"}
			return w.String()
		}
		t.Run(name, func(t *testing.T) { checkParsed(t, text) })
		t.Run(name+" written", func(t *testing.T) { checkParsed(t, written(text)) })
	}
}

func checkParsed(t *testing.T, text string) {
	t.Helper()
	w, err := Parse("w.yaml", []byte(text), words)
	if err != nil {
		t.Fatal(err)
	}
	if w.Source != "w.yaml" || w.Name != "jobs" || w.About != "it's, all: of it" {
		t.Errorf("%q, %q, %q", w.Source, w.Name, w.About)
	}
	want := []string{"clients=64,1_000,10k", "hold=uniform:1ms:9ms", "driver=null", "duration=10s"}
	if got := texts(w.Top); !reflect.DeepEqual(got, want) {
		t.Errorf("top %q, want %q", got, want)
	}
	if len(w.Classes) != 2 || w.Classes[0].Name != "batch" || w.Classes[1].Name != "idle" ||
		!reflect.DeepEqual(texts(w.Classes[0].Settings), []string{"hold=2s"}) || len(w.Classes[1].Settings) != 0 {
		t.Errorf("classes %+v", w.Classes)
	}
	if len(w.Cells) != 2 || !reflect.DeepEqual(texts(w.Cells[0].Settings), []string{"driver=memory,null"}) ||
		!reflect.DeepEqual(texts(w.Cells[1].Settings), []string{"hold=exp:5ms", "clients=3"}) {
		t.Errorf("cells %+v", w.Cells)
	}
}

func texts(s Settings) (list []string) {
	for _, one := range s {
		list = append(list, one.Field+"="+one.Text())
	}
	return list
}

// TestPlaces checks that values know where they stand, so that errors can say so.
func TestPlaces(t *testing.T) {
	w, err := Parse("w.yaml", []byte("driver: memory\nclasses:\n  batch:\n    hold: 5\ncells:\n  - clients: [1, 20, x]\n"), words)
	if err != nil {
		t.Fatal(err)
	}
	if s := w.Classes[0].Find("hold"); s.At != (Pos{4, 5}) || s.Values[0].At != (Pos{4, 11}) || w.Classes[0].At != (Pos{3, 3}) {
		t.Errorf("%+v", w.Classes[0])
	}
	s := w.Cells[0].Find("clients")
	if s.Values[1].At != (Pos{6, 18}) || w.Cells[0].At != (Pos{6, 5}) {
		t.Errorf("%+v", w.Cells[0])
	}
	if w.Cells[0].Find("hold") != nil {
		t.Error("a field that is not there was found")
	}
	e := w.Fault(s.Values[2].At, "clients %s: must be a number", s.Values[2].Text)
	if got, want := e.Error(), "w.yaml:6:22: clients x: must be a number"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := e.Excerpt(), "    6 |   - clients: [1, 20, x]\n      |                      ^\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"", "1:1: is empty: a workload sets at least one field"},
		{"# nothing\n", "1:1: is empty: a workload sets at least one field"},
		{"---\n", "1:1: is empty: a workload sets at least one field"},
		{"clients", "1:1: a workload is made of fields, as in clients: 64, and this is a single value"},
		{"- clients: 3", "1:1: a workload is made of fields, as in clients: 64, and this is a list"},
		{"clients: 3\n---\nclients: 4\n", "3:1: a second document: a file is one workload"},
		{"cleints: 3", `1:1: unknown field "cleints"`},
		{"clint: 3", `1:1: unknown field "clint" (did you mean clients?)`},
		{"hold: 1ms\nclasses:\n  a:\n    holt: 1ms", `4:5: unknown field "holt" (did you mean hold?)`},
		{"Clients: 3", `1:1: unknown field "Clients"`},
		{"cell: 3", `1:1: unknown field "cell" (did you mean cells?)`},
		{"clients: 3\nclients: 4", "2:1: clients is given twice, first on line 1"},
		{"classes: {a: {hold: 1s, hold: 2s}}", "1:25: hold is given twice, first on line 1"},
		{"classes:\n  a: {}\n  b: {}\n  a: {}", "4:3: a is given twice, first on line 2"},
		{"classes: [{name: a}, {name: a}]", "1:23: class a is given twice, first on line 1"},
		{"cells: [{hold: 1s}]\ncells: [{hold: 2s}]", "2:1: cells is given twice, first on line 1"},
		{"clients: {a: 3}", "1:10: clients: must be one value, and this is a mapping"},
		{"clients: [[3]]", "1:11: clients: must be one value, and this is a list"},
		{"clients: []", "1:10: clients: the list is empty"},
		{"duration: [1s, 2s]", "1:11: duration: takes one value, and this is a list"},
		{"clients:", "1:10: clients: has no value"},
		{"clients: ~", "1:10: clients: has no value"},
		{"clients: ''", "1:10: clients: has no value"},
		{"clients: 64,512", "1:10: clients: a list is written in brackets, [a, b]"},
		{"clients: ['64,512']", "1:11: clients: a list is written in brackets, [a, b]"},
		{"clients: |\n  64\n", "1:10: clients: must be one value, and this is a block of text"},
		{"[a]: 3", "1:4: found an invalid key for this map"},
		{"? hold\n: 3", "1:1: a field's name must be a word, and this is a question mark"},
		{"hold: &h 1s\n", "1:7: hold: anchors and aliases are not read here: write the value out"},
		{"clients: &c [1]\nhold: *c", "1:10: clients: anchors and aliases are not read here: write the value out"},
		{"hold: *c", "1:7: hold: anchors and aliases are not read here: write the value out"},
		{"&a hold: 1s", "1:1: anchors and aliases are not read here: write the value out"},
		{"<<: {hold: 1s}", "1:1: anchors and aliases are not read here: write the values out"},
		{"clients: !!int 3", "1:10: clients: tags are not read here: write the value alone"},
		{"addr: h:1", "1:1: addr: give -addr"},
		{"cells: [{addr: h}]", "1:10: addr: give -addr"},
		{"classes: {a: {driver: memory}}", "1:15: driver is for the whole workload and cannot differ between classes: put it at the top"},
		{"classes: {a: {hold: [1s, 2s]}}", "1:21: hold: a class takes one value: a list goes to the top, from where a class has what it does not set"},
		{"classes: {a: {classes: {}}}", "1:15: classes stands at the top of a workload only"},
		{"cells: [{name: x}]", "1:10: name stands at the top of a workload only"},
		{"cells: [{trials: 3}]", "1:10: trials holds for the whole run and cannot differ between cells: put it at the top"},
		{"classes: {}", "1:10: classes: must have at least one; without any, leave the field out"},
		{"classes: []", "1:10: classes: must have at least one; without any, leave the field out"},
		{"classes:", "1:10: classes is made of fields, as in clients: 64, and this is nothing"},
		{"classes: 3", "1:10: classes is made of fields, as in clients: 64, and this is a single value"},
		{"classes:\n  a:\n", "2:6: class a is made of fields, as in clients: 64, and this is nothing"},
		{"classes: [{hold: 1s}]", "1:11: a class in a list needs a name"},
		{"classes: {'a b': {}}", `1:11: name "a b" of a class: must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{"classes: [{name: ''}]", `1:18: name "" of a class: must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{"cells: {}", "1:8: cells: must be a list of mappings, and this is a mapping"},
		{"cells: []", "1:8: cells: must have at least one; without any, leave the field out"},
		{"cells: [{}]", "1:9: a cell without fields: it sets what tells it from the others"},
		{"cells: [3]", "1:9: a cell is made of fields, as in clients: 64, and this is a single value"},
		{"name: -x", `1:7: name "-x" of the workload: must be 1 to 64 letters, digits, dashes, dots and underscores`},
		{"name: [x]", "1:7: name: must be one value, and this is a list"},
		{"about: ''", "1:8: about: must be one line of at most 200 characters"},
		{"about: " + strings.Repeat("x", 201), "1:8: about: must be one line of at most 200 characters"},
		{"about: |\n  two\n  lines", "1:8: about: must be one value, and this is a block of text"},
		{"hold: 1ms\n\tclients: 3", "2:1: found character '\t' that cannot start any token: YAML is indented with spaces"},
		{"clients: [1, 2", "1:10: sequence end token ']' not found"},
		{"hold: a: b", "1:7: mapping value is not allowed in this context: put quotes around a text with a colon and a blank, and indent what belongs together alike"},
		{"hold: @x", "1:7: '@' is a reserved character: put quotes around the text"},
		{"hold: 'x", "1:7: could not find end character of single-quoted text"},
		{"hold: 1ms\nclients: \xff", "2:1: is not UTF-8"},
		{"hold: 1ms\nclients: a\x00b", "2:11: a control character, U+0000"},
		{strings.Repeat("[", 2000), "1:101: is nested too deeply"},
		{"hold: " + strings.Repeat("x", maxLine), "1:1: a line of more than 64 KiB"},
		{strings.Repeat("#\n", MaxSize/2+1), "1:1: is longer than 8 MiB, which no workload is"},
		{"%YAML 1.2\n---\nhold: 1s\n", "1:1: a directive, which no workload needs"},
	} {
		_, err := Parse("w.yaml", []byte(test.text), words)
		shown := test.text[:min(60, len(test.text))]
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%q: %v", shown, err)
			continue
		}
		if got := strings.TrimPrefix(err.Error(), "w.yaml:"); got != test.want {
			t.Errorf("%q:\n     %s\nwant %s", shown, got, test.want)
		}
	}
}

// TestBomb holds the parser to refusing aliases before it follows any.
func TestBomb(t *testing.T) {
	text := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		text += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 8) + "*" + string(c-1) + "]\n"
	}
	if _, err := Parse("w.yaml", []byte(text), words); err == nil {
		t.Error("it was read")
	}
}

func TestExcerptOfALongLine(t *testing.T) {
	text := "driver: [" + strings.Repeat("memory, ", 40) + "{}]"
	_, err := Parse("w.yaml", []byte(text), words)
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	lines := strings.Split(e.Excerpt(), "\n")
	if len(lines) != 3 || utf8.RuneCountInString(lines[0]) > excerptWidth+8 || lines[0][strings.IndexByte(lines[1], '^')] != '{' {
		t.Errorf("%s:\n%s", e, e.Excerpt())
	}
}

func TestNamed(t *testing.T) {
	for text, want := range map[string]string{
		"jobs": "jobs", "my jobs (2)": "my-jobs--2-", "-é-x": "x", "": "", strings.Repeat("x", 99): strings.Repeat("x", 64),
	} {
		if got := Named(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if Named(text) != "" && checkName(Named(text)) != nil {
			t.Errorf("%q becomes %q, which is no name", text, Named(text))
		}
	}
}

// FuzzParse wants a workload of known fields or an error with a place in the text, whatever the text.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"clients: [1, 2]\nclasses: {a: {hold: 1s}}\ncells: [{driver: memory}]", "a: &x [*x]", "- - -", "? ? ?", "{a: {b: [", "a: |\n b",
		"%YAML\n---\n", "hold: \"\\x\"", "\ufeff", "a: !!x y", "<<: *a", "'': 1", "1: 2", "[a]: b", "hold: >-\n  x\n\n  y", "classes:\n- name: a\n  hold: 1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := Parse("w.yaml", text, words)
		if err != nil {
			e, ok := err.(*Error)
			if !ok || e.At.Line < 1 || e.At.Column < 1 || e.What == "" {
				t.Fatalf("%q: %#v", text, err)
			}
			_ = e.Excerpt()
			return
		}
		check := func(s Settings) {
			for i, one := range s {
				if len(one.Values) == 0 || s.Find(one.Field) != &s[i] {
					t.Fatalf("%q: %+v", text, s)
				}
			}
		}
		check(w.Top)
		for _, c := range w.Classes {
			check(c.Settings)
		}
		for _, c := range w.Cells {
			check(c.Settings)
		}
	})
}
