// Plan checking: what a plan may ask for, and what its reader should be told before it runs.

package workloads

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// The bounds of a plan. They are generous: they catch a slip of the keyboard, not a large experiment.
const (
	MaxClients = 1_000_000
	MaxKeys    = 10_000_000
	MaxConns   = 100_000
	MaxReentry = 1000
	MinProbe   = 0.01 // requests a second
	MaxProbe   = 1000 // more would be a load of its own

	maxHandovers = 1_000_000
	maxOps       = 1_000_000_000_000
	MaxClasses   = 100
	minBurst     = time.Millisecond

	maxTime     = 24 * time.Hour
	maxDuration = 7 * 24 * time.Hour
	minTTL      = time.Millisecond // what Redis's PX can express
	coarseTTL   = 20 * time.Millisecond
	minIO       = time.Millisecond
)

// FieldError is a plan's field with a value that cannot be run. It names the flag, the value and what is allowed.
type FieldError struct {
	Field   string // the flag's name without its dash, "clients"
	Value   string // as the flag would be written
	Allowed string // completes "must be …"
	Problem string // stands instead of that where a parser has said what is wrong
	Class   string // the class whose field it is; empty for the plan's own
}

func (e *FieldError) Error() string {
	value, problem := e.Value, e.Problem
	if value == "" {
		value = `""`
	}
	if problem == "" {
		problem = "must be " + e.Allowed
	}
	text := fmt.Sprintf("-%s %s: %s", e.Field, value, problem)
	if e.Class != "" {
		text = "class " + e.Class + ": " + text
	}
	return text
}

func refuse(field, value, allowed string) error {
	return &FieldError{Field: field, Value: value, Allowed: allowed}
}

// inClass is err as one of the class of that name, if it has a name.
func inClass(name string, err error) error {
	field, ok := errors.AsType[*FieldError](err)
	switch {
	case name == "" || err == nil:
		return err
	case ok:
		named := *field
		named.Class = name
		return &named
	}
	return fmt.Errorf("class %s: %w", name, err)
}

