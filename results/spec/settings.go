// The settings: one table of all that a plan is made of.

package spec

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is one setting of a plan. Flags, variables, workload files and their schema, completion, command lines, comparisons
// and exports call it by its name and read it from this table.
type Setting struct {
	Name    string
	Group   string // heading in the help; a topic of the help has all of a heading
	Value   string // what stands for the value in the help, and its kind in the schema; "" for a switch
	Default string // as it is typed; "" also where those who know the names, or another package, know it
	Usage   string // the first line says enough for a short help

	// Zero is how the value is typed for which Text returns "", if it can be typed and something reads it.
	Zero string

	Axis     bool     // takes a list: the run is the matrix of all lists
	Class    bool     // a class of clients may have a value of its own
	Constant bool     // seldom differs within a file of records, and has a default other than nothing
	Speaks   bool     // its values say what they are of
	Implies  []string // settings whose values mean nothing between plans that differ in this one

	// at returns the value in p. For a setting of classes it looks only at l, the load of p or of one of its classes.
	at func(p *Plan, l *Load) value
}

// The headings in the help.
const (
	GroupWhat       = "What runs"
	GroupWaiting    = "Waiting"
	GroupServers    = "Several servers"
	GroupDurability = "Durability"
	GroupLoad       = "The load"
	GroupLease      = "The lease"
	GroupTrial      = "Trials"
	GroupClient     = "Client library"
)

// Groups are the headings of all settings in the order of the help and of command lines.
var Groups = []string{
	GroupWhat, GroupWaiting, GroupServers, GroupDurability, GroupLoad, GroupLease, GroupTrial, GroupClient,
}

