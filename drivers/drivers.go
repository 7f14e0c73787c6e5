// Package drivers is the contract between lockbench and the locks that it measures: what a lock design has to
// offer, what it may offer besides, and what each answer means. It talks to no network, imports nothing but the
// standard library, and is what an author of a new driver reads.
//
// A Driver opens a Service (one server or ensemble, one lock design); a Service hands out Sessions, one for each
// simulated client; a Session tries and releases a Lease. Package drivertest proves that a driver keeps the
// contract, and that its Traits tell the truth.
//
// Five rules hold for every driver:
//
//  1. The bool is the lock's answer; an error means that the answer was not heard. Contention is never an error.
//     After an error the outcome is unknown, unless NoEffect(err) says that the request had no effect: the
//     caller releases, best effort, and counts it as unknown.
//  2. A wake-up may be spurious, never lost. Wait outlasts neither the lease's Deadline nor the lease of the
//     present holder, because nobody announces an expiry.
//  3. Wait may acquire on the server (GET_LOCK, a library's own loop); the next Try then only confirms. Leave
//     withdraws what Wait registered (queue nodes, subscriptions) after the caller has given up.
//  4. Traits are claims, and they are proven both ways: Owned: false must really let a stranger release.
//  5. A client library does what it is told once: its own retries are off and its deadlines are honoured,
//     because a hidden retry falsifies both latency and safety.
package drivers

import (
	"context"
	"errors"
	"time"
)

// A hold can end without a release in two ways. Under Traits.Expires it is a lease: the service ends it when its TTL is
// over, whether its holder lives or not. Under Traits.Session it belongs to a session of the holder with the service
// (a ZooKeeper session, an etcd lease that is kept alive, a database connection), and ends with that, at once when the
// session is closed, and some time after the service has heard the last of it. Without either a dead holder's lock stays
// for ever.

// Driver opens services of one kind through one client library. Implementations are stateless and safe for
// concurrent use.
type Driver interface {
	// Designs lists the lock designs that the driver offers, the default one first. It needs no server.
	Designs() []Design

	// Open connects to the service that cfg names and checks that it answers. The error says which field of cfg
	// is at fault and what would mend it, and never contains a password. ctx bounds only the opening, here and in
	// Session and Listen.
	Open(ctx context.Context, cfg Config) (Service, error)
}

// Service is an open connection (or pool, or ensemble) to one lock service with one design chosen. It is safe
// for concurrent use.
type Service interface {
	// Session makes the lock client number id, 0 <= id < cfg.Clients. Sessions may share connections, so tens
	// of thousands of them must be affordable unless Traits().MaxSessions says otherwise. A session that holds
	// something of its own (a connection, a lease) implements io.Closer.
	Session(ctx context.Context, id int) (Session, error)

	// Traits tells what the chosen design guarantees as it is configured.
	Traits() Traits

	// Close ends all sessions and gives back every connection and goroutine. Locks still held are not released.
	Close() error
}

// Session is one simulated client. One goroutine uses it at a time; different sessions are used concurrently.
//
// If Traits.Reentrant is true, a Try for a key that the session holds is granted. The key takes as many Releases as there
// were such grants, with their leases in any order: each answers true, and only the last one frees the key. What a second
// grant does to the TTL is the design's affair, and all of them may have the same Owner: it names the session then, not
// the acquisition. Without Reentrant, a session's own hold refuses it as any other would.
type Session interface {
	// Try makes one attempt to acquire l.Key for l.TTL and never waits for another holder. It reads the in-fields
	// of l and, when it answers true, has set the out-fields. It sets Owner before it sends anything, so that
	// Release works after an unknown outcome.
	Try(ctx context.Context, l *Lease) (held bool, err error)

	// Release gives the lease up. It answers whether the server removed something: for a design whose
	// Traits.Owned is true that means "it was still mine", for others merely "there was a lock".
	Release(ctx context.Context, l *Lease) (owned bool, err error)
}

