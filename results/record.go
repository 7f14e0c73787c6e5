// Package results is the record of a run: its schema, its file format (JSON Lines, one record a trial) and the
// recorder that collects latencies while the run goes on. Whatever lockbench prints about a run is rendered from
// such a record, so that a table made today and one made from a file next year agree.
package results

import (
	"math"
	"time"
)

// SchemaVersion is the version of Record that this program writes. Readers accept every older one.
const SchemaVersion = 1

// Record is one trial of one cell: what was asked, where it ran, and what was measured. All durations are
// nanoseconds, and field names carry other units.
type Record struct {
	Schema  int       `json:"schema"`
	ID      string    `json:"id"` // unique to the record
	Started time.Time `json:"started"`
	Run     string    `json:"run"`               // the invocation of lockbench that it belongs to
	Cell    int       `json:"cell"`              // its place in that run's matrix, from 0
	Trial   int       `json:"trial"`             // from 1
	Partial string    `json:"partial,omitempty"` // why this is less than a whole trial: interrupted, or the server was gone; empty for a whole one

	Plan   Plan   `json:"plan"`
	Traits Traits `json:"traits"`
	Env    Env    `json:"env"`
	Server Server `json:"server"`

	Elapsed   time.Duration      `json:"elapsed_ns"` // the measured window, warm-up excluded
	Counts    Counts             `json:"counts"`
	Latency   map[Metric]Latency `json:"latency"`
	Fairness  Fairness           `json:"fairness"`
	Safety    Safety             `json:"safety"`
	Cost      Cost               `json:"cost"`
	Bound     Bound              `json:"bound"`
	Generator Generator          `json:"generator"`
	Warnings  []string           `json:"warnings,omitempty"` // what a reader must know before he believes the figures
}

// Plan is the cell: everything that was asked for and that decides whether two records may be compared.
type Plan struct {
	Driver      string        `json:"driver"`
	Lock        string        `json:"lock"`
	Wait        string        `json:"wait"`
	Topology    string        `json:"topology,omitempty"` // empty: one server
	Release     string        `json:"release,omitempty"`  // empty: the design's own
	Renew       bool          `json:"renew,omitempty"`
	Reentry     int           `json:"reentry,omitempty"` // acquisitions of a lock before it is given up, the first one included; 0: one
	Clients     int           `json:"clients"`
	Lockers     int           `json:"lockers,omitempty"` // processes' worth of local queues and subscriptions; 0: one
	Keys        int           `json:"keys"`
	Hold        time.Duration `json:"hold_ns"`
	Think       time.Duration `json:"think_ns"`
	TTL         time.Duration `json:"ttl_ns"`
	Timeout     time.Duration `json:"timeout_ns"` // patience: how long a client waits for one lock
	Poll        time.Duration `json:"poll_ns,omitempty"`
	BackoffMin  time.Duration `json:"backoff_min_ns,omitempty"`
	BackoffMax  time.Duration `json:"backoff_max_ns,omitempty"`
	Handover    string        `json:"handover,omitempty"`     // how -wait queue hands a lock over: "release" or "swap"
	HandoverMax int           `json:"handover_max,omitempty"` // swaps in a row
	Nodes       int           `json:"nodes,omitempty"`        // servers of redlock, primaries of a cluster
	Replicas    int           `json:"replicas,omitempty"`     // of a primary
	Acks        int           `json:"acks,omitempty"`         // replicas that have to acknowledge an acquisition
	NodeTimeout time.Duration `json:"node_timeout_ns,omitempty"`
	Params      string        `json:"params,omitempty"` // the library's own options that are not its defaults, "name=value+…" by name
	Duration    time.Duration `json:"duration_ns"`
	Warmup      time.Duration `json:"warmup_ns"`
	Seed        uint64        `json:"seed"`
	Conns       int           `json:"conns,omitempty"`      // 0: the client library's default
	Pipelining  string        `json:"pipelining,omitempty"` // empty: the client library's default
	FlushDelay  time.Duration `json:"flush_delay_ns,omitempty"`
	IOTimeout   time.Duration `json:"io_timeout_ns"`
	Oracle      bool          `json:"oracle"`
	Durability  string        `json:"durability,omitempty"` // of a private server: "relaxed" or "strict"; empty: whatever the server has
	Server      string        `json:"server"`               // "private", "embedded", "external" or "in-process"; see Server
	Command     string        `json:"command,omitempty"`    // the command line that makes this cell, secrets left out
}

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
}

