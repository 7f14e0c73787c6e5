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
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lockbench/lockbench/cmd/cli/progress"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/exec"
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
		if drivers.ClassOf(err) == drivers.ClassAuth {
			err = fmt.Errorf("%w; %s", err, passwordRemedy)
		}
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

// root makes the tree of commands.
func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:                "lockbench",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // those of an unknown command
		SilenceErrors:      true,
		SilenceUsage:       true,
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
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
	for _, what := range p.commands() {
		root.AddCommand(p.command(what))
	}
	root.SetHelpCommand(p.helpCommand(root))
	completeFlags(root)
	root.Args = func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		names := commandNames(root)
		hint := suggest.DidYouMean("", args[0], names)
		return usageErrorf("unknown command %q%s; there are %s (lockbench help explains words)", args[0], hint, strings.Join(names, ", "))
	}
	return root
}
