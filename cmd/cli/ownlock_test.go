package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOwnLock compiles the README's lock as a module of its own, with its test, and runs it.
func TestOwnLock(t *testing.T) {
	if testing.Short() {
		t.Skip("another lockbench is built: make test-all")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Your own lock")
	code := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(section, -1)
	commands := regexp.MustCompile(`(?m)^    go run \. (.*)$`).FindStringSubmatch(section)
	if len(code) != 2 || len(commands) != 2 {
		t.Fatalf("%d pieces of code and the command %q, want 2 and one", len(code), commands)
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
		c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "NO_COLOR=1", "TMPDIR="+t.TempDir())
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	write("main.go", code[0][1])
	write("main_test.go", "package main\n\nimport (\n\t\"testing\"\n\n\t\"github.com/lockbench/lockbench/drivers/drivertest\"\n)\n\n"+code[1][1])
	// The versions of this module, so that nothing has to be looked up.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(text))
	}
	run("go", "mod", "edit", "-module=example.com/filelock", "-require=github.com/lockbench/lockbench@v0.0.0",
		"-replace=github.com/lockbench/lockbench="+root)
	run("go", "test", ".")
	binary := filepath.Join(dir, "filelock")
	run("go", "build", "-o", binary, ".")
	if out := run("gofmt", "-l", "."); out != "" {
		t.Error("not formatted:", out)
	}

	args := append(strings.Fields(commands[1]), "-duration", "100ms", "-warmup", "0s", "-server", "embedded", "-output", "o.jsonl")
	if out := run(binary, args...); !regexp.MustCompile(`(?m)^file +create .* 0( |$)`).MatchString(out) {
		t.Errorf("%q has no row of the lock, or violations:\n%s", args, out)
	}
	for want, args := range map[string]string{
		"file": "list", "create": "report o.jsonl", "stays when its holder dies": "list -json",
		"example.com/filelock": "version", "\ndriver: file\n": "-driver file -dry-run",
	} {
		if out := run(binary, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s has no %q:\n%s", args, want, out)
		}
	}
}
