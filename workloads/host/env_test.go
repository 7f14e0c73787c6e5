package host

import (
	"maps"
	"runtime/debug"
	"strings"
	"testing"

	_ "github.com/lockbench/lockbench/drivers/all"
)

func TestVersion(t *testing.T) {
	for of, want := range map[string]string{"v1.2.3": "v1.2.3", "(devel)": "devel", "": "devel"} {
		if got := version(&debug.BuildInfo{Main: debug.Module{Path: module, Version: of}}); got != want {
			t.Errorf("%q: %q", of, got)
		}
	}
}

// TestVersionAsLibrary: of a program with drivers of its own both versions count.
func TestVersionAsLibrary(t *testing.T) {
	own := debug.Module{Path: "example.com/mylock", Version: "v0.3.0"}
	for want, dep := range map[string]*debug.Module{
		"v1.2.3":  {Path: module, Version: "v1.2.3"},
		"(devel)": {Path: module, Version: "v1.2.3", Replace: &debug.Module{Path: "../lockbench"}},
		"devel":   {Path: "example.com/other", Version: "v4"},
	} {
		info := &debug.BuildInfo{Main: own, Deps: []*debug.Module{dep}}
		if got, libraries := version(info), libraryVersions(info); got != want || libraries[own.Path] != own.Version {
			t.Errorf("%v: %q and %v, want %q", dep, got, libraries, want)
		}
	}
}

// TestLibraryVersions has libraries that go.mod replaces: the record must say of which one it was.
func TestLibraryVersions(t *testing.T) {
	const lib = "github.com/bsm/redislock"
	for _, test := range []struct {
		replace *debug.Module
		want    string
	}{
		{nil, "v1"},
		{&debug.Module{Path: lib, Version: "v2"}, "v2"},
		{&debug.Module{Path: "example.com/fork", Version: "v3"}, "example.com/fork@v3"},
		{&debug.Module{Path: "/home/me/redislock", Version: "(devel)"}, "(devel)"},
		{&debug.Module{Path: "../redislock"}, "(devel)"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Path: module}, Deps: []*debug.Module{{Path: lib, Version: "v1", Replace: test.replace}, {Path: "example.com/other", Version: "v4"}}}
		if got := libraryVersions(info); len(got) != 1 || got[lib] != test.want {
			t.Errorf("%+v: %v, want %s", test.replace, got, test.want)
		}
	}
}

func TestProcessorName(t *testing.T) {
	for in, want := range map[string]string{
		"processor\t: 0\nmodel name\t: AMD  EPYC 7763\ncpu MHz : 1\n": "AMD EPYC 7763",
		"processor : 0\nHardware\t: BCM2835\n":                        "BCM2835",
		"":                                                            "",
	} {
		if got := processorName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestVariables: what changes the measurement is recorded, without secrets, and nothing else of the environment.
func TestVariables(t *testing.T) {
	env := map[string]string{"GOGC": "50", "GOMEMLIMIT": "", "GODEBUG": "gctrace=1", "RUEIDIS_QUEUE_TYPE": "flowbuffer", "HOME": "/root",
		"GOMAXPROCS": "canary 2"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	scrub := func(text string) string { return strings.ReplaceAll(text, "canary", "hidden") }
	want := map[string]string{"GOGC": "50", "GODEBUG": "gctrace=1", "RUEIDIS_QUEUE_TYPE": "flowbuffer",
		"GOMAXPROCS": "hidden 2"}
	if got := Variables(lookup, scrub); !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	env = map[string]string{"HOME": "/root"}
	if got := Variables(lookup, scrub); got != nil {
		t.Errorf("recorded %v of an environment that changes nothing", got)
	}
}
