// Foreign traffic: other clients on the same server, whose totals then say nothing of what a lock costs.

package workloads

import (
	"fmt"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
)

const (
	// foreignShare is what others may send, as a share of what lockbench sends, before the totals are theirs as well. It
	// ignores a monitor that inspects the server now and then.
	foreignShare = 0.005

	// What servers send to each other, in bytes. A replica acknowledges what it has read once a second, and when a client
	// waits for that; a sentinel pings once a second, announces itself every two, and asks for INFO every ten, which came
	// to 150 a second.
	ackBytes      = 64
	sentinelBytes = 1000 // a second, of a handful of them

	// A client has one request under way at the most. Requests have 30 to 250 bytes, and more if a script's text is sent.
	minRequest, maxRequest = 256, 1024
	// maxCommands is how many commands a request has at the most: a transaction, or a script of a lock.
	maxCommands = 8
	// watchMessages are what a wait sends that is no round trip: etcd's watch begins and ends with one.
	watchMessages = 2
)

// ownUsage returns what this process has had of the usage of the server under load, as running totals; negative where that
// is unknown.
func (e *engine) ownUsage() drivers.Usage {
	all := drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	if of, ok := drivers.As[drivers.Sender](e.run.Service); ok {
		all = of.Sent()
		if e.run.Neighbour != nil {
			beside, ok := e.run.Neighbour.(drivers.Sender)
			if !ok {
				return drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
			}
			all = all.Plus(beside.Sent())
		}
	} else if of, ok := drivers.As[drivers.Counter](e.run.Service); ok {
		t := of.Traffic()
		all.Commands = t.RoundTrips + t.KeepAlives
	}
	return all
}

// stranger is what other clients have had of the server, at the least.
type stranger struct {
	did    string // a clause with a place for the amount a second and the share
	amount int64
	share  float64 // of all
}

// foreign returns what other clients have had of the server between the two readings, the first kind of it that is more than
// the doubt; nil if there is none, or if it is unknown.
//
// What the server has counted between the readings was sent before the second one was answered, and after the first one was
// asked for, but for the requests that were under way then.
func (e *engine) foreign(r *results.Record) *stranger {
	b, a := &e.before, &e.after
	if b.err != nil || !e.comparable() || e.lacksRanks() {
		return nil
	}
	locks := float64(max(1, e.all.Locks))
	seconds, clients := (a.at - b.at).Seconds(), float64(r.Plan.Clients+1)
	find := func(did string, before, after, ownBefore, ownAfter int64, allowed func(ours float64) float64) *stranger {
		if before < 0 || after < before || ownBefore < 0 || ownAfter < ownBefore {
			return nil
		}
		all, ours := after-before, ownAfter-ownBefore
		if more := float64(all - ours); more > foreignShare*float64(ours)+allowed(float64(ours)) {
			return &stranger{did, all - ours, more / float64(all)}
		}
		return nil
	}
	request := func(ours float64) float64 { return clients * min(maxRequest, max(minRequest, ours/locks)) }
	in := find("other clients sent about %s bytes a second to this server, %.0f %% of what arrived there", b.usage.BytesIn, a.usage.BytesIn,
		b.own[0].BytesIn, a.own[1].BytesIn, func(ours float64) float64 {
			allowed := request(ours) + ackBytes*float64(a.server.Replicas)*(seconds+1)
			switch drivers.Topology(r.Plan.Topology) {
			case drivers.TopologyReplicated:
				allowed += ackBytes * float64(a.server.Replicas) * locks * max(1, r.Cost.Tries)
			case drivers.TopologySentinel:
				allowed += sentinelBytes * (seconds + 1)
			}
			return allowed
		})
	if in != nil || a.server.Replicas > 0 && e.sends() { // what servers send to each other is no client's, and not known
		return in
	}
	out := find("other clients were sent about %s bytes a second by this server, %.0f %% of what left it", b.usage.BytesOut, a.usage.BytesOut,
		b.own[0].BytesOut, a.own[1].BytesOut, request)
	if out != nil {
		return out
	}
	return find("this server executed about %s commands a second for other clients, %.0f %% of all", b.usage.Commands, a.usage.Commands,
		b.own[0].Commands, a.own[1].Commands, func(ours float64) float64 {
			allowed := maxCommands * clients
			if !e.sends() { // requests of its own that are in no session's traffic
				allowed += float64(e.inspectionCost.Commands + e.probe.spent(a.probes-b.probes).Commands)
				if r.Plan.Wait == wait.Native { // other waits send nothing but tries, or go by Redis
					allowed += watchMessages * locks * max(0, r.Cost.Wakeups)
				}
			}
			return allowed
		})
}

// sends reports whether the service knows all that it sends.
func (e *engine) sends() bool {
	_, ok := drivers.As[drivers.Sender](e.run.Service)
	return ok
}

// foreignWarning returns a warning of what other clients did to the figures; empty if there were none.
func (e *engine) foreignWarning(r *results.Record) string {
	f := e.foreign(r)
	if f == nil || r.Plan.Shared { // whose own warning says so
		return ""
	}
	return fmt.Sprintf(f.did+": what a lock costs it in commands, bytes and CPU time is not known",
		format.Three(float64(f.amount)/(e.after.at-e.before.at).Seconds()), 100*f.share)
}
