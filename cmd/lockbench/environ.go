// The environment variables that stand in for flags, and those that only look like it.

package main

import (
	"slices"
	"strings"
)

// environ is the environment, as os.Environ has it.
type environ []string

func (e environ) lookup(name string) (string, bool) {
	for _, pair := range e {
		if v, ok := strings.CutPrefix(pair, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// strangers are the variables that begin like ours and are none, each with the nearest that is. They are no error: they
// may be another version's.
func (e environ) strangers() []string {
	known := []string{passwordVariable}
	for _, f := range allFlags {
		known = append(known, f.variable())
	}
	var list []string
	for _, pair := range e {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "LOCKBENCH_") && !slices.Contains(known, name) {
			list = append(list, name+didYouMean("", name, known))
		}
	}
	return list
}
