package fleet

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/lockbench/lockbench/drivers/fault"
	"github.com/lockbench/lockbench/drivers/spawn"
	"github.com/lockbench/lockbench/results"
)

var (
	faults = flag.Int("faults", 30, "number of random faults (10 with -short)")
	seed   = flag.Uint64("seed", 1, "of the faults")
)

// injury is a fault that hits a fleet at a random moment, and what came of it.
type injury struct {
	kind   string
	rank   int
	before bool          // it comes after the beginning of the trial, or else after that of the load…
	after  time.Duration // …by that much
	server *miniredis.Miniredis

	hit  time.Time     // when it came
	took time.Duration // from then to an error or a record
	what string        // whole, partial or error
}

func (f *injury) String() string {
	since := "the load's beginning"
	if f.before {
		since = "the trial's beginning"
	}
	return fmt.Sprintf("%s of rank %d %v after %s", f.kind, f.rank, f.after.Round(ms), since)
}

// TestFaults: whatever happens to a rank or to its connection, there is an error or a labelled record, locks are given back, and
// nothing is left.
func TestFaults(t *testing.T) {
	n := *faults
	if testing.Short() {
		n = min(n, 10)
	}
	kinds := []string{"cut", "partition", "kill", "stop", "death of the leader"}
	random := rand.New(rand.NewPCG(*seed, 0))
	var all []*injury
	for i := range n {
		f := &injury{kind: kinds[i%len(kinds)], rank: 1 + random.IntN(2), before: random.IntN(3) == 0, after: time.Duration(random.IntN(700)) * ms}
		if f.before {
			f.after /= 10
		}
		if f.kind == "death of the leader" {
			f.rank = 0
		}
		all = append(all, f)
	}
	var running sync.WaitGroup
	places := make(chan struct{}, 10) // fleets at a time
	for _, f := range all {
		f.server = server(t)
		running.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			var err error
			switch f.kind {
			case "cut", "partition":
				err = f.ofConnection()
			case "kill", "stop":
				err = f.ofProcess()
			default:
				err = f.ofLeader()
			}
			if err != nil {
				t.Errorf("%v: %v", f, err)
			}
		})
	}
	running.Wait()
	count := map[string]int{}
	for _, f := range all {
		count[f.kind+": "+f.what]++
	}
	t.Logf("%d faults: %v", n, count)
}

// lead makes a trial that hit hits, and returns when it is over.
func (f *injury) lead(l *Leader, hit func()) error {
	fire := func() {
		time.Sleep(f.after)
		f.hit = time.Now()
		hit()
	}
	fired := make(chan struct{})
	shoot := sync.OnceFunc(func() {
		go func() {
			fire()
			close(fired)
		}()
	})
	if f.before {
		shoot()
	}
	var over time.Time
	r, err := trial(context.Background(), l, loadPlan(), f.server.Addr(), shoot, &over)
	shoot() // if it never began
	<-fired
	f.took = over.Sub(f.hit)
	return f.judge(r, err)
}

// judge checks that what came of a trial is labelled.
func (f *injury) judge(r *results.Record, err error) error {
	text := ""
	switch {
	case err != nil:
		f.what, text = "error", err.Error()
	case r.Partial != "":
		f.what, text = "partial", r.Partial
	case f.took <= 0 || len(r.Ranks) == 3: // perhaps all was measured already
		f.what = "whole"
		return nil
	default:
		return fmt.Errorf("a record of %d ranks is whole", len(r.Ranks))
	}
	if !strings.Contains(text, fmt.Sprintf("rank %d on ", f.rank)) {
		return fmt.Errorf("it does not say which rank is lost: %s", text)
	}
	return nil
}

// held checks that no more locks are held than the dead have clients.
func (f *injury) held(dead int) error {
	if keys := f.server.Keys(); len(keys) > dead*2 {
		return fmt.Errorf("locks are left: %v", keys)
	}
	return nil
}

