package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOwnLock compiles cmd/filelock as a module of its own, with its test, and runs it.
func TestOwnLock(t *testing.T) {
	if testing.Short() {
		t.Skip("another lockbench is built: make test-all")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		// The flags of the tests, so that what they have compiled is not compiled again.
		c.Env = append(os.Environ(), "GOFLAGS="+os.Getenv("GOFLAGS")+" -mod=mod", "GOWORK=off", "NO_COLOR=1", "TMPDIR="+t.TempDir())
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	// With the versions of this module, so that nothing has to be looked up.
	for name, from := range map[string]string{
		"main.go": "cmd/filelock", "main_test.go": "cmd/filelock", "go.mod": "", "go.sum": "",
	} {
		text, err := os.ReadFile(filepath.Join(root, from, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(text))
	}
	run("go", "mod", "edit", "-module=example.com/filelock", "-require=github.com/lockbench/lockbench@v0.0.0",
		"-replace=github.com/lockbench/lockbench="+root)
	run("go", "test", "-vet=off", ".")
	binary := filepath.Join(dir, "filelock")
	run("go", "build", "-o", binary, ".")
	args := append(strings.Fields("-driver file,memory,rueidis -clients 8 -keys 4 -hold 1ms"), "-n", "100", "-warmup", "0s", "-addr", "embedded", "-output", "o.jsonl")
	if out := run(binary, args...); !regexp.MustCompile(`(?m)^file create .* [0-9,]+ .* 0( |$)`).MatchString(out) {
		t.Errorf("%q has no row of the lock, or violations:\n%s", args, out)
	}
	for want, args := range map[string]string{
		"file": "list", "create": "report -v o.jsonl", "stays when its holder dies": "list -format json",
		"example.com/filelock": "version", "\ndriver: file\n": "-driver file -dry-run",
	} {
		if out := run(binary, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s has no %q:\n%s", args, want, out)
		}
	}
}
