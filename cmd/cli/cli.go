// Package cli is the program lockbench, for whatever drivers are registered: its commands, flags, formats and comparisons. A
// program with a driver of its own registers it (drivers.Register), imports those of package drivers/all if it wants them
// too, and calls Main.
//
// cli.go is the way in and out: the arguments become a command, signals become a cancelled context, and errors become one
// line and an exit code. Each command has a file of its own.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/secrets"
	"github.com/lockbench/lockbench/cmd/cli/shell"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/exec"
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

// Main runs the command that the arguments of the process name, and exits: with 0, or with another of the codes that
// "lockbench help" lists.
func Main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as under nohup
		signal.Notify(signals, syscall.SIGHUP) // a closed terminal must not leave locks on a server either
	}
	code := run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ(), signals)
	_ = exec.RemoveFiles() // or else the next start of a server does
	os.Exit(code)
}

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

// run returns the whole program: it returns the exit code and never exits. The first signal cancels what is under way; a
// command that drains is waited for, until a second signal comes.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, env environ, signals <-chan os.Signal) int {
	p := &program{args: args, stdin: stdin, env: env}
	p.stdout = &progress.Writer{W: stdout, Scrub: func(text string) string { return progress.Still(p.secrets.Hide(text)) }}
	p.stderr = &progress.Writer{W: stderr, Scrub: func(text string) string { return progress.Still(p.secrets.Scrub(text)) }}
	exec.TellTo(p.stderr, p.secrets.Scrub)
	p.learnSecrets(args)
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	done := make(chan int, 1)
	go func() { done <- p.execute(ctx, args) }()
	for interrupted := false; ; interrupted = true {
		select {
		case code := <-done:
			return code
		case s := <-signals:
			if interrupted || !p.draining.Load() {
				if f := p.abandon.Load(); f != nil {
					(*f)()
				}
				p.say("%v", &interruption{s})
				return exitInterrupted
			}
			cancel(&interruption{s})
			p.say("%v: draining; once more to stop at once", s)
		}
	}
}

// interruption is the cause of a context that a signal has cancelled.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "stopped by " + i.signal.String() }

// lose says what was lost besides the answer: a file that cannot be written, or the rest of a search. The command goes on and
// answers.
func (p *program) lose(format string, args ...any) {
	p.say(format, args...)
	p.lost = true
}

// typed returns the command line as it was typed, without secrets.
func (p *program) typed() string {
	words := []string{"lockbench"}
	for _, arg := range p.args {
		words = append(words, shell.Quote(arg))
	}
	return p.secrets.Scrub(strings.Join(words, " "))
}

// execute runs the command that args name, prints its error, if it has one, and returns the exit code.
func (p *program) execute(ctx context.Context, args []string) int {
	p.completing = completes(args)
	root := p.root()
	var err error
	if p.completing {
		err = p.complete(ctx, root, args)
	} else {
		root.SetArgs(withCommand(normalise(args)))
		err = root.ExecuteContext(ctx)
	}
	code := exitOK
	var exit exitCode
	var usage *usageError
	switch {
	case errors.As(err, &exit):
		code = int(exit)
	case err != nil:
		p.say("%s", err)
		code = exitError
		if errors.As(err, &usage) {
			code = exitUsage
		} else if ctx.Err() != nil {
			code = exitInterrupted
		}
	}
	if p.lost && (code == exitOK || code == exitInconclusive) { // 3 and 4 are an answer, which stands
		return exitError
	}
	return code
}

// withCommand puts the implied run before flags that no command precedes.
func withCommand(args []string) []string {
	switch {
	case len(args) == 0:
	case args[0] == "--help":
		return append([]string{"help"}, args[1:]...)
	case args[0] == "--version":
		return append([]string{"version"}, args[1:]...)
	case strings.HasPrefix(args[0], "-"):
		return append([]string{"run"}, args...)
	}
	return args
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

// root makes the tree of commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "lockbench",
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(*cobra.Command, []string) error {
			start, _, _ := strings.Cut(page(frontPage), "\n\nFlags ")
			_, err := fmt.Fprintf(p.stdout, "%s\n  %-66s%s\n", start, "lockbench help, or lockbench help choose", "all flags; which lock for which task?")
			return err
		},
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetHelpFunc(func(c *cobra.Command, _ []string) { _ = p.help(c) })
	root.AddCommand(p.runCommand(), p.planCommand(), p.proveCommand(), p.reportCommand(), p.compareCommand(), p.historyCommand(), p.cleanCommand(), p.conformanceCommand(),
		p.listCommand(), p.schemaCommand(), p.versionCommand(), p.completionCommand(), p.fleetCommand(), p.manCommand(root), p.workerCommand())
	root.SetHelpCommand(p.helpCommand(root))
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		names := commandNames(root)
		hint := suggest.DidYouMean("", args[0], names)
		if explain(args[0]) != "" {
			hint = " (try lockbench help " + args[0] + ")"
		}
		return usageErrorf("unknown command %q%s; there are %s", args[0], hint, strings.Join(names, ", "))
	}
	return root
}

func commandNames(root *cobra.Command) []string {
	var names []string
	for _, c := range root.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return names
}

// command completes a command whose flags are defs. It runs with their values, and with the arguments that no flag has taken.
func (p *program) command(c *cobra.Command, defs []flagDef, run func(c *cobra.Command, o *options, args []string) error) *cobra.Command {
	o := newOptions(c.Flags(), defs)
	for _, opt := range o.list {
		opt.again = p.completing
		_ = c.RegisterFlagCompletionFunc(opt.name, completeFlag(opt.flagDef)) // the flag exists
	}
	if c.ValidArgsFunction == nil && c.ValidArgs == nil && !strings.Contains(c.Use, "FILE") && !strings.Contains(c.Use, "BASE") {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	c.Flags().BoolP("help", "", false, helpFlag.usage)
	c.DisableFlagsInUseLine = true
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err, defs) })
	c.RunE = func(c *cobra.Command, args []string) error {
		o.typed = p.typed()
		if err := o.fill(p.env); err != nil {
			return err
		}
		return run(c, o, args)
	}
	return c
}

// noArgs refuses arguments that no flag has taken.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if vs := c.Flags().Lookup("vs"); vs != nil && vs.Changed {
		return usageErrorf("unexpected argument %q: -vs takes all flags of the head as one word, in quotes, as in -vs '-wait queue'", args[0])
	}
	example := map[string]string{
		"on": "renew", "off": "renew", "off,on": "renew", "on,off": "renew", "true": "oracle", "false": "oracle",
	}[args[0]]
	if example != "" {
		return usageErrorf("unexpected argument %q: a switch takes its value with an equals sign, as in -%s=%[1]s", args[0], example)
	}
	return usageErrorf("unexpected argument %q: lockbench %s takes flags only", args[0], c.Name())
}
