// What every command has: the world around it, errors of its user, and messages.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/secrets"
)

// Exit codes.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitRegressed    = 3 // a threshold is missed
	exitViolated     = 4 // a design that claims mutual exclusion did not keep it
	exitInconclusive = 5 // a comparison could not tell, or a figure was not measured
	exitInterrupted  = 130
)

// program is one invocation: everything that a command may touch of the world around it.
type program struct {
	args   []string
	stdin  io.Reader
	stdout *progress.Writer
	stderr *progress.Writer
	env    environ

	said    []string        // by sayOnce
	secrets secrets.Secrets // which all that goes out is free of

	lost bool // something that was measured, or a file of it; see lose

	completing bool // a shell asks how a command line could go on; nothing runs

	// draining is set by commands that end by themselves, and in good order, once their context is cancelled.
	draining atomic.Bool
	// abandon is what to do in the last moment before an exit that waits for nothing.
	abandon atomic.Pointer[func()]
}

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

// usageError is an error in what the user wrote, as opposed to what became of it.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// exitCode ends the program with a code after everything has been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// say prints a message on stderr, on one line.
func (p *program) say(format string, args ...any) {
	fmt.Fprintf(p.stderr, "lockbench: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// sayOnce prints a message that is true of several cells, but once.
func (p *program) sayOnce(format string, args ...any) {
	if line := fmt.Sprintf(format, args...); !slices.Contains(p.said, line) {
		p.said = append(p.said, line)
		p.say("%s", line)
	}
}

// oneLine keeps an error on one line, as a script that reads stderr expects.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), " ")
}

// lose says what was lost besides the answer: a file that cannot be written, or the rest of a search. The command goes on and
// answers.
func (p *program) lose(format string, args ...any) {
	p.say(format, args...)
	p.lost = true
}

// typed returns the command line as it was typed, without secrets.
func (p *program) typed() string { return "lockbench " + commandLine(&p.secrets, p.args) }
