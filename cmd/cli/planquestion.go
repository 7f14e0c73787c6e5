// From the options of lockbench plan to the question, and to the cells that are its candidates.

package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// question is a question about capacity. Candidate i is its cell i.
type question struct {
	capacity.Question
	experiment
	need    []string // the claims that a candidate has to have
	skipped []string // names and designs that are no candidates, each with the reason
}

// readQuestion reads from the options, and from what they name, what is asked.
func (p *program) readQuestion(o *options) (*question, error) {
	place, err := p.findPlace(o)
	if err != nil {
		return nil, err
	}
	q, err := questionOf(o, p.env, p.stdin, (*servers.Service).Locate)
	if err != nil {
		return nil, err
	}
	q.Place = place
	learnTargets(&p.secrets, q.AllTargets())
	return q, nil
}

// questionOf does so with whatever finds the program of a service. What is wrong is a usage error that names the flag.
func questionOf(
	o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error),
) (q *question, err error) {
	q = &question{experiment: experiment{options: o}}
	for _, read := range []func() error{
		q.readBounds, func() error { return q.readLoad(stdin) }, q.readSLO, func() error {
			targets, err := decideTargets(o, env, find)
			q.Targets = map[string]target.Targets{"": targets}
			return err
		}, q.addCandidates, q.checkRead, q.keepClaiming, q.ask,
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readBounds reads -rate, which is about all arrivals, and what bounds the candidates and their trials.
func (q *question) readBounds() error {
	r, known := reader{o: q.options}, claimNames()
	q.Rate = scalar(&r, "rate", constantRate)
	q.MaxRate = scalar(&r, "max-rate", constantRate)
	q.Budget = scalar(&r, "budget", within(spec.ParseTime, 1, math.MaxInt64, "must be more than 0"))
	q.Force = q.options.on("force")
	q.need = list(&r, "need", func(name string) (string, error) {
		if !slices.Contains(known, name) {
			return "", fmt.Errorf("no claim is called %q%s; there are %s", name,
				suggest.DidYouMean("", name, known), strings.Join(known, ", "))
		}
		return name, nil
	})
	return r.err
}

// constantRate reads one rate; nothing is 0.
func constantRate(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	rate, err := spec.ParseRate(text)
	if err != nil || rate.Over > 0 {
		return 0, errors.New("a plan takes one rate, such as 5k: each of its trials has a rate of its own")
	}
	return rate.Max(), nil
}

// nominalRate stands for whatever rate a trial has while settings are read, some of which only an open loop reads.
const nominalRate = "1"

// readLoad reads the workload, whose classes share the rate out, and leaves out what a plan has none of.
func (q *question) readLoad(stdin io.Reader) error {
	o, rate := q.options, q.options.get("rate")
	rate.text, rate.from = "", fromDefault
	if err := o.readWorkload(stdin); err != nil {
		return err
	}
	leave := []string{"shared"}
	if o.workload == nil || len(o.workload.Classes) == 0 {
		leave = append(leave, "think")
		if rate.from == fromDefault && o.get("burst").isDefault() {
			rate.text = nominalRate
		}
	}
	for _, name := range leave {
		opt := o.get(name)
		opt.text, opt.from = opt.def, fromDefault
	}
	for _, opt := range o.list {
		if s, ok := spec.Find(opt.name); ok && ofTheLoad(s) && strings.Contains(opt.text, ",") {
			return o.complain(opt, "a plan is about one load: give one value, and make a plan for each")
		}
	}
	return nil
}

// readSLO reads -slo, or else that of the workload.
func (q *question) readSLO() (err error) {
	opt, w := q.options.get(sloFlag.name), q.options.workload
	text := opt.text
	if w != nil && opt.from == fromDefault {
		text = w.SLO
	}
	if text == "" {
		return usageErrorf("-slo: what must be true of the arrivals? give -slo 'response.p99<20ms,errors<0.1%%'")
	}
	if q.SLO, err = capacity.ParseSLO(text); err != nil {
		return usageErrorf("%s: %w", opt.flagOrVariable(), err)
	}
	return nil
}

// ask fills in what the package that plans has to know.
func (q *question) ask() error {
	q.Seed = q.Cells[0].Plan.Seed
	for i := range q.Cells {
		q.Candidates = append(q.Candidates, q.candidate(i))
	}
	external := func(c matrix.Cell) bool { return c.Plan.Server == matrix.External }
	if q.MaxRate == 0 && slices.ContainsFunc(q.Cells, external) {
		if q.MaxRate = 2 * q.Rate; q.Rate == 0 {
			return usageErrorf("-max-rate: how many arrivals a second may your server be offered? " +
				"a plan without -rate goes on until it is too much: " +
				"give what its other users can spare, such as -max-rate 2k, or if it has none -max-rate 100k")
		}
	}
	if err := q.Check(); err != nil {
		return usageErrorf("%w", err)
	}
	for i := range q.Cells { // the servers that are started have room for this many
		q.Cells[i].Plan.Clients = q.MostClients(i)
	}
	return nil
}

// ofTheLoad reports whether a setting is part of the load, of which a plan has one.
func ofTheLoad(s spec.Setting) bool { return s.Class || s.Name == "keys" }

func claimNames() (names []string) {
	for _, c := range catalog.Claimed {
		names = append(names, c.Name)
	}
	return names
}