// Lease is one acquisition. The caller owns it and reuses it from one acquisition to the next; drivers keep no
// pointer to it after a call has returned, except in Aux.
type Lease struct {
	Key      string        // in: the name of the lock, run-unique prefix included
	TTL      time.Duration // in: the lease; designs without an expiry ignore it
	Deadline time.Time     // in: when the caller stops waiting; zero means never

	Owner      string    // out: unique to this acquisition, if Traits.Owned
	Fence      uint64    // out: the fencing token, if Traits.Fenced: higher for every later acquisition of Key
	ValidUntil time.Time // out: what the driver knows of the lease's end; zero means "sent + TTL"

	Aux any // the driver's own state for this lease; callers leave it alone
}

// Reset clears the out-fields, as every Try begins: what the last acquisition left there means nothing for the next.
func (l *Lease) Reset() { l.Owner, l.Fence, l.ValidUntil = "", 0, time.Time{} }

// Traits are the claims of a design, each of which drivertest proves in both directions.
type Traits struct {
	Exclusive   bool `json:"exclusive"`              // two sessions never hold a key at once, while every hold ends within its TTL
	Owned       bool `json:"owned"`                  // only the holder can release: a stranger's or a late release changes nothing
	Expires     bool `json:"expires"`                // a hold ends by itself after its TTL, unless it is renewed
	Fenced      bool `json:"fenced"`                 // each grant carries a fencing token that grows
	Fair        bool `json:"fair"`                   // waiters are served in the order of their arrival
	Reentrant   bool `json:"reentrant"`              // a session may acquire again what it holds; see Session
	Renews      bool `json:"renews"`                 // sessions are Renewers
	Wakes       bool `json:"wakes"`                  // the service is a Subscriber: a release can wake waiters
	Waits       bool `json:"waits,omitempty"`        // the sessions are Waiters: -wait native
	Session     bool `json:"session,omitempty"`      // a hold lasts as long as its holder's session with the service, whatever its TTL; see Config.TTL
	Blocks      bool `json:"blocks,omitempty"`       // the sessions are Blockers: a client can sleep on the server
	MaxSessions int  `json:"max_sessions,omitempty"` // how many sessions the service can take; 0 means no limit
}

// Design describes one lock design for listings. The text is for people who choose a lock.
type Design struct {
	Name   string // the value of -lock
	Traits Traits // what it claims when a service is opened with it, MaxSessions apart
	Models string // the library, command or article that it imitates
	Wrong  string // what is wrong with it, in a few words; empty for nothing known

	// Releases are the ways of spelling its compare-and-delete that Config.Release can choose from, the default first.
	// None means that it releases in one way only, and refuses every choice.
	Releases []Release
}

// Renewer is a Session that can extend a held lease to its full TTL from now. A watchdog calls it while the holder's own
// goroutine does something else, which is why a Session must not depend on the goroutine that uses it; it is still used
// by one at a time.
type Renewer interface {
	// Renew answers whether the lease is still owned; false means that it is lost. It changes nothing of l but
	// ValidUntil, which it sets if Try does. After an error the outcome is unknown: the lease may have been extended,
	// and it is safe to ask again.
	Renew(ctx context.Context, l *Lease) (owned bool, err error)
}

// Waiter waits between two tries. Sessions that have a way of their own (-wait native) implement it, and package
// wait makes one out of any Session.
type Waiter interface {
	// Wait returns nil when it is worth trying again, which includes that it has just registered for a wake-up:
	// whoever registers must try once more before it may sleep, or it sleeps through a release in between. It
	// returns nil at l.Deadline at the latest, and ctx.Err() when ctx is done.
	Wait(ctx context.Context, l *Lease) error

	// Leave withdraws whatever Wait has registered for l. It is called once after the last Wait for an
	// acquisition, whether that succeeded or not, and may be called without any Wait.
	Leave(ctx context.Context, l *Lease) error
}

// Passer is a Session that can hand a held lock over to another acquisition without releasing it in between, so that no
// stranger gets in.
type Passer interface {
	// Pass makes the lock of from that of to, in one atomic step on the server and with the full lease of to.TTL from
	// now. It sets the out-fields of to, as a Try that was granted would: Owner before it sends anything, and a Fence
	// of its own if the design is fenced. Both leases have the same Key. It answers whether from was still owned;
	// if not, nothing has changed and to is not held. After an error the outcome is unknown for both.
	Pass(ctx context.Context, from, to *Lease) (owned bool, err error)
}