// Settings are all settings in the order in which they are read and lists turn, the first one slowest. The seed, the command
// line, the workload's name and the kind of server are none: they do not change what is asked.
var Settings = []Setting{
	{Name: "driver", Group: GroupWhat, Value: "NAME", Default: "rueidis", Axis: true, Speaks: true,
		Usage: "client library or service; see lockbench list (default rueidis);\n" +
			"redsync@redlock has a topology of its own in place of -topology",
		at: func(p *Plan, _ *Load) value { return name(&p.Driver) }},
	{Name: "lock", Group: GroupWhat, Value: "NAME", Axis: true, Speaks: true,
		Usage: "lock design (default: the driver's first, set-nx for Redis)",
		at:    func(p *Plan, _ *Load) value { return name(&p.Lock) }},
	{Name: "wait", Group: GroupWaiting, Value: "NAME", Default: "auto", Axis: true,
		Implies: []string{"handover"},
		Usage: "how a client waits for a lock that is taken\n" +
			"(poll:10ms, backoff:1ms:100ms: the bounds of its first and longest pause;\n" +
			"default auto: native if the design has a way of its own, else backoff)",
		at: func(p *Plan, _ *Load) value { return way{&p.Wait, &p.Poll, &p.BackoffMin, &p.BackoffMax} }},
	{Name: "topology", Group: GroupServers, Value: "NAME", Default: "single", Zero: "single", Axis: true, Speaks: true,
		Implies: []string{"nodes", "replicas", "acks", "node-timeout"},
		Usage: "one server, or several that form one service\n" +
			"(redlock, replicated, sentinel, cluster: Redis; ensemble: ZooKeeper, etcd)",
		at: func(p *Plan, _ *Load) value { return name(&p.Topology) }},
	{Name: "nodes", Group: GroupServers, Value: "N", Default: "0", Axis: true,
		Usage: "servers of -topology redlock (default 5; an even number\n" +
			"tolerates no more failures than the odd one below it) and ensemble (1 or 3, default 3), primaries of " +
			"-topology cluster (default 3)",
		at: func(p *Plan, _ *Load) value { return number(&p.Nodes) }},
	{Name: "replicas", Group: GroupServers, Value: "N", Default: "0", Axis: true,
		Usage: "replicas of the primary of -topology replicated (default: as\n" +
			"many as -acks) and sentinel (default 1)",
		at: func(p *Plan, _ *Load) value { return number(&p.Replicas) }},
	{Name: "acks", Group: GroupServers, Value: "N", Default: "1", Axis: true,
		Usage: "replicas that have to acknowledge an acquisition\n" +
			"(-topology replicated)",
		at: func(p *Plan, _ *Load) value { return number(&p.Acks) }},
	{Name: "node-timeout", Group: GroupServers, Value: "TIME", Axis: true, Constant: true,
		Usage: "how long one node of redlock may take, or the replicas'\n" +
			"acknowledgement",
		at: func(p *Plan, _ *Load) value { return period(&p.NodeTimeout) }},
	{Name: "durability", Group: GroupDurability, Value: "NAME", Default: "relaxed", Axis: true, Speaks: true,
		Usage: "disk durability of servers that lockbench starts: relaxed, the\n" +
			"least that can be set, or strict, on disk before it answers (default relaxed)",
		at: func(p *Plan, _ *Load) value { return name(&p.Durability) }},
	{Name: "release", Group: GroupWhat, Value: "NAME", Default: "default", Zero: "default", Axis: true,
		Usage: "how set-nx and its variants compare and delete: lua, delifeq\n" +
			"or delex (default: lua)",
		at: func(p *Plan, _ *Load) value { return name(&p.Release) }},
	{Name: "renew", Group: GroupLease, Default: "off", Zero: "off", Axis: true,
		Usage: "renew the lease every third of the TTL for as long as the lock is\n" +
			"held (-renew=off,on: compare)",
		at: func(p *Plan, _ *Load) value { return onOff(&p.Renew) }},
	{Name: "reentry", Group: GroupWhat, Value: "N", Default: "1", Zero: "1", Axis: true,
		Usage: "acquisitions of a lock by its holder, and releases, before it is\n" +
			"free again; for re-entrant designs",
		at: func(p *Plan, _ *Load) value { return fromOne(&p.Reentry) }},
	{Name: "clients", Group: GroupLoad, Value: "N", Default: "64", Zero: "0", Axis: true, Class: true,
		Usage: "clients that compete\n" +
			"(each asks again after its release, unless -rate or -burst is given)",
		at: func(_ *Plan, l *Load) value { return number(&l.Clients) }},
	{Name: "keys", Group: GroupLoad, Value: "N", Default: "1", Zero: "0", Axis: true,
		Usage: "locks that they compete for", at: func(p *Plan, _ *Load) value { return number(&p.Keys) }},
	{Name: "key-dist", Group: GroupLoad, Value: "KEYS", Default: "uniform", Zero: "uniform", Axis: true, Class: true,
		Usage: "which of them: uniform, zipf:1.1, hot:80%:10 (of the traffic, keys),\n" +
			"sequential (each client all in turn), own (a key for each client) (default uniform)",
		at: func(_ *Plan, l *Load) value { return keys(&l.KeyDist) }},
	{Name: "hold", Group: GroupLoad, Value: "TIMES", Default: "0s", Zero: "0s", Axis: true, Class: true,
		Usage: "how long a lock is held: 5ms, exp:5ms (mean),\n" +
			"lognormal:5ms:50ms (median, p99), uniform:1ms:9ms, file:PATH (milliseconds)",
		at: func(_ *Plan, l *Load) value { return times{&l.Hold, &l.HoldDist} }},
	{Name: "think", Group: GroupLoad, Value: "TIMES", Default: "0s", Zero: "0s", Axis: true, Class: true,
		Usage: "pause of a client between two locks, written like -hold",
		at:    func(_ *Plan, l *Load) value { return times{&l.Think, &l.ThinkDist} }},
	{Name: "ttl", Group: GroupLease, Value: "TIME", Default: "30s", Zero: "0s", Axis: true, Class: true, Constant: true,
		Usage: "lease of a lock, or time-out of its holder's session\n" +
			"(30s is Redisson's lease; services round and limit time-outs: etcd counts seconds)",
		at: func(_ *Plan, l *Load) value { return period(&l.TTL) }},
	{Name: "timeout", Group: GroupLoad, Value: "TIME", Default: "0s", Zero: "0s", Axis: true, Class: true, Constant: true,
		Usage: "how long a client waits for one lock; 0s is endless",
		at:    func(_ *Plan, l *Load) value { return period(&l.Timeout) }},
	{Name: "try-only", Group: GroupLoad, Value: "SHARE", Default: "0%", Zero: "0%", Axis: true, Class: true,
		Usage: "share of the clients, or of an open loop's arrivals, that try once and\n" +
			"never wait: 10%",
		at: func(_ *Plan, l *Load) value { return share(&l.TryOnly) }},
	{Name: "crash", Group: GroupLease, Value: "SHARE", Default: "0%", Zero: "0%", Axis: true, Class: true,
		Usage: "share of the holds whose holder dies without a release",
		at:    func(_ *Plan, l *Load) value { return share(&l.Crash) }},
	{Name: "rate", Group: GroupLoad, Value: "RATE", Default: "0", Zero: "0", Axis: true, Class: true,
		Implies: []string{"arrival", "max-queue"},
		Usage: "arrivals a second, whether or not a client is free (open loop)\n" +
			"(5k; 1k:50k:10s rises in that time; 0 is the closed loop)",
		at: func(_ *Plan, l *Load) value { return rate(&l.Rate) }},
	{Name: "arrival", Group: GroupLoad, Value: "NAME", Default: "constant", Axis: true, Class: true, Speaks: true,
		Usage: "how the arrivals of -rate follow one another: constant or poisson",
		at:    func(_ *Plan, l *Load) value { return name(&l.Arrival) }},
	{Name: "burst", Group: GroupLoad, Value: "TIME", Default: "0s", Zero: "0s", Axis: true, Class: true,
		Implies: []string{"max-queue"},
		Usage:   "open loop: all clients at once, every so often; 0s is never",
		at:      func(_ *Plan, l *Load) value { return period(&l.Burst) }},
	{Name: "max-queue", Group: GroupLoad, Value: "N", Default: "0", Zero: "0", Axis: true, Class: true,
		Usage: "arrivals that may wait in an open loop; more are dropped and\n" +
			"counted; 0 is no limit",
		at: func(_ *Plan, l *Load) value { return number(&l.MaxQueue) }},
	{Name: "handover", Group: GroupWaiting, Value: "NAME", Axis: true,
		Usage: "how -wait queue gives a lock to the next client in line: release,\n" +
			"which lets that client acquire it, or swap the owner at the server in one step",
		at: func(p *Plan, _ *Load) value { return name(&p.Handover) }},
	{Name: "lockers", Group: GroupWaiting, Value: "N", Default: "1", Zero: "1", Axis: true,
		Usage: "share the clients out among N local queues and subscriptions,\n" +
			"as N processes would have",
		at: func(p *Plan, _ *Load) value { return fromOne(&p.Lockers) }},
	{Name: "processes", Group: GroupLoad, Value: "N", Default: "1", Zero: "1", Axis: true,
		Usage: "share the clients out among N processes of this machine, or as many as\nthe ranks of a fleet (help processes)",
		at:    func(p *Plan, _ *Load) value { return fromOne(&p.Processes) }},
	{Name: "conns", Group: GroupClient, Value: "N", Default: "0", Zero: "0", Axis: true,
		Usage: "connections of the pool, or of batches; 0 is the library's default, or two\nfor each processor",
		at:    func(p *Plan, _ *Load) value { return number(&p.Conns) }},
	{Name: "pipelining", Group: GroupClient, Value: "MODE", Default: "default", Zero: "default", Axis: true,
		Usage: "auto: clients share connections; off: they do not (default: as the library\nships); " +
			"auto:100us: its library collects commands for that long, then sends;\n" +
			"batch: two goroutines for each processor carry many clients,\n" +
			"and send what is ready in one write: the most load from one machine,\n" +
			"if holds and pauses are 0 or ten times a request (else they get longer)",
		at: func(p *Plan, _ *Load) value { return mode{&p.Pipelining, &p.FlushDelay} }},
	{Name: "param", Group: GroupClient, Value: "NAME=VALUE", Axis: true,
		Usage: "options of a lock library, several joined by a plus sign:\n" +
			"retry=linear+retry-min=10ms; see lockbench list",
		at: func(p *Plan, _ *Load) value { return params(&p.Params) }},
	{Name: "io-timeout", Group: GroupClient, Value: "TIME", Constant: true,
		Usage: "time after which a request counts as unknown",
		at:    func(p *Plan, _ *Load) value { return period(&p.IOTimeout) }},
	{Name: "shared", Group: GroupLoad, Default: "off", Zero: "off", Axis: true,
		Usage: "contend with other runs that have it, the same -prefix, lock and -keys, on\n" +
			"a server of yours (help processes)",
		at: func(p *Plan, _ *Load) value { return onOff(&p.Shared) }},
	{Name: "duration", Group: GroupTrial, Value: "TIME", Default: "10s", Constant: true,
		Usage: "measured time of a trial (default 10s; with -n: no limit)",
		at:    func(p *Plan, _ *Load) value { return period(&p.Duration) }},
	{Name: "n", Group: GroupTrial, Value: "OPS", Default: "0", Zero: "0", Constant: true,
		Implies: []string{"duration"},
		Usage:   "end a trial after so many acquisitions (default: after -duration)",
		at:      func(p *Plan, _ *Load) value { return count(&p.Ops) }},
	{Name: "warmup", Group: GroupTrial, Value: "TIME", Default: "2s", Zero: "0s", Constant: true,
		Usage: "time before it that is not measured", at: func(p *Plan, _ *Load) value { return period(&p.Warmup) }},
	{Name: "probe", Group: GroupTrial, Value: "HZ", Default: "0", Zero: "0", Constant: true,
		Usage: "beside the load, requests a second of an unrelated client on the\n" +
			"same server that needs no lock; their latency is reported",
		at: func(p *Plan, _ *Load) value { return hertz(&p.Probe) }},
	{Name: "oracle", Group: GroupTrial, Default: "true", Zero: "true", Constant: true,
		Usage: "check mutual exclusion on every grant (-oracle=false: do not)",
		at:    func(p *Plan, _ *Load) value { return unlessFalse(&p.Oracle) }},
}

