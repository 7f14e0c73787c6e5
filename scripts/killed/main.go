// Command killed kills lockbench prove with SIGKILL at random moments, and tells what is left of it: processes, which have to end
// by themselves, and directories, which the next lockbench that starts a server removes. It needs /proc, as Linux has it.
//
//	go run ./scripts/killed -n 100 -within 15s
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/lockbench/lockbench/drivers/all"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/scripts/bench"
)

// patience is how long processes may take to end: the kernel kills them, however busy the machine is.
const patience = 30 * time.Second

// study is what is asked.
type study struct {
	n      int
	within time.Duration // of its start each is killed
	seed   uint64
	flags  []string // of lockbench prove
	out    io.Writer
}

func main() {
	bench.Main("killed", func(ctx context.Context) error {
		s := study{out: os.Stdout}
		flag.IntVar(&s.n, "n", 100, "how often it is killed")
		flag.DurationVar(&s.within, "within", 15*time.Second, "of its start each is killed")
		flag.Uint64Var(&s.seed, "seed", rand.Uint64()>>32, "of the moments (default: a random one)")
		flag.Parse()
		s.flags = flag.Args()
		return s.run(ctx)
	})
}

// run makes the study. The error says what was left.
func (s study) run(ctx context.Context) (err error) {
	tmp, err := os.MkdirTemp("", "killed")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	// Servers of another user pass through.
	if err := errors.Join(os.Chmod(tmp, 0o711), os.Setenv("TMPDIR", tmp)); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(s.seed, 0))
	killed, dirs, processes := 0, 0, 0
	longest := time.Duration(0)
	var left []string
	for i := range s.n {
		moment := time.Duration(random.Int64N(int64(s.within)))
		had, took, stayed, err := kill(ctx, tmp, moment, s.flags)
		if err != nil {
			return fmt.Errorf("kill %d, after %v (seed %d): %w", i+1, moment, s.seed, err)
		}
		if had > 0 {
			killed++
			processes += had
			longest = max(longest, took)
		}
		left = append(left, stayed...)
		now, err := os.ReadDir(tmp)
		if err != nil {
			return err
		}
		dirs = max(dirs, len(now))
	}
	// One more proof, which starts a server and runs to its end.
	if _, err := bench.Run(bench.Command(ctx, "prove", "-hazard", "overrun", "-driver", "memory", "-attempts", "1")); err != nil {
		return err
	}
	swept, err := servers.Sweep() // what that start has overlooked
	remains, err2 := os.ReadDir(tmp)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "seed %d: lockbench prove was killed %d times of %d within %v of its start, with %d processes in all; %d of them were left, the last one was gone after %v\n",
		s.seed, killed, s.n, s.within, processes, len(left), longest.Round(time.Millisecond))
	fmt.Fprintf(s.out, "directories: at most %d after a kill; %d after the next start\n", dirs, len(remains)+len(swept))
	switch {
	case killed == 0:
		return errors.New("no process of a proof was seen before it ended: use a shorter -within")
	case len(left) > 0:
		return fmt.Errorf("processes are left: %s", strings.Join(left, "; "))
	case len(remains)+len(swept) > 0:
		return fmt.Errorf("directories are left: %v, %v", remains, swept)
	}
	return nil
}

// kill starts a proof and kills it after a while. It returns how many processes there were, 0 if it had ended before; how long
// they took to end; and those that did not.
func kill(ctx context.Context, tmp string, after time.Duration, flags []string) (had int, took time.Duration, left []string, err error) {
	cmd := bench.Command(ctx, append([]string{"prove"}, flags...)...)
	if err := cmd.Start(); err != nil {
		return 0, 0, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	moment := time.After(after)
	var before []string
	for len(before) == 0 {
		select {
		case err := <-ended:
			return 0, 0, nil, errors.Join(ctx.Err(), bench.Failure(err))
		case <-moment:
			// A process that the kernel is about to execute has no environment yet.
			moment = time.After(time.Millisecond)
		}
		if before, err = processes(tmp); err != nil {
			return 0, 0, nil, errors.Join(err, cmd.Process.Kill())
		}
	}
	killed := time.Now()
	if err := cmd.Process.Kill(); err != nil {
		return 0, 0, nil, err
	}
	<-ended
	for {
		left, err = processes(tmp)
		took = time.Since(killed)
		if err != nil || len(left) == 0 || took > patience {
			return len(before), took, left, errors.Join(ctx.Err(), err)
		}
		time.Sleep(time.Millisecond)
	}
}

// processes returns what runs in a directory for temporary files, or was told to: some programs write over their environment,
// and others work elsewhere. This program is none of it.
func processes(tmp string) (list []string, err error) {
	all, err := filepath.Glob("/proc/[0-9]*")
	for _, process := range all {
		if process == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		// What cannot be read is of another user, or has ended.
		environment, _ := os.ReadFile(process + "/environ")
		command, _ := os.ReadFile(process + "/cmdline")
		place, _ := os.Readlink(process + "/cwd")
		if strings.Contains(string(environment), "TMPDIR="+tmp) || strings.Contains(string(command), tmp) || strings.HasPrefix(place, tmp) {
			list = append(list, process+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return list, err
}