// Adopter is a Session whose caller can choose the owner of an acquisition, so that one token stands for it on several
// servers. Sessions of designs with Traits.Owned offer it, but for Traits.Reentrant, whose owners outlast a Try: those
// may have the method without heeding it.
type Adopter interface {
	// Adopt makes owner the Owner of the next Try, and of that one alone. Whoever calls it answers for its being
	// unique.
	Adopt(owner string)
}

// Remainer is a Session that can tell how long the present holder's lease still lasts.
type Remainer interface {
	// Remaining answers the rest of the lease on l.Key: 0 if the key is free, and a negative duration if it
	// never expires. It may answer from the reply to the last Try.
	Remaining(ctx context.Context, l *Lease) (time.Duration, error)
}

// Blocker is a Session whose client can sleep on the server until a lock is released. Each release wakes one sleeper of
// the key, the one that has slept longest; none is remembered for long if nobody sleeps. Both methods need a connection,
// Block one of its own for as long as it sleeps.
type Blocker interface {
	// Block sleeps for d at the most, and returns at once if the key was released after the last Try and before Block,
	// and nobody else was woken by that. It answers whether a release has woken it, and then nobody else will be. It
	// returns ctx.Err() when ctx is done; a wake-up may get lost with that.
	Block(ctx context.Context, l *Lease, d time.Duration) (woken bool, err error)

	// Rouse wakes one sleeper as a release would, by a client who was woken and has no use for it.
	Rouse(ctx context.Context, l *Lease) error
}

// Subscriber is a Service whose releases can be listened to.
type Subscriber interface {
	// Listen opens one subscription, on one connection of its own. It calls wake(key) after each release of a
	// key that has been added, and wake("") when messages may have been lost (it had to connect anew): then all
	// have to look. wake does not block.
	Listen(ctx context.Context, wake func(key string)) (Listener, error)
}

// Listener is an open subscription; safe for concurrent use.
type Listener interface {
	Add(ctx context.Context, key string) error    // returns when the server has confirmed it
	Remove(ctx context.Context, key string) error // best effort; a few late wake-ups may follow
	Close() error
}

// Crasher is a Session that can end as it would if its process died. One that is not Traits.Session and has nothing of its
// own (a connection, a goroutine) needs nothing of the kind: whoever drops it without a word has done as much. A Session
// of Traits.Session without it cannot die alone, because others share with it what the service would have to miss.
//
// A wrapper that keeps something for its client (a place in a local line) is a Crasher as well, whatever it wraps, and
// passes the call on. So who wants to know whether a Traits.Session can die looks at it before anything wraps it, and
// who crashes it calls the outermost.
type Crasher interface {
	// Crash cuts the session's connections and stops what keeps it alive, and tells the service nothing of that: what it
	// holds stays until the service finds out by itself. It does not wait for anybody, and what it has started may take
	// a moment to end. It is called by the goroutine that uses the session, and not while a Renewer renews. The session
	// is of no use afterwards, and need not be closed; a client that goes on opens another one, which may have the same
	// number and is somebody else to the service, also where Traits.Reentrant would let the former one in again.
	Crash()
}

// Prober is a Service that can do what a neighbour on the same server would do, who knows nothing of locks: read a key or
// a row that has nothing to do with them. A harness opens one beside the service under load, to see what the load does
// to its neighbours. It is the whole of that service's load, and so it need not have a connection for it alone.
type Prober interface {
	// Probe sends one such request and waits for its answer. It leaves nothing behind. One goroutine at a time.
	Probe(ctx context.Context) error
}

// Pinger is a Service that can measure a bare round trip: the cheapest request that the server answers.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Voter is a Service whose locks several nodes grant together, each with one vote.
type Voter interface {
	// Watch has vote called once for each Try, by the goroutine that heard of its last node, which may be after Try has
	// answered. vote does not block. One watcher at a time: nil ends it, though a call that is under way may follow.
	Watch(vote func(Vote))

	// Nodes tells what has happened to each node since the service was opened.
	Nodes() []Node
}

// Vote is one attempt, as it stood when each node had answered or failed.
type Vote struct {
	Held            bool          // what Try has answered
	Yes, No, Failed int           // nodes; those that did not answer in time have failed
	Late            int           // grants that came after Try had answered that it is not held; they are given back
	Elapsed         time.Duration // until the last node was heard or given up
}

