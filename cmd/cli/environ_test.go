package cli

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

// TestInfluences: what changes the measurement is recorded, without secrets, and nothing else of the environment.
func TestInfluences(t *testing.T) {
	env := environ{"GOGC=50", "GOMEMLIMIT=", "GODEBUG=gctrace=1", "RUEIDIS_QUEUE_TYPE=flowbuffer", "HOME=/root",
		"JDK_JAVA_OPTIONS=-Dkey=canary -Xmx64m"}
	scrub := func(text string) string { return strings.ReplaceAll(text, "canary", "hidden") }
	want := map[string]string{"GOGC": "50", "GODEBUG": "gctrace=1", "RUEIDIS_QUEUE_TYPE": "flowbuffer",
		"JDK_JAVA_OPTIONS": "-Dkey=hidden -Xmx64m"}
	if got := env.influences(scrub); !maps.Equal(got, want) {
		t.Errorf("recorded %v, want %v", got, want)
	}
	if got := (environ{"HOME=/root"}).influences(scrub); got != nil {
		t.Errorf("recorded %v of an environment that changes nothing", got)
	}
}

// TestIgnored: a variable is told of where its service is used, and its value is not.
func TestIgnored(t *testing.T) {
	env := environ{"PGOPTIONS=-ccanary=off", "PGSERVICE=canary", "https_proxy=http://canary:3128", "HTTP_PROXY="}
	for _, tc := range []struct {
		services, want []string
	}{
		{[]string{"redis"}, nil},
		{[]string{"redis", "postgres"}, []string{"PGOPTIONS", "PGSERVICE"}},
		{[]string{"etcd"}, []string{"https_proxy"}},
	} {
		var list []*servers.Service
		for _, name := range tc.services {
			list = append(list, servers.Named(name))
		}
		got := env.ignored(list)
		var names []string
		for _, line := range got {
			names = append(names, strings.Fields(line)[2])
		}
		if !slices.Equal(names, tc.want) || strings.Contains(strings.Join(got, ""), "canary") {
			t.Errorf("%v: %q, want %v", tc.services, got, tc.want)
		}
	}
}
