package simtest

// The trace: what every actor did, and when.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// line is one line of the trace. It is formatted only if someone reads it.
type line struct {
	at     time.Duration
	story  bool // also for those who only want to know who held when
	actor  *Actor
	format string
	args   []any
}

// Log adds a line to the trace.
func (a *Actor) Log(format string, args ...any) { a.add(line{format: format, args: args}) }

// Tell adds a line to the trace and to the story.
func (a *Actor) Tell(format string, args ...any) {
	a.add(line{story: true, format: format, args: args})
}

func (a *Actor) add(l line) {
	l.at, l.actor = a.w.Now(), a
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines = append(a.lines, l)
}

// Trace returns all that has happened in the world. It is the same whenever a schedule runs.
func (w *World) Trace() string { return w.render(func(line) bool { return true }) }

// Story returns who held the key when, and what failed.
func (w *World) Story() string { return w.render(func(l line) bool { return l.story }) }

func (w *World) render(keep func(line) bool) string {
	var all []line
	for _, a := range w.actors {
		for _, l := range a.lines {
			if keep(l) {
				all = append(all, l)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b line) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.actor.number, b.actor.number))
	})
	var text strings.Builder
	for _, l := range all {
		fmt.Fprintf(&text, "%16s  %-9s %s\n", stamp(l.at), l.actor.name, fmt.Sprintf(l.format, l.args...))
	}
	return text.String()
}

// stamp is a time or a duration, to the nanosecond.
type stamp time.Duration

func (s stamp) String() string {
	return fmt.Sprintf("%d.%06d ms", s/1e6, s%1e6)
}
