// The meter: the resources that the server, its nodes, this process and the machine used, read at both ends of the measured window.

package workloads

import (
	"context"
	"runtime/debug"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/workloads/host"
)

// inspectTimeout bounds one inspection of the server; a saturated server answers late.
const inspectTimeout = 5 * time.Second

// reading is the state of all running totals at one moment.
type reading struct {
	at       time.Duration
	granted  int64
	server   drivers.Server
	usage    drivers.Usage
	err      error // why server and usage are empty; errNoInspector if the driver cannot inspect
	traffic  drivers.Traffic
	counted  bool            // the driver counts its traffic
	sent     [2]drivers.Sent // before the server was asked, and when it had answered; see drivers.Sender
	cpu      time.Duration   // user and system time of this process and of those outside; negative if unknown
	outside  []time.Duration // see drivers.Outside
	busy     float64         // seconds that the cores together were busy, those…
	stolen   float64         // …that the host gave to others included, and…
	capacity float64         // …could have been; 0 if unknown
	pauses   time.Duration   // in which the garbage collector stopped the program
	runtime  host.Runtime
	quota    host.Throttling
	delay    host.RunDelay
	threads  host.Threads   // that execute the server's commands
	nodes    []drivers.Node // of a service that has several
	probes   int64          // that were sent
}

// read takes a reading. It outlives a cancelled ctx, since the last reading of an interrupted run counts as well.
func (e *engine) read(ctx context.Context) reading {
	sent := e.sent()
	server, usage, err := drivers.Server{}, drivers.Usage{}, errNoInspector
	if e.run.Share.Rank == 0 { // which asks for all
		server, usage, err = e.inspect(context.WithoutCancel(ctx))
	}
	r := reading{server: server, usage: usage, err: err, nodes: e.nodes(), probes: e.probe.sent.Load()}
	if c, ok := drivers.As[drivers.Counter](e.run.Service); ok {
		r.traffic, r.counted = c.Traffic(), true
	}
	r.sent = [2]drivers.Sent{sent, e.sent()}
	r.at, r.granted, r.cpu = e.clock.Now(), e.granted(), host.ProcessCPU()
	if o, ok := drivers.As[drivers.Outside](e.run.Service); ok {
		r.outside = o.CPU()
	}
	for _, cpu := range r.outside {
		if r.cpu += cpu; cpu < 0 {
			r.cpu = -1
			break
		}
	}
	r.busy, r.stolen, r.capacity = host.MachineCPU(e.root)
	var gc debug.GCStats
	debug.ReadGCStats(&gc)
	r.pauses = gc.PauseTotal
	r.runtime = host.ReadRuntime()
	if e.run.ServerThreads != nil {
		r.threads = host.ReadThreads(e.root, e.run.ServerThreads())
	}
	r.quota, r.delay = host.ReadThrottling(e.root), host.ReadRunDelay(e.root)
	return r
}

// sent returns what the service has sent so far, as far as it tells.
func (e *engine) sent() (all drivers.Sent) {
	if s, ok := drivers.As[drivers.Sender](e.run.Service); ok {
		all = s.Sent()
	}
	return all
}

// inspect asks the server once, and once more if that fails: the connection may be from before a restart. If the server does
// not report its CPU time, that of its process counts.
func (e *engine) inspect(ctx context.Context) (server drivers.Server, usage drivers.Usage, err error) {
	usage = drivers.Usage{CPU: -1, Commands: -1, BytesIn: -1, BytesOut: -1}
	i, ok := drivers.As[drivers.Inspector](e.run.Service)
	if !ok {
		err = errNoInspector
	} else {
		ctx, cancel := context.WithTimeout(ctx, inspectTimeout)
		defer cancel()
		for range 2 {
			err = caught(func() (err error) {
				server, usage, err = i.Inspect(ctx)
				return err
			})
			if err == nil || drivers.TimedOut(err) { // a connection that broke is worth a second try, a server that hangs is not
				break
			}
		}
	}
	if (err == nil || !ok) && usage.CPU < 0 && e.run.ServerCPU != nil {
		usage.CPU = e.run.ServerCPU()
	}
	return server, usage, err
}

// measureInspection returns what one inspection costs the server: the difference of two in a row, before there is any load.
// Every reading of the server counts the inspection before it, which with few locks in the window would be most of what a
// lock seems to cost. The cost is zero if the server does not say.
func (e *engine) measureInspection(ctx context.Context) (cost drivers.Usage) {
	_, first, err := e.inspect(ctx)
	if !readable(err) {
		return cost
	}
	server, second, err := e.inspect(ctx)
	if !readable(err) {
		return cost
	}
	e.opened = server
	return spentBetween(first, second, drivers.Usage{})
}

// readable reports whether inspect returned all that it can: of a driver without an Inspector, that is the CPU time of a
// server that lockbench started.
func readable(err error) bool { return err == nil || err == errNoInspector }

// spentBetween returns what the server spent between two inspections, less what is known to be for something else.
func spentBetween(before, after, known drivers.Usage) drivers.Usage {
	return drivers.Usage{
		CPU:      max(0, after.CPU-before.CPU-known.CPU),
		Commands: max(0, after.Commands-before.Commands-known.Commands),
		BytesIn:  max(0, after.BytesIn-before.BytesIn-known.BytesIn),
		BytesOut: max(0, after.BytesOut-before.BytesOut-known.BytesOut),
	}
}

// watchVotes has the service report each vote, if it takes votes, until stop is called.
func (e *engine) watchVotes() (stop func()) {
	v, ok := drivers.As[drivers.Voter](e.run.Service)
	if !ok {
		return func() {}
	}
	v.Watch(e.voted)
	return func() { v.Watch(nil) }
}

// voted records one try when its last node has answered. Its client has gone on by then, and the window may have closed.
func (e *engine) voted(v drivers.Vote) {
	if now := e.clock.Now(); now < e.from || now >= e.until() {
		return
	}
	if v.Held {
		shard := e.recorder.Borrow()
		shard.Record(results.AcquireAllIndex, v.Elapsed)
		e.recorder.Return(shard)
	}
	if v.Split() {
		e.splitVotes.Add(1)
	}
}

// nodes returns what the service says of its nodes; nil if it has none.
func (e *engine) nodes() []drivers.Node {
	if v, ok := drivers.As[drivers.Voter](e.run.Service); ok {
		return v.Nodes()
	}
	return nil
}

// nodesFailed returns how many requests failed between the two readings, by node.
func (e *engine) nodesFailed() (list []int64) {
	for i, node := range e.after.nodes {
		failed := node.Failed
		if i < len(e.before.nodes) {
			failed -= e.before.nodes[i].Failed
		}
		list = append(list, failed)
	}
	return list
}
