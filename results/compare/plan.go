package compare

// What decides whether two cells belong together: their plans, flag by flag.

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"

	"github.com/lockbench/lockbench/results/spec"
)

// flag is one flag of the command line with the fields of spec.Plan and spec.Load that it sets, by their names in
// JSON, and the flags whose values mean nothing once it differs. Ignoring it ignores those too.
type flag struct {
	name    string
	fields  []string
	implies []string
}

// flags are all that a plan is made of, but for the seed, the command line and the workload's name, in which two records
// of the same thing may differ, and the kind of server, which is not to be ignored but forced.
//
// Duration, warm-up and number of operations are among them: a trial of a second scatters more than one of ten, has
// another p99.9 and maximum, and fewer violations to find, so that the two are not observations of one thing. Who knows
// that it does not matter to him ignores them.
var flags = []flag{
	{"driver", []string{"driver"}, nil},
	{"lock", []string{"lock"}, nil},
	{"topology", []string{"topology"}, []string{"nodes", "replicas", "acks", "node-timeout"}},
	{"durability", []string{"durability"}, nil},
	{"release", []string{"release"}, nil},
	{"wait", []string{"wait"}, []string{"poll", "backoff-min", "backoff-max", "handover", "handover-max"}},
	{"renew", []string{"renew"}, nil},
	{"workload", []string{"name"}, nil}, // the names of its classes
	{"clients", []string{"clients"}, nil},
	{"keys", []string{"keys"}, nil},
	{"key-dist", []string{"key_dist"}, nil},
	{"hold", []string{"hold_ns", "hold_dist"}, nil},
	{"reentry", []string{"reentry"}, nil},
	{"think", []string{"think_ns", "think_dist"}, nil},
	{"ttl", []string{"ttl_ns"}, nil},
	{"timeout", []string{"timeout_ns"}, nil},
	{"try-only", []string{"try_only"}, nil},
	{"crash", []string{"crash"}, nil},
	{"overstay", []string{"overstay"}, nil},
	{"rate", []string{"rate"}, []string{"arrival", "max-queue"}},
	{"arrival", []string{"arrival"}, nil},
	{"burst", []string{"burst_ns"}, []string{"max-queue"}},
	{"max-queue", []string{"max_queue"}, nil},
	{"duration", []string{"duration_ns"}, nil},
	{"n", []string{"ops"}, []string{"duration"}},
	{"warmup", []string{"warmup_ns"}, nil},
	{"oracle", []string{"oracle"}, nil},
	{"max-errors", []string{"max_errors"}, nil},
	{"probe", []string{"probe"}, nil},
	{"poll", []string{"poll_ns"}, nil},
	{"backoff-min", []string{"backoff_min_ns"}, nil},
	{"backoff-max", []string{"backoff_max_ns"}, nil},
	{"handover", []string{"handover"}, []string{"handover-max"}},
	{"handover-max", []string{"handover_max"}, nil},
	{"lockers", []string{"lockers"}, nil},
	{"conns", []string{"conns"}, nil},
	{"pipelining", []string{"pipelining"}, nil},
	{"flush-delay", []string{"flush_delay_ns"}, nil},
	{"param", []string{"params"}, nil},
	{"io-timeout", []string{"io_timeout_ns"}, nil},
	{"nodes", []string{"nodes"}, nil},
	{"replicas", []string{"replicas"}, nil},
	{"acks", []string{"acks"}, nil},
	{"node-timeout", []string{"node_timeout_ns"}, nil},
}

// Ignorable are the flags that Options.Ignore may name.
func Ignorable() []string {
	var names []string
	for _, f := range flags {
		names = append(names, f.name)
	}
	return names
}

// IgnoreError says that Options.Ignore names no flag of a plan.
type IgnoreError struct{ Name string }

func (e *IgnoreError) Error() string {
	return fmt.Sprintf("no flag of a plan is called %q", e.Name)
}

// ignored are the flags of names, and those that they imply.
func ignored(names []string) (map[string]bool, error) {
	all := map[string]bool{}
	for _, name := range names {
		i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
		if i < 0 {
			return nil, &IgnoreError{name}
		}
		all[name] = true
		for _, other := range flags[i].implies {
			all[other] = true
		}
	}
	return all, nil
}

// settings are the values of a plan by flag, as they are read: "64", "1ms", or for classes "1ms/5ms". A flag that is not
// set has none.
type settings map[string]string

// plans remembers the plans that it has seen: of thousands of trials there are a few.
type plans map[string]known

