// The settings: one table of all that a plan is made of.

package spec

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Setting is one setting of a plan. Flags, variables, workload files and their schema, completion, comparisons and
// exports call it by its name and read it from this table.
type Setting struct {
	Name    string
	Group   string // heading in the help; a topic of the help has all of a heading
	Default string // as it is typed; "" also where those who know the names know it
	Usage   string // the first line says enough for a short help

	Axis     bool // takes a list: the run is the matrix of all lists
	Class    bool // a class of clients may have a value of its own
	Constant bool // seldom differs within a file of records
	Speaks   bool // its values say what they are of

	Choices     []string // the names that it takes, if they are always the same; some take times as well, as in poll:5ms
	Least, Most string   // the bounds of a number or a time, as they are typed

	// Of a setting that not every plan reads: what an error says where nothing does, and the flags that decide it.
	Unread  string
	Depends []string
	reads   func(p *Plan, l *Load) bool // nil: every plan does

	// at returns the value in p. For a setting of classes it looks only at l, the load of p or of one of its classes.
	at func(p *Plan, l *Load) Value
}

// Groups are the headings of all settings in the order of the help.
var Groups = []string{
	"What runs", "Waiting", "Several servers", "Durability", "The load", "The lease", "Trials", "Client library",
}

// Settings are all settings in the order in which they are read and lists turn, the first one slowest. The seed, the
// command line, the workload's name and the kind of server are none: they do not change what is asked.
var Settings = []Setting{
	{Name: "driver", Group: "What runs", Default: "rueidis", Axis: true, Speaks: true,
		Usage: "client library or service; see lockbench list (default rueidis);\n" +
			"redsync@redlock has a topology of its own in place of -topology",
		at: func(p *Plan, _ *Load) Value { return name.of(&p.Driver) }},
	{Name: "lock", Group: "What runs", Axis: true, Speaks: true,
		Usage: "lock design (default: the driver's first, set-nx for Redis)",
		at:    func(p *Plan, _ *Load) Value { return name.of(&p.Lock) }},
	{Name: "wait", Group: "Waiting", Default: "auto", Axis: true,
		Choices: []string{"auto", "none", "poll", "backoff", "pubsub", "queue", "block", "native"},
		Usage: "how a client waits for a lock that is taken\n(auto: native if the design has a way of its own, " +
			"else backoff; poll:10ms; backoff:1ms:100ms: its first and longest pause)",
		at: func(p *Plan, _ *Load) Value { return way{&p.Wait, &p.Poll, &p.BackoffMin, &p.BackoffMax} }},
	{Name: "topology", Group: "Several servers", Default: "single", Axis: true, Speaks: true,
		Choices: []string{"single", "redlock", "replicated", "sentinel", "cluster", "ensemble"},
		Usage:   "one server, or several that form one service\n(ensemble: ZooKeeper, etcd; the others: Redis)",
		at:      func(p *Plan, _ *Load) Value { return topology.of(&p.Topology) }},
	inTopology([]string{"redlock", "cluster", "ensemble"}, Setting{
		Name: "nodes", Group: "Several servers", Default: "0", Axis: true, Least: "0", Most: "64",
		Usage: "servers of -topology redlock (default 5) and ensemble (1 or 3, default 3),\nprimaries of cluster (default 3)",
		at:    func(p *Plan, _ *Load) Value { return count.of(&p.Nodes) }}),
	inTopology([]string{"replicated", "sentinel"}, Setting{
		Name: "replicas", Group: "Several servers", Default: "0", Axis: true, Least: "0", Most: "64",
		Usage: "replicas of the primary of -topology replicated (default: as\nmany as -acks) and sentinel (default 1)",
		at:    func(p *Plan, _ *Load) Value { return count.of(&p.Replicas) }}),
	inTopology([]string{"replicated"}, Setting{
		Name: "acks", Group: "Several servers", Default: "1", Axis: true, Least: "1", Most: "64",
		Usage: "replicas that have to acknowledge an acquisition\n(-topology replicated)",
		at:    func(p *Plan, _ *Load) Value { return count.of(&p.Acks) }}),
	inTopology([]string{"redlock", "replicated"}, Setting{
		Name: "node-timeout", Group: "Several servers", Default: "50ms", Axis: true, Constant: true,
		Least: "1us", Most: "24h",
		Usage: "how long one node of redlock may take, or the replicas'\nacknowledgement",
		at:    func(p *Plan, _ *Load) Value { return span.of(&p.NodeTimeout) }}),
	{Name: "durability", Group: "Durability", Default: "relaxed", Axis: true, Speaks: true,
		Choices: []string{"relaxed", "strict"}, Depends: []string{"driver", "addr"},
		Unread: "only servers that lockbench starts are set up by it, and this run has none",
		reads:  func(p *Plan, _ *Load) bool { return p.Server == "private" },
		Usage:  "durability of servers that lockbench starts: relaxed, or\nstrict: on disk before it answers",
		at:     func(p *Plan, _ *Load) Value { return name.of(&p.Durability) }},
	{Name: "release", Group: "What runs", Default: "default", Axis: true,
		Choices: []string{"default", "lua", "delifeq", "delex"},
		Usage:   "how set-nx and its variants compare and delete: lua, delifeq\nor delex (default: lua)",
		at:      func(p *Plan, _ *Load) Value { return release.of(&p.Release) }},
	{Name: "renew", Group: "The lease", Default: "off", Axis: true,
		Usage: "renew the lease every third of the TTL for as long as the lock is\nheld (-renew=off,on: compare)",
		at:    func(p *Plan, _ *Load) Value { return onOff.of(&p.Renew) }},
	{Name: "reentry", Group: "What runs", Default: "1", Axis: true, Least: "1", Most: "1000",
		Usage: "acquisitions of a lock by its holder before it is free again\n(re-entrant designs)",
		at:    func(p *Plan, _ *Load) Value { return fromOne.of(&p.Reentry) }},
	{Name: "clients", Group: "The load", Default: "64", Axis: true, Class: true, Least: "1", Most: "1000000",
		Usage: "clients that compete\n(each asks again after its release, unless -rate or -burst is given)",
		at:    func(_ *Plan, l *Load) Value { return count.of(&l.Clients) }},
	{Name: "keys", Group: "The load", Default: "1", Axis: true, Least: "1", Most: "10000000",
		Usage: "locks that they compete for", at: func(p *Plan, _ *Load) Value { return count.of(&p.Keys) }},
	{Name: "key-dist", Group: "The load", Default: "uniform", Axis: true, Class: true,
		Usage: "which of them: uniform, zipf:1.1, hot:80%:10 (of the traffic, keys),\n" +
			"sequential (each client all in turn), own (a key for each client) (default uniform)",
		at: func(_ *Plan, l *Load) Value { return keys.of(&l.KeyDist) }},
	{Name: "hold", Group: "The load", Default: "0s", Axis: true, Class: true, Least: "0s", Most: "24h",
		Usage: "how long a lock is held: 5ms, exp:5ms (mean),\n" +
			"lognormal:5ms:50ms (median, p99), uniform:1ms:9ms, file:PATH (milliseconds)",
		at: func(_ *Plan, l *Load) Value { return times{&l.Hold, &l.HoldDist} }},
	{Name: "think", Group: "The load", Default: "0s", Axis: true, Class: true, Least: "0s", Most: "24h",
		Depends: []string{"rate", "burst"}, reads: func(_ *Plan, l *Load) bool { return !l.Open() },
		Unread: "in an open loop arrivals come when they are due, and nobody thinks in between",
		Usage:  "pause of a client between two locks, written like -hold",
		at:     func(_ *Plan, l *Load) Value { return times{&l.Think, &l.ThinkDist} }},
	{Name: "ttl", Group: "The lease", Default: "30s", Axis: true, Class: true, Constant: true,
		Least: "1ms", Most: "24h",
		Usage: "lease of a lock, or time-out of its holder's session\n(services round and limit it: etcd counts seconds)",
		at:    func(_ *Plan, l *Load) Value { return span.of(&l.TTL) }},
	{Name: "timeout", Group: "The load", Default: "0s", Axis: true, Class: true, Constant: true,
		Least: "0s", Most: "24h", Depends: []string{"wait"}, reads: waits,
		Unread: "with -wait none nobody waits, so there is no patience to limit; -io-timeout bounds a request",
		Usage:  "how long a client waits for one lock; 0s is endless",
		at:     func(_ *Plan, l *Load) Value { return period.of(&l.Timeout) }},
	{Name: "try-only", Group: "The load", Default: "0%", Axis: true, Class: true, Least: "0%", Most: "100%",
		Depends: []string{"wait"}, reads: waits,
		Unread: "with -wait none all clients try once and never wait",
		Usage:  "share of the clients, or of an open loop's arrivals, that try once and\nnever wait: 10%",
		at:     func(_ *Plan, l *Load) Value { return share.of(&l.TryOnly) }},
	{Name: "crash", Group: "The lease", Default: "0%", Axis: true, Class: true, Least: "0%", Most: "100%",
		Usage: "share of the holds whose holder dies without a release",
		at:    func(_ *Plan, l *Load) Value { return share.of(&l.Crash) }},
	{Name: "rate", Group: "The load", Default: "0", Axis: true, Class: true,
		Usage: "arrivals a second, even if no client is free (open loop)\n" +
			"(5k; 1k:50k:10s rises in that time; 0 is the closed loop)",
		at: func(_ *Plan, l *Load) Value { return rate.of(&l.Rate) }},
	{Name: "arrival", Group: "The load", Default: "constant", Axis: true, Class: true, Speaks: true,
		Choices: []string{Constant, Poisson}, Depends: []string{"rate", "burst"}, Unread: "only arrivals at a -rate read it",
		reads: func(_ *Plan, l *Load) bool { return !l.Rate.IsZero() },
		Usage: "how the arrivals of -rate follow one another: constant or poisson",
		at:    func(_ *Plan, l *Load) Value { return name.of(&l.Arrival) }},
	{Name: "burst", Group: "The load", Default: "0s", Axis: true, Class: true, Least: "1ms", Most: "24h",
		Usage: "open loop: all clients at once, every so often; 0s is never",
		at:    func(_ *Plan, l *Load) Value { return period.of(&l.Burst) }},
	{Name: "max-queue", Group: "The load", Default: "0", Axis: true, Class: true, Least: "0", Most: "1000000000",
		Depends: []string{"rate", "burst"}, Unread: "only an open loop has a queue: give -rate or -burst",
		reads: func(_ *Plan, l *Load) bool { return l.Open() },
		Usage: "arrivals that may wait in an open loop; more are dropped and\ncounted; 0 is no limit",
		at:    func(_ *Plan, l *Load) Value { return number.of(&l.MaxQueue) }},
	{Name: "handover", Group: "Waiting", Default: "release", Axis: true,
		Choices: []string{"release", "swap"}, Depends: []string{"wait"}, Unread: "only -wait queue reads it",
		reads: func(p *Plan, _ *Load) bool { return p.Wait == "queue" },
		Usage: "how -wait queue gives a lock to the next in line: release, which\n" +
			"lets it acquire, or swap the owner at the server in one step",
		at: func(p *Plan, _ *Load) Value { return name.of(&p.Handover) }},
	{Name: "lockers", Group: "Waiting", Default: "1", Axis: true, Least: "1", Most: "1000000",
		Usage: "share the clients out among N local queues and subscriptions,\nas N processes would have",
		at:    func(p *Plan, _ *Load) Value { return fromOne.of(&p.Lockers) }},
	{Name: "processes", Group: "The load", Default: "1", Axis: true, Least: "1", Most: "4096",
		Usage: "share the clients out among N processes of this machine, or ranks of\na fleet (help processes)",
		at:    func(p *Plan, _ *Load) Value { return fromOne.of(&p.Processes) }},
	{Name: "conns", Group: "Client library", Default: "0", Axis: true, Least: "0", Most: "100000",
		Usage: "connections of the pool, or of batches; 0 is the library's default, or two\nfor each processor",
		at:    func(p *Plan, _ *Load) Value { return number.of(&p.Conns) }},
	{Name: "pipelining", Group: "Client library", Default: "default", Axis: true,
		Choices: []string{"default", "auto", "off", "batch"},
		Usage: "auto: clients share connections; off: they do not (default: as the library\n" +
			"ships); auto:100us: its library collects commands for that long; batch: two goroutines for each\n" +
			"processor carry many clients: the most load, if holds and pauses are 0 or ten times a request",
		at: func(p *Plan, _ *Load) Value { return mode{&p.Pipelining, &p.FlushDelay} }},
	{Name: "param", Group: "Client library", Axis: true,
		Usage: "options of a lock library, several joined by a plus sign\n(retry=linear+retry-min=10ms; see lockbench list)",
		at:    func(p *Plan, _ *Load) Value { return params.of(&p.Params) }},
	{Name: "io-timeout", Group: "Client library", Default: "3s", Constant: true, Least: "1ms", Most: "1h",
		Usage: "time after which a request counts as unknown",
		at:    func(p *Plan, _ *Load) Value { return span.of(&p.IOTimeout) }},
	{Name: "shared", Group: "The load", Default: "off", Axis: true,
		Depends: []string{"driver", "addr"},
		Unread:  "runs meet only on a server of yours, and this run has none: give -addr",
		reads:   func(p *Plan, _ *Load) bool { return p.Server == "external" },
		Usage:   "contend with other runs that have it, the same -prefix, lock and -keys,\non your server (help processes)",
		at:      func(p *Plan, _ *Load) Value { return onOff.of(&p.Shared) }},
	{Name: "duration", Group: "Trials", Default: "10s", Constant: true, Least: "1ns", Most: "168h",
		Usage: "measured time of a trial (default 10s; with -n: no limit)",
		at:    func(p *Plan, _ *Load) Value { return span.of(&p.Duration) }},
	{Name: "n", Group: "Trials", Default: "0", Constant: true, Least: "0", Most: "1000000000000",
		Usage: "end a trial after so many acquisitions (default: after -duration)",
		at:    func(p *Plan, _ *Load) Value { return ops.of(&p.Ops) }},
	{Name: "warmup", Group: "Trials", Default: "2s", Constant: true, Least: "0s", Most: "24h",
		Usage: "time before it that is not measured", at: func(p *Plan, _ *Load) Value { return period.of(&p.Warmup) }},
	{Name: "probe", Group: "Trials", Default: "0", Constant: true, Least: "0.01", Most: "1000",
		Depends: []string{"driver"},
		Unread:  "a neighbour needs a server to be asked, and this run has none",
		reads:   func(p *Plan, _ *Load) bool { return p.Server != "in-process" },
		Usage:   "beside the load, requests a second of an unrelated client on the\nsame server; their latency is reported",
		at:      func(p *Plan, _ *Load) Value { return hertz.of(&p.Probe) }},
	{Name: "oracle", Group: "Trials", Default: "true", Constant: true,
		Usage: "check mutual exclusion on every grant (-oracle=false: do not)",
		at:    func(p *Plan, _ *Load) Value { return usually.of(&p.Oracle) }},
}

