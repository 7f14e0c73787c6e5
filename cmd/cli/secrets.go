// Where lockbench learns secrets, and where records quote them.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results"
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

// scrubRecord hides the secrets in what a record quotes of servers. The plan keeps its text, except for passwords in
// addresses.
func scrubRecord(s *secrets.Secrets, r *results.Record) {
	for _, text := range []*string{
		&r.Partial, &r.Server.Version, &r.Server.Mode, &r.Server.Persistence,
	} {
		*text = s.Scrub(*text)
	}
	for i := range r.Warnings {
		r.Warnings[i] = s.Scrub(r.Warnings[i])
	}
	counts := []*results.Counts{&r.Counts}
	for i := range r.Classes {
		counts = append(counts, &r.Classes[i].Counts)
	}
	for _, c := range counts {
		for class, sample := range c.ErrorSample {
			c.ErrorSample[class] = s.Scrub(sample)
		}
	}
	for _, text := range []*string{&r.Env.Revision, &r.Plan.Command, &r.Plan.Workload} {
		*text = secrets.Mask(*text)
	}
}
