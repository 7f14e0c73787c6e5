// Package suggest finds the name that was probably meant by one that does not exist.
package suggest

import (
	"slices"
	"strings"
)

// Nearest returns the name of names that s was probably meant to be, or "". The further a name is from s, the longer it
// has to be for the likeness to mean anything.
func Nearest(s string, names []string) string {
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
	i := slices.IndexFunc(names, func(name string) bool {
		return len(s) >= 3 && (strings.HasPrefix(name, s) || strings.HasSuffix(name, s))
	})
	if i >= 0 {
		return names[i]
	}
	return ""
}

// DidYouMean returns " (did you mean …?)" or nothing.
func DidYouMean(prefix, s string, names []string) string {
	if n := Nearest(s, names); n != "" {
		return " (did you mean " + prefix + n + "?)"
	}
	return ""
}

// distance counts the slips between a and b: letters left out, added, replaced, or swapped with their neighbour
// (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}
