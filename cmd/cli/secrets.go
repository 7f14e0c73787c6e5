// Where lockbench learns secrets.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers/servers"
)

// learnSecrets learns the passwords that are known before anything is read: those in arguments and environment.
func (p *program) learnSecrets(args []string) {
	for _, arg := range args {
		p.secrets.Learn(arg)
	}
	all := servers.Services()
	for _, pair := range p.env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case name == passwordVariable, slices.ContainsFunc(all, func(s *servers.Service) bool { return name == s.PasswordVariable }):
			p.secrets.Add(value)
		case strings.HasPrefix(name, "LOCKBENCH_"), slices.ContainsFunc(all, func(s *servers.Service) bool { return name == s.Variable }):
			p.secrets.Learn(value)
		}
	}
}
