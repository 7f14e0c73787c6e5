package main

// The gate: its settings, its trials and its comparisons.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/compare"
	"github.com/lockbench/lockbench/results/stats"
	"github.com/lockbench/lockbench/scripts/bench"
)

// gate is a gate as a workflow calls it.
type gate struct {
	args   []string // flags of lockbench
	driver string   // among them
	rounds int
	failOn string
}

// readGate reads the workflow.
func readGate(o options) (*gate, error) {
	text, err := os.ReadFile(o.workflow)
	if err != nil {
		return nil, err
	}
	var flow struct {
		Jobs map[string]struct {
			Steps []struct{ With map[string]string }
		}
	}
	if err := yaml.Unmarshal(text, &flow); err != nil {
		return nil, fmt.Errorf("%s: %w", o.workflow, err)
	}
	for _, job := range flow.Jobs {
		for _, step := range job.Steps {
			if step.With["args"] == "" {
				continue
			}
			g := &gate{args: strings.Fields(step.With["args"]), failOn: step.With["fail-on"]}
			if g.rounds, err = strconv.Atoi(step.With["rounds"]); err != nil {
				return nil, fmt.Errorf("%s: rounds: %w", o.workflow, err)
			}
			if o.args != "" {
				g.args = strings.Fields(o.args)
			}
			if o.rounds > 0 {
				g.rounds = o.rounds
			}
			return g, g.complete()
		}
	}
	return nil, fmt.Errorf("%s calls no gate", o.workflow)
}

// complete puts the planted driver in the place of the real one.
func (g *gate) complete() error {
	i := slices.Index(g.args, "-driver")
	if i < 0 || i+1 == len(g.args) || strings.Contains(g.args[i+1], ",") {
		return errors.New("the gate must measure one -driver")
	}
	g.driver = g.args[i+1]
	return nil
}

// flags returns those of a trial.
func (g *gate) flags() []string {
	flags := slices.Clone(g.args)
	flags[slices.Index(flags, "-driver")+1] = planted
	return flags
}

// trial runs one trial, in a process with variables like those of scripts/gate.sh, and returns its record.
func (g *gate) trial(ctx context.Context, share float64, seed int) (*results.Record, error) {
	c := bench.Command(ctx, g.flags()...)
	c.Env = append(c.Env, plantVariable+"="+strconv.FormatFloat(share, 'g', -1, 64), realVariable+"="+g.driver,
		"LOCKBENCH_SEED="+strconv.Itoa(seed), "LOCKBENCH_TRIALS=1", "LOCKBENCH_REVISION=alarms")
	recs, err := bench.Measure(c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	if recs[0].Partial != "" {
		return nil, fmt.Errorf("a trial ended early: %s", recs[0].Partial)
	}
	return recs[0], nil
}

// run runs rounds with a trial of each share, in random order, and returns the trials of each.
func (g *gate) run(ctx context.Context, rounds int, shares []float64, rng *rand.Rand) ([][]*results.Record, error) {
	sides := make([][]*results.Record, len(shares))
	for round := range rounds {
		for _, side := range rng.Perm(len(shares)) {
			rec, err := g.trial(ctx, shares[side], round+1)
			if err != nil {
				return nil, err
			}
			sides[side] = append(sides[side], rec)
		}
	}
	return sides, nil
}

// calibrated is the share of grants that the calibration gives away.
const calibrated = 0.2

// calibrate returns the loss of locks/s for each share of grants that is given away.
func (g *gate) calibrate(ctx context.Context, rounds int, rng *rand.Rand) (factor float64, err error) {
	if rounds == 0 {
		return 1, nil
	}
	sides, err := g.run(ctx, rounds, []float64{0, calibrated}, rng)
	if err != nil {
		return 0, err
	}
	factor = (1 - stats.Of(ratios(sides[0], sides[1])).Median) / calibrated
	if !(factor > 0.5 && factor < 2) {
		return 0, fmt.Errorf("giving away %s of the grants cost %s of locks/s: the machine is too noisy to plant a loss",
			percent(calibrated), percent(factor*calibrated))
	}
	return factor, nil
}

// measure makes the comparisons and prints their verdicts.
func (g *gate) measure(ctx context.Context, o options, rng *rand.Rand, out, progress io.Writer) error {
	thresholds, err := compare.ParseThresholds(g.failOn)
	if err != nil {
		return err
	}
	factor, err := g.calibrate(ctx, o.calibrate, rng)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "alarms: a grant given away costs %.2f locks\n", factor)
	shares := []float64{0} // that of the base
	var all []*totals
	for _, loss := range o.losses {
		shares = append(shares, loss/factor)
		all = append(all, &totals{loss: loss, verdicts: map[compare.Verdict]int{}})
	}
	began := time.Now()
	for n := range o.comparisons {
		sides, err := g.run(ctx, g.rounds, shares, rng)
		if err != nil {
			return err
		}
		for i, t := range all {
			if err := t.add(sides[0], sides[i+1], compare.Options{Thresholds: thresholds}); err != nil {
				return err
			}
		}
		fmt.Fprintf(progress, "alarms: %d of %d comparisons in %v\n", n+1, o.comparisons, time.Since(began).Round(time.Second))
	}
	fmt.Fprintf(out, "lockbench %s\n%d rounds, -fail-on '%s'; each trial is a process with a server of its own\n\n",
		strings.Join(g.args, " "), g.rounds, g.failOn)
	writeTotals(out, all)
	fmt.Fprintf(out, "\nA grant that the head gives away unseen costs %.2f locks (%d rounds of calibration). All heads of a comparison have\n"+
		"the same base, so the rows depend on each other.\n", factor, o.calibrate)
	return nil
}

