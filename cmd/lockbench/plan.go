// argv and environment → plan: a pure value that says everything the run will do, and that -dry-run prints.

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads"
)

// plan is all that a run does.
type plan struct {
	options *options
	targets targets
	cells   []cell
	order   []turn // the trials in the order in which they run
	trials  int    // of each cell
	skipped []skip
}

// cell is one combination of the axes.
type cell struct {
	plan     results.Plan
	traits   drivers.Traits
	warnings []string
}

// turn is one trial of one cell; both count from 0.
type turn struct{ cell, trial int }

// skip is a combination that makes no sense, with the reason. It stands for several cells, and for several values of one
// flag if the reason is the same.
type skip struct {
	what   string // up to the value: "zookeeper -lock"; empty if that is all
	values []string
	why    string
	cells  int
}

func (s skip) String() string {
	text := strings.TrimSpace(s.what + " " + strings.Join(s.values, ", "))
	if !strings.HasPrefix(s.why, text+": ") { // which would say it twice
		text += ": " + s.why
	} else {
		text = s.why
	}
	if s.cells > 1 {
		text += fmt.Sprintf(" (%d cells)", s.cells)
	}
	return text
}

// skip notes that a cell is left out. what ends with the value that does not fit.
func (p *plan) skip(what, why string) {
	head, value := "", what
	if i := strings.LastIndexByte(what, ' '); i >= 0 {
		head, value = what[:i], what[i+1:]
	}
	for i := range p.skipped {
		s := &p.skipped[i]
		if s.what != head || s.why != why {
			continue
		}
		s.cells++
		if !slices.Contains(s.values, value) {
			s.values = append(s.values, value)
		}
		return
	}
	p.skipped = append(p.skipped, skip{head, []string{value}, why, 1})
}

// maxCells keeps a slip in a list from making a matrix that nobody has the time for.
const maxCells = 10_000

// planOf reads the options. Whatever is wrong with them is a usage error that names the flag, its value and what is
// allowed. It depends on the options and the targets alone, and touches nothing.
func planOf(o *options, t targets) (plan, error) {
	r := reader{o: o}
	trials := scalar(&r, "trials", parseInt)
	seed := scalar(&r, "seed", parseSeed)
	cells := r.matrix(results.Plan{
		Duration:   scalar(&r, "duration", parseTime),
		Warmup:     scalar(&r, "warmup", parseTime),
		Poll:       scalar(&r, "poll", parseTime),
		BackoffMin: scalar(&r, "backoff-min", parseTime),
		BackoffMax: scalar(&r, "backoff-max", parseTime),

		HandoverMax: scalar(&r, "handover-max", parseInt),

		IOTimeout: scalar(&r, "io-timeout", parseTime),
		Oracle:    scalar(&r, "oracle", parseSwitch),
		Seed:      seed,
	})
	if r.err != nil {
		return plan{}, r.err
	}
	if trials < 1 || trials > maxTrials {
		return plan{}, usageErrorf("%s: must be 1 to %d", o.get("trials").written(), maxTrials)
	}
	if err := o.checkNames(cells); err != nil {
		return plan{}, err
	}

	p := plan{options: o, targets: t, trials: trials}
	for _, c := range cells {
		if err := p.add(c); err != nil {
			return plan{}, err
		}
	}
	if len(p.cells) == 0 {
		return p, usageErrorf("nothing to run: %s", p.skipped[0])
	}
	if err := o.checkRead(p.cells); err != nil {
		return plan{}, err
	}
	p.order = order(len(p.cells), trials, seed)
	return p, nil
}

const maxTrials = 10_000

// pipelinings are the values of -pipelining; default is whatever the library ships with.
var pipelinings = []string{"default", string(drivers.PipeliningAuto), string(drivers.PipeliningOff)}

