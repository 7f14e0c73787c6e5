package results

// Validation: what no run can have produced is damage, wherever it comes from.

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNewerSchema is wrapped by errors about records that a later version of lockbench has written.
var ErrNewerSchema = errors.New("written by a newer lockbench: read it with that one, or update this one")

// mayBeNegative are the fields in which a negative number says "not known".
var mayBeNegative = []string{"cost.", "generator.machine", "generator.cpu", "generator.throttled_ns", "generator.core_wait_ns"}

// sides are the values of Side: "" in a run that compares nothing.
var sides = []string{"", SideBase, SideHead}

// durabilities are the values of Server.Durability: "" for a server that lockbench has not started.
var durabilities = []string{"", "relaxed", "strict"}

// Validate checks that r can be the record of a run. The error names the first field at fault by its path in the
// JSON form, such as "latency.hold.hdr".
func (r *Record) Validate() error { return r.validate(true) }

// validate may leave the decoding of the histograms to somebody else, since it takes longer than all the rest.
func (r *Record) validate(payloads bool) error {
	switch {
	case r.Schema > SchemaVersion:
		return fmt.Errorf("schema: %d is newer than %d: %w", r.Schema, SchemaVersion, ErrNewerSchema)
	case r.Schema < 1:
		return fmt.Errorf("schema: %d is none", r.Schema)
	case r.ID == "":
		return errors.New("id: missing")
	case r.Started.IsZero():
		return errors.New("started: missing")
	case r.Trial < 1:
		return fmt.Errorf("trial: %d is below 1", r.Trial)
	case !slices.Contains(sides, r.Side):
		return fmt.Errorf("side: %q is none", r.Side)
	case r.Side == "" && r.Pair != 0:
		return fmt.Errorf("pair: %d of no side", r.Pair)
	case r.Plan.Driver == "":
		return errors.New("plan.driver: missing")
	case r.Plan.Lock == "":
		return errors.New("plan.lock: missing")
	case !slices.Contains(durabilities, r.Plan.Durability):
		return fmt.Errorf("plan.durability: %q is none", r.Plan.Durability)
	case !slices.Contains(durabilities, r.Server.Durability):
		return fmt.Errorf("server.durability: %q is none", r.Server.Durability)
	}
	if err := new(numbers).check(reflect.ValueOf(r).Elem()); err != nil {
		return err
	}
	if err := r.checkElapsed(); err != nil {
		return err
	}
	if err := r.checkCounts(); err != nil {
		return err
	}
	if err := validateAll(r.Latency, payloads); err != nil {
		return err
	}
	for i, c := range r.Classes {
		if err := validateAll(c.Latency, payloads); err != nil {
			return fmt.Errorf("classes[%d].%w", i, err)
		}
	}
	return nil
}

// checkElapsed finds a window that cannot have been this short: a whole trial without -n ends when its time is over, and no
// processor grants a lock each nanosecond.
func (r *Record) checkElapsed() error {
	switch asked := r.Plan.Duration; {
	case r.Elapsed == 0 && r.Partial == "":
		return errors.New("elapsed_ns: a whole trial took no time")
	case r.Partial == "" && r.Plan.Ops == 0 && r.Elapsed < asked/2:
		return fmt.Errorf("elapsed_ns: %d, and a whole trial was to take %d", r.Elapsed, asked)
	case r.Elapsed > 0 && r.Counts.Acquired/int64(max(1, r.Env.GOMAXPROCS)) > int64(r.Elapsed):
		return fmt.Errorf("elapsed_ns: %d, which is too short for %d locks", r.Elapsed, r.Counts.Acquired)
	}
	return nil
}

func validateAll(all map[Metric]Latency, payloads bool) error {
	for name, l := range all {
		err := l.validate()
		if err == nil && payloads {
			err = l.decodes()
		}
		if err != nil {
			return fmt.Errorf("latency.%s.%w", name, err)
		}
	}
	return nil
}

