// Package fleet makes one load with several processes, its ranks: where a process stands among them, how they meet, and the one
// record that comes of it. Rank 0 leads. It asks, by the protocol of package lines, and the other ranks answer: over a pipe, if
// it has started them, or a connection that they make to its rendezvous.
//
//	hello   which rank it is, and the proof that it knows the token
//	welcome the proof that rank 0 does, too; the answer says who the rank is, which rank 0 compares with itself
//	trial   opens a share of the load; the answer says that all clients are ready
//	start   when to begin, by the rank's clock
//	ping    where the rank stands; the times of request and answer bound its clock
//	stop    ends the load before its time
//	part    the next piece of what the rank has measured, when its last request is over, and then of the log of its holds
//	end     closes the service of the trial
//	bye     lets the rank go
//	refuse  lets it go because something went wrong, and says what
//
// Before hello and welcome neither side does or tells anything else, nor reads more than a few lines.
//
// A rank that hears nothing from rank 0 for the silence, whatever it is doing, gives its locks back and ends; rank 0 gives
// a rank up that does not answer for that long, whose clients are not ready in time (openTimeout), or that does not hand
// in its part or end (patience). What is left makes a partial record.
package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	_ "unsafe" // for go:linkname

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/lines"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
	"github.com/lockbench/lockbench/workloads"
)

const (
	pingEvery = 250 * time.Millisecond
	silence   = 4 * time.Second
	chunk     = 512 << 10 // most bytes of a part in one answer
)

// Trial is what a rank has to know of one, beside its own flags: those say what it runs, and on whose server.
type Trial struct {
	Cell   int     `json:"cell"`
	Seed   uint64  `json:"seed"`
	Search *Search `json:"search,omitempty"` // of lockbench plan
	Digest string  `json:"digest"`           // of the plan that comes of these
	Prefix string  `json:"prefix"`
	Server *Server `json:"server,omitempty"` // that rank 0 has started, if the rank's flags ask for one
}

// Search is what a search chooses of the plan of a trial.
type Search struct {
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
	Loads    []spec.Load   `json:"loads"` // of the plan and of its classes: see choose
}

// SearchOf returns what a search has chosen of p.
func SearchOf(p spec.Plan) *Search {
	s := &Search{p.Warmup, p.Duration, []spec.Load{p.Load}}
	for _, c := range p.Classes {
		s.Loads = append(s.Loads, c.Load)
	}
	return s
}

// choose returns own with what a search chooses of a load.
func choose(own, chosen spec.Load) spec.Load {
	own.Clients, own.Rate, own.Arrival = chosen.Clients, chosen.Rate, chosen.Arrival
	own.Think, own.ThinkDist = chosen.Think, chosen.ThinkDist
	return own
}

// Plan returns what a trial makes of the cell of a rank's own flags. The error is that rank 0 runs something else.
func (t *Trial) Plan(own spec.Plan) (spec.Plan, error) {
	own.Seed = t.Seed
	if s := t.Search; s != nil && len(s.Loads) == 1+len(own.Classes) {
		own.Warmup, own.Duration, own.Ops = s.Warmup, s.Duration, 0
		own.Load, own.Classes = choose(own.Load, s.Loads[0]), slices.Clone(own.Classes)
		for i := range own.Classes {
			own.Classes[i].Load = choose(own.Classes[i].Load, s.Loads[1+i])
		}
	}
	if Digest(own) != t.Digest {
		return own, errors.New("rank 0 runs something else than the flags of this rank say")
	}
	return own, nil
}

