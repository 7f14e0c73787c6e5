// What a combination of the axes comes to: what is left open is chosen, what it does not read is cleared, and what makes
// no sense is told.

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/servers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// resolve fills in the driver's default design and way of waiting, and clears what the cell does not read. If the
// combination makes no sense it names the part that does not fit, and why.
func resolve(c *spec.Plan, t targets) (d drivers.Design, what, why string) {
	if why := outOfTopology(*c); why != "" {
		return d, fmt.Sprintf("%s -topology %s", c.Driver, c.Topology), why
	}
	driver, err := driverOf(*c)
	if err != nil {
		return d, c.Driver, "no such driver" // checkNames has seen to it
	}
	d, err = drivers.FindDesign(driver, c.Lock)
	if err != nil {
		return d, c.Driver + " -lock " + c.Lock, fmt.Sprintf("%s has only %s", c.Driver, strings.Join(designNames(driver), ", "))
	}
	c.Lock = d.Name
	if _, err := drivers.ReadParams(driver, c.ParamMap()); err != nil {
		return d, fmt.Sprintf("%s -param %s", c.Driver, c.Params), err.Error()
	}
	target := t.of(c.Driver)
	c.Server = string(target.kind)
	switch {
	case target.missing != nil:
		return d, c.Driver, target.missing.Error()
	case target.kind == embedded && target.service.Embedded == nil:
		return d, c.Driver + " -server embedded",
			"only Redis has a stand-in inside lockbench; -server private starts " + target.service.Name
	}
	applyDefaults(c, d)
	topology := c.Topology
	if why := settleTopology(c, target.kind); why != "" {
		return d, fmt.Sprintf("%s -topology %s", c.Driver, topology), why
	}
	if what, why = unsupported(c, d); why == "" {
		what, why = unconnected(c)
	}
	if why == "" {
		what, why = unfitLoad(c, d)
	}
	if why != "" {
		return d, c.Driver + " " + what, why
	}
	return d, "", ""
}

// waitAuto is the value of -wait that leaves the choice to the design.
const waitAuto = "auto"

// applyDefaults chooses a way of waiting if that is left open, and clears what it does not read.
func applyDefaults(c *spec.Plan, d drivers.Design) {
	switch {
	case c.Wait != waitAuto:
	case d.Traits.Waits:
		c.Wait = wait.Native
	default:
		c.Wait = wait.Backoff
	}
	if c.Server != string(private) {
		c.Durability = "" // it is the server's own affair
	}
	if c.Wait != wait.Poll {
		c.Poll = 0
	}
	if c.Wait != wait.Backoff {
		c.BackoffMin, c.BackoffMax = 0, 0
	}
	if c.Wait != wait.Queue {
		c.Handover = ""
	}
	if c.Handover != wait.HandoverSwap {
		c.HandoverMax = 0
	}
	if inProcessDriver(c.Driver) {
		c.Probe = 0 // it has no server, and that no neighbour
	}
	settleLoads(c)
}

// unsupported tells what of a cell its design cannot do.
func unsupported(c *spec.Plan, d drivers.Design) (what, why string) {
	kind, err := wait.Find(c.Wait)
	if err != nil {
		return "", "" // checkNames has seen to it
	}
	waits := c.Lock + " -wait " + c.Wait
	several := c.Topology != ""
	switch {
	case kind.Native && !d.Traits.Waits:
		return waits, noNative
	case kind.Wakes && !d.Traits.Wakes:
		return waits, "its releases wake nobody"
	case kind.Blocks && several:
		return waits + " -topology " + c.Topology, "a client can sleep on a single server only"
	case kind.Blocks && !d.Traits.Blocks:
		return waits, "its releases wake nobody who sleeps on the server"
	case kind.Blocks && c.Release != "" && c.Release != string(drivers.ReleaseLua):
		return waits + " -release " + c.Release, "the release that wakes a sleeper is a script"
	case c.Handover == wait.HandoverSwap && c.Topology == string(drivers.TopologyRedlock):
		return waits + " -handover swap -topology redlock", "several servers cannot hand a lock over in one step"
	case c.Renew && !d.Traits.Renews && d.Traits.Session:
		return c.Lock + " -renew", "it is kept alive by its session"
	case c.Renew && !d.Traits.Renews:
		return c.Lock + " -renew", "its leases cannot be renewed"
	case c.Reentry > 1 && !d.Traits.Reentrant:
		return fmt.Sprintf("%s -reentry %d", c.Lock, c.Reentry), "its holder cannot enter it again"
	case c.Lockers > 1 && !kind.Local && !(kind.Native && libraryOf(c.Driver).Locks):
		return fmt.Sprintf("%s -lockers %d", waits, c.Lockers), "clients that wait like this share nothing, whatever their process"
	case c.Release != "" && !slices.Contains(d.Releases, drivers.Release(c.Release)):
		return c.Lock + " -release " + c.Release, "this design has one release of its own"
	}
	return "", ""
}

// unconnected tells what of a cell its client library cannot do.
func unconnected(c *spec.Plan) (what, why string) {
	remote := !inProcessDriver(c.Driver)
	const inside = "it runs in-process and has no connections"
	switch {
	case !remote && c.Conns > 0:
		return fmt.Sprintf("-conns %d", c.Conns), inside
	case !remote && c.Pipelining != "":
		return "-pipelining " + c.Pipelining, inside
	case !remote && c.FlushDelay > 0:
		return fmt.Sprintf("-flush-delay %v", c.FlushDelay), inside
	case c.Conns > 0 && libraryOf(c.Driver).Pinned(c.Lock):
		return fmt.Sprintf("%s -conns %d", c.Lock, c.Conns), "each client needs a connection of its own"
	case c.Pipelining != "" && !serviceOf(c.Driver).Pipelines:
		return "-pipelining " + c.Pipelining, "its library leaves no choice"
	case c.FlushDelay > 0 && !pipelined(*c):
		return fmt.Sprintf("-flush-delay %v", c.FlushDelay), "only a pipelining library collects commands; see -pipelining auto"
	}
	return "", ""
}

// durabilities are the values of -durability, the usual one first.
var durabilities = []string{string(servers.Relaxed), string(servers.Strict)}

func designNames(d drivers.Driver) []string {
	var names []string
	for _, design := range d.Designs() {
		names = append(names, design.Name)
	}
	return names
}
