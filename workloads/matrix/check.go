// Package matrix has the rules of what goes together in a plan: which settings a plan reads, which exclude each other, and
// which a design or its library cannot have. The engine refuses plans by them, and a program that measures a matrix skips
// its cells.
package matrix

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// The bounds of a plan. They are generous: they catch a slip of the keyboard, not a large experiment.
const (
	MaxClients  = 1_000_000
	MaxKeys     = 10_000_000
	MaxConns    = 100_000
	MaxReentry  = 1000
	MaxClasses  = 100
	MinProbe    = 0.01 // requests a second
	MaxProbe    = 1000 // more would be a load of its own
	MaxDuration = 7 * 24 * time.Hour

	maxOps   = 1_000_000_000_000
	maxTime  = 24 * time.Hour
	minBurst = time.Millisecond
	minTTL   = time.Millisecond // what Redis's PX can express
	minIO    = time.Millisecond
)

// FieldError is a plan's field with a value that cannot be run. It names the flag, the value and what is allowed.
type FieldError struct {
	Field   string   // the flag's name without its dash, "clients"
	Value   string   // as the flag would be written
	Problem string   // "must be …"
	Known   []string // the known names, if it is not among them
	Class   string   // the class whose field it is; empty for the plan's own
}

func (e *FieldError) Error() string {
	value := e.Value
	if value == "" {
		value = `""`
	}
	text := fmt.Sprintf("-%s %s: %s", e.Field, value, e.Problem)
	if e.Class != "" {
		text = "class " + e.Class + ": " + text
	}
	return text
}

func refuse(field, value, allowed string) error {
	return &FieldError{Field: field, Value: value, Problem: "must be " + allowed}
}

// inClass returns err as one of the class of that name, if it has a name.
func inClass(name string, err error) error {
	if field, ok := err.(*FieldError); ok {
		field.Class = name
	}
	return err
}

// Check returns a *FieldError for the first field of p that cannot be run, a *Misfit for settings that do not go together or
// not with a design of those traits, and nil if p can run. It does not ask whether the driver knows the lock.
func Check(p spec.Plan, t drivers.Traits) error {
	switch {
	case p.Driver == "":
		return refuse("driver", "", "the name of a driver")
	case p.Lock == "":
		return refuse("lock", "", "the name of a lock design")
	}
	err := checkNames(p, "topology", "release", "durability")
	if err == nil && p.Pipelining != "" {
		err = checkName("pipelining", p.Pipelining, Choices("pipelining"))
	}
	if err != nil {
		return err
	}
	if m := fit(&p, t); m != nil {
		return m
	}
	return cmp.Or(
		checkWait(p),
		checkTopology(p),
		checkClasses(p),
		within("clients", p.Clients, 1, MaxClients),
		checkProcesses(p),
		within("keys", p.Keys, 1, MaxKeys),
		within("reentry", cmp.Or(p.Reentry, 1), 1, MaxReentry),
		checkLength(p),
		within("warmup", p.Warmup, 0, maxTime),
		checkProbe(p),
		within("conns", p.Conns, 0, MaxConns),
		within("io-timeout", p.IOTimeout, minIO, time.Hour),
		checkName("server", p.Server, []string{Private, Embedded, External, InProcess}),
	)
}

// The kinds of servers, as plans name them.
const (
	Private   = "private"    // one that lockbench starts, and that nobody else uses
	Embedded  = "embedded"   // a stand-in in the process of lockbench
	External  = "external"   // the user's, treated as production
	InProcess = "in-process" // none: the driver needs no server
)

// checkWait looks at the way of waiting and at what only it reads.
func checkWait(p spec.Plan) error {
	err := checkName("wait", p.Wait, Choices("wait")[1:]) // without Auto
	switch {
	case err != nil:
		return err
	case p.Wait == wait.Queue:
		return checkName("handover", p.Handover, Choices("handover"))
	}
	return nil
}

