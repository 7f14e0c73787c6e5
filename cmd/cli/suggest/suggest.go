// Package suggest finds the name that was probably meant by one that does not exist.
package suggest

import (
	"slices"
	"strings"
)

// DidYouMean returns " (did you mean …?)", or nothing if no name is like s, or s is a name.
func DidYouMean(prefix, s string, names []string) string {
	if name := nearest(s, names); name != "" && name != s {
		return " (did you mean " + prefix + name + "?)"
	}
	return ""
}

// nearest returns the name that s was probably meant to be, or "". The further a name is from s, the longer it has to
// be for the likeness to mean anything.
func nearest(s string, names []string) string {
	if len(s) > 64 || len(names) == 0 {
		return "" // no name is that long
	}
	s = strings.ToLower(s)
	slips := func(name string) int { return distance(s, strings.ToLower(name)) }
	best := slices.MinFunc(names, func(a, b string) int { return slips(a) - slips(b) })
	if n, longer := slips(best), max(len(s), len(best)); n <= max(1, (longer+1)/3) && n < longer {
		return best
	}
	// Too far for a slip, but the beginning or the end of a name is a fair guess too: redis for go-redis.
	for _, name := range names {
		if len(s) >= 3 && (strings.HasPrefix(name, s) || strings.HasSuffix(name, s)) {
			return name
		}
	}
	return ""
}

// distance counts the slips between a and b: letters left out, added, replaced, or swapped with their neighbour
// (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1) // of the beginnings of a, and in each of those of b
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0 || j == 0:
				rows[i][j] = i + j
			case a[i-1] == b[j-1]:
				rows[i][j] = rows[i-1][j-1]
			case i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1]:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-2][j-2])
			default:
				rows[i][j] = 1 + min(rows[i-1][j], rows[i][j-1], rows[i-1][j-1])
			}
		}
	}
	return rows[len(a)][len(b)]
}
