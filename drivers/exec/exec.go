// Package exec has lock clients in processes of their own. It is both sides of a protocol: Serve is the side that has
// locks, and the parent's side is the driver of adapters, "exec:COMMAND", and a Worker, which can be killed and stopped for
// real. A lock in any language becomes a driver by a program that takes the locks' side.
//
// # Protocol
//
// This is version 2; lockbench help protocol shows its lines, and adapters/example.py a program of 50 lines. The parent
// writes requests to the standard input of the process, and reads answers from its standard output. Each is a JSON object
// on a line of its own, of at most 1 MiB, without fields that are not of the protocol. Standard error is for people: the
// parent passes its first lines on, and quotes the end when the process fails. Nothing secret is in the arguments:
// addresses, which may have passwords, come with open. Names that end in _ns are whole nanoseconds.
//
// A request has an id, from 1, and an op. It may have a timeout_ns, after which the parent waits no longer. An answer has the
// id of its request. Many requests may be under way, and their answers come in any order; those of one session come one
// at a time, but for a cancel. A line may have at_ns, the reading of a monotonic clock of the process at that moment. The
// parent compares it with the times at which it has sent requests and read lines, and so knows between which times of its
// own clock the line was written. Instead of what was asked for, an answer may have an error: its class (see
// drivers.Class), its text, and, if the request makes no sense, the field at fault.
//
//   - hello has the versions that the parent speaks. The answer has the one that is spoken, the library and its version,
//     the kind of server (service), how keys are named there if not as in requests (keys, with * for that name), the
//     topologies, the designs with their traits (see drivers.Traits, and below), and the params that open takes.
//   - open has the lock, and the other fields of drivers.Config, each of which may be missing: addrs, username, password,
//     database, embedded, topology, master, acks, node_timeout_ns, release, prefix, clients, polls, renews, ttl_ns, params,
//     conns, pipelining, flush_delay_ns, io_timeout_ns, retries and clock_offset_ns. What means nothing to the lock is
//     ignored. The answer has the traits of the lock as it was opened.
//   - session opens the lock client of a number, which is never used again.
//   - try makes one attempt, and never waits for another holder. lease is a number that the parent uses again for later
//     acquisitions. The answer says whether the lock is held, and may have its owner, its fence, and valid_ns: how long
//     the lease lasts, counted from when the request was read, where that is not ttl_ns.
//   - wait waits until timeout_ns are over, if it has them, or until the lock is held, or worth a try: the answer is as that of
//     try. A lease without valid_ns is taken to begin when the answer is written. Only a lock with the trait waits needs it.
//   - cancel ends the wait of the lease that is under way, which then is answered too, and withdraws what it has registered. The
//     crash of the session may come first.
//   - release gives a lease up. The answer says whether it was still owned, or, of a lock without owners, whether there was
//     one. The key and owner may be those of another lease than its number's: then they are all that there is to go by.
//     Without an owner, the lease is what the number has last tried.
//   - renew extends the lease to the full ttl_ns. Only a lock with the trait renews needs it.
//   - crash ends a session as if its process had died; close ends one in good order, without releasing what it holds. A close
//     without a session ends the process with status 0.
//
// Two traits are of the protocol. takes_owner: a try and a wait have the owner that the parent has chosen, which so is known
// whatever becomes of the answer. A library that makes its owner itself does without, and what it was granted in an answer
// that came too late can only be released by the lease. crashes: there is a crash. Without it, a client of a run with -crash
// has a process of its own, which is killed.
//
// The process exits without a release when its standard input ends, because its parent has died then.
//
// # Workers
//
// A worker is a process of one session, whose open names the driver as well. It can do what a lock is for. A watch starts a
// watchdog, which renews a held lease every third of it until the release, or until it learns that the lease is lost;
// meanwhile a renew of that lease is refused. A write has every_ns: until the release, the worker looks whether its watchdog
// knows of a loss, works for that long, writes, and begins anew. It does not look again between work and write, so a pause
// in between has the effect that it has on any client.
//
// Its events come unasked: a write, with its number from 1 and the lease's fence; the loss of the lease, after the last
// write; and a gap, the time between two ticks of the worker that should be 10 ms apart, if it is 50 ms or more. A gap
// shows that the process was stopped. All its lines have at_ns, of a clock that goes on while the process is stopped and is precise to a
// millisecond.
//
//	{"event":"write","at_ns":500,"count":1,"fence":7}
//	{"event":"lost","at_ns":700}
//	{"event":"gap","at_ns":800,"gap_ns":612345678}
package exec

import "time"

const (
	// Version is that of the protocol.
	Version = 2

	// Argument is the first argument of a program that is to be a worker: lockbench worker. The name of a driver after it
	// makes it an adapter.
	Argument = "worker"

	// tickInterval is the time between two ticks of a worker, and minGap the shortest gap that it tells. It is several
	// ticks, because a busy machine delays any of them.
	tickInterval = 10 * time.Millisecond
	minGap       = 50 * time.Millisecond
)