// known is a plan with the key that it has if nothing is ignored.
type known struct {
	settings
	whole string
}

func (ps plans) read(p spec.Plan) (known, error) {
	p.Seed, p.Command, p.Workload = 0, "", ""
	text, err := json.Marshal(p)
	if err != nil {
		return known{}, fmt.Errorf("plan: %w", err)
	}
	if k, seen := ps[string(text)]; seen {
		return k, nil
	}
	s, err := settingsOf(&p)
	k := known{s, s.key(nil)}
	ps[string(text)] = k
	return k, err
}

func settingsOf(p *spec.Plan) (settings, error) {
	whole, err := fieldsOf(p)
	if err != nil {
		return nil, err
	}
	groups := []map[string]any{whole}
	for i := range p.Classes {
		of, err := fieldsOf(&p.Classes[i])
		if err != nil {
			return nil, err
		}
		groups = append(groups, of)
	}
	s := settings{}
	for _, f := range flags {
		var values []string
		for _, group := range groups {
			values = append(values, value(group, f.fields))
		}
		s[f.name] = values[0]
		if slices.ContainsFunc(values[1:], func(v string) bool { return v != "" }) {
			s[f.name] = strings.TrimPrefix(strings.Join(values, "/"), "/")
		}
	}
	return s, nil
}

// fieldsOf is v by the names of its fields in JSON.
func fieldsOf(v any) (map[string]any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	fields := map[string]any{}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber() // nanoseconds have more digits than a float64
	return fields, decoder.Decode(&fields)
}

// value is what the fields of one flag say together: the distribution of a time rather than its mean, which the
// distribution has anyway.
func value(of map[string]any, fields []string) (text string) {
	for _, name := range fields {
		switch v := of[name].(type) {
		case string:
			if v != "" {
				text = v
			}
		case bool:
			text = map[bool]string{false: "off", true: "on"}[v]
		case json.Number:
			text = v.String()
			if n, err := v.Int64(); err == nil && strings.HasSuffix(name, "_ns") {
				text = short(time.Duration(n))
			}
		}
	}
	return text
}

// short writes a time as one types it: 1m rather than 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if d != 0 {
		s = strings.TrimSuffix(s, "m0s") + map[bool]string{true: "m"}[strings.HasSuffix(s, "m0s")]
	}
	return s
}

// timesText writes fixed times as short does.
func timesText(t spec.Times) string {
	if d, fixed := t.Fixed(); fixed {
		return short(d)
	}
	return t.String()
}

// key is equal for plans that agree in all but the flags in but.
func (s settings) key(but map[string]bool) string {
	var b strings.Builder
	for _, f := range flags {
		if !but[f.name] {
			fmt.Fprintf(&b, "%s=%q ", f.name, s[f.name])
		}
	}
	return b.String()
}

// differing are the flags in which plans differ.
func differing(plans []settings) (names []string) {
	for _, f := range flags {
		for _, s := range plans {
			if s[f.name] != plans[0][f.name] {
				names = append(names, f.name)
				break
			}
		}
	}
	return names
}

// telling are the flags that tell plans apart: those in which they differ, but for what another of them implies as long as
// no two plans become alike by it.
func telling(plans []settings) []string {
	names := differing(plans)
	different := func(names []string) int {
		labels := map[string]bool{}
		for _, s := range plans {
			labels[s.label(names)] = true
		}
		return len(labels)
	}
	all := different(names)
	for _, f := range slices.Backward(flags) { // -handover before -wait, which implies more
		for _, implied := range f.implies {
			less := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == implied })
			if slices.Contains(names, f.name) && different(less) == all {
				names = less
			}
		}
	}
	return names
}

// kindOf is the kind of server that was measured, or that was asked for if the record does not say.
func kindOf(r *results.Record) string {
	if r.Server.Kind != "" {
		return r.Server.Kind
	}
	return r.Plan.Server
}

// speaking are the flags whose values say what they are of.
var speaking = []string{"driver", "lock", "wait", "topology", "durability"}

// label names a plan by its values of some flags.
func (s settings) label(names []string) string {
	var parts []string
	for _, name := range names {
		switch v := s[name]; {
		case v == "":
		case slices.Contains(speaking, name):
			parts = append(parts, v)
		default:
			parts = append(parts, name+" "+v)
		}
	}
	return strings.Join(parts, " · ")
}

// orNone is a value as it stands in a sentence.
func orNone(v string) string {
	if v == "" {
		return "none"
	}
	return v
}
