// Package drivers is the contract between lockbench and the locks that it measures: what a lock design must offer, what
// it may offer, and what each answer means. It imports only the standard library and does no I/O. Authors of new
// drivers start here.
//
// A Driver opens a Service (one server or ensemble, one lock design). A Service hands out Sessions, one for each
// simulated client. A Session tries to acquire a Lease and releases it. Package drivertest proves that a driver keeps
// the contract and that its Traits are true.
//
// Five rules hold for every driver:
//
//  1. The bool is the lock's answer. An error means that no answer arrived; contention is never an error. After an
//     error the outcome is unknown, unless NoEffect(err) says that the request had no effect: the caller releases,
//     best effort, and counts the attempt as unknown.
//  2. A wake-up may be spurious, but is never lost. Wait returns at the lease's Deadline at the latest, and when the
//     present holder's lease ends, because nothing announces an expiry.
//  3. Wait may acquire on the server (GET_LOCK, a library's own loop); the next Try then only confirms. Leave
//     withdraws what Wait registered (queue nodes, subscriptions) when the caller stops waiting.
//  4. Traits are claims, and are proven both ways: with Owned: false, a session that does not hold the lock must be
//     able to release it.
//  5. A client library does what it is told, once. Its own retries are off and its deadlines are honoured: a hidden
//     retry falsifies both latency and safety.
package drivers

import (
	"context"
	"errors"
	"time"
)

// A hold can end without a release in two ways. Under Traits.Expires it is a lease: the service ends it when its TTL is
// over, even if its holder lives. Under Traits.Session it belongs to the holder's session with the service (a ZooKeeper
// session, an etcd lease that is kept alive, a database connection) and ends with it: at once when the session is
// closed, and some time after the service last heard from it otherwise. With neither trait, a dead holder's lock stays
// for ever.

// Driver opens services of one kind through one client library. Implementations are stateless and safe for
// concurrent use.
type Driver interface {
	// Designs lists the lock designs that the driver offers, the default one first. It needs no server.
	Designs() []Design

	// Open connects to the service that cfg names and checks that it answers. The error names the field of cfg at fault
	// and how to correct it, and never contains a password. ctx bounds only the call, here and in Session and Listen.
	Open(ctx context.Context, cfg Config) (Service, error)
}

// Service is an open connection (or pool, or ensemble) to one lock service, with one design. It is safe for concurrent
// use.
type Service interface {
	// Session creates lock client number id, 0 <= id < cfg.Clients. Sessions may share connections, so tens of
	// thousands of them must be affordable unless Traits().MaxSessions says otherwise. A session that owns something (a
	// connection, a lease) implements io.Closer.
	Session(ctx context.Context, id int) (Session, error)

	// Traits returns the guarantees of the chosen design, as configured.
	Traits() Traits

	// Close ends all sessions and frees every connection and goroutine. It does not release locks that are still held.
	Close() error
}

// Session is one simulated client. One goroutine uses it at a time; different sessions are used concurrently.
//
// If Traits.Reentrant is true, a Try for a key that the session holds succeeds. The key then takes as many Releases as
// there were grants, with their leases in any order: each returns true, and only the last one frees the key. The design
// decides what a second grant does to the TTL. All grants may have the same Owner, which then names the session, not
// the acquisition. Without Reentrant, a session's own hold refuses it like any other.
type Session interface {
	// Try makes one attempt to acquire l.Key for l.TTL and never waits for another holder. It reads the in-fields of l
	// and, when it returns true, has set the out-fields. It sets Owner before it sends anything, so that Release works
	// after an unknown outcome.
	Try(ctx context.Context, l *Lease) (held bool, err error)

	// Release gives the lease up. It reports whether the server removed something: for a design with Traits.Owned that
	// means "it was still mine", for others merely "there was a lock".
	Release(ctx context.Context, l *Lease) (owned bool, err error)
}

// Lease is one acquisition. The caller owns it and reuses it for the next acquisition; drivers keep no pointer to it
// after a call has returned, except in Aux.
type Lease struct {
	Key      string        // in: the name of the lock, run-unique prefix included
	TTL      time.Duration // in: the lease; designs without an expiry ignore it
	Deadline time.Time     // in: when the caller stops waiting; zero means never

	Owner      string    // out: unique to this acquisition, and printable, if Traits.Owned
	Fence      uint64    // out: the fencing token, if Traits.Fenced: higher for every later acquisition of Key
	ValidUntil time.Time // out: when the lease ends, as far as the driver knows; zero means "sent + TTL"

	Aux any // the driver's own state; callers leave it alone
}

// Reset clears the out-fields. Every Try begins with it.
func (l *Lease) Reset() { l.Owner, l.Fence, l.ValidUntil = "", 0, time.Time{} }

