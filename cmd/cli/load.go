// What a cell's load comes to, be it of one kind or of several classes.

package cli

import (
	"fmt"
	"strings"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/drivers/wait"
	"github.com/lockbench/lockbench/results/spec"
)

// settleLoads clears what the loads of a cell do not read. What classes have in common stays as it was asked, since one
// class may read what another does not.
func settleLoads(c *spec.Plan) {
	loads := []*spec.Load{}
	for i := range c.Classes {
		loads = append(loads, &c.Classes[i].Load)
	}
	if len(loads) == 0 {
		settleArrivals(&c.Load)
	}
	if c.Wait == wait.None { // there is nothing to be patient about
		for _, l := range append(loads, &c.Load) {
			l.Timeout, l.TryOnly = 0, 0
		}
	}
	if len(c.Classes) > 0 {
		c.Clients = 0
		for _, l := range loads {
			settleArrivals(l)
			c.Clients += l.Clients
			if c.Driver == nullDriver {
				l.Overstay = 0 // where there is no lease; other classes may well have something to be compared with
			}
		}
	}
}

// settleArrivals clears what only an open loop reads.
func settleArrivals(l *spec.Load) {
	if l.Rate.IsZero() {
		l.Arrival = ""
	}
	if !l.Open() {
		l.MaxQueue = 0
	}
}

// unfitLoad tells what of a cell's load makes no sense, or not with its design.
func unfitLoad(c *spec.Plan, d drivers.Design) (what, why string) {
	for _, class := range c.Groups() {
		if what, why = unfitClass(c, class.Load, d); why == "" {
			continue
		}
		if class.Name != "" {
			what = "class " + class.Name + " " + what
		}
		return c.Lock + " " + what, why
	}
	return "", ""
}

var keyDist, _ = spec.Find("key-dist")

func unfitClass(c *spec.Plan, l spec.Load, d drivers.Design) (what, why string) {
	switch {
	case !l.Rate.IsZero() && l.Burst > 0:
		return fmt.Sprintf("-rate %v -burst %s", l.Rate, spec.FormatTime(l.Burst)),
			"clients come at a rate or in bursts, not both"
	case l.Open() && l.Think > 0:
		return openText(l) + " -think " + spec.FormatTimes(l.ThinkTimes()),
			"in an open loop arrivals come when they are due, and nobody thinks in between"
	case l.Rate.Stepped() && c.Duration == 0:
		return "-rate " + l.Rate.String(), "its steps divide the measured time, which -n leaves open: give -duration too"
	case l.Crash > 0 && libraryOf(c.Driver).Shared(c.Conns):
		return "-crash " + spec.FormatShare(l.Crash), "its clients hold their locks together, and none can die alone"
	case l.Overstay > 0 && !d.Traits.Expires:
		return "-overstay " + spec.FormatShare(l.Overstay), "its holds do not end with a lease"
	}
	if c.Keys < 1 || l.Clients < 1 {
		return "", "" // workloads.Check says that better
	}
	if err := l.KeyDist.Check(c.Keys, l.Clients); err != nil {
		dist := keyDist.Typed(c, &l) // which the error begins with, unless it is about a part of a mix
		return "-key-dist " + dist, strings.TrimPrefix(err.Error(), dist+": ")
	}
	return "", ""
}

// openText is the flag that makes a load an open loop.
func openText(l spec.Load) string {
	if !l.Rate.IsZero() {
		return "-rate " + l.Rate.String()
	}
	return "-burst " + spec.FormatTime(l.Burst)
}
