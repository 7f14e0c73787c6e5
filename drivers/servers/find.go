package servers

// The programs of servers: where they are, and how they are run to their end.

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers/spawn"
)

// versionTimeout bounds "program --version", which takes etcd over 2 s on a busy machine.
const versionTimeout = 20 * time.Second

// program is the binary of a server.
type program struct {
	server  string
	names   []string // the first one that is found
	dirs    []string // where it may be, "" stands for PATH; nil: there alone
	install string   // what

	unprivileged bool // it refuses to run as root
}

// find returns the absolute path of a binary if it is given, or else that of the program. The error of the latter wraps
// exec.ErrNotFound and says what to install.
func (p *program) find(binary string) (string, error) {
	if binary != "" {
		path, err := exec.LookPath(binary)
		if err == nil {
			path, err = filepath.Abs(path)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.server, err)
		}
		return path, nil
	}
	dirs := p.dirs
	if dirs == nil {
		dirs = []string{""}
	}
	for _, name := range p.names {
		for _, dir := range dirs {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", &MissingError{p.server, strings.Join(p.names, " or "), p.install}
}

// locate finds the program that is started if no other is named.
func (p *program) locate() (path string, err error) { return p.find("") }

// MissingError says that something is not installed, and wraps exec.ErrNotFound.
type MissingError struct {
	Of      string // the server or what it is for
	What    string // is not there
	Install string // in words: "the package redis-server"
}

// Error implements error.
func (e *MissingError) Error() string {
	return fmt.Sprintf("%s: no %s: %v; install %s", e.Of, e.What, exec.ErrNotFound, e.Install)
}

// Unwrap returns exec.ErrNotFound.
func (e *MissingError) Unwrap() error { return exec.ErrNotFound }

// Missing returns what has to be installed.
func (e *MissingError) Missing() string { return e.Install }

// output runs a program that is asked for its version, and returns what it says. The error has what it says of its
// failure.
func output(ctx context.Context, path string, args ...string) (string, error) {
	var out, problem strings.Builder
	cmd := exec.Command(path, args...)
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := run(ctx, versionTimeout, cmd); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", path, strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	return out.String(), nil
}

// run runs a program to its end, or until the time is up or ctx is done: then it ends with all that it has started.
func run(ctx context.Context, limit time.Duration, cmd *exec.Cmd) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it has not ended after %v", limit))
	defer cancel()
	p, err := spawn.Start(cmd)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { p.KillGroup() })
	if err = p.Wait(); !stop() {
		return context.Cause(ctx)
	}
	return err
}
