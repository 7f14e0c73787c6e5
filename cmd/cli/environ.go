// Passwords in the environment and in arguments.

package cli

import (
	"slices"
	"strings"

	"github.com/kballard/go-shellquote"

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
		case name == "LOCKBENCH_VS":
			learnArgs(&p.secrets, []string{"-vs", value})
		case strings.HasPrefix(name, "LOCKBENCH_"):
			p.secrets.Learn(value)
		}
	}
}

// learnArgs learns those in arguments, also of -vs, whose value is arguments.
func learnArgs(s *secrets.Secrets, args []string) {
	for i, arg := range args {
		s.Learn(arg)
		if at := valueAt(args, i, "addr"); at >= 0 {
			learnAddrs(s, arg[at:])
		}
		if at := valueAt(args, i, "vs"); at >= 0 {
			words, err := shellquote.Split(arg[at:])
			if err != nil {
				words = strings.Fields(arg[at:])
			}
			learnArgs(s, words)
		}
	}
}

// commandLine returns arguments as one types them, without secrets, which are hidden before quotes divide them. A
// password that is also the name of a driver stays one there: hidden, it would be told by the record's other fields.
func commandLine(s *secrets.Secrets, args []string) string {
	var words []string
	for i, arg := range args {
		if at := valueAt(args, i, "vs"); at >= 0 {
			if inner, err := shellquote.Split(arg[at:]); err == nil {
				arg = arg[:at] + commandLine(s, inner)
			}
		}
		words = append(words, quote(s.Hide(arg)))
	}
	return strings.Join(words, " ")
}

// quote makes a word of text for a POSIX shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// valueAt returns where the value of a flag begins in the argument i: -1 if that has none of it.
func valueAt(args []string, i int, flag string) int {
	if i > 0 && args[i-1] != flag && strings.TrimLeft(args[i-1], "-") == flag {
		return 0
	}
	if name, _, assigned := strings.Cut(args[i], "="); assigned && strings.TrimLeft(name, "-") == flag {
		return len(name) + 1
	}
	return -1
}

// learnAddrs learns those in addresses, also in one without a scheme.
func learnAddrs(s *secrets.Secrets, list string) {
	s.Learn(list)
	for _, addr := range drivers.SplitAddrs(list) {
		if !strings.Contains(addr, "//") {
			addr = "addr://" + strings.Trim(addr, `'"`)
		}
		s.LearnAddr(addr)
	}
}