// add resolves one combination and takes it in, or notes why it makes no sense.
func (p *plan) add(c results.Plan) error {
	design, what, why := resolve(&c, p.targets)
	if why != "" {
		p.skip(what, why)
		return nil
	}
	if err := workloads.Check(c); err != nil {
		return p.options.explain(err)
	}
	c.Command = commandLine(p.options, c, p.targets)
	if slices.ContainsFunc(p.cells, func(there cell) bool { return reflect.DeepEqual(there.plan, c) }) {
		return nil // the axis in which they differed is not read by this way of waiting
	}
	p.cells = append(p.cells, cell{c, design.Traits, warnings(c, design.Traits)})
	return nil
}

// warnings tells what a reader of a cell's figures should know before he believes them.
func warnings(c results.Plan, t drivers.Traits) []string {
	list := workloads.Warnings(c, t)
	if s := serviceOf(c.Driver); s != nil && s.note != nil && t.Session {
		if text := s.note(c.TTL); text != "" {
			list = append(list, text)
		}
	}
	return list
}

// order interleaves the trials: each round has every cell once, so that a slow change of the machine hits all cells
// alike. Rounds are shuffled, lest one cell always follow the same other; a single round keeps the order written.
func order(cells, trials int, seed uint64) []turn {
	random := rand.New(rand.NewPCG(seed, 0x6c6f636b))
	turns := make([]turn, 0, cells*trials)
	for trial := range trials {
		round := make([]turn, cells)
		for i := range round {
			round[i] = turn{i, trial}
		}
		if trials > 1 {
			random.Shuffle(cells, func(i, j int) { round[i], round[j] = round[j], round[i] })
		}
		turns = append(turns, round...)
	}
	return turns
}

// at is the plan of one trial: it draws anew, and its command line makes it again.
func (p plan) at(t turn) results.Plan {
	c := p.cells[t.cell].plan
	c.Seed += uint64(t.trial)
	c.Command = commandLine(p.options, c, p.targets)
	return c
}

// length is how long the turns from number i on will take at least.
func (p plan) length(from int) time.Duration {
	var sum time.Duration
	for _, t := range p.order[from:] {
		c := p.cells[t.cell].plan
		sum += c.Warmup + c.Duration
	}
	return sum
}

// resolve fills in the driver's default design and way of waiting, and clears what the cell does not read. If the
// combination makes no sense it names the part that does not fit, and why.
func resolve(c *results.Plan, t targets) (d drivers.Design, what, why string) {
	if why := outOfTopology(*c); why != "" {
		return d, fmt.Sprintf("%s -topology %s", c.Driver, c.Topology), why
	}
	driver, err := driverOf(*c)
	if err != nil {
		return d, c.Driver, "no such driver" // checkNames has seen to it
	}
	d, err = drivers.FindDesign(driver, c.Lock)
	if err != nil {
		return d, c.Driver + " -lock " + c.Lock, fmt.Sprintf("%s has only %s", c.Driver, strings.Join(designNames(driver), ", "))
	}
	c.Lock = d.Name
	if _, err := drivers.ReadParams(driver, paramMap(c.Params)); err != nil {
		return d, fmt.Sprintf("%s -param %s", c.Driver, c.Params), err.Error()
	}
	target := t.of(c.Driver)
	c.Server = string(target.kind)
	switch {
	case target.missing != nil:
		return d, c.Driver, target.missing.Error()
	case target.kind == embedded && !target.service.embedded:
		return d, c.Driver + " -server embedded",
			"only Redis has a stand-in inside lockbench; -server private starts " + target.service.name
	}
	settle(c, d)
	topology := c.Topology
	if why := settleTopology(c, target.kind); why != "" {
		return d, fmt.Sprintf("%s -topology %s", c.Driver, topology), why
	}
	if what, why = unfit(c, d); why == "" {
		what, why = unconnected(c)
	}
	if why != "" {
		return d, c.Driver + " " + what, why
	}
	if c.Lockers == 1 {
		c.Lockers = 0 // what a plan calls the usual
	}
	return d, "", ""
}

// waitAuto is the value of -wait that leaves the choice to the design.
const waitAuto = "auto"