// Gone are the settings that only records of before have. They are shown and told apart as they are written, and cannot be set.
var Gone = []Setting{
	{Name: "max-errors", Zero: "never", Constant: true, at: func(p *Plan, _ *Load) value { return name(&p.MaxErrors) }},
	{Name: "flush-auto", Zero: "off", Axis: true, at: func(p *Plan, _ *Load) value { return onOff(&p.FlushAuto) }},
	{Name: "pin", Zero: "off", Axis: true, at: func(p *Plan, _ *Load) value { return onOff(&p.Pin) }},
	{Name: "overstay", Zero: "0%", Axis: true, Class: true, at: func(_ *Plan, l *Load) value { return share(&l.Overstay) }},
	{Name: "handover-max", Constant: true, at: func(p *Plan, _ *Load) value { return besides(&p.HandoverMax, 16) }},
}

// Recorded are the settings that a record can have.
var Recorded = slices.Concat(Settings, Gone)

// Derived returns a column of that name that has no value of its own: text follows from the plan, and cannot be set.
func Derived(name string, text func(p *Plan) string) Setting {
	return Setting{Name: name, at: func(p *Plan, _ *Load) value { return derived(text(p)) }}
}

type derived string

func (v derived) String() string   { return string(v) }
func (v derived) Set(string) error { return errors.New("must not be set") }
func (v derived) Clear()           {}
func (v derived) copy(value)       {}