// The loss: a lock that gives away a share of its grants.

// plant is a driver whose sessions release a share of their grants at once and try again, before lockbench hears of them.
// The work on the client, the server and the network stays what it was for each grant, so that the locks that are counted
// are fewer by that share, whatever limits them. Work that is added to a client or to a hold does not do that: while one
// client works, others are served, and 10 % more work of a client was a loss of 3.5 %.
type plant struct {
	drivers.Driver
	drivers.Described
	drivers.Addressed
	share float64
}

func (p plant) Open(ctx context.Context, cfg drivers.Config) (drivers.Service, error) {
	svc, err := p.Driver.Open(ctx, cfg)
	return plantedService{svc, p.share}, err
}

type plantedService struct {
	drivers.Service
	share float64
}

func (s plantedService) Unwrap() drivers.Service { return s.Service }

func (s plantedService) Session(ctx context.Context, id int) (drivers.Session, error) {
	inner, err := s.Service.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	return &plantedSession{inner, s.share, rand.New(rand.NewPCG(1, uint64(id)))}, nil
}

type plantedSession struct {
	drivers.Session
	share float64
	rng   *rand.Rand
}

func (s *plantedSession) Unwrap() drivers.Session { return s.Session }

// Try returns the first grant that is not given away.
func (s *plantedSession) Try(ctx context.Context, l *drivers.Lease) (bool, error) {
	for {
		held, err := s.Session.Try(ctx, l)
		if !held || err != nil || s.rng.Float64() >= s.share {
			return held, err
		}
		if _, err := s.Session.Release(ctx, l); err != nil {
			return false, err
		}
	}
}

const (
	planted       = "planted" // the driver
	plantVariable = "ALARMS_PLANT"
	realVariable  = "ALARMS_DRIVER"
)

// registerPlant adds the planted driver to those of this process, if it is a trial.
func registerPlant() error {
	share := os.Getenv(plantVariable)
	if share == "" {
		return nil
	}
	p, err := newPlant(os.Getenv(realVariable), share)
	if err == nil {
		drivers.Register(planted, p)
	}
	return err
}

// newPlant returns a plant of a driver.
func newPlant(driver, share string) (plant, error) {
	d, err := drivers.Lookup(driver)
	if err != nil {
		return plant{}, err
	}
	described, ok := d.(drivers.Described)
	addressed, also := d.(drivers.Addressed)
	if !ok || !also {
		return plant{}, fmt.Errorf("%s has no server", driver)
	}
	v, err := strconv.ParseFloat(share, 64)
	return plant{d, described, addressed, v}, err
}
