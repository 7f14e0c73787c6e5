// lockbench gate: two command lines take turns, and the exit code is the verdict on the second.
//
// -vs compares two configurations within one process. Two builds are two processes, so each process here runs one trial
// of every cell, and the side that begins alternates: a machine that gets slower or faster affects both alike.

package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
)

// gating is a gate under way.
type gating struct {
	*program
	*options
	ctx      context.Context
	dir      string // of the records
	log      *os.File
	violated map[string]bool // by a side
	spoiled  bool            // a trial was left out
	group    atomic.Int64    // of the processes under way; 0: none
}

// gate measures two command lines by turns, and fails if the second is worse.
func (p *program) gate(ctx context.Context, o *options, _ []string) error {
	g := &gating{program: p, options: o, ctx: ctx}
	return p.interrupted(ctx, g.run())
}

func (g *gating) at(name string) string { return filepath.Join(g.dir, name) }

func (g *gating) run() error {
	for _, name := range []string{"n", "output"} { // whose variables are for the trials
		if opt := g.get(name); opt.from == fromVariable {
			opt.text = opt.def
		}
	}
	rounds, err := strconv.Atoi(g.text("n"))
	github, _ := g.env.lookup("GITHUB_TOKEN")
	gh, _ := g.env.lookup("GH_TOKEN")
	how, wrong := g.comparing()
	switch {
	case github+gh != "": // unset by us, it would stay in /proc/PID/environ
		return usageErrorf("GITHUB_TOKEN or GH_TOKEN is set, and what is measured could read it: unset it first")
	case err != nil || rounds < 1 || rounds > maxTrials:
		return usageErrorf("%s: must be 1 to %d", g.get("n").written(), maxTrials)
	case g.text("base-cmd") == "" || g.text("head-cmd") == "":
		return usageErrorf("what is to be measured? give -base-cmd and -head-cmd; scripts/gate.sh builds two revisions")
	case wrong != nil:
		return wrong
	}
	if g.dir = g.text("output"); g.dir == "" {
		g.dir, err = os.MkdirTemp("", "lockbench-gate-records.")
	} else if g.dir, err = filepath.Abs(g.dir); err == nil {
		err = os.MkdirAll(g.dir, 0o777)
	}
	if err != nil {
		return usageErrorf("-o %s: no directory can be made there", g.text("output"))
	}
	for _, side := range sides {
		if _, err := os.Stat(g.at(side + ".jsonl")); err == nil {
			return usageErrorf("-o %s has the records of another gate: they would be counted in", g.dir)
		}
	}
	g.get("format").text = "table,table=" + g.at("compare.txt") + ",markdown=" + g.at("compare.md") +
		",html=" + g.at("compare.html") + ",junit=" + g.at("junit.xml")
	if name, _ := g.env.lookup("GITHUB_STEP_SUMMARY"); name != "" {
		g.get("format").text += ",markdown=" + name
	}
	out, err := comparisons.printer(g.program, g.options)
	if err == nil {
		g.log, err = os.Create(g.at("log"))
	}
	if err != nil {
		return err
	}
	defer g.log.Close()
	kill := func() { g.signal(syscall.SIGKILL) }
	g.abandon.Store(&kill)
	g.draining.Store(true)
	g.violated = map[string]bool{}
	if err = g.measure(rounds, how); err == nil {
		err = g.judge(how, out)
	}
	if info, _ := os.Stat(g.at("base.jsonl")); g.text("output") != "" {
		return err
	} else if err != nil && info != nil {
		g.say("the records are in %s", g.dir)
		return err
	}
	return cmp.Or(err, os.RemoveAll(g.dir))
}

var sides = []string{results.SideBase, results.SideHead}

// measure runs the trials of both sides by turns. After the first round it ends if no further one can help: there is
// nothing to compare, or the head lacks cells. That looks at no figure, so that it makes no false alarm more frequent.
func (g *gating) measure(rounds int, how compare.Options) error {
	for round := range rounds {
		order := slices.Clone(sides)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, side := range order {
			if err := g.trial(side, round+1); err != nil {
				return cmp.Or(g.ctx.Err(), fmt.Errorf("round %d: the %s %w: nothing is compared", round+1, side, err))
			}
		}
		g.say("round %d of %d (%s)", round+1, rounds, strings.Join(order, " "))
		if round > 0 || g.spoiled {
			continue
		}
		if found, err := g.compareRecords(how); err != nil || found.Lacking {
			return err
		}
	}
	return nil
}

