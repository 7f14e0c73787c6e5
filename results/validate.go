package results

// Validation: what no run can have produced is damage, wherever it comes from.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrNewerSchema is wrapped by errors about records that a later version of lockbench has written.
var ErrNewerSchema = errors.New("written by a newer lockbench: read it with that one, or update this one")

// sides are the values of Side: "" in a run that compares nothing.
var sides = []string{"", SideBase, SideHead}

// durabilities are the values of Server.Durability: "" for a server that lockbench has not started.
var durabilities = []string{"", "relaxed", "strict"}

// Validate checks that r can be the record of a run, or that it says itself which of its figures cannot be; see Label.
// The error names the first field at fault by its path in the JSON form, such as "latency.hold.hdr".
func (r *Record) Validate() error { return r.validate(true) }

// invalid begins the Partial of a record that Label has changed.
const invalid = "invalid: "

// Label makes a record that is not valid a partial one, and returns why. It is written all the same, since a fault in
// one figure must not lose the others, and read again while that is what is wrong with it.
func (r *Record) Label() error {
	err := r.Validate()
	if err == nil {
		return nil
	}
	spell(reflect.ValueOf(r).Elem())
	r.Partial = strings.TrimSuffix(invalid+err.Error()+"; "+r.Partial, "; ")
	if next := r.Validate(); next != nil { // what readers find in a partial record whose numbers are spelled
		r.Partial = invalid + next.Error() + "; " + strings.TrimPrefix(r.Partial, invalid)
	}
	return err
}

// spell makes 0 of numbers that JSON cannot write.
func spell(v reflect.Value) {
	switch v.Kind() {
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			v.SetFloat(0)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			spell(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() {
				spell(field)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			spell(v.Index(i))
		}
	}
}

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
	if err := r.checkFigures(); err != nil && !strings.HasPrefix(r.Partial, invalid+err.Error()) {
		return err
	}
	if !payloads {
		return nil
	}
	return r.eachLatency(func(l Latency) error {
		if _, err := l.decode(); err != nil {
			return fmt.Errorf("hdr: %w", err)
		}
		return nil
	})
}

// checkFigures finds one that cannot be, or that another contradicts.
func (r *Record) checkFigures() error {
	if err := implausible(reflect.ValueOf(r).Elem(), false); err != nil {
		return err
	}
	return cmp.Or(r.checkElapsed(), r.checkCounts(), r.eachLatency(Latency.validate))
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

// eachLatency checks all distributions, in an order that stays. The error says which one is at fault.
func (r *Record) eachLatency(check func(Latency) error) error {
	of := func(all map[Metric]Latency) error {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if err := check(all[name]); err != nil {
				return fmt.Errorf("latency.%s.%w", name, err)
			}
		}
		return nil
	}
	err := of(r.Latency)
	for i := 0; err == nil && i < len(r.Classes); i++ {
		if err = of(r.Classes[i].Latency); err != nil {
			err = fmt.Errorf("classes[%d].%w", i, err)
		}
	}
	return err
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
	least, before := l.Min, "min_ns"
	for _, next := range []struct {
		name  string
		value time.Duration
		known bool
	}{
		{"p50_ns", l.P50, Enough(l.Count, 0.5)}, {"p90_ns", l.P90, Enough(l.Count, 0.9)}, {"p99_ns", l.P99, Enough(l.Count, 0.99)},
		{"p999_ns", l.P999, Enough(l.Count, 0.999)}, {"max_ns", l.Max, true},
	} {
		if next.value == 0 && !next.known {
			continue
		}
		if next.value < least {
			return fmt.Errorf("%s: %d is below %s, %d", next.name, next.value, before, least)
		}
		least, before = next.value, next.name
	}
	if l.Mean < l.Min || l.Mean > l.Max {
		return fmt.Errorf("mean_ns: %d is not within %d and %d", l.Mean, l.Min, l.Max)
	}
	return nil
}

// numberError is the fault of a number at a path in the record's JSON form.
type numberError struct{ path, what string }

func (e *numberError) Error() string { return e.path + ": " + e.what }

// implausible walks a record and finds a number that none of its fields can have: a negative one, unless the tag of the field
// says what it means, or a float that is no number. Fields added later are covered without a word here.
func implausible(v reflect.Value, negative bool) *numberError {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		if v.Int() < 0 && !negative {
			return &numberError{what: fmt.Sprintf("%d is negative", v.Int())}
		}
	case reflect.Float64:
		switch f := v.Float(); {
		case math.IsNaN(f) || math.IsInf(f, 0):
			return &numberError{what: fmt.Sprintf("%v is no number", f)}
		case f < 0 && !negative:
			return &numberError{what: fmt.Sprintf("%v is negative", f)}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return implausible(v.Elem(), negative)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return nil
		}
		for i, f := range fieldsOf(v.Type()) {
			if err := implausible(v.Field(i), f.negative).in(f.name); err != nil {
				return err
			}
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, func(a, b reflect.Value) int { return cmp.Compare(a.String(), b.String()) })
		for _, key := range keys {
			if err := implausible(v.MapIndex(key), false); err != nil {
				return err.in(key.String())
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := implausible(v.Index(i), false); err != nil {
				return err.in(fmt.Sprintf("[%d]", i))
			}
		}
	}
	return nil
}

// in puts the name of what the number is in before the path; that of an embedded struct is empty.
func (e *numberError) in(name string) *numberError {
	switch {
	case e == nil:
	case name == "" || e.path == "" || e.path[0] == '[':
		e.path = name + e.path
	default:
		e.path = name + "." + e.path
	}
	return e
}

// field is what the tags of a struct's field say.
type field struct {
	name     string // in JSON; empty: that of an embedded struct
	negative bool   // is a value
}

// known has the fields of structs, by their types.
var known sync.Map

func fieldsOf(t reflect.Type) []field {
	if known, ok := known.Load(t); ok {
		return known.([]field)
	}
	var all []field
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		all = append(all, field{name, t.Field(i).Tag.Get("negative") != ""})
	}
	known.Store(t, all)
	return all
}
