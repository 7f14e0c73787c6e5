// The environment variables that stand in for flags, those that only look like it, and the passwords in them.

package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/exec"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/fleet"
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

// warnUnknownVars says which variables look like ours and set nothing.
func (p *program) warnUnknownVars() {
	for _, s := range p.env.unknownVars() {
		p.say("warning: no flag reads the variable %s", s)
	}
}

// unknownVars returns the variables that begin like ours and are none, each with the nearest that is. They are no error: they
// may be another version's.
func (e environ) unknownVars() []string {
	known := []string{passwordVariable, fleet.TokenVariable, childVariable, exec.FilesVariable}
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

// learnSecrets learns the passwords that are known before anything is read: those in arguments and environment.
func (p *program) learnSecrets(args []string) {
	for _, arg := range args {
		p.secrets.Learn(arg)
	}
	all := servers.Services()
	for _, pair := range p.env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == passwordVariable, name == fleet.TokenVariable, slices.ContainsFunc(all, func(s *servers.Service) bool { return name == s.PasswordVariable }):
			p.secrets.Add(value)
		case strings.HasPrefix(name, "LOCKBENCH_"), slices.ContainsFunc(all, func(s *servers.Service) bool { return name == s.Variable }):
			p.secrets.Learn(value)
		}
	}
}
