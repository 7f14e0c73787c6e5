// Package matrix has the rules of what goes together in a plan: which settings a plan reads, which exclude each other, and
// which a design or its library cannot have. The engine refuses plans by them, and a program that measures a matrix skips
// its cells.
package matrix

import (
	"cmp"
	"fmt"
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
	if err := checkNames(p, "topology", "release", "pipelining", "durability"); err != nil {
		return err
	}
	if m := fit(&p, t); m != nil {
		return m
	}
	return cmp.Or(
		checkWait(p),
		checkTopology(p),
		checkClasses(p),
		checkInt("clients", p.Clients, 1, MaxClients),
		checkLockers(p),
		checkProcesses(p),
		checkInt("keys", p.Keys, 1, MaxKeys),
		checkInt("reentry", cmp.Or(p.Reentry, 1), 1, MaxReentry),
		checkLength(p),
		checkTime("warmup", p.Warmup, 0, maxTime),
		checkProbe(p),
		checkInt("conns", p.Conns, 0, MaxConns),
		checkTime("flush-delay", p.FlushDelay, 0, time.Second),
		checkTime("io-timeout", p.IOTimeout, minIO, time.Hour),
		checkName("server", p.Server, servers),
		checkShared(p),
	)
}

// The kinds of servers, as plans name them.
const (
	Private   = "private"    // one that lockbench starts, and that nobody else uses
	Embedded  = "embedded"   // a stand-in in the process of lockbench
	External  = "external"   // the user's, treated as production
	InProcess = "in-process" // none: the driver needs no server
)

// servers are the kinds of servers.
var servers = []string{Private, Embedded, External, InProcess}

// checkWait looks at the way of waiting and at those times that only it reads.
func checkWait(p spec.Plan) error {
	if err := checkName("wait", p.Wait, Choices("wait")[1:]); err != nil { // without Auto
		return err
	}
	switch p.Wait {
	case wait.Queue:
		return checkName("handover", p.Handover, Choices("handover"))
	case wait.Poll:
		return checkTime("poll", p.Poll, time.Microsecond, maxTime)
	case wait.Backoff:
		if err := checkTime("backoff-min", p.BackoffMin, time.Microsecond, maxTime); err != nil {
			return err
		}
		if p.BackoffMax < p.BackoffMin {
			return refuse("backoff-max", p.BackoffMax.String(),
				fmt.Sprintf("at least -backoff-min, which is %v", p.BackoffMin))
		}
		return checkTime("backoff-max", p.BackoffMax, time.Microsecond, maxTime)
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
		checkInt("nodes", p.Nodes, 0, drivers.MaxNodes),
		checkInt("replicas", p.Replicas, 0, drivers.MaxNodes),
		checkInt("acks", p.Acks, 0, drivers.MaxNodes),
	); err != nil {
		return err
	}
	acknowledged := p.Topology == string(drivers.TopologyReplicated)
	switch {
	case acknowledged && p.Acks == 0:
		return refuse("acks", "0", "1 or more, or -topology single")
	case acknowledged && p.Replicas > 0 && p.Acks > p.Replicas:
		return refuse("acks", strconv.Itoa(p.Acks), fmt.Sprintf("at most -replicas, which is %d", p.Replicas))
	case acknowledged || p.Topology == string(drivers.TopologyRedlock):
		return checkTime("node-timeout", p.NodeTimeout, time.Microsecond, maxTime)
	}
	return nil
}

// checkLockers wants at least one client a locker; 0 lockers are one.
func checkLockers(p spec.Plan) error {
	if p.Lockers < 0 || p.Lockers > max(p.Clients, 1) {
		return refuse("lockers", strconv.Itoa(p.Lockers), fmt.Sprintf("1 to -clients, which is %d", p.Clients))
	}
	return nil
}

// MaxProcesses is how many processes a plan may have.
const MaxProcesses = 4096

// checkProcesses wants at least one client of each class in a process.
func checkProcesses(p spec.Plan) error {
	if p.Processes <= 1 {
		return checkInt("processes", p.Processes, 0, MaxProcesses)
	}
	for _, g := range p.Groups() {
		if p.Processes > min(g.Clients, MaxProcesses) {
			return inClass(g.Name, refuse("processes", strconv.Itoa(p.Processes), fmt.Sprintf("1 to -clients, which is %d", g.Clients)))
		}
	}
	return nil
}

