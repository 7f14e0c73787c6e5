package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/lockbench/lockbench/drivers/servers"
)

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