func (f *injury) ofConnection() error {
	l := NewLeader(identity(3), token)
	v, err := l.Listen("127.0.0.1:0", func(string, ...any) {})
	if err != nil {
		return err
	}
	var over [3]<-chan error
	var proxy *fault.Proxy
	for rank := 1; rank <= 2; rank++ {
		addr := v.Addr()
		if rank == f.rank {
			if proxy, err = fault.NewProxy(addr); err != nil {
				return err
			}
			defer proxy.Close()
			addr = proxy.Addr()
			proxy.Delay(fault.Replies, f.after/50)
		}
		over[rank] = join(context.Background(), addr, rank, identity(3), token, opener(f.server.Addr(), rank))
	}
	if err := v.Wait(context.Background(), time.Minute); err != nil {
		return err
	}
	err = f.lead(l, func() {
		if f.kind == "cut" {
			proxy.Cut()
		} else {
			_, _ = proxy.Hold(fault.Requests), proxy.Hold(fault.Replies) // the pings that it stops are all that shows it
		}
	})
	lost := <-over[f.rank]
	v.Close()
	l.Close(nil)
	other := <-over[3-f.rank]
	if lost == nil || other != nil {
		err = errors.Join(err, fmt.Errorf("the rank that was hit ended with %v, and the other with %v", lost, other))
	}
	return errors.Join(err, f.held(0))
}

func (f *injury) ofProcess() error {
	l := NewLeader(identity(3), "")
	err := l.Start(context.Background(), func(rank int) (argv, env []string) {
		return []string{os.Args[0]}, append(os.Environ(), fmt.Sprintf("%s=follow %d", asProcess, rank), ofServer+"="+f.server.Addr())
	}, func(text string) string { return text })
	if err != nil {
		return err
	}
	r := l.ranks[f.rank-1]
	sig, dead := syscall.SIGKILL, 1
	if f.kind == "stop" {
		sig, dead = syscall.SIGSTOP, 0
	}
	err = f.lead(l, func() { _ = syscall.Kill(r.PID, sig) })
	if f.kind == "stop" {
		<-r.ctx.Done() // also if the trial was over before
		_ = syscall.Kill(r.PID, syscall.SIGCONT)
		<-r.conn.Done()
		if text := r.conn.Err().Error(); !strings.Contains(text, "exit status 3; it says: the rank "+fmt.Sprint(f.rank)+" speaks") {
			err = errors.Join(err, fmt.Errorf("when it went on, it ended otherwise: %s", text))
		}
	}
	l.Close(nil)
	for _, r := range l.ranks {
		if !errors.Is(syscall.Kill(r.PID, 0), syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("process %d is left", r.PID))
		}
	}
	return errors.Join(err, f.held(dead))
}

// ofLeader kills a process that leads.
func (f *injury) ofLeader() error {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asProcess+"=lead", ofServer+"="+f.server.Addr())
	said := &spawn.Tail{Hide: func(text string) string { return text }}
	cmd.Stderr = said
	p, in, out, err := spawn.StartPiped(cmd)
	if err != nil {
		return err
	}
	defer in.Close()
	defer out.Close()
	lines := bufio.NewScanner(out)
	next := func() string {
		lines.Scan()
		return lines.Text()
	}
	addr := next()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var over [2]<-chan error
	for i := range over {
		over[i] = join(ctx, addr, i+1, identity(3), token, opener(f.server.Addr(), i+1))
	}
	if text := next(); text != "begin" {
		return errors.Join(fmt.Errorf("%q, %q", text, said), p.Kill())
	}
	time.Sleep(f.after) // of the opening, or of the load: both come at once
	f.hit = time.Now()
	if err := p.Kill(); err != nil {
		return err
	}
	f.what = "error"
	for i := range over {
		if ended := <-over[i]; ended == nil && !p.State().Exited() {
			err = errors.Join(err, fmt.Errorf("rank %d has ended well", i+1))
		} else if p.State().Exited() {
			f.what = "whole"
		}
		f.took = max(f.took, time.Since(f.hit))
	}
	return cmp.Or(err, f.held(1))
}