// Derived returns a column of that name that has no value of its own: text follows from the plan.
func Derived(title string, text func(p *Plan) string) Setting {
	return Setting{Name: title, at: func(p *Plan, _ *Load) Value { t := text(p); return name.of(&t) }}
}

// Find returns the setting of a name, and whether there is one.
func Find(name string) (Setting, bool) {
	for _, s := range Settings {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// inTopology returns a setting that only plans with servers of some topologies read.
func inTopology(names []string, s Setting) Setting {
	s.Depends, s.Unread = []string{"topology"}, "only -topology "+strings.Join(names, " or ")+" reads it"
	s.reads = func(p *Plan, _ *Load) bool { return slices.Contains(names, p.Topology) }
	return s
}

func waits(p *Plan, _ *Load) bool { return p.Wait != "none" }

// Text returns the value in p as it is typed, and "" if p does not set it. For a setting of classes it reads only l,
// the load of p or of one of its classes.
func (s Setting) Text(p *Plan, l *Load) string { return s.at(p, l).String() }

// Typed returns the value as it is typed, the usual one included, and "" if that cannot be. It reads p and l as Text
// does.
func (s Setting) Typed(p *Plan, l *Load) string { return cmp.Or(s.Text(p, l), s.Usual()) }

// Usual returns how the value is typed for which Text returns "", if it can be.
func (s Setting) Usual() string { return s.at(&Plan{}, &Load{}).Usual() }

// Type returns what stands for the value in the help, and "" for a switch.
func (s Setting) Type() string { return s.at(&Plan{}, &Load{}).Type() }

// Set reads what was typed into p; for a setting of classes into its load. The error says what would be right,
// without the setting's name. A file of times is not read: its mean is 0.
func (s Setting) Set(p *Plan, text string) error { return s.at(p, &p.Load).Set(text) }

// Copy gives p the value of another plan; for a setting of classes it gives the other's own to l alone, the load of p
// or of one of its classes.
func (s Setting) Copy(p *Plan, l *Load, from *Plan) {
	source := fields(s.at(from, &from.Load))
	for i, f := range fields(s.at(p, l)) {
		f.Set(source[i])
	}
}

// fields returns those of a plan of which a value is made.
func fields(v Value) (list []reflect.Value) {
	for _, f := range reflect.ValueOf(v).Fields() {
		if f.Kind() == reflect.Pointer {
			list = append(list, f.Elem())
		}
	}
	return list
}

// Reads reports whether p reads the setting, for a load that is its own or one of its classes'. In a plan that does
// not the value is cleared, and to ask for it in a run of which no plan reads it is a mistake.
func (s Setting) Reads(p *Plan, l *Load) bool { return s.reads == nil || s.reads(p, l) }

// ReadBy reports whether any load of p reads the setting.
func (s Setting) ReadBy(p *Plan) bool {
	return slices.ContainsFunc(p.Groups(), func(c Class) bool { return s.Reads(p, &c.Load) })
}

// NeedsDriver reports whether only what the driver says of itself tells which plans read the setting.
func (s Setting) NeedsDriver() bool { return slices.Contains(s.Depends, "driver") }

// FieldError is a value of a setting that cannot be run. It names the flag, the value and what is allowed.
type FieldError struct {
	Field   string   // the setting's name, "clients"
	Value   string   // as the flag would be written
	Problem string   // "must be …"
	Known   []string // the known names, if it is not among them
	Class   string   // the class whose field it is; empty for the plan's own
}

func (e *FieldError) Error() string {
	text := fmt.Sprintf("-%s %s: %s", e.Field, cmp.Or(e.Value, `""`), e.Problem)
	if e.Class != "" {
		return "class " + e.Class + ": " + text
	}
	return text
}

// Unknown returns the error of a name that is not among the known ones.
func Unknown(field, name string, known []string) error {
	return &FieldError{Field: field, Value: name, Known: known,
		Problem: fmt.Sprintf("unknown %s %q; there are %s", field, name, strings.Join(known, ", "))}
}

// Check returns a *FieldError if the value in p, or in the load l of one of its classes, is none of the choices or
// out of bounds. A value may be nothing if it is that by default, and a choice always.
func (s Setting) Check(p *Plan, l *Load) error {
	text := s.Typed(p, l)
	name, _, _ := strings.Cut(text, ":")
	if s.Choices != nil && name != "" && !slices.Contains(s.Choices, name) {
		return Unknown(s.Name, name, s.Choices)
	}
	if s.Least == "" {
		return nil
	}
	n := amount(s.at(p, l))
	if n == 0 && s.Default == s.Usual() || s.bound(s.Least) <= n && n <= s.bound(s.Most) {
		return nil
	}
	text = cmp.Or(text, map[string]string{"TIME": "0s"}[s.Type()], "0")
	return &FieldError{Field: s.Name, Value: text, Problem: "must be " + s.Least + " to " + s.Most}
}

func (s Setting) bound(text string) float64 {
	var p Plan
	Must(text, s.Set(&p, text))
	return amount(s.at(&p, &p.Load))
}

// amount returns a number, or a time in nanoseconds.
func amount(v Value) float64 { return fields(v)[0].Convert(reflect.TypeFor[float64]()).Float() }
