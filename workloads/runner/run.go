package runner

// A whole run: its servers and processes, and the trials of all cells.

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
)

// Do calls measure while there are servers and, if there are any, the other processes of the run.
func (r *Runner) Do(ctx context.Context, measure func() error) error {
	r.announceNames()
	defer r.stopServers()
	err := r.assemble(ctx)
	if err == nil {
		defer r.disperse(nil)
		return measure()
	}
	r.disperse(err)
	return err
}

// stopServers stops those of both sides. What they share has nothing to stop the second time.
func (r *Runner) stopServers() {
	for _, ds := range r.servers {
		if err := ds.Close(); err != nil {
			r.Say("stopping the servers: %s", err)
		}
	}
}

// abandonTimeout bounds the clean-up of an exit that waits for nothing.
const abandonTimeout = 500 * time.Millisecond

// Abandon is for the last moment before an exit that waits for nothing. It tells what the trial under way may leave,
// and stops servers of our own if that is instant. On Linux they die with this process in any case.
func (r *Runner) Abandon() {
	if left := r.left.Load(); left != nil {
		r.Say("%s", *left)
	}
	stopped, cancel := context.WithTimeout(context.Background(), abandonTimeout)
	go func() {
		defer cancel()
		r.stopServers()
	}()
	<-stopped.Done()
}

// Outcome is what the trials of an experiment have come to, besides their records.
type Outcome struct {
	Ran      bool  // some cell made sense
	Failed   bool  // some trial has no record, or a partial one that no signal has cut short
	Violated bool  // a lock that claims to exclude did not
	Missing  []int // cells without a record, other than those that make no sense
}

// Trials runs the trials of all cells by turns, and calls after when each is over.
func (r *Runner) Trials(ctx context.Context, after func()) (out Outcome) {
	dropped, senseless, recorded := map[int]bool{}, map[int]bool{}, map[int]bool{}
	drop := func(cell int) { // with its partner, which would have nothing to be compared with
		dropped[cell] = true
		if partner, ok := r.Partner(cell); ok && !dropped[partner] {
			dropped[partner] = true
			r.SayOnce("%sleft out from here on, as there is nothing to compare it with", r.about(partner))
		}
	}
	for i, t := range r.Order {
		if ctx.Err() != nil {
			break
		}
		if err := r.Lost(); err != nil {
			out.Failed = true
			r.Say("the remaining trials are left out: %v", err)
			break
		}
		if dropped[t.Cell] {
			continue
		}
		p := r.Cells[t.Cell].Plan
		p.Seed = spec.SeedOf(p.Seed, t.Trial) // which draws anew
		rec, err := r.Measure(ctx, Job{t, p, i + 1, r.Length(i + 1), nil})
		if misfit, ok := errors.AsType[*matrix.Misfit](err); ok {
			r.SayOnce("skipped: %v", misfit)
			senseless[t.Cell] = true
			drop(t.Cell)
			continue
		}
		if err == nil {
			out.Ran, recorded[t.Cell] = true, true
			err = r.keep(ctx, rec)
			out.Violated = out.Violated || rec.Violated()
		}
		_, paired := r.Partner(t.Cell)
		switch {
		case err == nil || ctx.Err() != nil && drivers.ClassOf(err) == drivers.ClassCanceled:
		case paired && rec != nil && rec.Spoiled(): // the next pair may have better luck
			r.Say("%strial %d and its partner are left out: %s", r.about(t.Cell), t.Trial+1, err)
		default:
			out.Failed = true
			r.Say("%s%s", r.about(t.Cell), err)
			drop(t.Cell)
		}
		after()
	}
	r.SaveRest()
	for i := range r.Cells {
		if !recorded[i] && !senseless[i] {
			out.Missing = append(out.Missing, i)
		}
	}
	return out
}

// keep saves a record. The error is why the trial ended before its time.
func (r *Runner) keep(ctx context.Context, rec *results.Record) error {
	partial := rec.Partial
	if err := rec.Label(); err != nil {
		r.Lose("%strial %d is partial: %s", r.about(rec.Cell), rec.Trial, rec.Partial)
	}
	r.Save(rec)
	if err := r.Records.Add(rec); err != nil {
		return err
	}
	if partial != "" && ctx.Err() == nil {
		return errors.New(partial + commonest(&rec.Counts, partial))
	}
	return nil
}

// commonest returns the error of the class that most requests failed with, if the text of a partial trial is not of it.
func commonest(n *results.Counts, text string) string {
	class := ""
	for _, c := range slices.Sorted(maps.Keys(n.Errors)) {
		if class == "" || n.Errors[c] > n.Errors[class] {
			class = c
		}
	}
	sample := n.ErrorSample[class]
	if sample == "" || strings.Contains(text, sample) || strings.Contains(sample, text) { // which begins with the request
		return ""
	}
	return " (the first: " + sample + ")"
}

// about begins a message about a cell; it is empty if there is only one.
func (r *Runner) about(cell int) string {
	if label := r.Label(cell); label != "" {
		return label + ": "
	}
	return ""
}

// announceNames tells the owner of a server what to do if the run is killed, when it is too late to say anything.
func (r *Runner) announceNames() {
	for i := range r.Cells {
		p, remedy := &r.Cells[i].Plan, ""
		switch {
		case p.Server != matrix.External:
			continue
		case p.Shared:
			remedy = ", as those of all runs that contend with it, the last of which deletes them"
		case r.Output != "":
			remedy = "; should this run be killed: lockbench clean -addr URL " + r.Output
		}
		r.SayOnce("names on %s will begin with %s%s", r.Target(i).Redacted, r.names(i, p), remedy)
	}
}