// settle chooses a way of waiting if that is left open, and clears what it does not read, and what is spelt out though it
// is the usual.
func settle(c *results.Plan, d drivers.Design) {
	switch {
	case c.Wait != waitAuto:
	case d.Traits.Waits:
		c.Wait = wait.Native
	default:
		c.Wait = wait.Backoff
	}
	if c.Server != string(private) {
		c.Durability = "" // it is the server's own affair
	}
	if c.Wait != wait.Poll {
		c.Poll = 0
	}
	if c.Wait == wait.None {
		c.Timeout = 0 // there is nothing to be patient about
	}
	if c.Wait != wait.Backoff {
		c.BackoffMin, c.BackoffMax = 0, 0
	}
	if c.Wait != wait.Queue {
		c.Handover = ""
	}
	if c.Handover != wait.HandoverSwap {
		c.HandoverMax = 0
	}
	if c.Pipelining == "default" {
		c.Pipelining = string(drivers.PipeliningDefault)
	}
	if c.Release == "default" {
		c.Release = string(drivers.ReleaseDefault)
	}
}

// unfit tells what of a cell its design cannot do.
func unfit(c *results.Plan, d drivers.Design) (what, why string) {
	kind, err := wait.Find(c.Wait)
	if err != nil {
		return "", "" // checkNames has seen to it
	}
	waits := c.Lock + " -wait " + c.Wait
	several := c.Topology != ""
	switch {
	case kind.Native && !d.Traits.Waits:
		return waits, noNative
	case kind.Wakes && !d.Traits.Wakes:
		return waits, "its releases wake nobody"
	case kind.Blocks && several:
		return waits + " -topology " + c.Topology, "a client can sleep on a single server only"
	case kind.Blocks && !d.Traits.Blocks:
		return waits, "its releases wake nobody who sleeps on the server"
	case kind.Blocks && c.Release != "" && c.Release != string(drivers.ReleaseLua):
		return waits + " -release " + c.Release, "the release that wakes a sleeper is a script"
	case c.Handover == wait.HandoverSwap && c.Topology == string(drivers.TopologyRedlock):
		return waits + " -handover swap -topology redlock", "several servers cannot hand a lock over in one step"
	case c.Renew && !d.Traits.Renews && d.Traits.Session:
		return c.Lock + " -renew", "it is kept alive by its session"
	case c.Renew && !d.Traits.Renews:
		return c.Lock + " -renew", "its leases cannot be renewed"
	case c.Reentry > 1 && !d.Traits.Reentrant:
		return fmt.Sprintf("%s -reentry %d", c.Lock, c.Reentry), "its holder cannot enter it again"
	case c.Lockers > 1 && !kind.Local && !(kind.Native && libraries[c.Driver].locks):
		return fmt.Sprintf("%s -lockers %d", waits, c.Lockers), "clients that wait like this share nothing, whatever their process"
	case c.Release != "" && !slices.Contains(d.Releases, drivers.Release(c.Release)):
		return c.Lock + " -release " + c.Release, "this design has one release of its own"
	}
	return "", ""
}

// unconnected tells what of a cell its client library cannot do.
func unconnected(c *results.Plan) (what, why string) {
	remote := !inProcessDriver(c.Driver)
	const inside = "it runs in-process and has no connections"
	switch {
	case !remote && c.Conns > 0:
		return fmt.Sprintf("-conns %d", c.Conns), inside
	case !remote && c.Pipelining != "":
		return "-pipelining " + c.Pipelining, inside
	case !remote && c.FlushDelay > 0:
		return fmt.Sprintf("-flush-delay %v", c.FlushDelay), inside
	case c.Conns > 0 && libraries[c.Driver].pinned(c.Lock):
		return fmt.Sprintf("%s -conns %d", c.Lock, c.Conns), "each client needs a connection of its own"
	case c.Pipelining != "" && !serviceOf(c.Driver).pipelines:
		return "-pipelining " + c.Pipelining, "its library leaves no choice"
	case c.FlushDelay > 0 && !pipelined(*c):
		return fmt.Sprintf("-flush-delay %v", c.FlushDelay), "only a pipelining library collects commands; see -pipelining auto"
	}
	return "", ""
}