// Split tells whether the votes were split: no majority, though every node has answered and some have granted it. It
// looks at one attempt; whether another had a majority at that moment no client can see.
func (v Vote) Split() bool { return !v.Held && v.Yes > 0 && v.Failed == 0 }

// Node is one of the nodes of a Voter.
type Node struct {
	Failed int64 // requests without an answer, those that were not sent because earlier ones had none included
	Err    error // the first reason; nil if none has failed and the node has answered when it was opened
}

// Cleaner is a Service that can delete every trace that its design leaves of some keys: the lock itself and
// whatever belongs to it (counters, queues), whoever owns it.
type Cleaner interface {
	Clean(ctx context.Context, keys []string) error
}

// Sweeper is a Driver that can find and delete what runs have left on a server whose process was killed before it
// could clean up.
type Sweeper interface {
	// Sweep deletes all that services have made on the servers of cfg whose own Prefix begins with cfg.Prefix: keys,
	// nodes and tables, of every design of the service. With dry it only looks. It touches nothing else, and opens no
	// lock of its own. It answers the names, as the server has them, in alphabetical order, also if it fails half-way;
	// with Config.Topology redlock it is called for each node. cfg.Lock and cfg.Clients mean nothing. An empty Prefix is
	// an error.
	Sweep(ctx context.Context, cfg Config, dry bool) (names []string, err error)
}

// ErrNoPrefix is what Sweep answers to an empty Config.Prefix, which every name begins with.
var ErrNoPrefix = errors.New("there is no prefix: give the one of the run")

// Counter is a Service that counts what its sessions exchange with the server, for services that do not count it
// themselves.
type Counter interface {
	// Traffic is the running total over all sessions, those that were closed included. It costs no request.
	Traffic() Traffic
}

// Traffic is what went between the sessions of a Service and its server.
type Traffic struct {
	RoundTrips int64 // requests that somebody waited for the answer of; several in one packet are one
	Notices    int64 // messages that the server sent unasked: watch events, notifications
	KeepAlives int64 // requests that only kept a session alive
}

// Sender is a Service that counts what it sends to its server, so that what others send can be told apart.
type Sender interface {
	// Sent is the running total of the bytes that all connections of the service have sent, in the measure of
	// Usage.BytesIn of its Inspector. It costs no request.
	Sent() int64
}

// Inspector is a Service that can tell what server it talks to and what that server has spent since it started.
type Inspector interface {
	Inspect(ctx context.Context) (Server, Usage, error)
}

// Server identifies what was measured.
type Server struct {
	Name        string // "redis", "valkey", "miniredis", …
	Version     string
	Mode        string // "standalone", "cluster", "sentinel"; empty if unknown
	RunID       string // changes when the server restarts; empty if unknown
	Persistence string // what is on disk when a grant is answered: "none", "rdb", "aof everysec", "fsync", …; empty if unknown
	Replicas    int
	MaxClients  int // how many connections it accepts; 0 if unknown
	Connected   int // how many it has now, ours included
}

// Usage is the running total of what a server has spent. Fields that the server does not tell are negative.
type Usage struct {
	CPU      time.Duration // user and system time of the server's process
	Commands int64         // commands executed, those inside scripts included
	BytesIn  int64
	BytesOut int64
}

// Plus adds what two servers have spent. A field is unknown if it is for either.
func (u Usage) Plus(v Usage) Usage {
	return Usage{both(u.CPU, v.CPU), both(u.Commands, v.Commands), both(u.BytesIn, v.BytesIn), both(u.BytesOut, v.BytesOut)}
}

func both[N ~int64](a, b N) N {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// Unwrapper is implemented by Sessions and Services that wrap another one; see As.
type Unwrapper[T any] interface{ Unwrap() T }

// As finds the capability C in v or in what v wraps, like http.ResponseController does. It is for set-up: call it
// once and keep the answer. T is Session or Service.
func As[C, T any](v T) (C, bool) {
	for {
		if c, ok := any(v).(C); ok {
			return c, true
		}
		u, ok := any(v).(Unwrapper[T])
		if !ok {
			var none C
			return none, false
		}
		v = u.Unwrap()
	}
}
