// From the flags of lockbench plan to the question, and to the cells that are its candidates.

package cli

import (
	"cmp"
	"errors"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/cmd/cli/catalog"
	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/results/capacity"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
	"github.com/lockbench/lockbench/workloads/matrix"
	"github.com/lockbench/lockbench/workloads/shape"
	"github.com/lockbench/lockbench/workloads/target"
)

// maxPlanClients is what a plan may ask about at the most.
const maxPlanClients = 100_000

// notOfAPlan are the flags of a run in place of which a plan has its question.
var notOfAPlan = []string{"think", "n", "duration", "warmup", "trials", "oracle", "vs", "fail-on", "probe", "shared"}

// planFlags are those of lockbench plan: its question, and those of a run with which the load is one.
var planFlags = slices.Concat([]flagDef{
	sloFlag,
	{"need", "", groupQuestion, "CLAIMS", "", false,
		"what candidates have to claim (not with -lock): " + strings.Join(claimNames(), ", ")},
	{"budget", "", groupQuestion, "TIME", "", false,
		"how long it may take (default 60s a candidate, 90s without -rate,\nat most 20m)"},
	{"max-rate", "", groupQuestion, "RATE", "", false,
		"arrivals a second that no trial exceeds (default: none; for your own\nserver twice -rate)"},
	{"max-clients", "", groupQuestion, "N", "", false,
		"find how many clients of a closed loop, up to N, may share the keys\n(-slo 'acquire.p95<500ms')"},
}, planLoadFlags(), []flagDef{
	{"output", "o", groupOutput, "FILE", "", false, "append one JSON line per trial to FILE, and the answer at the end"},
	metricsFlag,
	liveFlag,
	quietFlag,
	{"dry-run", "", groupOutput, "", "false", false, "print the analysis and the candidates, run nothing"},
	formatFlag,
	{"verbose", "v", groupOutput, "", "false", false, "the bounds on paper, and what was not tried"},
})

func planLoadFlags() (defs []flagDef) {
	for _, f := range measuringFlags {
		s, _ := spec.Find(f.name)
		f.axis = f.axis && !ofTheLoad(s)
		switch f.name {
		case "rate":
			f.def, f.usage = "", "arrivals a second that have to be sustained, of all classes together;\n"+
				"without it, the most is found (5k)"
		case "arrival":
			f.def, f.usage = spec.Poisson, "how arrivals follow one another: poisson, or constant, which hides\n"+
				"the queue (default poisson)"
		case "lock":
			f.usage = "lock design (default: the best of each driver, see above)"
		case "clients":
			f.def, f.usage = "", "clients that serve the arrivals (default: as many as it takes); with\n"+
				"-max-clients, those that have to be sustained"
		}
		if !slices.Contains(notOfAPlan, f.name) {
			defs = append(defs, f)
		}
	}
	return defs
}

// ofTheLoad reports whether a setting is part of the load, of which a plan has one.
func ofTheLoad(s spec.Setting) bool { return s.Class || s.Name == "keys" }

func claimNames() (names []string) {
	for _, c := range catalog.Claimed {
		names = append(names, c.Name)
	}
	return names
}

// question is a question about capacity. Candidate i is its cell i.
type question struct {
	capacity.Question
	experiment
	need    []string // the claims that a candidate has to have
	skipped []string // what is no candidate, each with the reason
}

// questionOf reads what is asked, and finds the candidates. find looks for the program of a service. What is wrong is a
// usage error that names the flag.
func questionOf(
	o *options, env environ, stdin io.Reader, find func(*servers.Service) (string, error),
) (*question, error) {
	q := &question{experiment: experiment{options: o}}
	if err := q.read(stdin); err != nil {
		return nil, err
	}
	targets, err := decideTargets(o, env, find)
	if err != nil {
		return nil, err
	}
	q.Targets = map[string]target.Targets{"": targets}
	if err := cmp.Or(q.addLocks(), q.checkRead()); err != nil {
		return nil, err
	}
	q.addCandidates()
	external := func(c matrix.Cell) bool { return c.Plan.Server == matrix.External }
	if q.Most == 0 && slices.ContainsFunc(q.Cells, external) {
		if q.Most = 2 * q.Asked; q.Asked == 0 {
			return nil, usageErrorf("-max-rate: how many arrivals a second may your server be offered? " +
				"a plan without -rate goes on until it is too much: " +
				"give what its other users can spare, such as -max-rate 2k, or if it has none -max-rate 100k")
		}
	}
	if err := q.Check(); err != nil {
		return nil, usageErrorf("%w", err)
	}
	for i := range q.Cells { // the servers that are started have room for this many, whose arrivals nobody has asked for
		p := &q.Cells[i].Plan
		p.Clients, p.Rate, p.Burst = q.MostClients(), spec.Rate{}, 0
	}
	return q, nil
}