// Traits are the claims of a design. Package drivertest proves each of them in both directions.
type Traits struct {
	Exclusive   bool `json:"exclusive"`              // two sessions never hold a key at once, while every hold ends within its TTL
	Owned       bool `json:"owned"`                  // only the holder can release: a release by another session, or a late one, changes nothing
	Expires     bool `json:"expires"`                // a hold ends by itself after its TTL, unless it is renewed
	Fenced      bool `json:"fenced"`                 // each grant carries a fencing token that grows
	Fair        bool `json:"fair"`                   // waiters are served in order of arrival
	Reentrant   bool `json:"reentrant"`              // a session may acquire again what it holds; see Session
	Renews      bool `json:"renews"`                 // sessions are Renewers
	Wakes       bool `json:"wakes"`                  // the service is a Subscriber: a release can wake waiters
	Waits       bool `json:"waits,omitempty"`        // the sessions are Waiters: -wait native
	Session     bool `json:"session,omitempty"`      // a hold lasts as long as its holder's session with the service, whatever its TTL; see Config.TTL
	Blocks      bool `json:"blocks,omitempty"`       // the sessions are Blockers: a client can sleep on the server
	MaxSessions int  `json:"max_sessions,omitempty"` // the most sessions that the service can take; 0 means no limit
}

// Design describes one lock design for listings, and in the JSON of lockbench list. The text is for people who choose
// a lock.
type Design struct {
	Name   string `json:"lock"`            // the value of -lock
	Traits Traits `json:"traits"`          // its claims when a service is opened with it, apart from MaxSessions
	Models string `json:"models"`          // the library, command or article that it imitates
	Wrong  string `json:"wrong,omitempty"` // what is wrong with it: clauses after semicolons, the main risk first; empty if nothing is known

	// Loses are the hazards by which the design fails, if its leases are not renewed and where they can happen to it: with
	// the topology, the options and the server that they need. It is a claim like Traits, in both directions: the design
	// survives every other hazard. A design that does not claim to be exclusive lists none.
	Loses []Hazard `json:"loses,omitempty"`

	// Releases are the variants of its compare-and-delete that Config.Release can choose, the default first. If empty,
	// the design has one way to release and rejects every choice.
	Releases []Release `json:"-"`
}

// Renewer is a Session that can extend a held lease to its full TTL from now. A watchdog calls it while the holder's
// goroutine does something else, so a Session must not depend on which goroutine uses it; still only one does at a
// time.
type Renewer interface {
	// Renew reports whether the lease is still owned; false means that it is lost. It changes nothing of l but
	// ValidUntil, which it sets if Try does. After an error the outcome is unknown: the lease may have been extended,
	// and it is safe to ask again.
	Renew(ctx context.Context, l *Lease) (owned bool, err error)
}

// Waiter waits between two tries. Sessions with a way of their own (-wait native) implement it; package wait makes one
// of any Session.
type Waiter interface {
	// Wait returns nil when it is worth trying again. That includes having just registered for a wake-up: the caller
	// must try once more before it sleeps, or it may sleep through a release in between. Wait returns nil at l.Deadline
	// at the latest, and ctx.Err() when ctx is done. A Wait may acquire the lock, which the next Try confirms: if leases
	// end, that Try sets ValidUntil, because its caller does not know when the request was sent.
	Wait(ctx context.Context, l *Lease) error

	// Leave withdraws whatever Wait has registered for l. It is called once after the last Wait of an acquisition,
	// whether that succeeded or not, and may be called without any Wait.
	Leave(ctx context.Context, l *Lease) error
}

// ErrGaveUp is what Wait returns when a library has ended its call by limits of its own: it does not have the lock, and
// its caller has time left.
var ErrGaveUp = errors.New("the library has given up")

// Caller is the Waiter of a lock library that waits by itself. Its Wait is one call of the library, the first attempt
// included, so no Try has to come before it; the one after it confirms what the library has won.
type Caller interface {
	Waiter

	// Tallied returns what the session counts of its calls; always the same.
	Tallied() *Tally
}

// Tally is what a Caller counts of one Wait. A session embeds it.
type Tally struct {
	Again   bool   // the library is called again when it has given up; see AgainParam
	Sent    int    // requests for the lock; negative: not known
	Refused func() // if set, Wait calls it when a refusal has been read, at least for the first
}

// Tallied implements Caller.
func (t *Tally) Tallied() *Tally { return t }

// Calls makes a call of the library and, if Again, further ones for as long as it gives up.
func (t *Tally) Calls(call func() error) error {
	t.Sent = 0
	err := call()
	for t.Again && err == ErrGaveUp {
		err = call()
	}
	return err
}

