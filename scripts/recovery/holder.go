package main

// The holder: another process of this program, which acquires the lock and waits to be killed.

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

// holderVariable makes the program a holder. The holder reads its assignment from standard input, because an address
// may contain a password, and arguments are visible to all users.
const holderVariable = "LOCKBENCH_RECOVERY_HOLDER"

// holdTimeout bounds the time to acquire the lock; a machine may stall.
const holdTimeout = 30 * time.Second

// assignment tells a holder what to hold.
type assignment struct {
	Driver, Lock, Key string
	Addrs             []string
	TTL               time.Duration
}

func (a assignment) config(polls bool) drivers.Config {
	return drivers.Config{Lock: a.Lock, Addrs: a.Addrs, Prefix: "recovery:", Clients: 1, TTL: a.TTL, Polls: polls}
}

const held = "held"

// hold returns the main function of the holder: it writes held to stdout once it holds the lock. Unless it is killed first,
// it ends when its parent ends, because that closes stdin.
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
		err = errors.New("the key is taken, although no other client uses it")
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
	var output strings.Builder
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), holderVariable+"=1")
	cmd.Stderr = &output
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
		return nil, fmt.Errorf("the holder does not hold: %s", strings.TrimSpace(output.String()))
	}
	return h, nil
}

// kill kills the process and waits for its end. It returns the time at which it sent the signal.
func (h *holder) kill() (died time.Time) {
	died = time.Now()
	_ = h.cmd.Process.Kill() // it may be dead
	_ = h.cmd.Wait()
	_ = h.stdin.Close()
	return died
}
