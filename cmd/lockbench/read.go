// From the text of options to the plans of a matrix.

package main

import (
	"errors"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o    *options
	only map[string]bool // the axes that matrix reads; nil: all
	err  error
}

func (r *reader) fail(opt *option, err error) {
	if r.err == nil {
		r.err = r.o.complain(opt, "%w", err)
	}
}

func scalar[T any](r *reader, name string, parse func(string) (T, error)) T {
	opt := r.o.get(name)
	v, err := parse(opt.text)
	if err != nil {
		r.fail(opt, err)
	}
	return v
}

func list[T comparable](r *reader, name string, parse func(string) (T, error)) []T {
	opt := r.o.get(name)
	if opt.text == "" && opt.from == fromDefault {
		return make([]T, 1)
	}
	v, err := parseList(opt.text, parse)
	var part *partError
	switch {
	case errors.As(err, &part) && r.err == nil:
		r.err = r.o.complainOf(opt, part.index, err)
	case err != nil:
		r.fail(opt, err)
	}
	return v
}

// base is what the cells of a matrix have in common.
func (r *reader) base(seed uint64) spec.Plan {
	p := spec.Plan{
		Duration:   scalar(r, "duration", parseTime),
		Warmup:     scalar(r, "warmup", parseTime),
		Ops:        scalar(r, "n", parseOps),
		MaxErrors:  scalar(r, "max-errors", parseMaxErrors),
		Probe:      scalar(r, "probe", parseProbe),
		Poll:       scalar(r, "poll", parseTime),
		BackoffMin: scalar(r, "backoff-min", parseTime),
		BackoffMax: scalar(r, "backoff-max", parseTime),

		HandoverMax: scalar(r, "handover-max", parseInt),

		IOTimeout: scalar(r, "io-timeout", parseTime),
		Oracle:    scalar(r, "oracle", parseSwitch),
		Seed:      seed,
	}
	if p.Ops > 0 && r.o.get("duration").from == fromDefault {
		p.Duration = 0 // it takes as long as it takes
	}
	return p
}

// matrix is base with every combination of the axes, the first axis turning slowest.
func (r *reader) matrix(base spec.Plan) []spec.Plan {
	plans := []spec.Plan{base}
	cross(r, &plans, "driver", parseText, func(p *spec.Plan, v string) { p.Driver = v })
	cross(r, &plans, "lock", parseText, func(p *spec.Plan, v string) { p.Lock = v })
	cross(r, &plans, "topology", parseText, func(p *spec.Plan, v string) { p.Topology = v })
	cross(r, &plans, "durability", parseText, func(p *spec.Plan, v string) { p.Durability = v })
	cross(r, &plans, "release", parseText, func(p *spec.Plan, v string) { p.Release = v })
	cross(r, &plans, "wait", parseText, func(p *spec.Plan, v string) { p.Wait = v })
	cross(r, &plans, "renew", parseOnOff, func(p *spec.Plan, v bool) { p.Renew = v })
	cross(r, &plans, "clients", parseInt, func(p *spec.Plan, v int) { p.Clients = v })
	cross(r, &plans, "keys", parseInt, func(p *spec.Plan, v int) { p.Keys = v })
	cross(r, &plans, "key-dist", spec.ParseKeys, func(p *spec.Plan, v spec.Keys) { p.KeyDist = v })
	cross(r, &plans, "hold", r.o.replays.parse, func(p *spec.Plan, v times) { p.Hold, p.HoldDist = v.mean, v.dist })
	cross(r, &plans, "reentry", parseReentry, func(p *spec.Plan, v int) { p.Reentry = v })
	cross(r, &plans, "think", r.o.replays.parse,
		func(p *spec.Plan, v times) { p.Think, p.ThinkDist = v.mean, v.dist })
	cross(r, &plans, "ttl", parseTime, func(p *spec.Plan, v time.Duration) { p.TTL = v })
	cross(r, &plans, "timeout", parseTime, func(p *spec.Plan, v time.Duration) { p.Timeout = v })
	cross(r, &plans, "try-only", spec.ParseShare, func(p *spec.Plan, v float64) { p.TryOnly = v })
	cross(r, &plans, "crash", spec.ParseShare, func(p *spec.Plan, v float64) { p.Crash = v })
	cross(r, &plans, "overstay", spec.ParseShare, func(p *spec.Plan, v float64) { p.Overstay = v })
	cross(r, &plans, "rate", parseRate, func(p *spec.Plan, v spec.Rate) { p.Rate = v })
	cross(r, &plans, "arrival", parseText, func(p *spec.Plan, v string) { p.Arrival = v })
	cross(r, &plans, "burst", parseTime, func(p *spec.Plan, v time.Duration) { p.Burst = v })
	cross(r, &plans, "max-queue", parseInt, func(p *spec.Plan, v int) { p.MaxQueue = v })
	cross(r, &plans, "handover", parseText, func(p *spec.Plan, v string) { p.Handover = v })
	cross(r, &plans, "lockers", parseInt, func(p *spec.Plan, v int) { p.Lockers = v })
	cross(r, &plans, "conns", parseInt, func(p *spec.Plan, v int) { p.Conns = v })
	cross(r, &plans, "pipelining", parseText, func(p *spec.Plan, v string) { p.Pipelining = v })
	cross(r, &plans, "flush-delay", parseTime, func(p *spec.Plan, v time.Duration) { p.FlushDelay = v })
	cross(r, &plans, "param", parseParams, func(p *spec.Plan, v string) { p.Params = v })
	cross(r, &plans, "nodes", parseInt, func(p *spec.Plan, v int) { p.Nodes = v })
	cross(r, &plans, "replicas", parseInt, func(p *spec.Plan, v int) { p.Replicas = v })
	cross(r, &plans, "acks", parseInt, func(p *spec.Plan, v int) { p.Acks = v })
	cross(r, &plans, "node-timeout", parseTime, func(p *spec.Plan, v time.Duration) { p.NodeTimeout = v })
	return plans
}

// cross replaces each plan by one for every value of an axis.
func cross[T comparable](
	r *reader, plans *[]spec.Plan, name string, parse func(string) (T, error), set func(*spec.Plan, T),
) {
	if r.err != nil || r.only != nil && !r.only[name] {
		return
	}
	values := list(r, name, parse)
	if r.err != nil {
		return
	}
	if len(*plans)*len(values) > maxCells {
		r.err = usageErrorf("-%s: the lists make a matrix of more than %d cells", name, maxCells)
		return
	}
	crossed := make([]spec.Plan, 0, len(*plans)*len(values))
	for _, p := range *plans {
		for _, v := range values {
			set(&p, v)
			crossed = append(crossed, p)
		}
	}
	*plans = crossed
}