// Find returns the setting of a name, and whether there is one.
func Find(name string) (Setting, bool) {
	i := slices.IndexFunc(Settings, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return Setting{}, false
	}
	return Settings[i], true
}

// Text returns the value in p as it is typed, and "" if p does not set it. For a setting of classes it reads only l, the load
// of p or of one of its classes.
func (s Setting) Text(p *Plan, l *Load) string { return s.at(p, l).String() }

// Set reads what was typed into p; for a setting of classes into its load. The error says what would be right, without the
// setting's name. A file of times is not read: its mean is 0.
func (s Setting) Set(p *Plan, text string) error {
	v := s.at(p, &p.Load)
	if s.Zero != "" && text == s.Zero {
		v.Clear()
		return nil
	}
	return v.Set(text)
}

// Clear unsets the value in p; for a setting of classes it changes only l, the load of p or of one of its classes.
func (s Setting) Clear(p *Plan, l *Load) { s.at(p, l).Clear() }

// Copy copies the value from one plan to another; for a setting of classes that of their own loads.
func (s Setting) Copy(to, from *Plan) { s.at(to, &to.Load).copy(s.at(from, &from.Load)) }

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
	switch t.Kind {
	case "":
		return FormatTime(t.A)
	case TimesFile:
		return t.String() // with a name that is not ours
	}
	return typed(t.String())
}

// FormatInt writes a number; 0 is the empty text.
func FormatInt(n int) string { return ifSet(n != 0, strconv.Itoa(n)) }

// typed returns text in ASCII, as it is typed: 100us.
func typed(text string) string { return strings.ReplaceAll(text, "µs", "us") }

func ifSet(set bool, text string) string {
	if set {
		return text
	}
	return ""
}