// Asked counts an attempt of a Wait.
func (t *Tally) Asked(refused bool) {
	if t.Sent++; refused && t.Refused != nil {
		t.Refused()
	}
}

// Passer is a Session that can hand a held lock over to another acquisition without releasing it in between, so that no
// other client can take it.
type Passer interface {
	// Pass moves the lock from one lease to the other, in one atomic step on the server and with a full to.TTL from
	// now. It sets the out-fields of to as a granted Try would: Owner before it sends anything, and a new Fence if the
	// design is fenced. Both leases have the same Key. Pass reports whether from was still owned; if not, nothing has
	// changed and to is not held. After an error the outcome is unknown for both.
	Pass(ctx context.Context, from, to *Lease) (owned bool, err error)
}

// Adopter is a Session whose caller can choose the owner of an acquisition, so that one token stands for it on several
// servers. Sessions of designs with Traits.Owned offer it, except with Traits.Reentrant, whose owners outlive a Try:
// those may have the method and ignore it.
type Adopter interface {
	// Adopt makes owner the Owner of the next Try, and of that one alone. The caller makes sure that it is unique.
	Adopt(owner string)
}

// Remainer is a Session that can tell how long the present holder's lease still lasts.
type Remainer interface {
	// Remaining returns the rest of the lease on l.Key: 0 if the key is free, negative if the lease never expires. It
	// may take it from the reply to the last Try.
	Remaining(ctx context.Context, l *Lease) (time.Duration, error)
}

// ListenerCounter is a Session that can tell how many subscriptions listen to the releases of a key, so that each of their
// processes can get its turn.
type ListenerCounter interface {
	// Listeners returns the number of listeners to which l.Key was added, those of other processes included. It may miss
	// listeners on other nodes than the key's, and may count some that wait for nothing at present.
	Listeners(ctx context.Context, l *Lease) (int, error)
}

// Blocker is a Session whose client can sleep on the server until a lock is released. Each release wakes the client
// that has slept longest on the key; if no client sleeps, a release is not remembered for long. Both methods need a
// connection, and Block needs its own for as long as it sleeps.
type Blocker interface {
	// Block sleeps for at most d. It returns at once if the key was released after the last Try and before Block, and
	// that release woke no other client. It reports whether a release woke it; that release then wakes no other client.
	// It returns ctx.Err() when ctx is done; a wake-up may get lost with that.
	Block(ctx context.Context, l *Lease, d time.Duration) (woken bool, err error)

	// Rouse wakes one sleeper as a release would, for a client that was woken and cannot use it.
	Rouse(ctx context.Context, l *Lease) error
}

// Subscriber is a Service whose releases can be listened to.
type Subscriber interface {
	// Listen opens one subscription, on its own connection. It calls wake(key) after each release of an added key, and
	// wake("") after messages may have been lost (it had to reconnect): then all waiters have to look. wake does not
	// block.
	Listen(ctx context.Context, wake func(key string)) (Listener, error)
}

// Listener is an open subscription; safe for concurrent use.
type Listener interface {
	Add(ctx context.Context, key string) error    // returns when the server has confirmed it
	Remove(ctx context.Context, key string) error // best effort; a few late wake-ups may follow
	Close() error
}

// Outside is a Service whose sessions are in processes of its own beside this one.
type Outside interface {
	// Broken returns why the service has no use any more: a process has ended by itself, or does not answer. It is nil as
	// long as the service is sound, and not to be called too often: it looks for silence between two calls.
	Broken() error

	// CPU returns the CPU time that each process and those before it in its place have used; negative if it is not known.
	CPU() []time.Duration
}

// Crasher is a Session that can end as if its process had died. A session without Traits.Session and without anything
// of its own (a connection, a goroutine) does not need it: dropping it has the same effect. A Session with
// Traits.Session but without Crasher cannot die alone, because it shares with others what the service would have to
// miss.
//
// A wrapper that keeps something for its client (a place in a local queue) is a Crasher as well, whatever it wraps, and
// passes the call on. So to learn whether a session can die, look at it before wrapping it; to crash it, call the
// outermost wrapper.
type Crasher interface {
	// Crash cuts the session's connections and stops what keeps it alive, without telling the service: what it holds
	// stays until the service finds out by itself. It does not wait, and what it has started may take a moment to end.
	// The goroutine that uses the session calls it, and not while a Renewer renews. The session is of no use afterwards
	// and need not be closed. A client that goes on opens another session, which may have the same number and is a
	// different client to the service, even where Traits.Reentrant would let the former one in again.
	Crash()
}

