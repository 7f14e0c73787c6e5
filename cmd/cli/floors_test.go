package cli_test

// Which package may import which. There are floors: 0 the contract and the record, 1 the drivers, 2 the load, 3 the program;
// imports only go down, and between the drivers there are walls. A package that no rule names fails the test, so that
// every new one is placed on purpose: add its rule, and keep it as tight as it can be.

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/lockbench/lockbench"

// rule says what the non-test files of some packages may import besides the standard library. Packages of this module
// are written without its path, and "x/..." means x and all below it.
type rule struct {
	packages string
	ours     []string
	others   []string // by the beginning of the import path
}

var floors = []rule{
	// 0: the contract and the record. Neither knows the other.
	{"drivers", nil, nil},
	{"results/format", nil, []string{"github.com/olekukonko/tablewriter/pkg/twwidth"}},
	{"results/spec", []string{"results/format"}, nil},
	{"results", []string{"results/spec"}, []string{"github.com/HdrHistogram/hdrhistogram-go", "github.com/klauspost/compress/zlib"}},

	// 1: what is built on one of them. A driver has one client library at most; designs have none.
	{"drivers/memory", []string{"drivers"}, nil},
	{"drivers/traffic", []string{"drivers"}, nil},
	{"drivers/redis", []string{"drivers", "drivers/traffic"}, nil},
	{"drivers/quorum", []string{"drivers"}, nil},
	{"drivers/redis/goredis", []string{"drivers", "drivers/redis"}, []string{"github.com/redis/go-redis/v9"}},
	{"drivers/redis/rueidis", []string{"drivers", "drivers/redis"}, []string{"github.com/redis/rueidis"}},
	{"drivers/postgres", []string{"drivers", "drivers/traffic"}, []string{"github.com/jackc/pgx/v5"}},
	// The lock libraries as they ship: each with the client library that it needs, set up as it is for the designs.
	{"drivers/redsync", []string{"drivers", "drivers/redis", "drivers/redis/goredis"}, []string{"github.com/go-redsync/redsync/v4", "github.com/redis/go-redis/v9"}},
	{"drivers/redislock", []string{"drivers", "drivers/redis", "drivers/redis/goredis"}, []string{"github.com/bsm/redislock", "github.com/redis/go-redis/v9"}},
	{"drivers/rueidislock", []string{"drivers", "drivers/redis", "drivers/redis/rueidis"}, []string{"github.com/redis/rueidis"}},
	{"drivers/zookeeper", []string{"drivers", "drivers/traffic"}, []string{"github.com/go-zookeeper/zk"}},
	{"drivers/etcd", []string{"drivers"}, []string{"go.etcd.io/etcd", "google.golang.org/grpc", "go.uber.org/zap"}},
	{"drivers/mysql", []string{"drivers", "drivers/traffic"}, []string{"github.com/go-sql-driver/mysql"}},
	{
		"drivers/all",
		[]string{
			"drivers/etcd",
			"drivers/memory", "drivers/redis/goredis", "drivers/redis/rueidis",
			"drivers/redislock", "drivers/redsync", "drivers/rueidislock",
			"drivers/zookeeper",
			"drivers/mysql",
			"drivers/postgres",
		},
		nil,
	},
	{"drivers/alarm", nil, []string{"golang.org/x/sys"}},
	{"drivers/testwait", nil, nil},
	{"drivers/wait", []string{"drivers"}, nil},
	{"drivers/renew", []string{"drivers"}, nil},
	{"drivers/fault", []string{"drivers"}, nil},
	{"drivers/fault/wire", []string{"drivers/fault"}, nil},
	{"drivers/drivertest", []string{"drivers", "drivers/fault", "drivers/testwait", "drivers/wait"}, []string{"go.uber.org/goleak"}},
	{"drivers/spawn", nil, nil},
	{"drivers/servers", []string{"drivers/fault", "drivers/spawn"}, []string{"github.com/alicebob/miniredis/v2", "github.com/jackc/pgx/v5/pgconn", "github.com/redis/go-redis/v9", "golang.org/x/sys"}},
	{"drivers/lines", []string{"drivers"}, nil},
	{"drivers/exec", []string{"drivers", "drivers/lines", "drivers/quorum", "drivers/renew", "drivers/servers", "drivers/spawn"}, nil},
	{"drivers/simtest", []string{"drivers", "drivers/renew", "drivers/wait", "workloads/oracle"}, nil},
	{"drivers/servers/servertest", []string{"drivers/servers"}, []string{"go.uber.org/goleak"}},
	{"results/safety", []string{"results", "results/format", "results/stats"}, nil},
	{"results/report", []string{"results", "results/capacity", "results/compare", "results/format", "results/metric", "results/safety", "results/spec", "results/stats", "results/view"}, nil},
	{"results/draw", []string{"results/format", "results/report"}, []string{"github.com/olekukonko/tablewriter"}}, // it knows nothing of locks
	{"results/pagetest", []string{"results/format"}, nil},
	{"results/stats", []string{"results"}, []string{"golang.org/x/perf/benchmath", "github.com/aclements/go-moremath/stats"}},
	{"results/metric", []string{"results", "results/format"}, nil},
	{"results/view", []string{"results", "results/format", "results/spec", "results/stats"}, nil},
	{"results/compare", []string{"results", "results/format", "results/view", "results/spec", "results/stats", "results/metric"}, nil},
	{"results/capacity", []string{"results", "results/format", "results/spec"}, []string{"github.com/aclements/go-moremath/mathx"}},
	{"results/capacity/capacitytest", []string{"results", "results/capacity", "results/spec"}, nil},
	{"results/export", []string{"results", "results/capacity", "results/format", "results/spec", "results/stats", "results/metric", "results/view", "results/compare", "results/safety"}, []string{"golang.org/x/perf/benchfmt", "github.com/HdrHistogram/hdrhistogram-go", "github.com/google/jsonschema-go/jsonschema"}},

	// 2: the load, which never knows what it loads.
	// Only workload files know YAML, and nothing of what their words mean.
	{"workloads/file", nil, []string{"github.com/goccy/go-yaml"}},
	{"workloads/presets", nil, nil},
	{"workloads/host", []string{"drivers", "results"}, []string{"golang.org/x/sys"}},
	{"workloads/target", []string{"drivers", "drivers/servers", "drivers/wait", "results", "results/format", "results/spec", "workloads/host", "workloads/matrix"}, nil},
	{"workloads/breakable", []string{"drivers/fault", "drivers/servers", "workloads/hazards"}, nil},
	{"workloads/matrix", []string{"drivers", "drivers/quorum", "drivers/wait", "results", "results/format", "results/spec"}, nil},
	{
		"workloads/observe", []string{"results", "results/metric", "workloads"},
		[]string{"github.com/prometheus/client_golang", "github.com/prometheus/client_model", "github.com/HdrHistogram/hdrhistogram-go"},
	},
	{
		"workloads/hazards", []string{"drivers", "drivers/exec", "drivers/fault", "drivers/renew", "drivers/wait", "results/format", "results/safety", "results/spec", "workloads/matrix"},
		[]string{"github.com/anishathalye/porcupine"},
	},
	{
		"workloads/runner",
		[]string{"drivers", "drivers/servers", "drivers/wait", "results", "results/format", "results/spec", "workloads/..."},
		nil,
	},
	{
		"workloads/fleet", []string{"drivers", "drivers/lines", "drivers/spawn", "results", "results/format", "results/spec", "workloads", "workloads/oracle"},
		[]string{"golang.org/x/sys"},
	},
	{"workloads/...", []string{"drivers", "drivers/alarm", "drivers/wait", "drivers/renew", "results", "results/format", "results/spec", "results/stats", "workloads/..."}, []string{"golang.org/x/sys"}},

	// 3: the program, which alone brings everything together. It reaches the drivers through drivers/all and the
	// registry.
	{
		"cmd/cli",
		[]string{
			"drivers", "drivers/drivertest", "drivers/exec", "drivers/servers", "drivers/wait", "drivers/renew",
			"results/...", "workloads/...", "cmd/cli/...",
		},
		[]string{"github.com/google/jsonschema-go/jsonschema", "github.com/kballard/go-shellquote", "github.com/spf13/cobra", "github.com/spf13/pflag"},
	},

	{"cmd/cli/progress", []string{"results/format", "workloads"}, []string{"golang.org/x/term"}},
	{"cmd/cli/catalog", []string{"drivers", "drivers/exec", "drivers/servers", "drivers/wait", "results/format", "results/metric", "results/report", "results/spec", "workloads/hazards", "workloads/matrix", "workloads/presets", "workloads/target"}, nil},
	{"cmd/cli/secrets", []string{"drivers"}, nil},
	{"cmd/cli/files", nil, nil},
	{"cmd/cli/suggest", nil, nil},
	{"cmd/lockbench", []string{"cmd/cli", "drivers/all"}, nil},
	{"cmd/filelock", []string{"cmd/cli", "drivers", "drivers/all"}, nil},

	// Beside the house: scripts that measure it and fill its papers in.
	{"scripts/overhead", []string{"drivers", "drivers/all", "drivers/servers", "results", "results/spec", "results/stats", "workloads", "workloads/host"}, []string{"github.com/redis/go-redis/v9", "github.com/redis/rueidis"}},
	{"scripts/tables", []string{"drivers", "drivers/all", "results/..."}, nil},
	{"scripts/typecheck", nil, nil},
}

