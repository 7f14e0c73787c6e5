// What the Makefile leaves out of a pass of the tests it has to make up for in another one.
package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)`)

// TestShortIsMadeUpFor finds the tests that do less with -short, which make test gives to those under the race detector.
// It has to run each of them without, too.
func TestShortIsMadeUpFor(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, plain, _ := strings.Cut(string(text), "\nplain:")
	plain, _, _ = strings.Cut(plain, "\n\n")
	asks := "testing." + "Short()"
	found := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != root && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		parts := strings.Split(string(text), asks)
		for i := range parts[1:] {
			found++
			dir, _ := filepath.Rel(root, filepath.Dir(path))
			name := "a helper"
			if above := testFunction.FindAllStringSubmatch(strings.Join(parts[:i+1], asks), -1); above != nil {
				name = above[len(above)-1][1]
			}
			if !makesUpFor(plain, "./"+filepath.ToSlash(dir), name) {
				t.Errorf("%s: %s does less with -short, and the Makefile's plain does not run it", path, name)
			}
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%v; %d tests do less with -short", err, found)
	}
}

// makesUpFor tells whether one of the command lines runs a test of a package: all of it, or those that -run names.
func makesUpFor(commands, pkg, test string) bool {
	for line := range strings.Lines(commands) {
		words := regexp.MustCompile(`[\w./-]+`).FindAllString(line, -1)
		has := func(what string) bool { return slices.Contains(words, what) }
		if has(pkg) && (!has("-run") || has(test)) {
			return true
		}
	}
	return false
}

func TestMakesUpFor(t *testing.T) {
	const commands = "\tgo test ./a ./b/c\n\tgo test -run '^(TestX|TestY)$$' ./d\n"
	for _, tt := range []struct {
		pkg, test string
		want      bool
	}{
		{"./a", "TestZ", true}, {"./b/c", "TestX", true}, {"./b", "TestX", false}, {"./d", "TestX", true}, {"./d", "TestY", true}, {"./d", "TestZ", false},
		{"./d", "TestXY", false}, {"./e", "TestX", false},
	} {
		if got := makesUpFor(commands, tt.pkg, tt.test); got != tt.want {
			t.Errorf("%s of %s: %t", tt.test, tt.pkg, got)
		}
	}
}
