// Passwords in the environment and in arguments.

package cli

import (
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/workloads/fleet"
)

// learnSecrets learns the passwords that are known before anything is read: those in arguments and environment.
func (p *program) learnSecrets(args []string) {
	learnArgs(&p.secrets, args)
	passwords, addrs := []string{passwordVariable, fleet.TokenVariable}, []string{"LOCKBENCH_ADDR"}
	for _, s := range servers.Services() {
		passwords, addrs = append(passwords, s.PasswordVariable), append(addrs, s.Variable)
	}
	for _, pair := range p.env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case slices.Contains(passwords, name):
			p.secrets.Add(value)
		case slices.Contains(addrs, name):
			learnAddrs(&p.secrets, value)
		case strings.HasPrefix(name, "LOCKBENCH_"):
			p.secrets.Learn(value)
		}
	}
}

// learnArgs learns those in arguments, also of -vs, whose value is arguments.
func learnArgs(s *secrets.Secrets, args []string) {
	before := ""
	for _, arg := range args {
		s.Learn(arg)
		for word := range strings.FieldsSeq(arg) {
			flag, value, assigned := strings.Cut(word, "=")
			if assigned && strings.TrimLeft(flag, "-") == "addr" {
				learnAddrs(s, value)
			} else if strings.TrimLeft(before, "-") == "addr" {
				learnAddrs(s, word)
			}
			before = word
		}
	}
}

// learnAddrs learns those in addresses, also in one without a scheme.
func learnAddrs(s *secrets.Secrets, list string) {
	s.Learn(list)
	for _, addr := range drivers.SplitAddrs(list) {
		if !strings.Contains(addr, "//") {
			s.Learn("addr://" + strings.Trim(addr, `'"`))
		}
	}
}
