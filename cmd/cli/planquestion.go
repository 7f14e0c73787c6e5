// From the options of lockbench plan to the question, and to the cells that are its candidates.

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/cmd/cli/suggest"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/target"
)

// question is a question about capacity. Candidate i is its cell i.
type question struct {
	capacity.Question
	experiment
	need     []string // the claims that a candidate has to have
	skipped  []string // names and designs that are no candidates, each with the reason
	warnings []string
}

// readQuestion reads from the options, and from what they name, what is asked.
func (p *program) readQuestion(o *options) (*question, error) {
	place, err := p.findPlace(o)
	if err != nil {
		return nil, err
	}
	q, err := questionOf(o, p.env, p.stdin, func(s *servers.Service) (string, error) { return s.Locate() })
	if err == nil {
		if slices.ContainsFunc(q.Cells, func(c matrix.Cell) bool { return c.Plan.Shared }) {
			return nil, o.complain(o.get("shared"), "a plan cannot tell what other runs took from what a lock can do: leave it out")
		}
		q.Place = place
		learnTargets(&p.secrets, q.AllTargets())
	}
	return q, err
}

// questionOf does so with whatever finds the program of a service. What is wrong is a usage error that names the flag.
func questionOf(o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error)) (*question, error) {
	q := &question{experiment: experiment{options: o}}
	for _, read := range []func() error{
		func() error { return q.readLoad(stdin) }, q.readSLO, q.readNeed,
		func() error {
			targets, err := decideTargets(o, env, find)
			q.Targets = map[string]target.Targets{"": targets}
			return err
		},
		q.addCandidates, q.keepClaiming, q.ask,
	} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// readLoad reads -rate, which is about all arrivals, and then the workload, whose classes share them out.
func (q *question) readLoad(stdin io.Reader) (err error) {
	if opt := q.options.get("rate"); opt.from != fromDefault {
		if q.Rate, err = constantRate(q.options, opt); err != nil {
			return err
		}
		opt.text, opt.from = opt.def, fromDefault
	}
	if err := q.options.readWorkload(stdin); err != nil {
		return err
	}
	for _, opt := range q.options.list {
		if setting, ok := spec.Find(opt.name); ok && ofTheLoad(setting) && strings.Contains(opt.text, ",") {
			return q.options.complain(opt, "a plan is about one load: give one value, and make a plan for each")
		}
	}
	if q.options.text("arrival") == spec.Constant {
		q.warnings = append(q.warnings, "constant arrivals hide the queue that random ones make: real ones need more room than this plan finds")
	}
	return nil
}

// constantRate reads an option that is one rate.
func constantRate(o *options, opt *option) (float64, error) {
	if strings.Contains(opt.text, ",") {
		return 0, o.complain(opt, "takes one rate")
	}
	rate, err := spec.ParseRate(opt.text)
	switch {
	case err != nil:
		return 0, o.complain(opt, "%w", err)
	case rate.Changes():
		return 0, o.complain(opt, "a plan takes one rate, such as 5k: each of its trials has a rate of its own")
	}
	return rate.Max(), nil
}

// readSLO reads -slo, or else that of the workload.
func (q *question) readSLO() (err error) {
	opt, w := q.options.get(sloFlag.name), q.options.workload
	switch {
	case opt.from != fromDefault:
		if q.SLO, err = capacity.ParseSLO(opt.text); err != nil {
			return usageErrorf("%s: %w", opt.flagOrVariable(), err)
		}
	case w == nil || w.SLO == "":
		return usageErrorf("-slo: what must be true of the arrivals? give -slo 'response.p99<20ms,errors<0.1%%'")
	default:
		q.SLO, err = capacity.ParseSLO(w.SLO)
	}
	return err
}

// readNeed reads the claims that a candidate has to have.
func (q *question) readNeed() (err error) {
	opt := q.options.get("need")
	if opt.text == "" {
		return nil
	}
	known := claimNames()
	q.need, err = parseList(opt.text, func(name string) (string, error) {
		if !slices.Contains(known, name) {
			return "", fmt.Errorf("no claim is called %q%s; there are %s", name, suggest.DidYouMean("", name, known), strings.Join(known, ", "))
		}
		return name, nil
	})
	if err != nil {
		return q.options.complain(opt, "%w", err)
	}
	return nil
}

// ask fills in what the package that plans has to know.
func (q *question) ask() error {
	q.Seed, q.Force = q.Cells[0].Plan.Seed, q.options.on("force")
	if opt := q.options.get("wait"); opt.from == fromDefault && slices.ContainsFunc(q.Cells, func(c matrix.Cell) bool {
		return c.Traits.Wakes && c.Plan.Wait == wait.Backoff
	}) {
		q.skipped = append(q.skipped, "-wait queue (the clients of a process wait in turn); -wait auto,queue adds it")
	}
	for i := range q.Cells {
		q.Candidates = append(q.Candidates, q.candidate(i))
	}
	if err := q.bound(); err != nil {
		return err
	}
	if err := q.Check(0); err != nil {
		return usageErrorf("%w", err)
	}
	for i := range q.Cells { // the servers that are started have room for this many
		q.Cells[i].Plan.Clients = q.MostClients(i)
	}
	return nil
}

// bound reads how long the plan may take, and which rate it may not exceed.
func (q *question) bound() (err error) {
	if opt := q.options.get("budget"); opt.text != "" {
		if q.Budget, err = spec.ParseTime(opt.text); err == nil && q.Budget <= 0 {
			err = fmt.Errorf("must be more than 0")
		}
		if err != nil {
			return q.options.complain(opt, "%w", err)
		}
	}
	if opt := q.options.get("max-rate"); opt.text != "" {
		q.MaxRate, err = constantRate(q.options, opt)
		return err
	}
	if !slices.ContainsFunc(q.Cells, func(c matrix.Cell) bool { return c.Plan.Server == matrix.External }) {
		return nil
	}
	if q.Rate == 0 {
		return usageErrorf("-max-rate: how many arrivals a second may your server be offered? a plan without -rate goes on until it is too much: " +
			"give what its other users can spare, such as -max-rate 2k, or if it has none -max-rate 100k")
	}
	q.MaxRate = 2 * q.Rate
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
