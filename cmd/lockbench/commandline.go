// The command line that makes one cell again: it goes into the record.

package main

import (
	"cmp"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"

	"github.com/lockbench/lockbench/results/spec"
)

// commandLine writes the flags in which c differs from the defaults. Passwords are left out, and so is an address
// that carries credentials; the reader has to supply those. Classes, for which there are no flags, are written out as a
// workload, so that the line does not depend on a file that may change.
func commandLine(o *options, c spec.Plan, t targets) string {
	values := settings(c)
	if len(c.Classes) > 0 {
		for _, flag := range ofAClass {
			delete(values, flag)
		}
		values["workload"] = inlineWorkload(o, c)
	}
	if one := t.of(c.Driver); one.kind != inProcess {
		maps.Copy(values, one.flags())
	}
	words := []string{"lockbench"}
	for _, opt := range o.list {
		if v, ok := values[opt.name]; ok && !opt.usual(c, v) {
			words = append(words, opt.assign(v))
		}
	}
	return strings.Join(words, " ")
}

// settings are the values of the flags that make c again on whatever server, those that it does not read left out.
func settings(c spec.Plan) map[string]string {
	values := map[string]string{
		"driver": c.Driver, "lock": c.Lock, "wait": c.Wait,
		"durability": c.Durability,
		"topology":   cmp.Or(c.Topology, string(drivers.TopologySingle)), "release": cmp.Or(c.Release, "default"),
		"nodes": number(c.Nodes), "replicas": number(c.Replicas), "acks": number(c.Acks),
		"renew": onOff(c.Renew), "reentry": strconv.Itoa(max(c.Reentry, 1)),
		"keys":     strconv.Itoa(c.Keys),
		"duration": written(c.Duration), "warmup": written(c.Warmup), "n": strconv.FormatInt(c.Ops, 10),
		"seed":       strconv.FormatUint(c.Seed, 10),
		"oracle":     strconv.FormatBool(c.Oracle),
		"max-errors": cmp.Or(c.MaxErrors.String(), neverStop),
		"conns":      strconv.Itoa(c.Conns), "pipelining": cmp.Or(c.Pipelining, "default"),
		"flush-delay": written(c.FlushDelay), "io-timeout": written(c.IOTimeout),
		"param": c.Params, "lockers": strconv.Itoa(max(c.Lockers, 1)),
	}
	maps.Copy(values, loadSettings(c.Load))
	if c.NodeTimeout > 0 {
		values["node-timeout"] = written(c.NodeTimeout)
	}
	if c.Probe > 0 {
		values["probe"] = strconv.FormatFloat(c.Probe, 'f', -1, 64)
	}
	if c.Duration == 0 {
		delete(values, "duration")
	}
	switch c.Wait {
	case wait.Poll:
		values["poll"] = written(c.Poll)
	case wait.Queue:
		values["handover"] = c.Handover
		if c.Handover == wait.HandoverSwap {
			values["handover-max"] = strconv.Itoa(c.HandoverMax)
		}
	case wait.Backoff:
		values["backoff-min"], values["backoff-max"] = written(c.BackoffMin), written(c.BackoffMax)
	}
	return values
}

// loadSettings are those of the flags that a class can have for itself.
func loadSettings(l spec.Load) map[string]string {
	return map[string]string{
		"clients": strconv.Itoa(l.Clients), "key-dist": cmp.Or(l.KeyDist.String(), uniformKeys),
		"hold": spelled(l.HoldTimes()), "think": spelled(l.ThinkTimes()),
		"ttl": written(l.TTL), "timeout": written(l.Timeout),
		"try-only": spec.FormatShare(l.TryOnly),
		"crash":    spec.FormatShare(l.Crash), "overstay": spec.FormatShare(l.Overstay),
		"rate": cmp.Or(ascii(l.Rate.String()), closedLoop), "arrival": l.Arrival,
		"burst": written(l.Burst), "max-queue": strconv.Itoa(l.MaxQueue),
	}
}

// inlineWorkload writes the classes of c as a workload in braces. What they have in common goes with them, since a flag
// cannot replace what a class sets for itself.
func inlineWorkload(o *options, c spec.Plan) string {
	common := loadSettings(c.Load)
	delete(common, "clients") // there it is their sum
	var parts []string
	if c.Workload != "" {
		parts = append(parts, "name: "+yamlText(c.Workload))
	}
	for _, flag := range ofAClass {
		if v, ok := common[flag]; ok && !o.get(flag).same(v) {
			parts = append(parts, flag+": "+yamlText(v))
		}
	}
	var classes []string
	for _, class := range c.Classes {
		var own []string
		values := loadSettings(class.Load)
		for _, flag := range ofAClass {
			if v := values[flag]; v != "" && v != common[flag] {
				own = append(own, flag+": "+yamlText(v))
			}
		}
		classes = append(classes, class.Name+": {"+strings.Join(own, ", ")+"}")
	}
	parts = append(parts, "classes: {"+strings.Join(classes, ", ")+"}")
	return "{" + strings.Join(parts, ", ") + "}"
}

// number leaves out what a cell does not read.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// written spells a time in ASCII, as it is typed: 100us.
func written(d time.Duration) string { return ascii(d.String()) }

func ascii(text string) string { return strings.ReplaceAll(text, "µs", "us") }

// spelled writes times as they are typed.
func spelled(t spec.Times) string {
	if t.Kind == spec.TimesFile {
		return t.String() // with a name that is not ours
	}
	return ascii(t.String())
}

// usual reports whether the flag's default makes v in c. With -n the default of -duration is none.
func (o *option) usual(c spec.Plan, v string) bool {
	return o.same(v) && !(o.name == "duration" && c.Ops > 0)
}

// same reports whether v means the flag's default.
func (o *option) same(v string) bool {
	if v == o.def || v == "" {
		return true
	}
	a, err1 := time.ParseDuration(v)
	b, err2 := time.ParseDuration(o.def)
	return err1 == nil && err2 == nil && a == b
}

func (o *option) assign(v string) string {
	if o.isSwitch() {
		if v == o.bare() {
			return "-" + o.name
		}
		return "-" + o.name + "=" + v
	}
	return "-" + o.name + " " + quote(v)
}

// quote makes a word of v for a POSIX shell.
func quote(v string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if v != "" && strings.Trim(v, plain) == "" {
		return v
	}
	return "'" + strings.ReplaceAll(v, "'", `'\''`) + "'"
}
