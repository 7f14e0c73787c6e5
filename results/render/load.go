package render

// What was asked of the clients, in words.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/spec"
)

// closed labels a load in which a client that waits sends nothing.
const closed = "closed loop"

// loadLine says whether the load is an open or a closed loop, and at which rate; of classes that differ, of each.
func loadLine(p *spec.Plan) string {
	var lines, named []string
	for _, g := range p.Groups() {
		lines = append(lines, loadOf(g.Load))
		named = append(named, g.Name+": "+loadOf(g.Load))
	}
	if slices.ContainsFunc(lines, func(line string) bool { return line != lines[0] }) {
		return strings.Join(named, "; ")
	}
	return lines[0]
}

func loadOf(l spec.Load) string {
	switch {
	case !l.Rate.IsZero():
		arrival := l.Arrival
		if arrival == "poisson" {
			arrival = "Poisson"
		}
		return "open loop, " + strings.TrimSpace(arrival+" "+rateText(l.Rate.String()))
	case l.Burst > 0:
		return "open loop, all at once every " + asked(l.Burst)
	}
	return closed
}

// loadShort is loadLine in few words, for a column.
func loadShort(p *spec.Plan) string {
	line := loadLine(p)
	l := p.Groups()[0].Load
	open := "open, "
	if l.Arrival == "poisson" {
		open += "Poisson "
	}
	parts := strings.Split(l.Rate.String(), ":")
	switch {
	case line != loadOf(l):
		return byClass
	case len(parts) == 3:
		return open + number(parts[0]) + "–" + number(parts[1]) + "/s in " + timeText(parts[2])
	case len(parts) == 4 && (parts[0] == "steps" || parts[0] == "ladder"):
		return open + parts[0] + " " + number(parts[1]) + "–" + number(parts[2]) + "/s by " + parts[3]
	}
	return strings.Replace(line, "open loop, ", "open, ", 1)
}

// byClass stands for a setting in which classes differ.
const byClass = "by class"

// rateText writes a rate out that the plan has as in package pace: "5000", "1000:50000:10s", "steps:1000:50000:10",
// "ladder:1000:50000:10". One that it does not know stays as it is.
func rateText(rate string) string {
	parts := strings.Split(rate, ":")
	switch {
	case len(parts) == 1:
		return number(rate) + "/s"
	case len(parts) == 3:
		return fmt.Sprintf("%s/s to %s/s in %s", number(parts[0]), number(parts[1]), timeText(parts[2]))
	case len(parts) == 4 && parts[0] == "steps":
		return fmt.Sprintf("%s/s to %s/s in %s steps", number(parts[1]), number(parts[2]), parts[3])
	case len(parts) == 4 && parts[0] == "ladder":
		return fmt.Sprintf("in a ladder of %s steps from %s/s to %s/s, shuffled and mirrored", parts[3], number(parts[1]), number(parts[2]))
	}
	return rate
}

// number writes digits with their thousands set apart, and anything else as it is.
func number(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Thousands(n)
	}
	return s
}

func timeText(s string) string {
	if d, err := time.ParseDuration(s); err == nil {
		return asked(d)
	}
	return s
}

// drawn is a distribution of times, or the one time that all have.
func drawn(t spec.Times) string {
	if d, fixed := t.Fixed(); fixed {
		return asked(d)
	}
	return t.String()
}

func unlessZero(s string) string {
	if s == "0" {
		return ""
	}
	return s
}

func ifCount(n int) string {
	if n == 0 {
		return ""
	}
	return Thousands(int64(n))
}

// ofClasses is a setting of a plan's load, or byClass if its classes do not agree in it.
func ofClasses(get func(spec.Load) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		groups := plan(c).Groups()
		for _, g := range groups[1:] {
			if get(g.Load) != get(groups[0].Load) {
				return byClass
			}
		}
		return get(groups[0].Load)
	}
}

// classList names the classes and what is particular to each.
func classList(p *spec.Plan) string {
	var all []string
	for _, g := range p.Classes {
		all = append(all, g.Name+" ("+classText(p, g)+")")
	}
	return strings.Join(all, "; ")
}

// classText is what a class does, as far as not all of the plan's classes do the same.
func classText(p *spec.Plan, g spec.Class) string {
	parts := []string{Many(int64(g.Clients), "client")}
	for _, setting := range []struct {
		label string
		get   func(spec.Load) string
	}{
		{"", loadOf},
		{"keys ", func(l spec.Load) string { return orElse(l.KeyDist.String(), "uniform") }},
		{"hold ", func(l spec.Load) string { return drawn(l.HoldTimes()) }},
		{"think ", func(l spec.Load) string { return drawn(l.ThinkTimes()) }},
		{"ttl ", func(l spec.Load) string { return asked(l.TTL) }},
		{"timeout ", func(l spec.Load) string { return orElse(unlessZero(asked(l.Timeout)), "endless") }},
		{"try-only ", func(l spec.Load) string { return percent(l.TryOnly) }},
		{"crash ", func(l spec.Load) string { return percent(l.Crash) }},
		{"overstay ", func(l spec.Load) string { return percent(l.Overstay) }},
		{"max queue ", func(l spec.Load) string { return orElse(ifCount(l.MaxQueue), "endless") }},
	} {
		for _, other := range p.Classes {
			if setting.get(other.Load) != setting.get(g.Load) {
				parts = append(parts, glue(setting.label+setting.get(g.Load)))
				break
			}
		}
	}
	return strings.Join(parts, ", ")
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