// checkCounts finds counts that contradict each other. It asks only for what holds whichever way the window's edges
// cut an acquisition.
func (r *Record) checkCounts() error {
	switch n, f, s := r.Counts, r.Fairness, r.Safety; {
	case n.LostRenewal > n.Acquired:
		return fmt.Errorf("counts.lost_renewal: %d of %d holds", n.LostRenewal, n.Acquired)
	case n.RenewError > n.Renewals:
		return fmt.Errorf("counts.renew_error: %d of %d renewals", n.RenewError, n.Renewals)
	case !r.Plan.Renew && n.Renewals+n.LostRenewal > 0:
		return fmt.Errorf("counts.renewals: %d, though nothing was renewed", max(n.Renewals, n.LostRenewal))
	case r.Plan.Reentry <= 1 && n.Reentries+n.ReentryRefused+n.ReentryError > 0:
		return fmt.Errorf("counts.reentries: %d, though none was asked for", n.Reentries+n.ReentryRefused+n.ReentryError)
	case f.Jain > 1+1e-9:
		return fmt.Errorf("fairness.jain: %v is above 1", f.Jain)
	case f.MinClient > f.MaxClient:
		return fmt.Errorf("fairness.min_client: %d is above max_client, %d", f.MinClient, f.MaxClient)
	case f.Starved > r.Plan.Clients:
		return fmt.Errorf("fairness.starved: %d of %d clients", f.Starved, r.Plan.Clients)
	case s.Violations > s.Grants:
		return fmt.Errorf("safety.violations: %d in %d grants", s.Violations, s.Grants)
	case s.Overstayed > s.Violations:
		return fmt.Errorf("safety.overstayed: %d of %d violations", s.Overstayed, s.Violations)
	case s.Power != nil && s.Power.Watched > s.Grants:
		return fmt.Errorf("safety.power.watched: %d of %d grants", s.Power.Watched, s.Grants)
	case s.Power != nil && s.Power.Sampled > s.Grants:
		return fmt.Errorf("safety.power.sampled: %d of %d grants", s.Power.Sampled, s.Grants)
	case s.LostEarly > s.Grants:
		return fmt.Errorf("safety.lost_early: %d of %d grants", s.LostEarly, s.Grants)
	case !s.Checked && s.Grants > 0:
		return fmt.Errorf("safety.grants: %d, though nothing was checked", s.Grants)
	case len(r.Counts.NodeErrors) > 0 && r.Plan.Nodes > 0 && len(r.Counts.NodeErrors) != r.Plan.Nodes:
		return fmt.Errorf("counts.node_errors: of %d nodes, and there are %d", len(r.Counts.NodeErrors), r.Plan.Nodes)
	case n.Dropped > n.Offered:
		return fmt.Errorf("counts.dropped: %d of %d arrivals", n.Dropped, n.Offered)
	case r.Steady.P > 1:
		return fmt.Errorf("steady.p: a probability of %v", r.Steady.P)
	case len(r.Classes) > len(r.Plan.Classes):
		return fmt.Errorf("classes: %d of %d", len(r.Classes), len(r.Plan.Classes))
	case r.Generator.Machine > 1+1e-9:
		return fmt.Errorf("generator.machine: a share of %v", r.Generator.Machine)
	case r.Thread.Ran > 1+1e-9, r.Thread.Waited > 1+1e-9:
		return fmt.Errorf("server_thread: shares of %v and %v", r.Thread.Ran, r.Thread.Waited)
	}
	return nil
}

// validate checks one distribution but for its histogram; the error begins with the name of the field.
func (l Latency) validate() error {
	if l.Overflow > l.Count {
		return fmt.Errorf("overflow: %d of %d values", l.Overflow, l.Count)
	}
	names := []string{"min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns"}
	values := []time.Duration{l.Min, l.P50, l.P90, l.P99, l.P999, l.Max}
	for i := 1; i < len(values); i++ {
		if values[i] < values[i-1] {
			return fmt.Errorf("%s: %d is below %s, %d", names[i], values[i], names[i-1], values[i-1])
		}
	}
	if l.Mean < l.Min || l.Mean > l.Max {
		return fmt.Errorf("mean_ns: %d is not within %d and %d", l.Mean, l.Min, l.Max)
	}
	return nil
}

// decodes checks the histogram.
func (l Latency) decodes() error {
	if _, err := l.decode(); err != nil {
		return fmt.Errorf("hdr: %w", err)
	}
	return nil
}

// numbers walks a record and finds numbers that none of its fields can have: negative ones, and floats that are no
// number. Fields added later are covered without a word here.
type numbers struct {
	path []step // which is spelt out only if something is wrong there
}

// step is a name, or the place of an element of a list.
type step struct {
	name  string
	place int // from 1
}

func (n *numbers) check(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 && !negativeAllowed(n.at()) {
			return fmt.Errorf("%s: %d is negative", n.at(), v.Int())
		}
	case reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s: %v is no number", n.at(), f)
		}
		if f < 0 && !negativeAllowed(n.at()) {
			return fmt.Errorf("%s: %v is negative", n.at(), f)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return n.check(v.Elem())
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i, name := range fieldNames(v.Type()) {
			var err error
			if name == "" { // an embedded struct, whose fields are its owner's
				err = n.check(v.Field(i))
			} else {
				err = n.below(step{name: name}, v.Field(i))
			}
			if err != nil {
				return err
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if err := n.below(step{name: it.Key().String()}, it.Value()); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := n.below(step{place: 1 + i}, v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *numbers) below(s step, v reflect.Value) error {
	n.path = append(n.path, s)
	err := n.check(v)
	n.path = n.path[:len(n.path)-1]
	return err
}

// at returns the path in the record's JSON form.
func (n *numbers) at() string {
	path := ""
	for _, s := range n.path {
		if s.place > 0 {
			path = fmt.Sprintf("%s[%d]", path, s.place-1)
		} else {
			path = join(path, s.name)
		}
	}
	return path
}

// names are the names that the fields of a struct have in JSON, by its type. An embedded struct has none.
var names sync.Map

func fieldNames(t reflect.Type) []string {
	if known, ok := names.Load(t); ok {
		return known.([]string)
	}
	var all []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all = append(all, name)
	}
	names.Store(t, all)
	return all
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func negativeAllowed(path string) bool {
	return slices.ContainsFunc(mayBeNegative, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}
