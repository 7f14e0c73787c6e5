// The environment variables that stand in for flags, and those that only look like it.

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/servers"
)

// environ is the environment, as os.Environ has it.
type environ []string

func (e environ) lookup(name string) (string, bool) {
	for _, pair := range e {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// ignored tells of the variables that are set and do not count for services, each with what to do instead.
func (e environ) ignored(services []*servers.Service) (list []string) {
	for _, s := range services {
		for _, upper := range slices.Sorted(maps.Keys(s.Ignored)) {
			for _, name := range []string{upper, strings.ToLower(upper)} {
				if value, _ := e.lookup(name); value != "" {
					list = append(list, fmt.Sprintf("the variable %s is ignored: %s", name, s.Ignored[upper]))
				}
			}
		}
	}
	return list
}

// unknownVars returns the variables that begin like ours and that no flag reads, each with the nearest that is read. They are no error: they
// may be another version's.
func (e environ) unknownVars() []string {
	known := []string{passwordVariable}
	for _, f := range allFlags {
		known = append(known, f.variable())
	}
	var list []string
	for _, pair := range e {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "LOCKBENCH_") && !slices.Contains(known, name) {
			list = append(list, name+suggest.DidYouMean("", name, known))
		}
	}
	return list
}
