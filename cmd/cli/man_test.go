package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMan: every command that the help lists has a page, and every flag is on its command's.
func TestMan(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	if code := run([]string{"man", dir}, nil, &out, &out, environment(), nil); code != exitOK || out.Len() > 0 {
		t.Fatalf("exit code %d, %s", code, &out)
	}
	if code := run([]string{"man", filepath.Join(dir, "none")}, nil, &out, &out, environment(), nil); code != exitError {
		t.Errorf("into no directory: exit code %d", code)
	}
	for name, defs := range map[string][]flagDef{"": nil, "-run": runFlags, "-plan": planFlags, "-clean": cleanFlags, "-version": nil, "-schema": nil} {
		text, err := os.ReadFile(filepath.Join(dir, "lockbench"+name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range defs {
			if flag := "--" + f.name; !strings.Contains(string(text), flag) {
				t.Errorf("lockbench%s.1 has no %s", name, flag)
			}
		}
	}
	if pages, _ := filepath.Glob(filepath.Join(dir, "lockbench-*.1")); len(pages) < len(commandNames((&program{}).root())) {
		t.Errorf("there are only %q", pages)
	}
}