// checkLength wants an end: a duration, a number of operations, or both.
func checkLength(p spec.Plan) error {
	if p.Ops < 0 || p.Ops > maxOps {
		return refuse("n", strconv.FormatInt(p.Ops, 10), fmt.Sprintf("0 to %d", int64(maxOps)))
	}
	if p.Ops > 0 {
		return checkTime("duration", p.Duration, 0, MaxDuration)
	}
	return checkTime("duration", p.Duration, 1, MaxDuration)
}

func checkProbe(p spec.Plan) error {
	if p.Probe == 0 || MinProbe <= p.Probe && p.Probe <= MaxProbe { // not so for a NaN
		return nil
	}
	return refuse("probe", strconv.FormatFloat(p.Probe, 'g', -1, 64),
		fmt.Sprintf("0, or requests a second from %v to %d", MinProbe, MaxProbe))
}

func checkShared(p spec.Plan) error {
	if p.Shared && p.Server != External {
		return refuse("shared", "on", "off without a server that several runs can meet on")
	}
	return nil
}

// checkClasses checks what the clients of each class do. Together they are the plan's clients.
func checkClasses(p spec.Plan) error {
	if len(p.Classes) > MaxClasses {
		return fmt.Errorf("%d classes of clients: there may be %d", len(p.Classes), MaxClasses)
	}
	sum, names := 0, map[string]bool{}
	for i, c := range p.Classes {
		switch {
		case c.Name == "":
			return fmt.Errorf("class %d of %d has no name", i+1, len(p.Classes))
		case names[c.Name]:
			return fmt.Errorf("class %s: there are two of that name", c.Name)
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
	if err := cmp.Or(
		checkInt("clients", l.Clients, 1, MaxClients),
		checkTime("hold", l.Hold, 0, maxTime),
		checkTime("think", l.Think, 0, maxTime),
		checkTime("ttl", l.TTL, minTTL, maxTime),
		checkTime("timeout", l.Timeout, 0, maxTime),
		checkShare("try-only", l.TryOnly),
		checkShare("crash", l.Crash),
		checkArrivals(l),
	); err != nil {
		return err
	}
	return nil
}

// checkArrivals checks what makes an open loop.
func checkArrivals(l spec.Load) error {
	if l.MaxQueue < 0 {
		return refuse("max-queue", strconv.Itoa(l.MaxQueue), "0 or more")
	}
	for _, r := range readersOfLoads {
		if s, _ := spec.Find(r.Setting); !r.load(l) && s.Text(nil, &l) != "" {
			return &FieldError{Field: r.Setting, Value: s.Text(nil, &l), Problem: r.why}
		}
	}
	switch {
	case !l.Rate.IsZero():
		return checkName("arrival", l.Arrival, Choices("arrival"))
	case l.Burst <= 0:
		return checkTime("burst", l.Burst, 0, maxTime)
	case l.Burst >= minBurst && l.BurstRate() > spec.MaxRate:
		return refuse("burst", l.Burst.String(), fmt.Sprintf("longer, or -clients fewer: %d at a time are more than %d arrivals a second",
			l.Clients, int(spec.MaxRate)))
	}
	return checkTime("burst", l.Burst, minBurst, maxTime)
}

func checkInt(field string, n, low, high int) error {
	if low <= n && n <= high {
		return nil
	}
	return refuse(field, strconv.Itoa(n), fmt.Sprintf("%d to %d", low, high))
}

func checkShare(field string, share float64) error {
	if 0 <= share && share <= 1 { // not so for a NaN
		return nil
	}
	return refuse(field, strconv.FormatFloat(share, 'g', -1, 64), "0 % to 100 %")
}

func checkTime(field string, d, low, high time.Duration) error {
	if low <= d && d <= high {
		return nil
	}
	from := low.String()
	switch low {
	case 0:
		from = "0s"
	case 1:
		return refuse(field, d.String(), fmt.Sprintf("more than 0s and at most %s", spec.Brief(high)))
	}
	return refuse(field, d.String(), fmt.Sprintf("%s to %s", from, spec.Brief(high)))
}