// read reads the flags of the question and the workload, and leaves the rest of the options as the cells need them: a
// trial has an open loop, unless it is about clients.
func (q *question) read(stdin io.Reader) error {
	o := q.options
	r, rate, slo := reader{o: o}, o.get("rate"), o.get("slo")
	ignore := func(opt *option) { opt.text, opt.from = opt.def, fromDefault }
	asked, most := rate, o.get("max-rate")
	if clients := o.get("max-clients"); clients.text != "" {
		if rate.text != "" || most.text != "" {
			return o.complain(clients, "it is about clients of a closed loop, which have no -rate and no -max-rate")
		}
		q.Axis, asked, most = capacity.Clients, o.get("clients"), clients
	}
	q.Asked, q.Most = scalar(&r, asked.name, q.level), scalar(&r, most.name, q.level)
	q.need = list(&r, "need", parseText)
	q.Seed = scalar(&r, "seed", spec.ParseSeed)
	q.Budget = scalar(&r, "budget", within(spec.ParseTime, 1, math.MaxInt64, "must be more than 0"))
	ignore(asked) // a rate is of all arrivals, of which classes have shares
	if r.err == nil {
		r.err = o.readWorkload(stdin)
	}
	if o.workload != nil {
		slo.text = cmp.Or(slo.text, o.workload.SLO)
	}
	if r.err == nil && slo.text == "" {
		r.err = usageErrorf("-slo: what must be true of the arrivals? give -slo 'response.p99<20ms,errors<0.1%%'")
	}
	if q.SLO = scalar(&r, "slo", capacity.ParseSLO); r.err != nil {
		return r.err
	}
	ignore(o.get("shared")) // a plan cannot tell what others took from what a lock can do
	switch {
	case q.Axis == capacity.Clients:
		ignore(rate)
	case o.workload == nil || o.workload.Classes == nil:
		ignore(o.get("think")) // arrivals come whatever clients do
		if rate.text == "" && o.get("burst").isDefault() {
			rate.text = "1" // for that of a trial: an open loop reads more settings
		}
	}
	return nil
}

// level reads a number of arrivals a second, or of clients; nothing is 0.
func (q *question) level(text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	if q.Axis == capacity.Clients {
		n, err := within(spec.ParseInt, 1, maxPlanClients, "must be a number of clients")(text)
		return float64(n), err
	}
	rate, err := spec.ParseRate(text)
	if err != nil || rate.Over > 0 {
		return 0, errors.New("a plan takes one rate, such as 5k: each of its trials has a rate of its own")
	}
	return rate.Max(), nil
}

// addLocks adds the cells of all drivers, with the designs that -lock names or else those that are worth a trial.
func (q *question) addLocks() error {
	o, lock := q.options, q.options.get("lock")
	for _, name := range q.need {
		if known := claimNames(); !slices.Contains(known, name) {
			return o.explain(spec.Unknown("need", name, known))
		}
		if lock.text != "" {
			return o.complain(o.get("need"), "it chooses among designs, and %s names them: leave one out", lock.written())
		}
	}
	axes, err := o.axes()
	if err != nil {
		return err
	}
	var ofLock, others []matrix.Axis
	for _, a := range axes {
		switch name := a.Setting.Name; {
		case name == "driver", name == "topology", name == "lock":
			ofLock = append(ofLock, a)
		case ofTheLoad(a.Setting) && len(a.Values) > 1:
			return o.complain(o.get(name), "a plan is about one load: give one value, and make a plan for each")
		default:
			others = append(others, a)
		}
	}
	plans, err := matrix.Expand(spec.Plan{Seed: q.Seed}, ofLock, maxCells)
	if err != nil {
		return usageErrorf("%w", err)
	}
	for _, p := range plans {
		for _, p.Lock = range q.designs(p) {
			if err := q.addCells(p, others); err != nil {
				return err
			}
		}
	}
	if len(q.Cells) == 0 { // what is wrong with a design comes before the designs that are left out beside it
		return usageErrorf("there is no candidate: %s", strings.Join(slices.Concat(q.Skipped, q.skipped), "; "))
	}
	q.skipped, q.Skipped = append(q.skipped, q.Skipped...), nil
	q.Schedule(1, q.Seed)
	return nil
}