// durabilities are the values of -durability, the usual one first.
var durabilities = []string{string(servers.Relaxed), string(servers.Strict)}

func designNames(d drivers.Driver) []string {
	var names []string
	for _, design := range d.Designs() {
		names = append(names, design.Name)
	}
	return names
}

// checkNames refuses names that no driver and no way of waiting has, with the nearest that exists. A lock that only
// some drivers have is fine: the others skip it.
func (o *options) checkNames(cells []results.Plan) error {
	var locks, waits []string
	for _, name := range drivers.Names() {
		d, _ := drivers.Lookup(name)
		locks = append(locks, designNames(d)...)
	}
	slices.Sort(locks)
	locks = slices.Compact(locks)
	for _, k := range wait.Kinds() {
		waits = append(waits, k.Name)
	}
	for _, c := range cells {
		for _, v := range []struct {
			field, name string
			known       []string
		}{
			{"driver", c.Driver, drivers.Names()},
			{"lock", c.Lock, append([]string{""}, locks...)},
			{"wait", c.Wait, append([]string{waitAuto}, waits...)},
			{"handover", c.Handover, wait.Handovers()},
			{"pipelining", c.Pipelining, pipelinings},
			{"topology", c.Topology, topologies},
			{"durability", c.Durability, durabilities},
			{"release", c.Release, releases},
		} {
			if !slices.Contains(v.known, v.name) {
				known := slices.DeleteFunc(slices.Clone(v.known), func(s string) bool { return s == "" })
				return usageErrorf("%s: unknown %s %q%s; there are %s", o.get(v.field).written(), v.field, v.name,
					didYouMean("", v.name, known), strings.Join(known, ", "))
			}
		}
	}
	return nil
}

// checkRead refuses a flag that no cell reads, since it would be ignored. Variables may be unused: they are set once
// for many runs.
func (o *options) checkRead(cells []cell) error {
	for flag, readers := range topologyFlags {
		read := slices.ContainsFunc(cells, func(c cell) bool { return slices.Contains(readers, drivers.Topology(c.plan.Topology)) })
		if opt := o.get(flag); opt.from == fromFlag && !read {
			names := make([]string, len(readers))
			for i, t := range readers {
				names[i] = string(t)
			}
			return usageErrorf("%s: only -topology %s reads it, and -topology is %s", opt.written(), and(names), o.text("topology"))
		}
	}
	if opt := o.get("timeout"); opt.from == fromFlag && !slices.ContainsFunc(cells, func(c cell) bool { return c.plan.Wait != wait.None }) {
		return usageErrorf("%s: with -wait none nobody waits, so there is no patience to limit; -io-timeout bounds a request", opt.written())
	}
	for flag, kind := range map[string]string{
		"poll": wait.Poll, "backoff-min": wait.Backoff, "backoff-max": wait.Backoff,
		"handover": wait.Queue, "handover-max": wait.Queue,
	} {
		read := slices.ContainsFunc(cells, func(c cell) bool { return c.plan.Wait == kind })
		if opt := o.get(flag); opt.from == fromFlag && !read {
			return usageErrorf("%s: only -wait %s reads it, and -wait is %s", opt.written(), kind, o.text("wait"))
		}
	}
	kept := slices.ContainsFunc(cells, func(c cell) bool { return c.plan.Durability != "" })
	if opt := o.get("durability"); opt.from == fromFlag && !kept {
		return usageErrorf("%s: only servers that lockbench starts are set up by it, and this run has none", opt.written())
	}
	swaps := slices.ContainsFunc(cells, func(c cell) bool { return c.plan.Handover == wait.HandoverSwap })
	if opt := o.get("handover-max"); opt.from == fromFlag && !swaps {
		return usageErrorf("%s: only -handover %s reads it, and -handover is %s",
			opt.written(), wait.HandoverSwap, o.text("handover"))
	}
	return nil
}