// Env is the machine and the program that made the load.
type Env struct {
	Lockbench  string            `json:"lockbench"` // version or git revision
	Go         string            `json:"go"`
	OS         string            `json:"os"`
	Arch       string            `json:"arch"`
	Kernel     string            `json:"kernel,omitempty"`
	CPU        string            `json:"cpu,omitempty"`
	CPUs       int               `json:"cpus"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	Libraries  map[string]string `json:"libraries,omitempty"` // client library → version
}

// Server is what was measured.
type Server struct {
	Kind        string `json:"kind"` // "private": a child of lockbench; "embedded": a stand-in inside it; "external": the user's; "in-process": none
	Name        string `json:"name"`
	Version     string `json:"version,omitempty"`
	Mode        string `json:"mode,omitempty"`
	Persistence string `json:"persistence,omitempty"`
	Replicas    int    `json:"replicas"`
	Addr        string `json:"addr"`                 // credentials left out
	Network     string `json:"network,omitempty"`    // "unix", "tcp", "tls"
	Durability  string `json:"durability,omitempty"` // how a server of lockbench's own was set up: "relaxed" or "strict"; empty: not by lockbench

	// Connections are those that the server had at the end of the window, the one that asked included: ours alone, if
	// the server is. 0 if it does not tell.
	Connections int `json:"connections,omitempty"`
}

// Counts are the outcomes of all acquisitions that ended inside the measured window or were under way when it closed,
// and of the releases of those acquired in it, whenever they came. They add up: the acquisitions are Acquired + Contended
// + TimedOut + Unknown + Refused + Canceled + Unfinished; and Acquired = Released + Lost + LostRenewal + ReleaseError.
//
// A lock is lost in two ways, which are kept apart: LostRenewal counts the holders that the watchdog told, who stopped
// believing at once; Lost counts those who believed to the end, and heard it from their own release.
type Counts struct {
	Acquired     int64 `json:"acquired"`
	Contended    int64 `json:"contended"`              // -wait none: the one try found it taken
	TimedOut     int64 `json:"timed_out"`              // patience ran out
	Canceled     int64 `json:"canceled"`               // under way when the run was stopped before its time
	Unknown      int64 `json:"unknown"`                // an error hid the answer
	Refused      int64 `json:"refused"`                // an error that says the request had no effect, or one while waiting
	Unfinished   int64 `json:"unfinished"`             // under way when the window closed
	Tries        int64 `json:"tries"`                  // attempts of the acquisitions that ended in the window
	Released     int64 `json:"released"`               // the server removed the lock
	Lost         int64 `json:"lost"`                   // the release found that it was no longer ours
	LostRenewal  int64 `json:"lost_renewal,omitempty"` // a renewal found it, or none was confirmed in the lease's time; however the release went
	ReleaseError int64 `json:"release_error"`

	// What follows there is none of unless the plan says Renew or Reentry. Re-entries are those of the Acquired.
	Renewals       int64 `json:"renewals,omitempty"`        // answered in the window, with an error or without
	RenewError     int64 `json:"renew_error,omitempty"`     // those that failed, whose holds were not thereby lost
	Reentries      int64 `json:"reentries,omitempty"`       // acquisitions of a lock by its holder that were granted
	ReentryRefused int64 `json:"reentry_refused,omitempty"` // answered with no, though the client held the lock
	ReentryError   int64 `json:"reentry_error,omitempty"`   // failed, or their releases did

	// There is none of these unless several nodes grant a lock together (redlock).
	SplitVotes int64   `json:"split_votes,omitempty"` // tries that every node answered, some with yes, without a majority
	LateGrants int64   `json:"late_grants,omitempty"` // votes that came after their try had failed, and were given back
	NodeErrors []int64 `json:"node_errors,omitempty"` // requests that failed, by node

	Errors      map[string]int64  `json:"errors,omitempty"`       // by class: acquisitions, re-entries, renewals, releases, and withdrawals from waiting
	ErrorSample map[string]string `json:"error_sample,omitempty"` // the first error of each class, warm-up included
}

// Metric names a latency distribution.
type Metric string

const (
	Acquire Metric = "acquire" // start of the acquisition to the grant, granted ones only

	// AcquireAll is, for redlock, the time from the start of a granted try until the last node was heard or given up.
	// The client has gone on long before; what it waits for is in Acquire.
	AcquireAll Metric = "acquire_all"

	Refusal Metric = "refusal" // start of the acquisition to giving up (contended, timed out)
	Handoff Metric = "handoff" // release sent to the next grant of that key, if its client was already waiting
	Reentry Metric = "reentry" // start of an acquisition by the holder to its grant
	Hold    Metric = "hold"    // grant to release sent: the hold as it really was, re-entries and their releases included
	Renew   Metric = "renew"   // renewal sent to its reply, whatever that was
	Release Metric = "release" // release sent to its reply; of re-entries the last one, which frees the lock
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
	metricCount
)

// Metrics are all metrics in the order of a lock's life; a MetricIndex is a place in this list.
var Metrics = []Metric{
	AcquireIndex: Acquire,
	RefusalIndex: Refusal,
	HandoffIndex: Handoff,
	ReentryIndex: Reentry,
	HoldIndex:    Hold,
	RenewIndex:   Renew,
	ReleaseIndex: Release,

	AcquireAllIndex: AcquireAll,
}

// Latency is one distribution, with its usual quantiles spelt out and the whole histogram beside them.
type Latency struct {
	Count    int64         `json:"count"`
	Mean     time.Duration `json:"mean_ns"`
	Min      time.Duration `json:"min_ns"`
	P50      time.Duration `json:"p50_ns"`
	P90      time.Duration `json:"p90_ns"`
	P99      time.Duration `json:"p99_ns"`
	P999     time.Duration `json:"p999_ns"`
	Max      time.Duration `json:"max_ns"`
	Overflow int64         `json:"overflow,omitempty"` // values beyond the range, counted at its end
	HDR      string        `json:"hdr"`                // HdrHistogram V2, deflated, base64
}

// Fairness tells how the grants were spread over the clients, and how a key moved from one to the next.
type Fairness struct {
	Jain         float64       `json:"jain"` // (Σx)² / (n Σx²) over the clients' grants: 1 is even, 1/n is one client only
	MinClient    int64         `json:"min_client"`
	MaxClient    int64         `json:"max_client"`
	Starved      int           `json:"starved"`         // clients without any grant in the window
	LongestWait  time.Duration `json:"longest_wait_ns"` // longest time a client went without a grant while it wanted one, unfinished waits included
	OwnerChanges int64         `json:"owner_changes"`   // grants of a key to another client than its last; 0 without the oracle
	LongestRun   int64         `json:"longest_run"`     // most grants of a key to one client in a row, also 0 without the oracle
}

// Safety is the oracle's report; Checked false means that it was off.
type Safety struct {
	Checked       bool          `json:"checked"`
	Grants        int64         `json:"grants"`     // acquisitions that the oracle saw, warm-up included
	Violations    int64         `json:"violations"` // grants of a key that another client still held
	Longest       time.Duration `json:"longest_overlap_ns"`
	Overlap       time.Duration `json:"total_overlap_ns"` // time during which a key had two holders or more, summed over keys
	LostUpdates   int64         `json:"lost_updates"`     // by the second witness, an unprotected counter a key
	WrongReleases int64         `json:"wrong_releases"`   // the server removed a lock that was the next holder's; for designs whose locks have no owner
	FenceRegress  int64         `json:"fence_regress"`    // fencing tokens not above the highest one seen
	Events        []Violation   `json:"events,omitempty"` // the first few
}

// Violation is one grant of a key that was already held.
type Violation struct {
	At       time.Duration `json:"at_ns"` // since the load began, warm-up included
	Key      int           `json:"key"`
	Holder   int           `json:"holder"`     // the client that held it (one of them)
	Intruder int           `json:"intruder"`   // the client that was granted it too
	Overlap  time.Duration `json:"overlap_ns"` // 0 if it had not ended with the run
}

// Cost is what one granted lock cost. Negative values mean "not known". RoundTrips, Notices and KeepAlives are what the
// driver counts itself; records from before they were there have 0 round trips, which no lock has: see Trafficked.
type Cost struct {
	Tries       float64 `json:"tries"`
	Commands    float64 `json:"commands"` // on the server, those inside scripts included
	BytesIn     float64 `json:"bytes_in"` // to the server
	BytesOut    float64 `json:"bytes_out"`
	ServerCPUUs float64 `json:"server_cpu_us"`
	ClientCPUUs float64 `json:"client_cpu_us"`
	Wakeups     float64 `json:"wakeups"` // returns from Wait
	Allocs      float64 `json:"allocs"`  // heap allocations of the whole process, client library included

	RoundTrips float64 `json:"round_trips,omitempty"` // requests whose answer somebody waited for
	Notices    float64 `json:"notices,omitempty"`     // messages that the server sent unasked: watch events, notifications
	KeepAlives float64 `json:"keep_alives,omitempty"` // requests that only kept a session alive
}

// Trafficked tells whether RoundTrips, Notices and KeepAlives are known.
func (c Cost) Trafficked() bool { return c.RoundTrips > 0 }

// Bound is the ideal that the throughput is measured against: the least of keys / (hold + round trip) and
// clients / (hold + think + 2 round trips), with hold and think as they really were.
type Bound struct {
	RTT        time.Duration `json:"rtt_ns"` // median of bare round trips before the load
	LocksPerS  float64       `json:"locks_per_s"`
	Efficiency float64       `json:"efficiency"` // throughput / LocksPerS
	// Little is the mean number of clients that the recorded times account for (Little 1961: rate × mean time), by the
	// number there were. It is 1 when the books balance; failed requests and the pauses after them are in no book.
	Little float64 `json:"little"`
}

// Generator is the verdict on lockbench itself.
type Generator struct {
	CPU       float64       `json:"cpu"`     // cores that the process used (an embedded server included); negative if unknown
	Machine   float64       `json:"machine"` // share of all the machine's cores that were busy, 0 to 1; negative if unknown
	GCPauses  time.Duration `json:"gc_pauses_ns"`
	Saturated bool          `json:"saturated"` // the figure is lockbench's own limit or the machine's, not the lock's
	Why       string        `json:"why,omitempty"`
}

// littleSlack is how far Little may be from 1 before figures of one record contradict each other.
const littleSlack = 0.05

// Balanced tells whether recorded latencies and throughput account for the clients' time, as Little's law wants.
func (b Bound) Balanced() bool { return math.Abs(b.Little-1) <= littleSlack }

// Throughput is granted locks a second over the measured window.
func (r *Record) Throughput() float64 {
	if r.Elapsed <= 0 {
		return 0
	}
	return float64(r.Counts.Acquired) / r.Elapsed.Seconds()
}