// checkNames checks settings that may have no value.
func checkNames(p spec.Plan, settings ...string) error {
	for _, name := range settings {
		s, _ := spec.Find(name)
		if text := s.Text(&p, &p.Load); text != "" {
			if err := checkName(name, text, Choices(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTopology looks at what the topology of p reads; the rest is zero.
func checkTopology(p spec.Plan) error {
	if err := cmp.Or(
		within("nodes", p.Nodes, 0, drivers.MaxNodes),
		within("replicas", p.Replicas, 0, drivers.MaxNodes),
		within("acks", p.Acks, 0, drivers.MaxNodes),
	); err != nil {
		return err
	}
	switch drivers.Topology(p.Topology) {
	case drivers.TopologyReplicated:
		return cmp.Or(
			upTo("acks", p.Acks, "replicas", cmp.Or(p.Replicas, drivers.MaxNodes)),
			within("node-timeout", p.NodeTimeout, time.Microsecond, maxTime),
		)
	case drivers.TopologyRedlock:
		return within("node-timeout", p.NodeTimeout, time.Microsecond, maxTime)
	}
	return nil
}

// MaxProcesses is how many processes a plan may have.
const MaxProcesses = 4096

// checkProcesses wants at least one client of each class in a process, and one in a locker; 0 are one.
func checkProcesses(p spec.Plan) error {
	if err := cmp.Or(
		upTo("lockers", cmp.Or(p.Lockers, 1), "clients", max(p.Clients, 1)), within("processes", p.Processes, 0, MaxProcesses),
	); err != nil || p.Processes <= 1 {
		return err
	}
	for _, g := range p.Groups() {
		if err := upTo("processes", p.Processes, "clients", g.Clients); err != nil {
			return inClass(g.Name, err)
		}
	}
	return nil
}

// checkLength wants an end: a duration, a number of operations, or both.
func checkLength(p spec.Plan) error {
	shortest := time.Nanosecond
	if p.Ops > 0 {
		shortest = 0
	}
	return cmp.Or(within("n", p.Ops, 0, maxOps), within("duration", p.Duration, shortest, MaxDuration))
}

func checkProbe(p spec.Plan) error {
	if p.Probe == 0 {
		return nil
	}
	return within("probe", p.Probe, MinProbe, MaxProbe)
}

// checkClasses checks what the clients of each class do. Together they are the plan's clients.
func checkClasses(p spec.Plan) error {
	if len(p.Classes) > MaxClasses {
		return fmt.Errorf("%d classes of clients: there may be %d", len(p.Classes), MaxClasses)
	}
	sum, names := 0, map[string]bool{"": true}
	for i, c := range p.Classes {
		if names[c.Name] {
			return fmt.Errorf("class %d of %d, %q: needs a name of its own", i+1, len(p.Classes), c.Name)
		}
		names[c.Name] = true
		sum += c.Clients
	}
	for _, g := range p.Groups() {
		if err := checkLoad(g.Load); err != nil {
			return inClass(g.Name, err)
		}
	}
	if len(p.Classes) > 0 && sum != p.Clients {
		return refuse("clients", strconv.Itoa(p.Clients), fmt.Sprintf("the sum of the classes' clients, which is %d", sum))
	}
	return nil
}

func checkLoad(l spec.Load) error {
	return cmp.Or(
		within("clients", l.Clients, 1, MaxClients),
		within("hold", l.Hold, 0, maxTime),
		within("think", l.Think, 0, maxTime),
		within("ttl", l.TTL, minTTL, maxTime),
		within("timeout", l.Timeout, 0, maxTime),
		within("try-only", l.TryOnly, 0, 1),
		within("crash", l.Crash, 0, 1),
		within("max-queue", l.MaxQueue, 0, math.MaxInt),
		checkArrivals(l),
	)
}

// checkArrivals checks what makes an open loop.
func checkArrivals(l spec.Load) error {
	switch {
	case !l.Rate.IsZero():
		return checkName("arrival", l.Arrival, Choices("arrival"))
	case l.Burst == 0:
		return nil
	case l.BurstRate() > spec.MaxRate && l.Burst >= minBurst:
		return refuse("burst", l.Burst.String(), fmt.Sprintf("longer, or -clients fewer: %d at a time are more than %d arrivals a second",
			l.Clients, int(spec.MaxRate)))
	}
	return within("burst", l.Burst, minBurst, maxTime)
}

// within wants a value between two others, which a NaN is not.
func within[T int | int64 | float64 | time.Duration](field string, v, low, high T) error {
	if low <= v && v <= high {
		return nil
	}
	text := func(v T) string {
		if d, ok := any(v).(time.Duration); ok {
			return spec.Brief(d)
		}
		return fmt.Sprintf("%v", v)
	}
	return refuse(field, text(v), text(low)+" to "+text(high))
}

// upTo wants a number from 1 to that of another setting.
func upTo(field string, n int, other string, high int) error {
	if 1 <= n && n <= high {
		return nil
	}
	return refuse(field, strconv.Itoa(n), fmt.Sprintf("1 to -%s, which is %d", other, high))
}
