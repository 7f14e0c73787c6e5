package cli_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNewSetting builds lockbench with one setting more, a field of the plan and a row of the table, and looks for it wherever
// settings are read, written or compared.
func TestNewSetting(t *testing.T) {
	if testing.Short() {
		t.Skip("lockbench is built anew: make test-all")
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, change := range map[string][2]string{
		"spec.go": {"type Plan struct {\n", "type Plan struct {\n\tColour string `json:\"colour,omitempty\"`\n"},
		"settings.go": {"var Settings = []Setting{\n", `var Settings = []Setting{
	{Name: "colour", Group: GroupWhat, Value: "NAME", Default: "none", Zero: "none", Axis: true, Usage: "of the lock",
		at: func(p *Plan, _ *Load) value { return name(&p.Colour) }},
`},
	} {
		path, err := filepath.Abs(filepath.Join("../../results/spec", file))
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q any more", file, change[0])
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

	records, again := filepath.Join(dir, "o.jsonl"), filepath.Join(dir, "again.jsonl")
	run := func(env, command string) string {
		t.Helper()
		c := exec.Command(binary, strings.Fields(command)...)
		c.Dir = dir
		c.Env = append(os.Environ(), "NO_COLOR=1")
		if env != "" {
			c.Env = append(c.Env, env)
		}
		out, _ := c.CombinedOutput() // whose exit code is no concern here
		return string(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "w.yaml"), []byte("colour: [red, blue]\ndriver: null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const base = "-driver null -duration 20ms -warmup 0s -quiet"
	for _, test := range []struct{ what, env, command, want string }{
		{"help", "", "help", " *-colour NAME            of the lock (default none)"},
		{"completion", "", "__complete run --colo", "--colour"},
		{"schema", "", "schema", `"colour": {`},
		{"a plan", "", base + " -colour red -dry-run", "\ncolour: red\n"},
		{"a variable", "LOCKBENCH_COLOUR=red", base + " -dry-run", "\ncolour: red\n"},
		{"a workload", "", "-workload w.yaml -dry-run", "\n  - colour: blue\n"},
		{"the table", "", base + " -colour red,blue,none -output " + records, "colour"},
		{"the table again", "", base + " -colour red,blue,none -output " + again, "colour"},
		{"CSV", "", "report -format csv " + records, "colour,"},
		{"benchfmt", "", "report -format benchfmt " + records, "colour=red"},
		{"a single run", "", base + " -colour red", "colour red · hold"},
		{"a column", "", "report " + records, "\nred "},
		{"Markdown", "", "report -format markdown " + records, "| colour |"},
		{"HTML", "", "report -format html " + records, ">colour blue<"},
		{"a comparison's key", "", "compare " + records + " " + again, "blue"},
		{"what a comparison may ignore", "", "compare -ignore colour " + records + " " + again, " (3 trials)"},
		{"history", "", "history " + records, "colour red"},
	} {
		if got := run(test.env, test.command); !strings.Contains(got, test.want) {
			t.Errorf("%s (%s) has no %q:\n%.2000s", test.what, test.command, test.want, got)
		}
	}
	if text, err = os.ReadFile(records); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"colour":"blue"`, " -colour blue"} { // the plan, and the command line that makes it again
		if !strings.Contains(string(text), want) {
			t.Errorf("no record has %s", want)
		}
	}
}