// and lists names in a sentence.
func and(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// explain turns a FieldError into a usage error that shows what the user wrote, be it a flag or a variable.
func (o *options) explain(err error) error {
	var field *workloads.FieldError
	if errors.As(err, &field) {
		if opt := o.get(field.Field); opt.from == fromVariable {
			return usageErrorf("%s: must be %s", opt.written(), field.Allowed)
		}
	}
	return usageErrorf("%w", err)
}

// reader reads options and remembers the first that cannot be read.
type reader struct {
	o   *options
	err error
}

func (r *reader) fail(opt *option, err error) {
	if r.err == nil {
		r.err = usageErrorf("%s: %w", opt.written(), err)
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
	if err != nil {
		r.fail(opt, err)
	}
	return v
}

// matrix is base with every combination of the axes, the first axis turning slowest.
func (r *reader) matrix(base results.Plan) []results.Plan {
	plans := []results.Plan{base}
	cross(r, &plans, "driver", parseText, func(p *results.Plan, v string) { p.Driver = v })
	cross(r, &plans, "lock", parseText, func(p *results.Plan, v string) { p.Lock = v })
	cross(r, &plans, "topology", parseText, func(p *results.Plan, v string) { p.Topology = v })
	cross(r, &plans, "durability", parseText, func(p *results.Plan, v string) { p.Durability = v })
	cross(r, &plans, "release", parseText, func(p *results.Plan, v string) { p.Release = v })
	cross(r, &plans, "wait", parseText, func(p *results.Plan, v string) { p.Wait = v })
	cross(r, &plans, "renew", parseOnOff, func(p *results.Plan, v bool) { p.Renew = v })
	cross(r, &plans, "clients", parseInt, func(p *results.Plan, v int) { p.Clients = v })
	cross(r, &plans, "keys", parseInt, func(p *results.Plan, v int) { p.Keys = v })
	cross(r, &plans, "hold", parseTime, func(p *results.Plan, v time.Duration) { p.Hold = v })
	cross(r, &plans, "reentry", parseReentry, func(p *results.Plan, v int) { p.Reentry = v })
	cross(r, &plans, "think", parseTime, func(p *results.Plan, v time.Duration) { p.Think = v })
	cross(r, &plans, "ttl", parseTime, func(p *results.Plan, v time.Duration) { p.TTL = v })
	cross(r, &plans, "timeout", parseTime, func(p *results.Plan, v time.Duration) { p.Timeout = v })
	cross(r, &plans, "handover", parseText, func(p *results.Plan, v string) { p.Handover = v })
	cross(r, &plans, "lockers", parseInt, func(p *results.Plan, v int) { p.Lockers = v })
	cross(r, &plans, "conns", parseInt, func(p *results.Plan, v int) { p.Conns = v })
	cross(r, &plans, "pipelining", parseText, func(p *results.Plan, v string) { p.Pipelining = v })
	cross(r, &plans, "flush-delay", parseTime, func(p *results.Plan, v time.Duration) { p.FlushDelay = v })
	cross(r, &plans, "param", parseParams, func(p *results.Plan, v string) { p.Params = v })
	cross(r, &plans, "nodes", parseInt, func(p *results.Plan, v int) { p.Nodes = v })
	cross(r, &plans, "replicas", parseInt, func(p *results.Plan, v int) { p.Replicas = v })
	cross(r, &plans, "acks", parseInt, func(p *results.Plan, v int) { p.Acks = v })
	cross(r, &plans, "node-timeout", parseTime, func(p *results.Plan, v time.Duration) { p.NodeTimeout = v })
	return plans
}

// cross replaces each plan by one for every value of an axis.
func cross[T comparable](r *reader, plans *[]results.Plan, name string, parse func(string) (T, error), set func(*results.Plan, T)) {
	values := list(r, name, parse)
	if r.err != nil {
		return
	}
	if len(*plans)*len(values) > maxCells {
		r.err = usageErrorf("-%s: the lists make a matrix of more than %d cells", name, maxCells)
		return
	}
	crossed := make([]results.Plan, 0, len(*plans)*len(values))
	for _, p := range *plans {
		for _, v := range values {
			set(&p, v)
			crossed = append(crossed, p)
		}
	}
	*plans = crossed
}