// Ender is a Session whose service can end it, or its connection, and with it what it holds, and says why.
type Ender interface {
	// Ended returns the reason for the end of the hold that the last Release has found gone: what the service said, or what
	// became of the connection. nil means that it is not known. It sends no request.
	Ended() error
}

// Prober is a Service that can send a request unrelated to locks, such as another application on the same server would:
// it reads a key or a row. A harness opens one next to the service under load to see how the load affects other users of
// the server. A probe is the only load on its service, so it needs no connection of its own.
type Prober interface {
	// Probe sends one such request and waits for its answer. It leaves nothing behind. One goroutine calls it at a
	// time.
	Probe(ctx context.Context) error
}

// Pinger is a Service that can measure a bare round trip, with the cheapest request that the server answers.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Voter is a Service whose locks are granted by several nodes together, with one vote each.
type Voter interface {
	// Watch makes the service call vote once for each Try, from the goroutine that heard of the last node, perhaps
	// after Try has returned. vote does not block. There is one watcher at a time: nil ends it, though a call under way
	// may follow.
	Watch(vote func(Vote))

	// Nodes returns what happened to each node since the service was opened.
	Nodes() []Node
}

// Vote is the result of one attempt, once each node has answered or failed.
type Vote struct {
	Held            bool          // what Try returned
	Yes, No, Failed int           // nodes; those that did not answer in time have failed
	Elapsed         time.Duration // until the last node answered or was given up
}

// Split reports whether the votes were split: no majority, though every node answered and some granted the attempt. It
// looks at one attempt only; no client can see whether another one had a majority at that moment.
func (v Vote) Split() bool { return !v.Held && v.Yes > 0 && v.Failed == 0 }

// Node is one of the nodes of a Voter.
type Node struct {
	Failed int64 // requests without an answer, including those not sent because earlier ones had none
	Err    error // the first reason; nil if none has failed and the node answered when it was opened
}

// Cleaner is a Service that can delete every trace of some keys: the lock itself and whatever belongs to it (counters,
// queues), no matter who owns it.
type Cleaner interface {
	Clean(ctx context.Context, keys []string) error
}

// Counter is a Service that counts the messages between its sessions and the server, because the server does not.
type Counter interface {
	// Traffic returns the running total over all sessions, including closed ones. It sends no request.
	Traffic() Traffic
}

// Traffic is what the sessions of a Service and its server have exchanged.
type Traffic struct {
	RoundTrips int64 // requests that a client waited for; several in one packet are one
	Notices    int64 // messages that the server sent unasked: watch events, notifications
	KeepAlives int64 // requests that only kept a session alive
}

// Sender is a Service that counts what it sends to its server, which tells how many requests share a write.
type Sender interface {
	// Sent returns the running total over all its connections. It sends no request.
	Sent() Sent
}

// Sent is what a Service has sent: requests, each script being one, and the writes that carried them.
type Sent struct{ Requests, Writes int64 }

// Plus returns the sum of s and t.
func (s Sent) Plus(t Sent) Sent { return Sent{s.Requests + t.Requests, s.Writes + t.Writes} }

// Inspector is a Service that can identify its server and tell what it has used since it started.
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
	MaxClients  int    // the most connections that it accepts; 0 if unknown
	Connected   int    // the connections that it has now, including lockbench's
	ClientLimit string // the setting that is MaxClients, if not always the same
	Evicted     int64  // keys that it has evicted since it started, to free memory; 0 also if unknown

	// Room is how many bytes its store can still take until it refuses all writes, and LockBytes how many a lock leaves
	// there for good. 0 if unknown.
	Room, LockBytes int64

	// Session is how long the server lets a session live of which it does not hear; 0 if there is none, or none yet.
	// Config.TTL has asked for it, and the server has bounds of its own.
	Session time.Duration
}

// Lent is the Mode of a server behind a pooler that lends its connections for one transaction each, and the locks of
// the design with them.
const Lent = "transaction pooling"

// Usage is the running total of the resources that a server has used. Fields that the server does not tell are
// negative.
type Usage struct {
	CPU      time.Duration // user and system time of the server's process
	Commands int64         // commands executed, including those inside scripts
	BytesIn  int64
	BytesOut int64
}

// Plus returns the sum of u and v. A field is unknown if it is unknown in either.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		CPU: both(u.CPU, v.CPU), Commands: both(u.Commands, v.Commands), BytesIn: both(u.BytesIn, v.BytesIn), BytesOut: both(u.BytesOut, v.BytesOut),
	}
}

func both[N ~int64](a, b N) N {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

// Unwrapper is implemented by Sessions and Services that wrap another one; see As.
type Unwrapper[T any] interface{ Unwrap() T }

// As finds the capability C in v or in what v wraps, like http.ResponseController. It is for set-up: call it once and
// keep the result. T is Session or Service.
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
