// Package results is the record of a run: its schema, its file format (JSON Lines, one record a trial) and the
// recorder that collects latencies while the run goes on. Whatever lockbench prints about a run is rendered from
// such a record, so that a table made today and one made from a file next year agree.
package results

import (
	"math"
	"net/netip"
	"net/url"
	"time"

	"github.com/lockbench/lockbench/results/spec"
)

// SchemaVersion is the version of Record that this program writes. Readers accept every older one.
const SchemaVersion = 1

// Record is one trial of one cell: what was asked, where it ran, and what was measured. All durations are
// nanoseconds, and field names carry other units.
type Record struct {
	Schema  int       `json:"schema" jsonschema:"version of the record"`
	ID      string    `json:"id" jsonschema:"unique to the record"`
	Started time.Time `json:"started"`
	Run     string    `json:"run" jsonschema:"the invocation of lockbench that it belongs to"`
	Cell    int       `json:"cell" jsonschema:"its place in that run's matrix, from 0"`
	Trial   int       `json:"trial"` // from 1

	// Prefix begins all names that the trial has made on a server of the user's: keys, nodes, tables. Keys have a number behind
	// it, from 0. Empty if the server was not the user's.
	Prefix string `json:"prefix,omitempty"`

	// A run that compares two configurations has two sides, SideBase and SideHead. Pair is the place of the cell among
	// those of its side, from 0: the cells of both sides with the same Run and Pair belong together, although their plans
	// differ. Other runs have no side.
	Side string `json:"side,omitempty"`
	Pair int    `json:"pair,omitempty"`

	Partial string `json:"partial,omitempty" jsonschema:"why this is less than a whole trial; absent from a whole one"`

	Plan   spec.Plan `json:"plan"`
	Traits Traits    `json:"traits"`
	Wrong  string    `json:"wrong,omitempty"` // what is wrong with the design, the main risk first; see drivers.Design
	Env    Env       `json:"env"`
	Server Server    `json:"server"`

	Elapsed   time.Duration      `json:"elapsed_ns" jsonschema:"the measured window, warm-up excluded"`
	Counts    Counts             `json:"counts"`
	Latency   map[Metric]Latency `json:"latency" jsonschema:"by metric; later versions may know more of them"`
	Fairness  Fairness           `json:"fairness"`
	Safety    Safety             `json:"safety"`
	Cost      Cost               `json:"cost" jsonschema:"of one granted lock; a negative number is not known"`
	Bound     Bound              `json:"bound"`
	Generator Generator          `json:"generator"`
	Ranks     []Rank             `json:"ranks,omitempty" trials:"-" jsonschema:"the processes that made the load together; absent if there was one"`
	Thread    Thread             `json:"server_thread,omitzero"` // of a private Redis or Valkey on Linux
	Series    []Interval         `json:"series,omitempty"`       // second by second, warm-up included
	Classes   []ClassResult      `json:"classes,omitempty"`      // of a plan with classes, in its order
	Steady    Steady             `json:"steady,omitzero"`
	Warnings  []string           `json:"warnings,omitempty"` // what a reader must know before believing the figures
}

// The sides of a run that compares two configurations; see Record.Side.
const (
	SideBase = "base"
	SideHead = "head"
)

// Traits are the guarantees that the design claims as it ran; see drivers.Traits.
type Traits struct {
	Exclusive bool `json:"exclusive"`
	Owned     bool `json:"owned"`
	Expires   bool `json:"expires"`
	Fenced    bool `json:"fenced"`
	Fair      bool `json:"fair"`
	Reentrant bool `json:"reentrant"`
	Renews    bool `json:"renews"`
	Wakes     bool `json:"wakes"`
	Waits     bool `json:"waits,omitempty"`
	Session   bool `json:"session,omitempty"`
	Blocks    bool `json:"blocks,omitempty"`
}

