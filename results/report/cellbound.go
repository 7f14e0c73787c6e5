package report

// The formula of the bound of a cell.

import "github.com/lockbench/lockbench/results"

const (
	evenKeys   = "keys / (hold + round trip)"
	skewedKeys = "1 / (share of the most wanted key × (hold + round trip))"
	allClients = "clients / (hold + think + 2 round trips)"

	// Of several classes the bounds are those of their mix, as it came out; with a single one they are the others.
	classKeys    = skewedKeys + ", on average over the classes' locks"
	classClients = "clients / (their share of the locks × (hold + think + 2 round trips)), of the class that is nearest to it"
)

// idealOf returns the formula of the bound of c; of a record that does not say what makes it, those of which it is the least.
func idealOf(c *results.Cell) string {
	switch by := c.Bound.By; {
	case by == "" && c.Hottest():
		return "the least of " + evenKeys + " and " + allClients + "; for keys that are not all alike, " + skewedKeys
	case by == "":
		return "the least of " + evenKeys + " and " + allClients
	case by == "keys" && classed(c):
		return classKeys
	case by == "keys" && c.Hottest():
		return skewedKeys
	case by == "keys":
		return evenKeys
	case by == "clients" && classed(c):
		return classClients
	case by == "clients":
		return allClients
	case by == "connections":
		return "connections / (2 round trips)"
	case by == "rate":
		return "the arrivals that were due"
	default:
		return "by " + by
	}
}

func classed(c *results.Cell) bool { return len(c.Plan().Classes) > 0 }
