// The settings: one table of all that a plan is made of.

package spec

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is one setting of a plan. Flags, variables, workload files, command lines, comparisons and exports call it by its
// name.
type Setting struct {
	Name string

	// Text returns the value in p as it is typed, and "" if p does not set it. For a setting of classes it reads only l, the
	// load of p or of one of its classes.
	Text func(p *Plan, l *Load) string

	Zero     string   // how the value is typed for which Text returns ""; "" if it cannot be, or then nothing reads the setting
	Class    bool     // a class of clients may have a value of its own
	Constant bool     // seldom differs within a file of records, and has a default other than nothing
	Speaks   bool     // its values say what they are of
	Implies  []string // settings whose values mean nothing between plans that differ in this one
}

// Settings are all settings in the order in which they are read. The seed, the command line, the workload's name and the
// kind of server are none: they do not change what is asked.
var Settings = []Setting{
	{Name: "driver", Speaks: true, Text: func(p *Plan, _ *Load) string { return p.Driver }},
	{Name: "lock", Speaks: true, Text: func(p *Plan, _ *Load) string { return p.Lock }},
	{Name: "wait", Speaks: true, Text: func(p *Plan, _ *Load) string { return p.Wait },
		Implies: []string{"poll", "backoff-min", "backoff-max", "handover", "handover-max"}},
	{Name: "topology", Speaks: true, Zero: "single", Text: func(p *Plan, _ *Load) string { return p.Topology },
		Implies: []string{"nodes", "replicas", "acks", "node-timeout"}},
	{Name: "nodes", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Nodes) }},
	{Name: "replicas", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Replicas) }},
	{Name: "acks", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Acks) }},
	{Name: "node-timeout", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.NodeTimeout) }},
	{Name: "durability", Speaks: true, Text: func(p *Plan, _ *Load) string { return p.Durability }},
	{Name: "release", Zero: "default", Text: func(p *Plan, _ *Load) string { return p.Release }},
	{Name: "renew", Zero: "off", Text: func(p *Plan, _ *Load) string { return ifSet(p.Renew, "on") }},
	{Name: "reentry", Zero: "1", Text: func(p *Plan, _ *Load) string { return ifSet(p.Reentry > 1, FormatInt(p.Reentry)) }},
	{Name: "clients", Class: true, Zero: "0", Text: func(_ *Plan, l *Load) string { return FormatInt(l.Clients) }},
	{Name: "keys", Zero: "0", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Keys) }},
	{Name: "key-dist", Class: true, Zero: "uniform", Text: func(_ *Plan, l *Load) string { return l.KeyDist.String() }},
	{Name: "hold", Class: true, Zero: "0s", Text: func(_ *Plan, l *Load) string { return FormatTimes(l.HoldTimes()) }},
	{Name: "think", Class: true, Zero: "0s", Text: func(_ *Plan, l *Load) string { return FormatTimes(l.ThinkTimes()) }},
	{Name: "ttl", Class: true, Constant: true, Zero: "0s", Text: func(_ *Plan, l *Load) string { return FormatTime(l.TTL) }},
	{Name: "timeout", Class: true, Constant: true, Zero: "0s", Text: func(_ *Plan, l *Load) string { return FormatTime(l.Timeout) }},
	{Name: "try-only", Class: true, Zero: "0%", Text: func(_ *Plan, l *Load) string { return ifSet(l.TryOnly != 0, FormatShare(l.TryOnly)) }},
	{Name: "crash", Class: true, Zero: "0%", Text: func(_ *Plan, l *Load) string { return ifSet(l.Crash != 0, FormatShare(l.Crash)) }},
	{Name: "overstay", Class: true, Zero: "0%", Text: func(_ *Plan, l *Load) string { return ifSet(l.Overstay != 0, FormatShare(l.Overstay)) }},
	{Name: "rate", Class: true, Zero: "0", Text: func(_ *Plan, l *Load) string { return typed(l.Rate.String()) },
		Implies: []string{"arrival", "max-queue"}},
	{Name: "arrival", Class: true, Speaks: true, Text: func(_ *Plan, l *Load) string { return l.Arrival }},
	{Name: "burst", Class: true, Zero: "0s", Text: func(_ *Plan, l *Load) string { return FormatTime(l.Burst) },
		Implies: []string{"max-queue"}},
	{Name: "max-queue", Class: true, Zero: "0", Text: func(_ *Plan, l *Load) string { return FormatInt(l.MaxQueue) }},
	{Name: "poll", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.Poll) }},
	{Name: "backoff-min", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.BackoffMin) }},
	{Name: "backoff-max", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.BackoffMax) }},
	{Name: "handover", Text: func(p *Plan, _ *Load) string { return p.Handover }, Implies: []string{"handover-max"}},
	{Name: "handover-max", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatInt(p.HandoverMax) }},
	{Name: "lockers", Zero: "1", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Lockers) }},
	{Name: "conns", Zero: "0", Text: func(p *Plan, _ *Load) string { return FormatInt(p.Conns) }},
	{Name: "pipelining", Zero: "default", Text: func(p *Plan, _ *Load) string { return p.Pipelining }},
	{Name: "flush-delay", Zero: "0s", Text: func(p *Plan, _ *Load) string { return FormatTime(p.FlushDelay) }},
	{Name: "param", Text: func(p *Plan, _ *Load) string { return p.Params }},
	{Name: "io-timeout", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.IOTimeout) }},
	{Name: "duration", Constant: true, Text: func(p *Plan, _ *Load) string { return FormatTime(p.Duration) }},
	{Name: "n", Constant: true, Zero: "0", Text: func(p *Plan, _ *Load) string { return FormatInt(int(p.Ops)) }, Implies: []string{"duration"}},
	{Name: "warmup", Constant: true, Zero: "0s", Text: func(p *Plan, _ *Load) string { return FormatTime(p.Warmup) }},
	{Name: "max-errors", Constant: true, Zero: "never", Text: func(p *Plan, _ *Load) string { return p.MaxErrors.String() }},
	{Name: "probe", Constant: true, Zero: "0", Text: func(p *Plan, _ *Load) string {
		return ifSet(p.Probe != 0, strconv.FormatFloat(p.Probe, 'f', -1, 64))
	}},
	{Name: "oracle", Constant: true, Zero: "true", Text: func(p *Plan, _ *Load) string { return ifSet(!p.Oracle, "false") }},
}

// Find returns the setting of a name, and whether there is one.
func Find(name string) (Setting, bool) {
	i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return Settings[i], true
}

// Typed returns the value as it is typed, the default included, and "" if nothing reads the setting. It reads p and l as Text
// does.
func (s Setting) Typed(p *Plan, l *Load) string {
	if text := s.Text(p, l); text != "" {
		return text
	}
	return s.Zero
}

// FormatTime writes a time as it is typed, in ASCII and without parts that are 0: 100us, 1m. 0 is the empty text.
func FormatTime(d time.Duration) string { return ifSet(d != 0, typed(Brief(d))) }

// FormatTimes writes times as they are typed; a fixed time of 0 is the empty text.
func FormatTimes(t Times) string {
	if d, fixed := t.Fixed(); fixed {
		return FormatTime(d)
	}
	if t.Kind == TimesFile {
		return t.String() // with a name that is not ours
	}
	return typed(t.String())
}

// FormatInt writes a number; 0 is the empty text.
func FormatInt(n int) string { return ifSet(n != 0, strconv.Itoa(n)) }

// typed is text in ASCII, as it is typed: 100us.
func typed(text string) string { return strings.ReplaceAll(text, "µs", "us") }

func ifSet(set bool, text string) string {
	if set {
		return text
	}
	return ""
}