// Env is the machine and the program that made the load.
type Env struct {
	Lockbench  string            `json:"lockbench"`          // version or git revision
	Revision   string            `json:"revision,omitempty"` // what is under test, in the user's words (-revision)
	Go         string            `json:"go"`
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel,omitempty"`
	CPU        string            `json:"cpu,omitempty"`
	CPUs       int               `json:"cpus"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	Libraries  map[string]string `json:"libraries,omitempty"` // client library → version
	Variables  map[string]string `json:"variables,omitempty"` // environment variable that changes what is measured → value
}

// Unverified is the Server.Network of a TLS connection on which the server's certificate was not verified.
const Unverified = "tls not verified"

// Server is what was measured.
type Server struct {
	Kind        string `json:"kind"` // "private": a child of lockbench; "embedded": a stand-in inside it; "external": the user's; "in-process": none
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Mode        string `json:"mode,omitempty"`
	Persistence string `json:"persistence,omitempty"`
	Replicas    int    `json:"replicas"`
	Addr        string `json:"addr"`                 // credentials left out
	Network     string `json:"network,omitempty"`    // "unix", "tcp", "tls", Unverified
	Durability  string `json:"durability,omitempty"` // how a server of lockbench's own was set up: "relaxed" or "strict"; empty: not by lockbench

	// Connections are those that the server had at the end of the window, the one that asked included: ours alone, if
	// the server is. 0 if it does not tell.
	Connections int `json:"connections,omitempty"`

	Replaced bool  `json:"replaced,omitempty"` // it was restarted, or another one took its place, during the load
	Evicted  int64 `json:"evicted,omitempty"`  // keys that it evicted during the load, to free memory
}

// Rank is one of several processes that made the load together.
type Rank struct {
	Rank      int           `json:"rank"`
	Host      string        `json:"host"`
	PID       int           `json:"pid"`
	CPUs      int           `json:"cpus"`
	Clients   int           `json:"clients"`
	Acquired  int64         `json:"acquired"`
	RTT       time.Duration `json:"rtt_ns"`                            // to the server; see Bound
	Offset    time.Duration `json:"clock_offset_ns" negative:"behind"` // its wall clock minus that of rank 0; 0 on the same host
	Bound     time.Duration `json:"clock_bound_ns"`                    // how far its clock may be from where it was taken to be, at the most
	Late      time.Duration `json:"start_late_ns"`                     // by how much its load began after the common start, by its own clock
	Generator Generator     `json:"generator"`
}

// Thread is the busiest of the threads that execute all commands of a server, or one of each node: what it did in the window,
// as shares of it. The rest of the time it slept. Both are 0 if that is not known.
type Thread struct {
	Ran    float64 `json:"ran"`
	Waited float64 `json:"waited"` // it was ready to run, and something else had the core
}

// Busy returns the share in which it had something to do.
func (t Thread) Busy() float64 { return t.Ran + t.Waited }

// Counts are the outcomes of all acquisitions that ended inside the measured window or were under way when it closed,
// and of the releases of those acquired in it, whenever they came. They add up: the acquisitions are Acquired +
// Contended + TimedOut + GaveUp + Unknown + Refused + Canceled + Unfinished; and Acquired = Released + Lost +
// LostRenewal + ReleaseError + Crashed.
//
// A lock is lost in two ways, which are kept apart: LostRenewal counts the holders that the watchdog told, which stopped
// at once; Lost counts those that worked on to the end, and heard it from their own release.
type Counts struct {
	Acquired     int64 `json:"acquired"`
	Contended    int64 `json:"contended"`              // -wait none: the one try found it taken
	TimedOut     int64 `json:"timed_out"`              // patience ran out
	GaveUp       int64 `json:"gave_up,omitempty"`      // the library gave up by limits of its own
	Canceled     int64 `json:"canceled"`               // under way when the run was stopped before its time
	Unknown      int64 `json:"unknown"`                // an error hid the answer
	Refused      int64 `json:"refused"`                // an error that says the request had no effect, or one while waiting
	Unfinished   int64 `json:"unfinished"`             // under way when the window closed
	Tries        int64 `json:"tries"`                  // requests for the lock that the server saw, of the acquisitions that ended in the window; a hand-over that brought it is one
	Released     int64 `json:"released"`               // the server removed the lock
	Lost         int64 `json:"lost"`                   // the release found that it was no longer ours
	LostRenewal  int64 `json:"lost_renewal,omitempty"` // a renewal found it, or none was confirmed in the lease's time; however the release went
	ReleaseError int64 `json:"release_error"`

	// LocalRefusals are the attempts that never reached the server, because another client of the same process held the
	// lock or contended for it (-wait queue). They are not among Tries.
	LocalRefusals int64 `json:"local_refusals,omitempty"`

	// The following are 0 in a closed loop. Offered = those that a client has taken up in time to begin before the window
	// closed + Dropped + those of Unfinished (of Canceled, in a run that was stopped) that no client has taken up. What a
	// client has taken up counts where it ended, as all acquisitions do: some that were due in the warm-up end in the window.
	Offered int64 `json:"offered,omitempty"` // arrivals that were due in the window
	Dropped int64 `json:"dropped,omitempty"` // of those, the ones that found the queue full (Load.MaxQueue)

	// These are 0 unless the plan asks for them.
	Crashed int64 `json:"crashed,omitempty"` // holders that died without a release

	// The following are 0 unless the plan says Renew or Reentry. Re-entries are those of the Acquired.
	Renewals       int64 `json:"renewals,omitempty"`        // answered in the window, with an error or without
	RenewError     int64 `json:"renew_error,omitempty"`     // those that failed, whose holds were not lost by that
	Reentries      int64 `json:"reentries,omitempty"`       // acquisitions of a lock by its holder that were granted
	ReentryRefused int64 `json:"reentry_refused,omitempty"` // answered with no, though the client held the lock
	ReentryError   int64 `json:"reentry_error,omitempty"`   // failed, or their releases did

	// These are 0 unless several nodes grant a lock together (redlock).
	SplitVotes int64   `json:"split_votes,omitempty"` // tries that every node answered, some with yes, without a majority
	NodeErrors []int64 `json:"node_errors,omitempty"` // requests that failed, by node

	// StuckKeys are those that stayed locked for more than 1 % of the window since a request failed: a release whose answer
	// was not heard, or an attempt of unknown outcome that could not be taken back, in the window or in the warm-up.
	StuckKeys int64 `json:"stuck_keys,omitempty"`

	Errors      map[string]int64  `json:"errors,omitempty"`       // by class: acquisitions, re-entries, renewals, releases, and withdrawals from waiting
	EarlyErrors map[string]int64  `json:"early_errors,omitempty"` // likewise, of what was granted or given up in the warm-up
	ErrorSample map[string]string `json:"error_sample,omitempty"` // the first error of each class, warm-up included
}

// Failed returns the number of requests that failed, of all classes.
func (c Counts) Failed() (n int64) {
	for _, of := range c.Errors {
		n += of
	}
	return n
}

// Wanted returns how many acquisitions were asked for in the window, whatever became of them.
func (c Counts) Wanted() int64 {
	return c.Acquired + c.Contended + c.Impatient() + c.Unknown + c.Refused + c.Unfinished + c.Dropped
}

// Impatient returns how many acquisitions ended because time ran out: the client's, or that of its library.
func (c Counts) Impatient() int64 { return c.TimedOut + c.GaveUp }

// Metric names a latency distribution.
type Metric string

const (
	Acquire Metric = "acquire" // start of the acquisition to the grant, granted ones only

	// AcquireAll is, for redlock, the time from the start of a granted try until the last node was heard or given up.
	// The client has gone on long before; what it waits for is in Acquire.
	AcquireAll Metric = "acquire_all"

	// In an open loop an acquisition has two starts: the intended one, when it was due, and the actual one, when a client sent
	// its first request. Response is from the intended start to the grant: what a user of the system would have waited. Acquire
	// is from the actual one, the service time, which leaves out what the queue before it took (coordinated omission). Intended
	// to actual start is Lag if a client was free, for then it is the generator that was late, and Backlog if all were busy.
	Response Metric = "response"
	Lag      Metric = "lag"
	Backlog  Metric = "backlog"

	Refusal Metric = "refusal" // start of the acquisition to giving up (contended, timed out)
	Handoff Metric = "handoff" // release sent to the next grant of that key, if its client was already waiting
	Reentry Metric = "reentry" // start of an acquisition by the holder to its grant
	Hold    Metric = "hold"    // grant to release sent: the hold as it really was, re-entries and their releases included
	Renew   Metric = "renew"   // renewal sent to its reply, whatever that was
	// Recovery is from the death of a holder (Load.Crash) to the next grant of its key.
	Recovery Metric = "recovery"

	// Probe is a request of a neighbour that has nothing to do with locks, sent to its answer, in the measured window;
	// ProbeIdle is the same before the load. Both from a connection of the neighbour's own.
	Probe     Metric = "probe"
	ProbeIdle Metric = "probe_idle"

	// Hiccup is how late a ticker beside the load was, each of its ticks in the measured window: a pause of lockbench itself,
	// or of the machine, whatever is under way (as in jHiccup).
	Hiccup Metric = "hiccup"

	Release Metric = "release" // release sent to its reply; of re-entries the last one, which frees the lock

	// Worker is how late a request of a client was that a worker carries with others (-pipelining batch): from when the client
	// was ready to send it, or its hold was due to end, to where its own time begins, which is mostly the worker's write. It is
	// part of Hold, which lasts until the release is written, of Acquire if the request is not the first try, and of Lag in an
	// open loop.
	Worker Metric = "worker"
)

// MetricIndex is a metric as a small number, for the hot path of the Recorder.
type MetricIndex int

const (
	AcquireIndex MetricIndex = iota
	RefusalIndex
	HandoffIndex
	ReentryIndex
	HoldIndex
	RenewIndex
	ReleaseIndex
	AcquireAllIndex
	ResponseIndex
	LagIndex
	BacklogIndex
	RecoveryIndex
	ProbeIndex
	ProbeIdleIndex
	HiccupIndex
	WorkerIndex
	metricCount

	// WarmupIndex is what Acquire or, in an open loop, Response is in the warm-up. It is for the series alone: no record
	// holds it as a metric of its own.
	WarmupIndex = metricCount
)

// Metrics are all metrics; a MetricIndex is a place in this list.
var Metrics = []Metric{
	AcquireIndex: Acquire, RefusalIndex: Refusal, HandoffIndex: Handoff, ReentryIndex: Reentry, HoldIndex: Hold, RenewIndex: Renew,
	ReleaseIndex: Release, AcquireAllIndex: AcquireAll, ResponseIndex: Response, LagIndex: Lag, BacklogIndex: Backlog,
	RecoveryIndex: Recovery, ProbeIndex: Probe, ProbeIdleIndex: ProbeIdle, HiccupIndex: Hiccup, WorkerIndex: Worker,
}

// Latency is one distribution, with its usual quantiles spelt out and the whole histogram beside them. A quantile is
// the value of the nearest rank (see RankOf), as the upper end of its slot, and absent if there are too few values
// for it (see Enough).
type Latency struct {
	Count    int64         `json:"count"`
	Mean     time.Duration `json:"mean_ns"`
	Min      time.Duration `json:"min_ns"`
	P50      time.Duration `json:"p50_ns,omitempty"`
	P90      time.Duration `json:"p90_ns,omitempty"`
	P99      time.Duration `json:"p99_ns,omitempty"`
	P999     time.Duration `json:"p999_ns,omitempty"`
	Max      time.Duration `json:"max_ns"`
	Overflow int64         `json:"overflow,omitempty"` // values beyond the range, counted at its end
	HDR      string        `json:"hdr"`                // HdrHistogram V2, deflated, base64; "" in the cells and trials of a Collector

	merged counts // in place of HDR, of several trials together
}

// Fairness tells how the grants were spread over the clients that wanted locks in the window, and how a key moved from one
// to the next. In a closed loop all want locks all the time; in an open one those that arrivals came to, and of a number of
// operations those that there were any left for.
type Fairness struct {
	Clients      int           `json:"clients,omitempty"`        // those that wanted locks; 0 in records from before they were counted
	Jain         float64       `json:"jain,omitzero" trials:"-"` // (Σx)² / (n Σx²) over the grants of those n clients: 1 is even, 1/n is one client only
	MinClient    int64         `json:"min_client" trials:"min" ranks:"min"`
	MaxClient    int64         `json:"max_client" ranks:"max"`
	Starved      int           `json:"starved"`                     // of those clients, the ones that got none
	LongestWait  time.Duration `json:"longest_wait_ns" ranks:"max"` // longest time a client went without a grant while it wanted one, unfinished waits included
	OwnerChanges int64         `json:"owner_changes" trials:"sum"`  // grants of a key to another client than its last; 0 without the oracle
	LongestRun   int64         `json:"longest_run" ranks:"max"`     // most grants of a key to one client in a row, also 0 without the oracle
}

// Cost is what one granted lock cost. Negative values mean "not known", as in all fields with that tag. RoundTrips, Notices and KeepAlives are what the
// driver counts itself; records from before they were there have 0 round trips, which no lock has: see Trafficked.
type Cost struct {
	Tries       float64 `json:"tries" negative:"unknown"`    // requests for the lock; see Counts.Tries
	Commands    float64 `json:"commands" negative:"unknown"` // on the server, those inside scripts included
	BytesIn     float64 `json:"bytes_in" negative:"unknown"` // to the server
	BytesOut    float64 `json:"bytes_out" negative:"unknown"`
	ServerCPUUs float64 `json:"server_cpu_us" negative:"unknown"`
	ClientCPUUs float64 `json:"client_cpu_us" negative:"unknown"`
	Wakeups     float64 `json:"wakeups" negative:"unknown"` // returns from Wait
	Allocs      float64 `json:"allocs" negative:"unknown"`  // heap allocations of the whole process, client library included

	LocalRefusals float64 `json:"local_refusals,omitempty" negative:"unknown"` // see Counts.LocalRefusals; 0 as well if there is no local line

	RoundTrips float64 `json:"round_trips,omitempty" negative:"unknown"` // requests whose answer was waited for
	Notices    float64 `json:"notices,omitempty" negative:"unknown"`     // messages that the server sent unasked: watch events, notifications
	KeepAlives float64 `json:"keep_alives,omitempty" negative:"unknown"` // requests that only kept a session alive
}

// UnknownCost returns a cost of which nothing is known.
func UnknownCost() Cost {
	return Cost{
		Tries: -1, Commands: -1, BytesIn: -1, BytesOut: -1, ServerCPUUs: -1, ClientCPUUs: -1, Wakeups: -1, Allocs: -1,
		RoundTrips: -1, Notices: -1, KeepAlives: -1,
	}
}

// Trafficked reports whether RoundTrips, Notices and KeepAlives are known.
func (c Cost) Trafficked() bool { return c.RoundTrips > 0 }

// Bound is an estimate of what the load could reach with any lock: the least of
//
//	keys         1 / (s × (hold + round trip)), with the share s of all locks that the most wanted key has; that is
//	             keys / (hold + round trip) if all keys are alike, or if more than 1 % of the acquisitions were refused
//	             or gave up, which spreads those that were granted
//	clients      clients / (hold + think + 2 round trips)
//	connections  connections / (2 round trips), if each request takes one of a pool
//	rate         arrivals that were due a second, of an open loop; of a number of operations (Plan.Ops) the planned rate
//
// with hold and think as they really were, and the round trip that RoundTrip tells. It is no proof: round trips vary with the
// load, and a key that is handed over within lockbench takes none. Of several classes, it is what their mix as it was can reach before one of
// these is fully busy.
type Bound struct {
	RTT        time.Duration `json:"rtt_ns"` // median of bare round trips before the load
	LocksPerS  float64       `json:"locks_per_s"`
	Efficiency float64       `json:"efficiency" trials:"known"` // throughput / LocksPerS
	// LoadRTT is what a fast release took under the load (its first decile), if that is less than RTT: cores that have
	// work answer sooner than those that are woken for each request. 0: it was not, or was not measured.
	LoadRTT time.Duration `json:"load_rtt_ns,omitempty"`

	// Little is the mean number of clients that the recorded times account for (Little 1961: rate × mean time), by the
	// number there were. It is 1 when the books balance; failed requests and the pauses after them are in no book.
	Little float64 `json:"little"`

	// InSystem is the mean number of arrivals of an open loop that were due and had no answer yet, by its integral over
	// the window; LittleOpen is what the recorded times make of it (rate × mean time from when they were due), by that. It
	// is 1 in a steady state. It is less if arrivals still waited when the window closed, whose times are in no latency,
	// and more if those of before it were served. Both are 0 in a closed loop.
	InSystem   float64 `json:"in_system,omitempty"`
	LittleOpen float64 `json:"little_open,omitempty"`

	// Waited is how much of the window clients waited for locks, from when a first try was refused to the end of that
	// acquisition, summed over the clients; waits that outlasted the window are in it. 0 in records from before it was
	// measured.
	Waited time.Duration `json:"waited_ns,omitempty" trials:"sum"`

	// Transit is how much of the window keys were locked though no client held them, summed over the keys: the answer to a
	// grant was on its way, or the request that releases. 0 in records from before it was measured.
	Transit time.Duration `json:"transit_ns,omitempty" trials:"sum"`

	// Blocked is how much of the window acquisitions took of keys that failed requests had left locked, summed over the
	// clients; see Counts.StuckKeys.
	Blocked time.Duration `json:"blocked_ns,omitempty" trials:"sum"`

	// Failing is how much of the window requests that failed took, with the pauses after them, summed over the clients.
	// 0 in records from before it was measured.
	Failing time.Duration `json:"failing_ns,omitempty" trials:"sum"`

	// Dead is how much of the window keys were locked by holders that had died, summed over the keys; DeadWaits is how
	// much of it clients waited for such keys, summed over the clients. DeadKeys of them were still locked when it
	// closed, and the first of these had been from DeadFrom on. All are 0 in records from before they were measured, and
	// DeadWaits of several processes.
	Dead      time.Duration `json:"dead_ns,omitempty" trials:"sum"`
	DeadWaits time.Duration `json:"dead_waits_ns,omitempty" trials:"sum"`
	DeadKeys  int64         `json:"dead_keys,omitempty" trials:"sum"`
	DeadFrom  time.Duration `json:"dead_from_ns,omitempty" trials:"first"`

	// By is what makes the bound: "keys", "clients", "connections" (fewer of them than clients, each taken for a whole
	// round trip), or "rate" (an open loop that asks for no more). Empty if there is no bound.
	By string `json:"by,omitempty" trials:"first"`

	// Pool is how many connections the clients shared of which a request takes one for as long as it lasts; 0 if there is
	// no such pool.
	Pool int `json:"pool,omitempty" trials:"first"`
}

// Elsewhere reports whether the server is on another machine, as far as its address tells.
func (s *Server) Elsewhere() bool {
	u, err := url.Parse(s.Addr)
	if err != nil || s.Kind != "external" || s.Network == "unix" {
		return false // of several addresses nothing is known
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() != "" && u.Hostname() != "localhost" && (err != nil || !ip.IsLoopback())
}

// Generator is the verdict on lockbench itself.
type Generator struct {
	CPU       float64       `json:"cpu" negative:"unknown" ranks:"known"`   // cores that the process used (an embedded server included); negative if unknown
	Machine   float64       `json:"machine" negative:"unknown" ranks:"max"` // share of the machine's cores that were busy, 0 to 1; negative if unknown
	Stolen    float64       `json:"stolen,omitempty" ranks:"max"`           // the part of Machine that a hypervisor gave to other machines
	GCPauses  time.Duration `json:"gc_pauses_ns" ranks:"max"`
	Memory    int64         `json:"memory_bytes,omitempty" trials:"max"`                      // that the process had of the system at the end of the window; 0: unknown
	GCLongest time.Duration `json:"gc_longest_ns,omitempty" trials:"max" ranks:"max"`         // of the pauses; 0 if there was none
	RunQueue  time.Duration `json:"run_queue_p99_ns,omitempty" trials:"positive" ranks:"max"` // 99 % of the goroutines that became runnable ran within it (runtime/metrics /sched/latencies); 0: unknown

	// Outside is how many cores the busiest of the processes used that have the clients' sessions, as of a library in Python;
	// 0: there is none.
	Outside float64 `json:"outside_cores,omitempty" trials:"positive" ranks:"max"`

	PerWrite float64 `json:"requests_per_write,omitempty" trials:"positive" ranks:"-"` // requests that a write to a connection carried, on average; 0: unknown

	// Quota is how many cores the cgroups of the process allow it; 0: as many as there are, or unknown. Throttled is for how
	// long that stopped its threads in the window, summed over the cores; CoreWait for how long they were ready to run and
	// waited for a core, for whatever reason, summed over the threads (Linux's schedstat). Negative: the system does not tell.
	Quota     float64       `json:"quota_cores,omitempty" trials:"first" ranks:"-"`
	Throttled time.Duration `json:"throttled_ns,omitempty" negative:"unknown" ranks:"max"`
	CoreWait  time.Duration `json:"core_wait_ns,omitempty" negative:"unknown" ranks:"max"`

	// Pauses are the times in which lockbench itself did not run for 100 ms or longer, warm-up included; Paused is how much
	// of the window that was, those left out in which it was starved. Of several ranks, each is that of the rank with the
	// most, since a machine that stops stops all its ranks. Ranks have those of each.
	Pauses []Pause       `json:"pauses,omitempty" trials:"-" ranks:"-"`
	Paused time.Duration `json:"paused_ns,omitempty" trials:"max" ranks:"max"`

	Saturated bool   `json:"saturated" trials:"-"` // the figure is lockbench's own limit or the machine's, not the lock's
	Why       string `json:"why,omitempty" trials:"-"`

	// Delayed tells that all that Saturated rests on are delays of arrivals and wake-ups, which are part of each response. A
	// burst of hundreds of clients has them on the best machine.
	Delayed bool `json:"delayed,omitempty" trials:"-"`
}

// OneCore reports whether such a process used a core, and no more, as programs do that run on one at a time.
func (g Generator) OneCore() bool { return g.Outside >= nearLimit && g.Outside <= 1.1 }

// Pause is a time in which lockbench itself did not run.
type Pause struct {
	At     time.Duration `json:"at_ns"` // since the load began, warm-up included
	Length time.Duration `json:"length_ns"`

	// Starved tells that the threads of the process were ready to run and got no core, or that the system does not tell;
	// else they were stopped, or the whole machine was.
	Starved bool `json:"starved,omitempty"`
}

// littleSlack is how far Little may be from 1 before figures of one record contradict each other.
const littleSlack = 0.05

// RoundTrip returns the round trip that the bound is estimated from.
func (b Bound) RoundTrip() time.Duration {
	if b.LoadRTT > 0 {
		return b.LoadRTT
	}
	return b.RTT
}

// Balanced reports whether recorded latencies and throughput account for the clients' time, as Little's law wants.
func (b Bound) Balanced() bool { return math.Abs(b.Little-1) <= littleSlack }

// Made returns how many clients the figures are of: those of the plan, without those of ranks that were lost.
func (r *Record) Made() (clients int) {
	if len(r.Ranks) == 0 {
		return r.Plan.Clients
	}
	for _, of := range r.Ranks {
		clients += of.Clients
	}
	return clients
}

// Spoiled reports whether what befell the trial was not its lock's doing: lockbench stood still, or the server was replaced.
func (r *Record) Spoiled() bool { return r.StoppedLong() || r.Server.Replaced || r.Server.Evicted > 0 }

// Throughput is granted locks a second over the measured window.
func (r *Record) Throughput() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Counts.Acquired) / r.Elapsed.Seconds()
}
