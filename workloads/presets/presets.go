// Package presets holds the workloads that lockbench brings along: each imitates a use of locks that is met in
// production, and its file says why its numbers are what they are.
package presets

import (
	"embed"
	"strings"
)

//go:embed *.yaml
var files embed.FS

const extension = ".yaml"

// Names returns the names of all presets, in alphabetical order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("presets: " + err.Error()) // it is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), extension))
	}
	return names
}

// Find returns the text of a preset, if there is one of that name.
func Find(name string) (text []byte, ok bool) {
	text, err := files.ReadFile(name + extension)
	return text, err == nil
}

// About returns what a preset says it is about; "" if there is none of that name.
func About(name string) string {
	text, _ := Find(name)
	_, rest, _ := strings.Cut(string(text), "\nabout: ")
	about, _, _ := strings.Cut(rest, "\n")
	return about
}
