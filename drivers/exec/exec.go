// Package exec has lock clients in processes of their own, which can be killed and stopped for real. It is both sides of
// a protocol: Serve is a worker, the process that holds locks, and Worker is its parent's view of it. A lock in any
// language can be tested by a program that takes the worker's side.
//
// # Protocol
//
// The parent starts the worker, writes requests to its standard input, and reads answers and events from its standard
// output. Each of these is a JSON object on a line of its own, of at most 1 MiB. Standard error is for people; the
// parent quotes its end when the worker fails. Nothing secret is in the arguments: addresses, which may have passwords,
// come with the first request. Names that end in _ns are whole nanoseconds.
//
// A request has an id, from 1, and an op; it may have a timeout_ns, after which the parent waits no longer. The worker
// answers one request after the other, each with the same id. Every line of the worker has at_ns, the reading of a
// monotonic clock of its own at that moment: its zero does not matter, but it goes on while the process is stopped, and
// is precise to a millisecond. The parent compares it with the times at which it has sent requests and read lines, so
// it knows between which times of its own clock each line was written, and no clocks have to be synchronised.
//
// The first request opens the client. Its driver and lock are names that the worker knows. The other fields are those of
// drivers.Config: addrs, username, password, database, embedded, topology, master, acks, node_timeout_ns, release,
// prefix, wakes, blocks, polls, ttl_ns, params, conns, pipelining, flush_delay_ns, io_timeout_ns, retries and
// clock_offset_ns. Each may be missing, and a worker ignores those that mean nothing to its lock. The answer has the
// claims of the lock, with the names of drivers.Traits; a claim that is missing is not made.
//
//	{"id":1,"op":"open","protocol":1,"driver":"rueidis","lock":"set-nx","addrs":["redis://…"],"prefix":"run:","ttl_ns":2000000000}
//	{"id":1,"at_ns":104,"traits":{"exclusive":true,"owned":true,"expires":true,"fenced":false,…}}
//
// A try makes one attempt to acquire, and never waits for another holder. The parent chooses the number of the lease,
// and uses it again for a later acquisition. The answer says whether the lock is held, and may have its owner (a name
// that is unique to the acquisition), its fence, and valid_ns: how long the lease lasts, counted from when the request
// was read, where that is not ttl_ns.
//
//	{"id":2,"op":"try","lease":1,"key":"run:k","ttl_ns":2000000000}
//	{"id":2,"at_ns":230,"held":true,"owner":"Tz0…","fence":7}
//
// A release gives the lease up, after the worker has ended what watch and write have begun with it. The answer says
// whether the lock was still owned, or, of a lock without owners, whether there was one. A renew extends the lease to
// the full ttl_ns. Both may name a lease that was never tried here, or the owner of an earlier acquisition: then key and
// owner are all that there is to go by.
//
//	{"id":3,"op":"renew","lease":1,"key":"run:k","owner":"Tz0…","ttl_ns":2000000000}
//	{"id":3,"at_ns":350,"owned":true}
//	{"id":4,"op":"release","lease":1,"key":"run:k","owner":"Tz0…","ttl_ns":2000000000}
//	{"id":4,"at_ns":460,"owned":true}
//
// A watch starts a watchdog, which renews a held lease every third of it until the release, or until it learns that the
// lease is lost; meanwhile a renew of that lease is refused. Only a lock that renews needs it. A write starts what the
// lock is for: until the release, the worker looks whether its watchdog knows of a loss, works for every_ns, writes, and
// begins anew. It does not look again between work and write, so a pause in between has the effect that it has on any
// client.
//
//	{"id":5,"op":"watch","lease":1}
//	{"id":6,"op":"write","lease":1,"every_ns":5000000}
//
// A close ends the client in good order, without releasing what it holds. The worker answers, and then exits with 0.
//
//	{"id":7,"op":"close"}
//	{"id":7,"at_ns":900}
//
// Instead of what was asked for, an answer may have an error: its class (see drivers.Class), its text, and, if the
// request makes no sense, the field at fault. To a line from which it cannot take an id, the worker answers without
// one.
//
//	{"id":2,"at_ns":230,"error":{"class":"timeout","text":"redis: try: no reply"}}
//	{"id":2,"at_ns":230,"error":{"class":"protocol","field":"ttl_ns","text":"ttl_ns: must not be negative"}}
//
// Four events come unasked: a write, with its number from 1 and the lease's fence; a renewal of the watchdog, with its
// answer or error, and when by the worker's clock it was sent; the loss of a lease, after the last write; and a gap, the
// time between two ticks of the worker that should be 10 ms apart, if it is 50 ms or more. A gap shows that the process
// was stopped.
//
//	{"event":"write","at_ns":500,"lease":1,"count":1,"fence":7}
//	{"event":"renewed","at_ns":600,"lease":1,"sent_ns":510,"owned":true}
//	{"event":"lost","at_ns":700,"lease":1}
//	{"event":"gap","at_ns":800,"gap_ns":612345678}
//
// A worker exits without a release when its standard input ends, because its parent has died then.
package exec

import "time"

const (
	// Version is that of the protocol.
	Version = 1

	// Argument is the only argument of a program that is to be a worker: lockbench worker.
	Argument = "worker"

	// tickInterval is the time between two ticks of a worker, and minGap the shortest gap that it tells. It is several
	// ticks, because a busy machine delays any of them.
	tickInterval = 10 * time.Millisecond
	minGap       = 50 * time.Millisecond
)