// topLevel is all that the repository holds at its top, files whose name begins with a dot apart.
var topLevel = []string{
	"cmd", "drivers", "workloads", "results", "scripts",
	"go.mod", "go.sum", "Makefile", "BENCHMARKS.md", "README.md", "LICENSE", "CHANGELOG.md",
}

// matches reports whether a pattern of the rules means the package.
func matches(pattern, pkg string) bool {
	below, isTree := strings.CutSuffix(pattern, "/...")
	return pkg == below || isTree && strings.HasPrefix(pkg, below+"/")
}

// checkImports returns what is wrong with the imports of a package, which is named as in the rules.
func checkImports(rules []rule, pkg string, imports []string) (faults []string) {
	at := slices.IndexFunc(rules, func(r rule) bool { return matches(r.packages, pkg) })
	if at < 0 {
		return []string{pkg + ": no rule says what this package may import"}
	}
	r := rules[at]
	for _, imp := range imports {
		allowed, ours := false, false
		if imp == module {
			ours = true
		} else if own, ok := strings.CutPrefix(imp, module+"/"); ok {
			ours = true
			allowed = slices.ContainsFunc(r.ours, func(p string) bool { return matches(p, own) })
		}
		first, _, _ := strings.Cut(imp, "/")
		switch {
		case ours:
		case !strings.Contains(first, "."):
			allowed = imp != "C" // the standard library
		default:
			allowed = slices.ContainsFunc(r.others, func(p string) bool { return matches(p+"/...", imp) })
		}
		if !allowed {
			faults = append(faults, fmt.Sprintf("%s must not import %s", pkg, imp))
		}
	}
	return faults
}

