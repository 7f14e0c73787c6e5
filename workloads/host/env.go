// What a record says of the machine and the program that make the load.

package host

import (
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
)

// Env returns what a record says of them. What cannot be found out is left empty.
func Env() results.Env {
	env := results.Env{
		Lockbench: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Kernel: kernel(), CPUs: runtime.NumCPU(), GOMAXPROCS: runtime.GOMAXPROCS(0),
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		env.CPU = processorName(string(text))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		env.Lockbench = version(info)
		env.Libraries = libraryVersions(info)
	}
	return env
}

// With returns env with the libraries of adapters, which are no others' business.
func With(env results.Env, names ...string) results.Env {
	env.Libraries = maps.Clone(env.Libraries)
	for _, name := range names {
		if lib := library(name); lib.Version != "" && env.Libraries != nil {
			env.Libraries[lib.Module] = lib.Version
		}
	}
	return env
}

// library returns the library of a driver; an empty one if there is no such driver.
func library(driver string) drivers.Library {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return drivers.Library{}
	}
	return drivers.LibraryOf(d)
}

// influential are the variables that change what is measured and are let through: those of Go's runtime and of a client
// library.
var influential = []string{"GODEBUG", "GOGC", "GOMAXPROCS", "GOMEMLIMIT", "RUEIDIS_QUEUE_TYPE"}

// Variables returns the influential variables that are set, by their names, with what scrub leaves of their values.
func Variables(lookup func(string) (string, bool), scrub func(string) string) map[string]string {
	var set map[string]string
	for _, name := range influential {
		if value, _ := lookup(name); value != "" {
			if set == nil {
				set = map[string]string{}
			}
			set[name] = scrub(value)
		}
	}
	return set
}

// module is the one that lockbench is part of.
const module = "github.com/lockbench/lockbench"

// version returns lockbench's. A program with drivers of its own has it as a library.
func version(info *debug.BuildInfo) string {
	if info.Main.Path == module {
		return mainVersion(info)
	}
	if i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == module }); i >= 0 {
		return versionOf(info.Deps[i])
	}
	return "devel"
}

// mainVersion returns the main module's version, which go build takes from its repository.
func mainVersion(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "devel"
}

func libraryVersions(info *debug.BuildInfo) map[string]string {
	measured := map[string]bool{"github.com/alicebob/miniredis/v2": true} // what figures depend on, besides lockbench itself
	for _, name := range drivers.Names() {
		measured[library(name).Module] = true
	}
	versions := map[string]string{}
	if info.Main.Path != module {
		versions[info.Main.Path] = mainVersion(info) // which has drivers of its own
	}
	for _, dep := range info.Deps {
		if measured[dep.Path] {
			versions[dep.Path] = versionOf(dep)
		}
	}
	return versions
}

// versionOf returns a module's version or, if go.mod replaces it, what stands in its place: another module, by its path and
// version, or a directory, whose name is nobody's business: "(devel)". Either stands under the name of what it replaces,
// because it is measured in its place.
func versionOf(m *debug.Module) string {
	switch r := m.Replace; {
	case r == nil:
		return m.Version
	case r.Version == "" || r.Version == "(devel)":
		return "(devel)"
	case r.Path == m.Path:
		return r.Version
	default:
		return r.Path + "@" + r.Version
	}
}

// processorName finds the processor's name in Linux's /proc/cpuinfo, which spells it differently on each architecture.
func processorName(cpuinfo string) string {
	for _, field := range []string{"model name", "Model", "Hardware", "cpu"} {
		for line := range strings.Lines(cpuinfo) {
			name, value, ok := strings.Cut(line, ":")
			if ok && strings.TrimSpace(name) == field {
				return strings.Join(strings.Fields(value), " ")
			}
		}
	}
	return ""
}
