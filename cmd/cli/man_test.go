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
	for name, defs := range map[string][]flagDef{"": runFlags, "-plan": planFlags, "-clean": cleanFlags, "-version": nil, "-schema": nil} {
		text, err := os.ReadFile(filepath.Join(dir, "lockbench"+name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range defs {
			if !strings.Contains(string(text), "\n.TP\n\\fB"+roffEscape(strings.TrimSpace(f.left()))+"\\fR\n") {
				t.Errorf("lockbench%s.1 has no row for -%s", name, f.name)
			}
		}
	}
	front, _ := os.ReadFile(filepath.Join(dir, "lockbench.1"))
	pages, _ := filepath.Glob(filepath.Join(dir, "lockbench-*.1"))
	for _, file := range pages {
		if name := strings.TrimSuffix(filepath.Base(file), ".1"); !strings.Contains(string(front), roffEscape(name)+"(1)") {
			t.Errorf("lockbench.1 does not name %s", name)
		}
	}
	if names := commandNames((&program{}).root()); len(pages) != len(names)-1 { // run is on the first page
		t.Errorf("%d pages of the commands %q", len(pages), names)
	}
}

func TestRoff(t *testing.T) {
	const text = "\nProse, that's it.\n.more\n\nA heading:\n *-a LIST   what it\n              means\n  -metrics-addr HOST:PORT more\n\n  $ run -v \\\n      -x\n"
	const want = "Prose, that\\(aqs it.\n\\&.more\n.PP\n.SS A heading\n.TP\n\\fB*\\-a LIST\\fR\nwhat it\nmeans\n.TP\n\\fB\\-metrics\\-addr HOST:PORT\\fR\nmore\n.PP\n" +
		".nf\n  $ run \\-v \\e\n      \\-x\n.fi\n"
	if got := roff(text); got != want {
		t.Errorf("%q, want\n%q", got, want)
	}
}
