package view

// The load that the clients were asked for, in words.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lockbench/lockbench/results"
	"github.com/lockbench/lockbench/results/format"
	"github.com/lockbench/lockbench/results/spec"
)

// closed labels a load in which a client that waits sends nothing.
const closed = "closed loop"

// LoadLine reports whether the load is an open or a closed loop, and at which rate; of classes that differ, of each.
func LoadLine(p *spec.Plan) string {
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

// Waits returns how the clients of a plan wait, as titles have it; empty if the plan does not say.
func Waits(p *spec.Plan) string {
	switch {
	case TriesOnce(p):
		return "each tries once"
	case p.Wait != "":
		return "wait " + p.Wait
	}
	return ""
}

// TriesOnce reports whether no client of a plan ever waits.
func TriesOnce(p *spec.Plan) bool {
	return p.Wait == "none" || !slices.ContainsFunc(p.Groups(), func(g spec.Class) bool { return g.TryOnly < 1 })
}

// LoadWords returns the load that cells have in common as half a sentence: "64 clients on 10 keys, hold 1 ms". What they differ
// in is left out, and so is what is usual.
func LoadWords(cells []*results.Cell) string {
	var counts, rest []string
	for _, a := range Axes {
		value, differs := a.Compare(cells)
		if differs || value == "" || value == ByClass || !slices.Contains(loadWords, a.Title) {
			continue
		}
		switch a.Title {
		case "load":
			if value != closed {
				rest = append(rest, value)
			}
		case "clients", "keys":
			counts = append(counts, named("", a, cells[0]))
		case "ttl":
			if cells[0].Plan().Crash > 0 {
				rest = append(rest, "TTL "+value)
			}
		case "hold":
			if value == "0" {
				rest = append(rest, "no hold")
			} else {
				rest = append(rest, "hold "+value)
			}
		default:
			rest = append(rest, a.Title+" "+value)
		}
	}
	return strings.Join(append([]string{strings.Join(counts, " on ")}, rest...), ", ")
}

// titleOf returns the load of cells as LoadWords does, whether it is a closed loop, and their values in others of the axes of
// loads.
func titleOf(cells []*results.Cell, others []Axis) string {
	parts := []string{LoadWords(cells)}
	if line := LoadLine(cells[0].Plan()); line == closed && !Differing(cells)("load") {
		parts = append(parts, line)
	}
	for _, a := range others {
		switch v := a.Value(cells[0]); {
		case slices.Contains(loadWords, a.Title) && a.Title != "ttl":
		case a.Title == "durability" && v != "":
			parts = append(parts, "durability "+v)
		case a.Title == "kind" && v != "in-process":
			parts = append(parts, v+" server")
		default:
			parts = append(parts, named("", a, cells[0]))
		}
	}
	return format.Line(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", "))
}

// loadWords are the axes of LoadWords.
var loadWords = []string{"load", "clients", "keys", "key dist", "hold", "think", "ttl", "try-only", "crash", "overstay", "re-entry"}

func loadOf(l spec.Load) string {
	switch {
	case !l.Rate.IsZero():
		arrival := l.Arrival
		if arrival == "poisson" {
			arrival = "Poisson"
		}
		return "open loop, " + strings.TrimSpace(arrival+" "+rateText(l.Rate.String()))
	case l.Burst > 0:
		return "open loop, all at once every " + format.Exact(l.Burst)
	}
	return closed
}

// loadShort is LoadLine in few words, for a column.
func loadShort(p *spec.Plan) string {
	line := LoadLine(p)
	l := p.Groups()[0].Load
	open := "open, "
	if l.Arrival == "poisson" {
		open += "Poisson "
	}
	parts := strings.Split(l.Rate.String(), ":")
	switch {
	case line != loadOf(l):
		return ByClass
	case len(parts) == 3:
		return open + number(parts[0]) + "–" + number(parts[1]) + "/s in " + timeText(parts[2])
	}
	return strings.Replace(line, "open loop, ", "open, ", 1)
}

// ByClass stands for a setting in which classes differ.
const ByClass = "by class"

// rateText writes out a rate that the plan has: "5000", "1000:50000:10s". Another form, which an old record has, stays as it is.
func rateText(rate string) string {
	parts := strings.Split(rate, ":")
	switch {
	case len(parts) == 1:
		return number(rate) + "/s"
	case len(parts) == 3:
		return fmt.Sprintf("%s/s to %s/s in %s", number(parts[0]), number(parts[1]), timeText(parts[2]))
	}
	return rate
}

// number writes digits with their thousands set apart, and anything else as it is.
func number(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return format.Count(n)
	}
	return s
}

func timeText(s string) string {
	if d, err := time.ParseDuration(s); err == nil {
		return format.Exact(d)
	}
	return s
}

// Drawn returns a distribution of times, or the one time that all have.
func Drawn(t spec.Times) string {
	if t.Kind == "" {
		return format.Exact(t.A)
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
	return format.Count(n)
}

// ofClasses returns a setting of a plan's load, or ByClass if its classes do not agree in it.
func ofClasses(get func(spec.Load) string) func(*results.Cell) string {
	return func(c *results.Cell) string {
		groups := c.Plan().Groups()
		for _, g := range groups[1:] {
			if get(g.Load) != get(groups[0].Load) {
				return ByClass
			}
		}
		return get(groups[0].Load)
	}
}

// classList names the classes and what is particular to each.
func classList(p *spec.Plan) string {
	all := ClassTexts(p)
	for i, g := range p.Classes {
		all[i] = g.Name + " (" + all[i] + ")"
	}
	return strings.Join(all, "; ")
}

// ClassTexts returns what each class does, without what all classes of the plan do.
func ClassTexts(p *spec.Plan) []string {
	texts := make([]string, len(p.Classes))
	for i, g := range p.Classes {
		texts[i] = format.Plural(g.Clients, "client")
	}
	for _, s := range spec.Recorded {
		if !s.Class || s.Name == "clients" || slices.Contains(covered, s.Name) {
			continue
		}
		label, get := AxisOf(s).Title+" ", func(l spec.Load) string { return loadText(s, l) }
		if s.Name == "rate" {
			label, get = "", loadOf
		}
		values := make([]string, len(p.Classes))
		differ := false
		for i, g := range p.Classes {
			values[i] = get(g.Load)
			differ = differ || values[i] != values[0]
		}
		for i, v := range values {
			if differ {
				texts[i] += ", " + format.Glue(label+v)
			}
		}
	}
	return texts
}

// loadText returns a setting of a class in words: "endless" for a limit that is not set.
func loadText(s spec.Setting, l spec.Load) string {
	switch s.Name {
	case "hold":
		return Drawn(l.HoldTimes())
	case "think":
		return Drawn(l.ThinkTimes())
	case "timeout", "max-queue":
		return cmp.Or(pretty(s, s.Text(nil, &l)), "endless")
	}
	return pretty(s, s.Typed(nil, &l))
}