// Check returns a *FieldError for the first field of p that cannot be run, and nil if p can. It says nothing about
// whether the driver knows the lock, since this package knows no driver.
func Check(p spec.Plan) error {
	switch {
	case p.Driver == "":
		return refuse("driver", "", "the name of a driver")
	case p.Lock == "":
		return refuse("lock", "", "the name of a lock design")
	}
	for _, err := range []error{
		checkWait(p),
		checkTopology(p),
		checkInt("clients", p.Clients, 1, MaxClients),
		checkLockers(p),
		checkInt("keys", p.Keys, 1, MaxKeys),
		checkReentry(p),
		checkLength(p),
		checkTime("warmup", p.Warmup, 0, maxTime),
		checkProbe(p),
		checkClasses(p),
		checkInt("conns", p.Conns, 0, MaxConns),
		checkName("pipelining", p.Pipelining, pipelinings),
		checkTime("flush-delay", p.FlushDelay, 0, time.Second),
		checkTime("io-timeout", p.IOTimeout, minIO, time.Hour),
		checkName("server", p.Server, serverKinds),
		checkName("durability", p.Durability, durabilities),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckTraits returns a *FieldError for what a plan asks of a design that does not offer it.
func CheckTraits(p spec.Plan, t drivers.Traits) error {
	switch {
	case p.Renew && !t.Renews:
		return refuse("renew", "on", fmt.Sprintf("off with %s %s, which cannot renew a lease", p.Driver, p.Lock))
	case p.Reentry > 1 && !t.Reentrant:
		return refuse("reentry", strconv.Itoa(p.Reentry),
			fmt.Sprintf("1 with %s %s, which its holder cannot enter again", p.Driver, p.Lock))
	}
	for _, g := range p.Groups() {
		if err := checkPerils(p, g.Load, t); err != nil {
			return inClass(g.Name, err)
		}
	}
	return nil
}

// privateServer is the Plan.Server of one that lockbench has started, and that nobody else uses.
const privateServer = "private"

var (
	pipelinings  = []string{string(drivers.PipeliningDefault), string(drivers.PipeliningAuto), string(drivers.PipeliningOff)}
	durabilities = []string{"", "relaxed", "strict"}
	serverKinds  = []string{privateServer, "embedded", "external", "in-process"}
)

// checkWait looks at the way of waiting and at those times that only it reads.
func checkWait(p spec.Plan) error {
	var names []string
	for _, k := range wait.Kinds() {
		names = append(names, k.Name)
	}
	if err := checkName("wait", p.Wait, names); err != nil {
		return err
	}
	switch p.Wait {
	case wait.Queue:
		if err := checkName("handover", p.Handover, wait.Handovers()); err != nil {
			return err
		}
		if p.Handover == wait.HandoverSwap {
			return checkInt("handover-max", p.HandoverMax, 1, maxHandovers)
		}
	case "poll":
		return checkTime("poll", p.Poll, time.Microsecond, maxTime)
	case "backoff":
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

// checkLockers wants at least one client a locker; 0 lockers are one.
func checkLockers(p spec.Plan) error {
	if p.Lockers < 0 || p.Lockers > max(p.Clients, 1) {
		return refuse("lockers", strconv.Itoa(p.Lockers), fmt.Sprintf("1 to -clients, which is %d", p.Clients))
	}
	return nil
}

// checkReentry lets 0 stand for the usual 1.
func checkReentry(p spec.Plan) error {
	if p.Reentry == 0 {
		return nil
	}
	return checkInt("reentry", p.Reentry, 1, MaxReentry)
}

// checkLength wants an end: a duration, a number of operations, or both.
func checkLength(p spec.Plan) error {
	if p.Ops < 0 || p.Ops > maxOps {
		return refuse("n", strconv.FormatInt(p.Ops, 10), fmt.Sprintf("0 to %d", int64(maxOps)))
	}
	if p.Ops > 0 {
		return checkTime("duration", p.Duration, 0, maxDuration)
	}
	return checkTime("duration", p.Duration, 1, maxDuration)
}

// ProbeRange says what ValidProbe allows.
var ProbeRange = fmt.Sprintf("0, or requests a second from %v to %d", MinProbe, MaxProbe)

// ValidProbe reports whether a neighbour may send that many requests a second.
func ValidProbe(rate float64) bool { return rate == 0 || MinProbe <= rate && rate <= MaxProbe } // not so for a NaN

func checkProbe(p spec.Plan) error {
	if ValidProbe(p.Probe) {
		return nil
	}
	return refuse("probe", strconv.FormatFloat(p.Probe, 'g', -1, 64), ProbeRange)
}

func checkInt(field string, n, low, high int) error {
	if low <= n && n <= high {
		return nil
	}
	return refuse(field, strconv.Itoa(n), fmt.Sprintf("%d to %d", low, high))
}

// checkTopology looks at what the topology of p reads; the rest is zero.
func checkTopology(p spec.Plan) error {
	acknowledged := p.Topology == "replicated"
	for _, err := range []error{
		checkInt("nodes", p.Nodes, 0, drivers.MaxNodes),
		checkInt("replicas", p.Replicas, 0, drivers.MaxNodes),
		checkInt("acks", p.Acks, 0, drivers.MaxNodes),
	} {
		if err != nil {
			return err
		}
	}
	switch {
	case acknowledged && p.Acks == 0:
		return refuse("acks", "0", "1 or more, or -topology single")
	case acknowledged && p.Replicas > 0 && p.Acks > p.Replicas:
		return refuse("acks", strconv.Itoa(p.Acks), fmt.Sprintf("at most -replicas, which is %d", p.Replicas))
	case acknowledged || p.Topology == "redlock":
		return checkTime("node-timeout", p.NodeTimeout, time.Microsecond, maxTime)
	}
	return nil
}

// memory returns about what a run takes, in bytes: a client its stack, its books and its session (scripts/overhead measures
// 6 KB), a key its name and its cell in the oracle.
func memory(p spec.Plan) int64 {
	const client, key = 8 << 10, 128
	return int64(p.Clients)*client + int64(p.Keys)*key
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

func checkName(field, name string, allowed []string) error {
	if slices.Contains(allowed, name) {
		return nil
	}
	var shown []string
	for _, a := range allowed {
		if a != "" {
			shown = append(shown, a)
		}
	}
	return refuse(field, name, "one of "+strings.Join(shown, ", "))
}