// trial runs one process of a side, and passes on what it has to say, once. The error says what that side has done.
func (g *gating) trial(side string, round int) error {
	file := g.at(side + ".jsonl")
	before := int64(0)
	if info, err := os.Stat(file); err == nil {
		before = info.Size()
	}
	var out, errs bytes.Buffer
	code, err := g.start(g.text(side+"-cmd"), &out, &errs, "LOCKBENCH_OUTPUT="+file,
		"LOCKBENCH_SEED="+strconv.Itoa(round), "LOCKBENCH_TRIALS=1", "LOCKBENCH_QUIET=true")
	fmt.Fprintf(g.log, "== %s, round %d: exit code %d\n%s%s", side, round, code, &out, &errs)
	for line := range strings.Lines(errs.String()) {
		g.sayOnce("%s: %s", side, strings.TrimPrefix(strings.TrimSpace(line), "lockbench: "))
	}
	if err != nil {
		return err
	}
	records, partial, spoiled := 0, 0, 0
	if f, err := os.Open(file); err == nil {
		defer f.Close()
		_, _ = f.Seek(before, io.SeekStart)
		_, _ = results.Read(f, func(r *results.Record) error {
			switch records++; {
			case r.Partial != "" && r.Spoiled():
				spoiled++
			case r.Partial != "":
				partial++
			}
			return nil
		})
	}
	g.violated[side] = g.violated[side] || code == exitViolated // the record is complete, and the comparison judges it
	switch {
	case code == exitError && spoiled > 0 && partial == 0: // which costs this trial alone
		g.spoiled = true
		g.say("round %d: the trial of the %s is left out", round, side)
	case code != exitOK && code != exitViolated:
		return fmt.Errorf("failed with exit code %d", code)
	case records == 0:
		return errors.New("has written no record to $LOCKBENCH_OUTPUT: does its command line have an -o, or no lockbench?")
	}
	return nil
}

// start runs a command in a process group of its own, so that only this process passes Ctrl-C on, once. A trial that is
// told to stop drains, cleans up on its server and writes its record: it is waited for, with what a shell has left.
func (g *gating) start(command string, stdout, stderr io.Writer, env ...string) (code int, err error) {
	c := exec.CommandContext(g.ctx, "sh", "-c", command)
	c.Stdout, c.Stderr, c.Env = stdout, stderr, slices.Concat([]string(g.env), env)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 30 * time.Second
	if err := c.Start(); err != nil {
		return 0, err
	}
	g.group.Store(int64(c.Process.Pid))
	defer g.group.Store(0)
	err = c.Wait()
	for end := time.Now().Add(c.WaitDelay); g.ctx.Err() != nil && g.signal(0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			g.signal(syscall.SIGKILL)
		}
	}
	if _, is := errors.AsType[*exec.ExitError](err); is && g.ctx.Err() == nil {
		err = nil
	}
	return c.ProcessState.ExitCode(), err
}

// signal sends a signal to the processes under way.
func (g *gating) signal(s syscall.Signal) error {
	if group := int(g.group.Load()); group > 0 {
		return syscall.Kill(-group, s)
	}
	return os.ErrProcessDone
}

// compareRecords compares what the rounds have written so far.
func (g *gating) compareRecords(how compare.Options) (*compare.Comparison, error) {
	found, err := g.compareFiles([]string{g.at("base.jsonl"), g.at("head.jsonl")}, how)
	if err == nil {
		found.Base.Name, found.Head.Name = "base.jsonl", "head.jsonl"
	}
	return found, err
}

// judge compares the records, and chooses the exit code.
func (g *gating) judge(how compare.Options, out printer[*compare.Comparison]) error {
	found, err := g.compareRecords(how)
	if err != nil {
		return err
	}
	out.write(found)
	code := comparisons.exit(found)
	if g.violated[results.SideHead] && !g.violated[results.SideBase] { // whatever the thresholds are
		code = exitViolated
	}
	noise := slices.Equal(found.Reasons(), []compare.Reason{compare.Scatter})
	if code == exitInconclusive && noise && g.on("allow-inconclusive") {
		g.say("inconclusive only because of noise, which is allowed")
		code = exitOK
	}
	g.say("%s", map[int]string{exitOK: "passed", exitRegressed: "failed: a threshold is missed",
		exitViolated: "failed: the head violated mutual exclusion, which it claims", exitInconclusive: "inconclusive"}[code])
	if code == exitOK {
		return nil
	}
	return exitCode(code)
}