// designs returns the design that p names. If it names none these are the designs of its driver that are safe and claim
// what is needed, without those that another one is better than: it claims as much and loses to fewer hazards.
func (q *question) designs(p spec.Plan) (names []string) {
	knows := p.Topology == "" || slices.Contains(matrix.Topologies(p.Driver), p.Topology)
	if p.Lock != "" || drivers.Unstarted(p.Driver) || !knows { // of which addCells says what is wrong
		return []string{p.Lock}
	}
	reentrant := slices.Contains(q.need, "reentrant") || !q.options.get("reentry").isDefault()
	claims := func(d drivers.Design) []string {
		d.Traits.Reentrant = d.Traits.Reentrant && reentrant // else nobody asks for it
		return strings.Split(catalog.Claims(d.Traits), ", ")
	}
	needed := slices.Concat([]string{"exclusive", "owned"}, q.need)
	driver, _ := matrix.Driver(&p)
	safe := slices.DeleteFunc(slices.Clone(driver.Designs()), func(d drivers.Design) bool {
		return !includes(claims(d), needed) || !d.Traits.Expires && !d.Traits.Session
	})
	wins := func(a, b drivers.Design) bool { return includes(claims(a), claims(b)) && includes(b.Loses, a.Loses) }
	var worse []string
	for _, d := range safe {
		if slices.ContainsFunc(safe, func(o drivers.Design) bool { return wins(o, d) && !wins(d, o) }) {
			worse = append(worse, d.Name)
		} else {
			names = append(names, d.Name)
		}
	}
	leave := func(why string) {
		where := strings.TrimSuffix(p.Driver+"@"+p.Topology, "@")
		q.skipped = append(q.skipped, where+why+"; -lock takes any")
	}
	if worse != nil {
		leave(" " + format.And(worse) + ": another design claims as much and loses to fewer hazards")
	}
	if names == nil {
		leave(": no design claims " + strings.Join(needed, ", ") + ", and expires or session")
	}
	return names
}

// includes reports whether a list has all of some values.
func includes[T comparable](list, some []T) bool {
	return !slices.ContainsFunc(some, func(v T) bool { return !slices.Contains(list, v) })
}

// addCandidates makes a candidate of each cell. The load is the same for all. If -rate is missing its rate is the one
// that is asked for; a plain load has only that which the trials choose. The clients that a flag gives, or a workload
// beside its rate, are those of all trials.
func (q *question) addCandidates() {
	load, clients, rate := &q.Cells[0].Plan, q.options.get("clients"), q.options.get("rate")
	plain := len(load.Classes) == 0 && load.Burst == 0
	if q.Axis == capacity.Rates && q.Asked == 0 && (!plain || rate.from == fromFile) {
		q.Asked = capacity.Offered(load)
	}
	q.Shares = make([]float64, load.Keys)
	weights := capacity.ArrivalShares(load)
	for i, g := range load.Groups() {
		for key, share := range shape.Shares(g.KeyDist, load.Keys, max(1, g.Clients)) {
			q.Shares[key] += weights[i] * share
		}
	}
	slices.SortFunc(q.Shares, func(a, b float64) int { return cmp.Compare(b, a) })
	q.FixedClients = q.Axis == capacity.Rates &&
		(clients.from > fromFile || clients.from == fromFile && rate.from == fromFile && plain)
	for i, cell := range q.Cells {
		p := cell.Plan
		p.Duration, p.Warmup, p.Ops, p.Command = 0, 0, 0, ""
		if plain {
			p.Rate = spec.Rate{}
		}
		if plain && !q.FixedClients {
			p.Clients = 0
		}
		q.Candidates = append(q.Candidates, capacity.Candidate{Name: q.Name(i), Plan: p,
			Traits: workloads.Recorded(cell.Traits), Wrong: cell.Wrong})
	}
}
