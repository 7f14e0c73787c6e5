// Foreign traffic: other clients on the same server, whose totals then say nothing of what a lock costs.

package workloads

import (
	"fmt"

	"github.com/lockbench/lockbench/drivers"
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
)

// sent returns the running total of the bytes that this process has sent to the server under load, and negative if that is
// unknown.
func (e *engine) sent() int64 {
	of, ok := drivers.As[drivers.Sender](e.run.Service)
	if !ok {
		return -1
	}
	all := of.Sent()
	if e.run.Neighbour != nil {
		beside, ok := e.run.Neighbour.(drivers.Sender)
		if !ok {
			return -1
		}
		all += beside.Sent()
	}
	return all
}

// foreign returns how many bytes arrived at the server between the two readings that this process had not sent, at the least,
// and their share of all; 0 if there were none, or too few to matter, or if it is unknown.
//
// What arrived between the readings was sent before the second one was answered, and after the first one was asked for,
// but for the requests that were under way then.
func (e *engine) foreign(r *results.Record) (bytes int64, share float64) {
	b, a := &e.before, &e.after
	if b.err != nil || a.err != nil || !e.comparable() || b.usage.BytesIn < 0 || a.usage.BytesIn < 0 || b.sent[0] < 0 || a.sent[1] < b.sent[0] {
		return 0, 0
	}
	arrived, ours := a.usage.BytesIn-b.usage.BytesIn, a.sent[1]-b.sent[0]
	locks := float64(max(1, a.granted-b.granted))
	request := min(maxRequest, max(minRequest, float64(ours)/locks))
	seconds := (a.at - b.at).Seconds()
	allowed := foreignShare*float64(ours) + request*float64(r.Plan.Clients+1) + ackBytes*float64(a.server.Replicas)*(seconds+1)
	switch drivers.Topology(r.Plan.Topology) {
	case drivers.TopologyReplicated:
		allowed += ackBytes * float64(a.server.Replicas) * locks * max(1, r.Cost.Tries)
	case drivers.TopologySentinel:
		allowed += sentinelBytes * (seconds + 1)
	}
	if bytes = arrived - ours; float64(bytes) <= allowed {
		return 0, 0
	}
	return bytes, float64(bytes) / float64(arrived)
}

// foreignWarning returns a warning of what other clients did to the figures; empty if there were none.
func (e *engine) foreignWarning(r *results.Record) string {
	bytes, share := e.foreign(r)
	if bytes == 0 {
		return ""
	}
	return fmt.Sprintf("other clients sent about %s bytes a second to this server, %.0f %% of what arrived there: "+
		"what a lock costs it in commands, bytes and CPU time is not known", format.Three(float64(bytes)/(e.after.at-e.before.at).Seconds()), 100*share)
}
