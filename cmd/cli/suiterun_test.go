package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestSuiteRuns lets scripts/test.sh, which runs the tests of the Makefile's targets, test packages that pass, fail, exit
// and do not compile. None may be lost.
func TestSuiteRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds: make test-all")
	}
	script, err := os.ReadFile(filepath.Join("..", "..", "scripts", "test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"scripts/test.sh":  string(script),
		"go.mod":           "module m\n\ngo 1.26\n",
		"none/none.go":     "package none\n",
		"good/a_test.go":   "package good\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Log(testing.Short()) }\n",
		"bad/a_test.go":    "package bad\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) { t.Error(\"said\") }\nfunc TestB(*testing.T) {}\n",
		"exits/a_test.go":  "package exits\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(*testing.M) { os.Exit(3) }\n",
		"broken/a_test.go": "package broken\n\nfunc f() { g() }\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const took = `\t[0-9]+\.[0-9]{3}s`
	for _, test := range []struct {
		args []string
		ok   bool
		want string
	}{
		{[]string{"./good", "./none"}, true, `(?m)^\?   \tm/none\t\[no test files\]\nok  \tm/good` + took + `$`},
		{[]string{"-short", "-v", "./good"}, true, `(?s)a_test.go:5: true\n--- PASS: TestA .*\nok  \tm/good` + took + "\n$"},
		{[]string{"-run", "TestB", "./bad", "./good"}, true, `^ok  \tm/bad` + took + `\nok  \tm/good` + took + ` \[no tests to run\]\n$`},
		{[]string{"./bad", "./exits", "./good"}, false, `(?s)a_test.go:5: said\nFAIL\nFAIL\tm/bad` + took +
			`\nexit status 3\nFAIL\tm/exits` + took + `\nok  \tm/good` + took + "\nFAIL\n$"},
		{nil, false, `(?s)undefined: g\n.*FAIL\t\[build failed\]\n$`},
	} {
		var out bytes.Buffer
		cmd := exec.Command("bash", append([]string{filepath.Join(dir, "scripts", "test.sh")}, test.args...)...)
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); (err == nil) != test.ok || !regexp.MustCompile(test.want).Match(out.Bytes()) {
			t.Errorf("%q: %v\n%s\nwant %s", test.args, err, &out, test.want)
		}
	}
}