// checkTop returns the files that lie at the top of the repository, or in a directory that does, and should not.
func checkTop(files []string) (faults []string) {
	for _, file := range files {
		top, _, _ := strings.Cut(file, "/")
		if file != "" && !strings.HasPrefix(top, ".") && !slices.Contains(topLevel, top) {
			faults = append(faults, file+": nothing of that name belongs at the top")
		}
	}
	return faults
}

// importsOf reads the imports of all packages below root. It parses the files instead of asking go list, for two
// reasons: files for other systems count too, and go test takes a cached result only while the files that the test
// itself has read are unchanged.
func importsOf(root string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, file, d.Name())
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		pkg := filepath.ToSlash(rel)
		if imports[pkg] == nil {
			imports[pkg] = []string{} // it counts even if it imports nothing
		}
		for _, spec := range parsed.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(imports[pkg], imp) {
				imports[pkg] = append(imports[pkg], imp)
			}
		}
		return nil
	})
	return imports, err
}

// skipDir leaves out the directories in which go looks for no packages of this module.
func skipDir(root, dir, name string) error {
	if dir == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir // a module of its own
	}
	return nil
}

func TestFloors(t *testing.T) {
	imports, err := importsOf(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if len(imports["drivers"]) == 0 || len(imports["results"]) == 0 {
		t.Fatalf("found no contract in %v", imports)
	}
	for pkg, list := range imports {
		for _, fault := range checkImports(floors, pkg, list) {
			t.Error(fault)
		}
	}
}

func TestTopLevel(t *testing.T) {
	root := filepath.Join("..", "..")
	if _, err := os.Stat(filepath.Join(root, ".git")); err != nil {
		t.Skip("not a git checkout:", err)
	}
	git := exec.Command("git", "-c", "safe.directory=*", "ls-files") // whoever owns the checkout
	git.Dir = root
	out, err := git.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range checkTop(strings.Split(string(out), "\n")) {
		t.Error(fault)
	}
}

// Each rule that matters is broken once.
func TestFloorsRejectViolations(t *testing.T) {
	own := func(pkg string) string { return path.Join(module, pkg) }
	for _, tt := range []struct {
		pkg string
		imp string
		ok  bool
	}{
		{"drivers", "crypto/tls", true},
		{"drivers", own("results"), false},
		{"drivers", "github.com/HdrHistogram/hdrhistogram-go", false},
		{"results", "github.com/HdrHistogram/hdrhistogram-go", true},
		{"results", own("drivers"), false},
		{"drivers/redis", own("drivers"), true},
		{"drivers/redis", "github.com/redis/go-redis/v9", false},
		{"drivers/redis/goredis", "github.com/redis/go-redis/v9/maintnotifications", true},
		{"drivers/redis/rueidis", own("drivers/redis/goredis"), false},
		{"workloads", own("drivers/wait"), true},
		{"workloads", own("drivers/memory"), false},
		{"workloads", "github.com/redis/rueidis", false},
		{"cmd/lockbench", own("drivers/all"), true},
		{"cmd/cli", own("drivers/all"), false},
		{"cmd/cli", module, false},
		{"drivers", "C", false},
		{"drivers/raft", "context", false}, // no rule
		{".", "context", false},
	} {
		if faults := checkImports(floors, tt.pkg, []string{"context", tt.imp}); (len(faults) == 0) != tt.ok {
			t.Errorf("%s imports %s: %q, allowed should be %t", tt.pkg, tt.imp, faults, tt.ok)
		}
	}
}

func TestTopLevelRejectsStrangers(t *testing.T) {
	for file, ok := range map[string]bool{
		"cmd/lockbench/main.go": true, ".ci/run": true, ".gitignore": true, "README.md": true,
		"internal/x.go": false, "main.go": false, "docs/README.md": false,
	} {
		if faults := checkTop([]string{file}); (len(faults) == 0) != ok {
			t.Errorf("%s: %q, allowed should be %t", file, faults, ok)
		}
	}
}
