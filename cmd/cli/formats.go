// The names of the formats of all commands, for completion.

package cli

import "slices"

// formatsOf returns the names of a command's formats. Those of a run depend on what else it is asked for.
func formatsOf(command string) []string {
	switch command {
	case "compare":
		return comparisons.names()
	case "plan":
		return answers.names()
	case "prove":
		return proofs.names()
	case "history":
		return histories.names()
	case "list":
		return listings.names()
	case "report":
		return reports.names()
	}
	names := slices.Concat(reports.names(), comparisons.names())
	slices.Sort(names)
	return slices.Compact(names)
}