// Digest tells plans from others, but not how their commands are spelt.
func Digest(plans ...spec.Plan) string {
	h := sha256.New()
	for _, p := range plans {
		p.Command = ""
		text, _ := json.Marshal(p)
		h.Write(append(text, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Server is how to reach a server that rank 0 has started.
type Server struct {
	URLs    []string `json:"urls"`
	Network string   `json:"network"`
	Master  string   `json:"master,omitempty"`
}

// Identity is what must be the same in all ranks.
type Identity struct {
	Ranks   int    `json:"ranks"`
	Job     string `json:"job,omitempty"` // see Place
	Version string `json:"version"`
	Plans   string `json:"plans"` // a digest of what the flags ask for
}

// hello is who a rank is.
type hello struct {
	Identity
	Rank  int       `json:"rank"`
	Host  string    `json:"host"`
	PID   int       `json:"pid"`
	Wall  time.Time `json:"wall"` // at the zero of its clock
	Clock monotonic `json:"clock"`
}

// greeting returns who this process is.
func greeting(rank int, id Identity, clock drivers.Clock) hello {
	host, _ := os.Hostname()
	return hello{Identity: id, Rank: rank, Host: host, PID: os.Getpid(), Wall: clock.Time(0), Clock: readMonotonic(clock)}
}

// proof is what shows that a rank knows the token, on a connection with that binding: HMAC-SHA-256, from which nobody learns the
// token. It is of no use on another connection, nor to another rank: who stands between two ranks has a connection to each, with
// a binding of its own, and what one of them proves is no proof to the other. Who connects to rank 0 gets nothing, since that
// answers a proof; who listens in its place gets a proof that only tells a guess of the token from the token.
func proof(token, binding string, rank int) string {
	mac := hmac.New(sha256.New, []byte(token))
	fmt.Fprintf(mac, "lockbench rank %d %s", rank, binding)
	return hex.EncodeToString(mac.Sum(nil))
}

// beforeProof is how much is read of a peer that has not proved that it knows the token, in bytes.
const beforeProof = 64 << 10

// guarded reads from a peer, and not for long before it is known.
type guarded struct {
	io.Reader
	known atomic.Bool
	begun int // bytes
}

func (g *guarded) Read(b []byte) (int, error) {
	if g.known.Load() {
		return g.Reader.Read(b)
	}
	if g.begun == beforeProof {
		return 0, fmt.Errorf("it has said %d bytes and proved nothing", beforeProof)
	}
	n, err := g.Reader.Read(b[:min(len(b), beforeProof-g.begun)])
	g.begun += n
	return n, err
}

// clip makes a text of another process fit to be printed.
func clip(text string, most int) string { return format.Line(format.Cut(text, most)) }

// monotonic tells which clock of the system a process reads, and the Zero of its own clock on that. Processes with the
// same Of read the same one, and what they log is in one order. Of is empty where that is not known.
type monotonic struct {
	Of   string        `json:"of,omitempty"`
	Zero time.Duration `json:"zero_ns,omitempty"`
}

// readMonotonic reads Go's clock, which is CLOCK_MONOTONIC on Linux, before and after the process's own, which is the
// same but for its zero. That leaves open what one reading takes, some 20 ns. A lock takes a hundred times as long
// from one process to another, so the order of a release and the grant that follows it does not depend on that.
func readMonotonic(clock drivers.Clock) (m monotonic) {
	if runtime.GOOS != "linux" {
		return m
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return m
	}
	space, _ := os.Readlink("/proc/self/ns/time")
	low, high := time.Duration(math.MinInt64), time.Duration(math.MaxInt64)
	for range 1000 {
		before := time.Duration(nanotime())
		own := clock.Now()
		low, high = max(low, before-own), min(high, time.Duration(nanotime())-own)
	}
	return monotonic{Of: strings.TrimSpace(string(boot)) + " " + space, Zero: low + (high-low)/2}
}

// nanotime is what package time reads and does not hand out.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// request is any request.
type request struct {
	lines.RequestHeader
	Proof string        `json:"proof,omitempty"` // of welcome
	Trial *Trial        `json:"trial,omitempty"`
	At    time.Duration `json:"at_ns,omitempty"` // of start
	Why   string        `json:"why,omitempty"`   // of refuse
}

func plain(op string) *request { return &request{RequestHeader: lines.RequestHeader{Op: op}} }

func refusal(format string, args ...any) *request {
	r := plain("refuse")
	r.Why = fmt.Sprintf(format, args...)
	return r
}

// answer is any answer.
type answer struct {
	lines.LineHeader
	Rank     int                 `json:"rank,omitempty"`  // of hello…
	Proof    string              `json:"proof,omitempty"` // …with that it knows the token
	Hello    *hello              `json:"hello,omitempty"` // of welcome
	Snapshot *workloads.Snapshot `json:"snapshot,omitempty"`
	Chunk    []byte              `json:"chunk,omitempty"`
	More     bool                `json:"more,omitempty"`
}
