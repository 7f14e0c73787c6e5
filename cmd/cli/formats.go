// The formats of all commands, for the help and for completion.

package cli

import (
	"slices"
	"strings"
)

// formatted are the commands that have formats, in the order of the help, and what the help calls those that it lists together.
var formatted = []struct {
	command, of string
	formats     interface {
		about() string
		names() []string
	}
}{
	{"report", "Of a run and of report", reports},
	{"compare", "Of compare, and of a run with -vs or -baseline", comparisons},
	{"plan", "Of plan", answers},
	{"prove", "Of prove", proofs},
	{"history", "Of history", histories},
	{"list", "", listings},
}

// formatList lists the formats of a command for the help, and without one all formats.
func formatList(command string) string {
	var parts []string
	for _, f := range formatted {
		switch {
		case f.command == command:
			return f.formats.about()
		case f.of != "":
			parts = append(parts, f.of+":\n"+f.formats.about())
		}
	}
	return strings.Join(parts, "\n")
}

// formatsOf returns the names of a command's formats. Those of a run depend on what else it is asked for.
func formatsOf(command string) (names []string) {
	for _, f := range formatted {
		if f.command == command {
			return f.formats.names()
		}
	}
	names = append(formatsOf("report"), formatsOf("compare")...)
	slices.Sort(names)
	return slices.Compact(names)
}
