package main

// The holder: this program once more, in a process of its own, which acquires the lock and waits for its death.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
)

// holderVariable makes the program a holder. What it has to hold comes by its standard input, for an address may carry a
// password, which the arguments of a process would show to everybody.
const holderVariable = "LOCKBENCH_RECOVERY_HOLDER"

// holdTimeout bounds the time until the lock is held; a machine may stall.
const holdTimeout = 30 * time.Second

// assignment is what a holder has to hold.
type assignment struct {
	Driver, Lock, Key string
	Addrs             []string
	TTL               time.Duration
}

func (a assignment) config(polls bool) drivers.Config {
	return drivers.Config{Lock: a.Lock, Addrs: a.Addrs, Prefix: "recovery:", Clients: 1, TTL: a.TTL, Polls: polls}
}

const held = "held"

// hold is the holder's main: it says so on stdout when it holds the lock. If it is not killed it ends with its parent,
// which closes stdin.
func hold(stdin io.Reader, stdout, stderr io.Writer) int {
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	if err == nil {
		err = acquire(line)
	}
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	fmt.Fprintln(stdout, held)
	_, _ = io.Copy(io.Discard, in)
	return 1
}

func acquire(line []byte) error {
	var a assignment
	if err := json.Unmarshal(line, &a); err != nil {
		return err
	}
	d, err := drivers.Lookup(a.Driver)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), holdTimeout)
	defer cancel()
	svc, err := d.Open(ctx, a.config(false))
	if err != nil {
		return err
	}
	s, err := svc.Session(ctx, 0)
	if err != nil {
		return err
	}
	ok, err := s.Try(ctx, &drivers.Lease{Key: a.Key, TTL: a.TTL})
	if err == nil && !ok {
		err = errors.New("the key is taken, though nobody else knows it")
	}
	return err
}

// holder is a process that holds a lock.
type holder struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// startHolder starts the process and returns when it holds the lock.
func startHolder(ctx context.Context, a assignment) (*holder, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var complaint strings.Builder
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), holderVariable+"=1")
	cmd.Stderr = &complaint
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	h := &holder{cmd, stdin}
	if err := json.NewEncoder(stdin).Encode(a); err != nil {
		h.kill()
		return nil, fmt.Errorf("the holder: %w", err)
	}
	if word, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || word != held+"\n" {
		h.kill()
		return nil, fmt.Errorf("the holder does not hold: %s", strings.TrimSpace(complaint.String()))
	}
	return h, nil
}

// kill ends the process as a crash does: nothing of it runs any more when kill has returned, and died is when it was
// told.
func (h *holder) kill() (died time.Time) {
	died = time.Now()
	_ = h.cmd.Process.Kill() // it may be dead
	_ = h.cmd.Wait()
	_ = h.stdin.Close()
	return died
}
