package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNewSetting builds lockbench with two settings more, each a field and a row of the table, and looks for them wherever
// settings are read, written or compared. One is a switch of the load, of which lockbench plan takes no list.
func TestNewSetting(t *testing.T) {
	if testing.Short() {
		t.Skip("lockbench is built anew: make test-all")
	}
	run := changed(t, "results/spec", map[string][]string{
		"spec.go": {
			"type Plan struct {\n", "type Plan struct {\n\tColour string `json:\"colour,omitempty\"`\n",
			"type Load struct {\n", "type Load struct {\n\tBusy bool `json:\"busy,omitempty\"`\n",
		},
		"settings.go": {"var Settings = []Setting{\n", `var Settings = []Setting{
	{Name: "colour", Group: GroupWhat, Value: "NAME", Default: "none", Zero: "none", Axis: true, Usage: "of the lock",
		at: func(p *Plan, _ *Load) value { return name(&p.Colour) }},
	{Name: "busy", Group: GroupLoad, Default: "off", Zero: "off", Axis: true, Class: true, Usage: "or idle",
		at: func(_ *Plan, l *Load) value { return onOff(&l.Busy) }},
`},
	})
	dir := t.TempDir()
	records, again := filepath.Join(dir, "o.jsonl"), filepath.Join(dir, "again.jsonl")
	workload := filepath.Join(dir, "w.yaml")
	if err := os.WriteFile(workload, []byte("colour: [red, blue]\ndriver: null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const base = "-driver null -n 200 -warmup 0s -quiet"
	for _, test := range []struct{ what, env, command, want string }{
		{"help", "", "help all", " *-colour NAME            of the lock (default none)"},
		{"completion", "", "__complete run --colo", "--colour"},
		{"schema", "", "schema", `"colour": {`},
		{"a plan", "", base + " -colour red -dry-run", "\ncolour: red\n"},
		{"a switch", "", base + " -busy=off,on -dry-run", "\nbusy: [off, on]\n"},
		{"a switch of lockbench plan", "", "plan -driver memory -rate 100 -slo response.p99<20ms -busy -dry-run", " -busy -clients "},
		{"a variable", "LOCKBENCH_COLOUR=red", base + " -dry-run", "\ncolour: red\n"},
		{"a workload", "", "-workload " + workload + " -dry-run", "\ncolour: [red, blue]\n"},
		{"the table", "", base + " -colour red,blue,none -output " + records, "colour"},
		{"the table again", "", base + " -colour red,blue,none -output " + again, "colour"},
		{"CSV", "", "report -format csv " + records, "colour,"},
		{"benchfmt", "", "report -format benchfmt " + records, "colour=red"},
		{"a single run", "", base + " -colour red", "  settings     colour red "},
		{"a column", "", "report " + records, "\ncolour red "},
		{"Markdown", "", "report -format markdown " + records, "| colour red "},
		{"HTML", "", "report -format html " + records, ">colour blue<"},
		{"a comparison's key", "", "compare " + records + " " + again, "blue"},
		{"history", "", "history " + records, "colour red"},
	} {
		if got := run(test.env, test.command); !strings.Contains(got, test.want) {
			t.Errorf("%s (%s) has no %q:\n%.2000s", test.what, test.command, test.want, got)
		}
	}
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"colour":"blue"`, " -colour blue"} { // the plan, and the command line that makes it again
		if !strings.Contains(string(text), want) {
			t.Errorf("no record has %s", want)
		}
	}
}

// TestNewMetric builds lockbench with one metric more, a row of the table, and looks for it wherever metrics are shown, read
// or judged.
func TestNewMetric(t *testing.T) {
	if testing.Short() {
		t.Skip("lockbench is built anew: make test-all")
	}
	run := changed(t, "results/metric", map[string][]string{
		"table.go": {"		cost(\"commands/lock\",", `		cost("luck/lock", "luck", "what it takes besides", func(c *results.Cost) float64 { return 7 * c.Tries }).
			column(Column{Group: "luck", Title: "/lock", Drop: 25}),
		cost("commands/lock",`},
	})
	dir := t.TempDir()
	records, again := filepath.Join(dir, "o.jsonl"), filepath.Join(dir, "again.jsonl")
	const base = "-driver null,memory -clients 1 -n 200 -warmup 0s -trials 6 -quiet -v -output "
	for _, test := range []struct{ what, command, want string }{
		{"the table's notes", base + records, "luck/lock"},
		{"again", base + again, "luck/lock"},
		{"one cell", "-driver null -clients 1 -n 200 -warmup 0s -quiet -v", "7.00 luck"},
		{"Markdown", "report -format markdown " + records, "luck/lock"},
		{"HTML", "report -format html " + records, ">luck<"},
		{"CSV", "report -format csv " + records, ",luck/lock,"},
		{"benchfmt", "report -format benchfmt " + records, " luck/lock"},
		{"help", "help figures", "luck/lock"},
		{"completion", "__complete compare --fail-on lu", "luck/lock"},
		{"a threshold", "compare -fail-on luck/lock>+5% " + records + " " + again, "luck/lock > +5%"},
		{"an absolute one", "compare -fail-on luck/lock>3 " + records + " " + again, "luck/lock > 3"},
		{"a comparison as CSV", "compare -fail-on luck/lock>3 -format csv " + records + " " + again, ",luck/lock,1/lock,"},
		{"a comparison as JSON", "compare -fail-on luck/lock>3 -format json " + records + " " + again, `"figure": "luck/lock"`},
		{"a page of it", "compare -fail-on luck/lock>3 -format html " + records + " " + again, "luck/lock"},
	} {
		if got := run("", test.command); !strings.Contains(got, test.want) {
			t.Errorf("%s (%s) has no %q:\n%.2000s", test.what, test.command, test.want, got)
		}
	}
}

// changed builds lockbench with changes in files of a package, each the first of a text by the one after it, and returns what
// runs it with a variable, which may be empty, and returns all that it prints.
func changed(t *testing.T, pkg string, files map[string][]string) (run func(env, command string) string) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, changes := range files {
		path, err := filepath.Abs(filepath.Join("../..", pkg, file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := string(text)
		for change := range slices.Chunk(changes, 2) {
			if !strings.Contains(changed, change[0]) {
				t.Fatalf("%s has no %q any more", file, change[0])
			}
			changed = strings.Replace(changed, change[0], change[1], 1)
		}
		overlay.Replace[path] = filepath.Join(dir, file)
		if err := os.WriteFile(overlay.Replace[path], []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "lockbench")
	build := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "../lockbench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(env, command string) string {
		c := exec.Command(binary, strings.Fields(command)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "NO_COLOR=1")
		if env != "" {
			c.Env = append(c.Env, env)
		}
		out, _ := c.CombinedOutput() // whose exit code is no concern here
		return string(out)
	}
}
