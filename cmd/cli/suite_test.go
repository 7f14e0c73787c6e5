package cli_test

// Which tests run where. The targets of the Makefile are these: test runs everything with -short, test-all runs
// everything, and race runs, under the race detector, all packages that start goroutines. Make test shows that a checkout
// works on its machine: it has every package, every service and every design once, in little time, and beside other work.
// What breaks connections, kills servers, needs several of them or tries many combinations asks testing.Short and is left
// to test-all. Nothing else may leave a test out.

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// maySkip are the files with a t.Skip that no -short explains, and why.
var maySkip = map[string]string{
	"drivers/servers/servertest/servertest.go": "a missing server; CI=true makes it fail",
	"drivers/servers/main_test.go":             "likewise",
	"drivers/mysql/limits_test.go":             "a limit that only MariaDB has",
	"drivers/redis/access_test.go":             "a missing Valkey, which Debian has from release 13 on",
	"workloads/fleet/fleettest/fleettest.go":   "a missing Slurm or Open MPI; CI=true makes it fail",
	"workloads/fleet/witness_test.go":          "a missing python3; CI=true makes it fail",
	"workloads/fleet/fleettest/hosts_linux.go": "namespaces that are not allowed",
	"results/draw/browser/browser_test.go":     "a missing browser; CI=true makes it fail",
	"scripts/release/release_test.go":          "a missing program, likewise; and only root may chroot",
	"drivers/exec/worker_test.go":              "a machine that stalls for as long as a lease",
	"drivers/exec/shipped_test.go":             "a missing language or library; CI=true makes it fail",
	"cmd/cli/secrets_test.go":                  "ways in that a driver does not have",
	"cmd/cli/floors_test.go":                   "a source archive has no list of the files in git",
}

// sources returns the Go files of this module and of those within it, by their paths from its top.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files, err := parsed()
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	return files
}

var parsed = sync.OnceValues(func() (map[string]*ast.File, error) {
	root := filepath.Join("..", "..")
	files := map[string]*ast.File{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err == nil && file != root && d.IsDir() && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(file, ".go") {
			return err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(name)], err = parser.ParseFile(positions, file, text, parser.SkipObjectResolution)
		return err
	})
	return files, err
})

var positions = token.NewFileSet()

// method returns the name of the method or of the package's function that a call calls, and before it the receiver's or
// the package's name if that is an identifier.
func method(n ast.Node) (receiver, name string) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return "", ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if x, ok := selector.X.(*ast.Ident); ok {
		receiver = x.Name
	}
	return receiver, selector.Sel.Name
}

// contains reports whether a node has one below it that is so.
func contains(n ast.Node, is func(ast.Node) bool) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}

// skips returns the places where a test is left out for another reason than -short.
func skips(f *ast.File) (list []token.Pos) {
	asksShort := func(n ast.Node) bool {
		receiver, name := method(n)
		return receiver == "testing" && name == "Short"
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if branch, ok := n.(*ast.IfStmt); ok && contains(branch.Cond, asksShort) {
			return false
		}
		if receiver, name := method(n); slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, name) && receiver != "fs" {
			list = append(list, n.Pos())
		}
		return true
	})
	return list
}

func TestNothingIsSkippedEverywhere(t *testing.T) {
	seen := map[string]bool{}
	for name, f := range sources(t) {
		for _, pos := range skips(f) {
			if seen[name] = true; maySkip[name] == "" {
				t.Errorf("%s: this leaves a test out of every target: ask testing.Short, or say in maySkip why it cannot run", positions.Position(pos))
			}
		}
	}
	for name := range maySkip {
		if !seen[name] {
			t.Errorf("maySkip: nothing in %s skips", name)
		}
	}
	for _, command := range recipe(t, "test-all") {
		if regexp.MustCompile(`go test|/test\.sh`).MatchString(command) && regexp.MustCompile(`-(short|run|skip)\b`).MatchString(command) {
			t.Errorf("make test-all leaves something out: %s", command)
		}
	}
}

// recipe returns the commands of a target.
func recipe(t *testing.T, target string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "\n"+target+":")
	if !found {
		t.Fatalf("the Makefile has no target %s", target)
	}
	commands, _, _ := strings.Cut(after, "\n\n")
	return strings.Split(strings.ReplaceAll(commands, "$(GO)", "go"), "\n")
}

// raceless are the packages that start goroutines and that make race leaves out, and why.
var raceless = map[string]string{
	"results/draw/browser": "its goroutines are chromedp's and a page's",
}

// TestGoroutinesRace holds RACEPKGS in the Makefile to the packages whose code or tests start goroutines.
func TestGoroutinesRace(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^RACEPKGS.*=((?:.*\\\n)*.*)$`).FindSubmatch(text)
	if list == nil {
		t.Fatal("the Makefile has no RACEPKGS")
	}
	patterns := strings.Fields(strings.ReplaceAll(string(list[1]), "./", ""))
	for name, f := range sources(t) {
		pkg := path.Dir(name)
		if contains(f, concurrent) && !slices.ContainsFunc(patterns, func(p string) bool { return matches(p, pkg) }) && raceless[pkg] == "" {
			t.Errorf("%s starts a goroutine, and RACEPKGS in the Makefile does not name %s", name, pkg)
		}
	}
}

// concurrent reports whether a node starts a goroutine.
func concurrent(n ast.Node) bool {
	if _, ok := n.(*ast.GoStmt); ok {
		return true
	}
	_, name := method(n)
	return name == "Go"
}

// TestSuiteLint plants what the tests above must notice.
func TestSuiteLint(t *testing.T) {
	for _, tt := range []struct {
		body        string
		skips, race bool
	}{
		{body: "if testing.Short() { t.Skip() }"},
		{body: "if os.Getenv(`X`) == `` { t.Skip() }", skips: true},
		{body: "if testing.Short() { return }; t.Skipf(`now`)", skips: true},
		{body: "go f()", race: true},
		{body: "all.Go(f)", race: true},
		{body: "f()"},
	} {
		f, err := parser.ParseFile(positions, "planted_test.go", "package p\nfunc Test(t *testing.T) { "+tt.body+" }", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(skips(f)) > 0; got != tt.skips {
			t.Errorf("%s: skips %t", tt.body, got)
		}
		if got := contains(f, concurrent); got != tt.race {
			t.Errorf("%s: concurrent %t", tt.body, got)
		}
	}
}
