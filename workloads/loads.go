// What a plan may say of its clients, class by class.

package workloads

import (
	"fmt"
	"strconv"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/results/spec"
)

// checkClasses checks what the clients of each class do. Together they are the plan's clients.
func checkClasses(p spec.Plan) error {
	if len(p.Classes) > MaxClasses {
		return fmt.Errorf("%d classes of clients: there may be %d", len(p.Classes), MaxClasses)
	}
	sum, names := 0, map[string]bool{}
	for i, c := range p.Classes {
		switch {
		case c.Name == "":
			return fmt.Errorf("class %d of %d has no name", i+1, len(p.Classes))
		case names[c.Name]:
			return fmt.Errorf("class %s: there are two of that name", c.Name)
		}
		names[c.Name] = true
		sum += c.Clients
	}
	for _, g := range p.Groups() {
		if err := checkLoad(p, g.Load); err != nil {
			return inClass(g.Name, err)
		}
	}
	if len(p.Classes) > 0 && sum != p.Clients {
		return refuse("clients", strconv.Itoa(p.Clients), fmt.Sprintf("the sum of the classes' clients, which is %d", sum))
	}
	return nil
}

func checkLoad(p spec.Plan, l spec.Load) error {
	for _, err := range []error{
		checkInt("clients", l.Clients, 1, MaxClients),
		checkKeyDist(p, l),
		checkTime("hold", l.Hold, 0, maxTime),
		checkTime("think", l.Think, 0, maxTime),
		checkTime("ttl", l.TTL, minTTL, maxTime),
		checkTime("timeout", l.Timeout, 0, maxTime),
		checkShare("try-only", l.TryOnly),
		checkShare("crash", l.Crash),
		checkShare("overstay", l.Overstay),
		checkArrivals(p, l),
	} {
		if err != nil {
			return err
		}
	}
	if l.Crash+l.Overstay > 1 {
		return refuse("overstay", spec.FormatShare(l.Overstay),
			fmt.Sprintf("at most what -crash %s leaves of the holds", spec.FormatShare(l.Crash)))
	}
	return nil
}

func checkKeyDist(p spec.Plan, l spec.Load) error {
	if err := l.KeyDist.Check(p.Keys, l.Clients); err != nil && !l.KeyDist.Uniform() {
		return &FieldError{Field: "key-dist", Value: l.KeyDist.String(), Problem: err.Error()}
	}
	return nil
}

func checkShare(field string, share float64) error {
	if 0 <= share && share <= 1 { // not so for a NaN
		return nil
	}
	return refuse(field, strconv.FormatFloat(share, 'g', -1, 64), "0 % to 100 %")
}

// checkArrivals checks what makes an open loop.
func checkArrivals(p spec.Plan, l spec.Load) error {
	switch {
	case l.MaxQueue < 0:
		return refuse("max-queue", strconv.Itoa(l.MaxQueue), "0 or more")
	case !l.Open() && l.MaxQueue > 0:
		return refuse("max-queue", strconv.Itoa(l.MaxQueue), "0 without -rate or -burst: in a closed loop no arrivals wait")
	case !l.Open() && l.Arrival != "":
		return refuse("arrival", l.Arrival, "left out without -rate: in a closed loop nobody arrives")
	case !l.Open():
		return checkTime("burst", l.Burst, 0, maxTime)
	case !l.Rate.IsZero() && l.Burst != 0:
		return refuse("burst", l.Burst.String(), "left out with -rate: arrivals come one by one, or all at once")
	case !l.ThinkTimes().IsZero():
		return refuse("think", l.ThinkTimes().String(), "0s with -rate or -burst: in an open loop arrivals come when they are due, whoever thinks")
	case l.Burst > 0:
		if l.Arrival != "" {
			return refuse("arrival", l.Arrival, "left out with -burst, which says when they come")
		}
		if l.Burst >= minBurst && l.BurstRate() > spec.MaxRate {
			return refuse("burst", l.Burst.String(), fmt.Sprintf("longer, or -clients fewer: %d at a time are more than %d arrivals a second",
				l.Clients, int(spec.MaxRate)))
		}
		return checkTime("burst", l.Burst, minBurst, maxTime)
	}
	if p.Duration == 0 && l.Rate.Stepped() {
		return refuse("rate", l.Rate.String(), "without steps where there is no -duration to divide between them")
	}
	return checkName("arrival", l.Arrival, []string{spec.Constant, spec.Poisson})
}

// checkPerils checks that the design can show what is planted in it.
func checkPerils(p spec.Plan, l spec.Load, t drivers.Traits) error {
	switch {
	case l.Overstay > 0 && !t.Expires:
		return refuse("overstay", spec.FormatShare(l.Overstay), fmt.Sprintf(
			"left out with %s %s, whose locks do not expire: no hold outlasts its lease", p.Driver, p.Lock))
	case l.Crash > 0 && !t.Expires && !t.Session && l.Timeout == 0 && p.Duration == 0:
		return refuse("crash", spec.FormatShare(l.Crash), fmt.Sprintf(
			"left out with %s %s, or -duration or -timeout given: its locks outlive their holders, and -n operations would never end",
			p.Driver, p.Lock))
	}
	return nil
}
