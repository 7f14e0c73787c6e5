// What a plan may say of its clients, class by class.

package workloads

import (
	"fmt"
	"strconv"
	"time"

	"github.com/lockbench/lockbench/drivers"
	"github.com/lockbench/lockbench/workloads/pace"
	"github.com/lockbench/lockbench/workloads/shape"

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
		checkTimes("hold", l.HoldDist, l.Hold),
		checkTimes("think", l.ThinkDist, l.Think),
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
		return refuse("overstay", shape.FormatShare(l.Overstay),
			fmt.Sprintf("at most what -crash %s leaves of the holds", shape.FormatShare(l.Crash)))
	}
	return nil
}

func checkKeyDist(p spec.Plan, l spec.Load) error {
	if l.KeyDist == "" {
		return nil
	}
	keys, err := shape.ParseKeys(l.KeyDist)
	if err == nil {
		err = keys.Check(p.Keys, l.Clients)
	}
	if err != nil {
		return &FieldError{Field: "key-dist", Value: l.KeyDist, Problem: err.Error()}
	}
	return checkSpelling("key-dist", l.KeyDist, keys.String())
}

// checkTimes checks a fixed time, or a distribution and its mean.
func checkTimes(field, text string, d time.Duration) error {
	if text == "" {
		return checkTime(field, d, 0, maxTime)
	}
	times, err := shape.ParseTimes(text)
	if err != nil {
		return &FieldError{Field: field, Value: text, Problem: err.Error()}
	}
	return checkSpelling(field, text, times.String())
}

// checkSpelling wants what a plan holds in the one spelling that it has: plans that ask for the same have to be equal.
func checkSpelling(field, text, canonical string) error {
	if text == canonical {
		return nil
	}
	return refuse(field, text, fmt.Sprintf("spelt %q in a plan", canonical))
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
	case l.Rate != "" && l.Burst != 0:
		return refuse("burst", l.Burst.String(), "left out with -rate: arrivals come one by one, or all at once")
	case l.Think != 0 || l.ThinkDist != "":
		value := l.ThinkDist
		if value == "" {
			value = l.Think.String()
		}
		return refuse("think", value, "0s with -rate or -burst: in an open loop arrivals come when they are due, whoever thinks")
	case l.Burst > 0:
		if l.Arrival != "" {
			return refuse("arrival", l.Arrival, "left out with -burst, which says when they come")
		}
		if l.Burst >= minBurst && l.BurstRate() > pace.MaxRate {
			return refuse("burst", l.Burst.String(), fmt.Sprintf("longer, or -clients fewer: %d at a time are more than %d arrivals a second",
				l.Clients, int(pace.MaxRate)))
		}
		return checkTime("burst", l.Burst, minBurst, maxTime)
	}
	rate, err := parseRate(l.Rate)
	if err != nil {
		return err
	}
	if err := checkSpelling("rate", l.Rate, rate.String()); err != nil {
		return err
	}
	if p.Duration == 0 && rate.Stepped() {
		return refuse("rate", l.Rate, "without steps where there is no -duration to divide between them")
	}
	return checkName("arrival", l.Arrival, []string{pace.Constant, pace.Poisson})
}

// parseRate reads a rate; the empty text is none.
func parseRate(text string) (pace.Rate, error) {
	if text == "" {
		return pace.Rate{}, nil
	}
	rate, err := pace.ParseRate(text)
	if err != nil {
		return rate, &FieldError{Field: "rate", Value: text, Problem: err.Error()}
	}
	return rate, nil
}

// checkPerils checks that the design can show what is planted in it.
func checkPerils(p spec.Plan, l spec.Load, t drivers.Traits) error {
	switch {
	case l.Overstay > 0 && !t.Expires:
		return refuse("overstay", shape.FormatShare(l.Overstay), fmt.Sprintf(
			"left out with %s %s, whose locks do not expire: no hold outlasts its lease", p.Driver, p.Lock))
	case l.Crash > 0 && !t.Expires && !t.Session && l.Timeout == 0 && p.Duration == 0:
		return refuse("crash", shape.FormatShare(l.Crash), fmt.Sprintf(
			"left out with %s %s, or -duration or -timeout given: its locks outlive their holders, and -n operations would never end",
			p.Driver, p.Lock))
	}
	return nil
}
